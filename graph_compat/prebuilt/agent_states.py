"""The states of agents.

Annotations are no text here: which keys may be left out is read of them when a class is made.
"""

from collections.abc import Sequence
from functools import cache
from typing import Annotated, Any, NotRequired, get_type_hints

from typing_extensions import TypedDict, deprecated

from graph_compat.graph.message import add_messages
from graph_compat.managed import RemainingSteps
from graph_compat.prebuilt.chat import merge_dicts
from graph_compat.warnings import LangGraphDeprecatedSinceV10


class AgentState(TypedDict):
    """The messages of an agent, and how many supersteps it has left."""

    messages: Annotated[Sequence[Any], add_messages]
    remaining_steps: NotRequired[RemainingSteps]


class AgentStateWithStructuredResponse(AgentState):
    """`AgentState`, and the answer in the agent's `response_format`."""

    structured_response: Any


class DictAgentState(TypedDict):
    """The state of an agent whose model takes and gives dicts."""

    messages: Annotated[list[Any], merge_dicts]
    remaining_steps: NotRequired[RemainingSteps]


class DictAgentStateWithStructuredResponse(DictAgentState):
    """`DictAgentState`, and the answer in the agent's `response_format`."""

    structured_response: Any


def default_state(*, dicts: bool, structured: bool) -> Any:
    """The state of an agent that names none."""
    if dicts:
        return DictAgentStateWithStructuredResponse if structured else DictAgentState
    return AgentStateWithStructuredResponse if structured else AgentState


def check_state(schema: Any, *, structured: bool) -> None:
    """Check that a state has what an agent needs.

    Raises:
        ValueError: it lacks a key.
    """
    needed = {"messages", "remaining_steps", *(("structured_response",) if structured else ())}
    missing = needed - set(get_type_hints(schema))
    if missing:
        raise ValueError(f"Missing required key(s) {missing} in state_schema")


def with_model_input(schema: Any) -> Any:
    """A state with `llm_input_messages`, in which a hook says what the model is told instead of all messages."""
    if hasattr(schema, "model_fields"):
        from pydantic import create_model

        return create_model(
            "CallModelInputSchema", __base__=schema, llm_input_messages=(list[Any] | None, None)
        )
    return TypedDict(  # type: ignore[operator]
        "CallModelInputSchema",
        {**get_type_hints(schema, include_extras=True), "llm_input_messages": list[Any]},
    )


@cache
def pydantic_states() -> dict[str, Any]:
    """The pydantic twins of the states, by name; pydantic is loaded for those who ask for one."""
    from pydantic import BaseModel, create_model

    plain = create_model(
        "AgentStatePydantic",
        messages=(Annotated[Sequence[Any], add_messages], ...),
        remaining_steps=(RemainingSteps, 25),
        __module__=__name__,
    )
    structured = create_model(
        "AgentStateWithStructuredResponsePydantic",
        __base__=plain,
        structured_response=(dict[str, Any] | BaseModel, ...),
    )
    return {state.__name__: _deprecated(state) for state in (plain, structured)}


def _deprecated(state: Any) -> Any:
    """A state whose use as a base, or to make an instance, warns."""
    advice = f"{state.__name__} has been deprecated in favor of AgentState in `langchain.agents`."
    return deprecated(advice, category=LangGraphDeprecatedSinceV10)(state)
