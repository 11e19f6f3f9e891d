"""The nodes of an agent, each in a blocking and an asyncio form: its model, and the call for a structured answer."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from flowfn.context import current_frame
from graph_compat.blocking import blocking
from graph_compat.errors import ErrorCode, create_error_message
from graph_compat.graph.action import Action, awaited
from graph_compat.injection import is_coroutine_function
from graph_compat.langchain.chat_model import answer
from graph_compat.langchain.invoking import looks_late
from graph_compat.prebuilt.chat import calls_of, ids_of_calls, named, role_of, said, system
from graph_compat.prebuilt.chat_models import FunctionModel, chooses_model, ready, structured

_OUT_OF_STEPS = "Sorry, need more steps to process this request."


def value_of(state: Any, key: str, default: Any = None) -> Any:
    """A key of a state of any kind."""
    if type(state) is dict or isinstance(state, Mapping):
        return state.get(key, default)
    return getattr(state, key, default)


def blocking_form(action: Action) -> Callable[[Any], Any]:
    """An action's function for a blocking run.

    Raises:
        TypeError: it has none.
    """
    if action.blocking is None:
        raise TypeError(
            f'No synchronous function provided to "{action.name}".\nEither initialize with a synchronous function or'
            " invoke via the async API (ainvoke, astream, etc.)"
        )
    return action.blocking


@dataclass(frozen=True)
class Choice:
    """The model of an agent: given, or chosen anew for each call by a function of state and runtime."""

    given: Any

    @property
    def is_dynamic(self) -> bool:
        """Whether a function chooses."""
        return chooses_model(self.given)

    async def model(self, state: Any, *, on_loop: bool) -> Any:
        """The model for a state.

        Raises:
            RuntimeError: an async function chooses, and nothing can be awaited.
        """
        if not self.is_dynamic:
            return self.given
        awaits = is_coroutine_function(self.given)
        if awaits and not on_loop:
            raise RuntimeError(
                "Async model callable provided but agent invoked synchronously. Use agent.ainvoke() or agent.astream(),"
                " or provide a sync model callable."
            )
        chosen = self.given(state, _runtime())
        return ready(await chosen if awaits else chosen, ())  # it comes with its tools bound


def _runtime() -> Any:
    frame = current_frame.get()
    assert frame is not None
    return frame.runtime


async def _answer(model: Any, messages: Any, config: Any, *, on_loop: bool) -> Any:
    """What a model answers; a function looks at no configuration."""
    if isinstance(model, FunctionModel):
        return await model.ainvoke(messages) if on_loop else model.invoke(messages)
    return await answer(model, messages, config, on_loop=on_loop)


@looks_late
@dataclass(frozen=True)
class CallModel:
    """The node that calls the model with the messages, after the prompt."""

    choice: Choice
    prompt: Action
    name: str | None
    direct: frozenset[str]

    def get_name(self) -> str:
        """What it is called in pictures and traces."""
        return "call_model"

    def invoke(self, state: Any, config: Any = None) -> dict[str, Any]:
        """The update of the state: the model's message."""
        return blocking(self._asked(state, config, on_loop=False))

    async def ainvoke(self, state: Any, config: Any = None) -> dict[str, Any]:
        """`invoke` for asyncio."""
        return await self._asked(state, config, on_loop=True)

    async def _asked(self, state: Any, config: Any, *, on_loop: bool) -> dict[str, Any]:
        model, seen = await self.choice.model(state, on_loop=on_loop), self._told(state)
        told = await awaited(self.prompt, seen) if on_loop else blocking_form(self.prompt)(seen)
        return self._update(state, await _answer(model, told, config, on_loop=on_loop))

    def _told(self, state: Any) -> Any:
        """The state as the prompt sees it: with the messages that the model is told."""
        messages = value_of(state, "llm_input_messages") or value_of(state, "messages")
        if messages is None:
            raise ValueError(f"Expected input to call_model to have 'messages' key, but got {state}")
        check_history(messages)
        if isinstance(state, Mapping):
            return {**state, "messages": messages}
        if value_of(state, "llm_input_messages"):
            state.messages = messages
        return state

    def _update(self, state: Any, message: Any) -> dict[str, Any]:
        message = named(message, self.name)
        calls = calls_of(message)
        left = value_of(state, "remaining_steps")
        needed = 1 if all(call["name"] in self.direct for call in calls) else 2
        if calls and left is not None and left < needed:
            message = said(_OUT_OF_STEPS, like=message)
        return {"messages": [message]}


def check_history(messages: Sequence[Any]) -> None:
    """Check that every tool call of a model has its answer.

    Raises:
        ValueError: one has none; chat models refuse such messages.
    """
    asked, done = ids_of_calls(messages)
    if not asked <= done:
        models = [message for message in messages if role_of(message) == "assistant"]
        missing = [call for message in models for call in calls_of(message) if call["id"] not in done]
        raise ValueError(
            create_error_message(
                message="Found AIMessages with tool_calls that do not have a corresponding ToolMessage. Here are the"
                f" first few of those tool calls: {missing[:3]}.\n\nEvery tool call (LLM requesting to call a tool) in"
                " the message history MUST have a corresponding ToolMessage (result of a tool invocation to return to"
                " the LLM) - this is required by most LLM providers.",
                error_code=ErrorCode.INVALID_CHAT_HISTORY,
            )
        )


@looks_late
@dataclass(frozen=True)
class Structure:
    """The node that asks the model for an answer in a format."""

    choice: Choice
    schema: Any
    prompt: str | None
    as_dict: bool

    def get_name(self) -> str:
        """What it is called in pictures and traces."""
        return "generate_structured_response"

    def invoke(self, state: Any, config: Any = None) -> dict[str, Any]:
        """The update of the state: the answer."""
        return blocking(self._asked(state, config, on_loop=False))

    async def ainvoke(self, state: Any, config: Any = None) -> dict[str, Any]:
        """`invoke` for asyncio."""
        return await self._asked(state, config, on_loop=True)

    async def _asked(self, state: Any, config: Any, *, on_loop: bool) -> dict[str, Any]:
        model = structured(await self.choice.model(state, on_loop=on_loop), self.schema)
        return {"structured_response": await _answer(model, self._told(state), config, on_loop=on_loop)}

    def _told(self, state: Any) -> list[Any]:
        messages = value_of(state, "messages")
        return messages if self.prompt is None else [system(self.prompt, as_dict=self.as_dict), *messages]
