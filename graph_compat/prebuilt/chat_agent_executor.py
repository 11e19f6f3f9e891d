"""`create_react_agent`: a graph in which a model is called until it calls no more tools.

| node | does | then |
|---|---|---|
| `pre_model_hook` | changes the state, or what the model is told | `agent` |
| `agent` | calls the model | `post_model_hook`, else `tools` for calls, else the end |
| `post_model_hook` | changes the state, may answer calls | `tools` for open calls, else the end |
| `tools` | answers calls: in one task (v1), or each in its own (v2) | from the top; the end after `return_direct` |
| `generate_structured_response` | calls the model once more, for `response_format` | the end |

Rule: with v2 a call is sent without the state, which the node reads when it runs: a superstep of many calls
stores the messages once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from flowfn.lazy import lazily
from flowfn.values import Send
from graph_compat.constants import END, START
from graph_compat.graph.action import immediate
from graph_compat.graph.branch import BranchSpec
from graph_compat.graph.state import CompiledStateGraph, StateGraph
from graph_compat.prebuilt.agent_nodes import CallModel, Choice, Structure, value_of
from graph_compat.prebuilt.agent_states import (
    AgentState,
    AgentStateWithStructuredResponse,
    check_state,
    default_state,
    pydantic_states,
    with_model_input,
)
from graph_compat.prebuilt.chat import calls_of, last_of_model, open_calls_in, role_of, uses_langchain
from graph_compat.prebuilt.chat_models import answers_messages, chooses_model, is_bound, ready
from graph_compat.prebuilt.prompts import prompt_action
from graph_compat.prebuilt.requests import CALL_WITH_CONTEXT
from graph_compat.prebuilt.tool import FunctionTool
from graph_compat.prebuilt.tool_node import ToolNode
from graph_compat.types import Checkpointer
from graph_compat.warnings import LangGraphDeprecatedSinceV10, warn

if TYPE_CHECKING:
    AgentStatePydantic: Any
    AgentStateWithStructuredResponsePydantic: Any

__all__ = [
    "AgentState",
    "AgentStatePydantic",
    "AgentStateWithStructuredResponse",
    "AgentStateWithStructuredResponsePydantic",
    "create_react_agent",
    "create_tool_calling_executor",
]

Prompt = Any
"""A text, a system message, or a function or runnable of the state."""

StateSchemaType = type[Any]
"""The class of a state."""

StructuredResponseSchema = dict[str, Any] | type[Any]
"""A JSON schema, or a pydantic model."""


def __getattr__(name: str) -> Any:
    """The states as pydantic models."""
    if name in ("AgentStatePydantic", "AgentStateWithStructuredResponsePydantic"):
        return pydantic_states()[name]
    return _also_here(name)


_also_here, _ = lazily(
    __name__,
    {
        "BaseStore": "graph_compat.store.base",
        "Runtime": "graph_compat.runtime",
        "ToolCallWithContext": "graph_compat.prebuilt.tool_node",
        "add_messages": "graph_compat.graph.message",
    },
)
"""What programs also import from here."""


def create_react_agent(
    model: Any,
    tools: Sequence[Any] | ToolNode,
    *,
    prompt: Any = None,
    response_format: Any = None,
    pre_model_hook: Any = None,
    post_model_hook: Any = None,
    state_schema: Any = None,
    context_schema: Any = None,
    checkpointer: Checkpointer = None,
    store: Any = None,
    interrupt_before: list[str] | None = None,
    interrupt_after: list[str] | None = None,
    debug: bool = False,
    version: Literal["v1", "v2"] = "v2",
    name: str | None = None,
    **deprecated_kwargs: Any,
) -> CompiledStateGraph[Any, Any, Any, Any]:
    """An agent: a model that is called, and its tools run, until it calls no more of them.

    With a function as the model no LangChain is needed, and messages are dicts; see `chat` and `chat_models`.

    Args:
        model: a chat model, a function of messages, a function that chooses one, or a string; see `chat_models`.
        tools: functions and tools; a dict is one that the model's provider runs. Or a ToolNode.
        prompt: a text or a system message to put before the messages, or a function of the state that returns
            what the model is told.
        response_format: a pydantic model or a JSON schema, or a pair of a prompt and such: the state's
            `structured_response` gets an answer of that form.
        pre_model_hook: a node before each call of the model; what it returns as `llm_input_messages` is what the
            model is told, in place of all messages.
        post_model_hook: a node after each call of the model.
        state_schema: default: messages, and how many steps are left.
        context_schema, checkpointer, store, interrupt_before, interrupt_after, debug, name: as for
            `StateGraph.compile`; the name also signs the model's messages.
        version: "v1" runs a message's calls in one task, "v2" each in a task of the graph.

    Raises:
        ValueError: the version is unknown, the state lacks a key, or the model has other tools bound.
        TypeError: the model or a tool is none.
    """
    if version not in ("v1", "v2"):
        raise ValueError(f"Invalid version {version}. Supported versions are 'v1' and 'v2'.")
    if "config_schema" in deprecated_kwargs:
        warn(
            "`config_schema` is deprecated. Please use `context_schema` instead.", LangGraphDeprecatedSinceV10
        )
        context_schema = deprecated_kwargs.pop("config_schema")
    if deprecated_kwargs:
        raise TypeError(f"create_react_agent() got unexpected keyword arguments: {deprecated_kwargs}")
    plain = answers_messages(model)
    node, provided = _tool_node(tools, plain)
    choice = Choice(_model(model, [*node.tools_by_name.values(), *provided]))
    if not plain and uses_langchain():
        warn(
            "create_react_agent has been moved to `langchain.agents`. Please update your import to"
            " `from langchain.agents import create_agent`.",
            LangGraphDeprecatedSinceV10,
        )
    schema = state_schema
    if schema is None:
        schema = default_state(dicts=plain, structured=response_format is not None)
    check_state(schema, structured=response_format is not None)

    builder: StateGraph[Any, Any, Any, Any] = StateGraph(schema, context_schema)
    routes = _Routes(
        version,
        start="agent" if pre_model_hook is None else "pre_model_hook",
        end=END if response_format is None else "generate_structured_response",
        direct=frozenset(
            name for name, tool in node.tools_by_name.items() if getattr(tool, "return_direct", False)
        ),
        hooked=post_model_hook is not None,
    )
    read = prompt_action(prompt, lambda state: value_of(state, "messages"), as_dict=plain)
    builder.add_node(
        "agent",
        CallModel(choice, read, name, routes.direct),
        input_schema=schema if pre_model_hook is None else with_model_input(schema),
    )
    if node.tools_by_name:
        builder.add_node("tools", node)
    if pre_model_hook is not None:
        builder.add_node("pre_model_hook", pre_model_hook)
        builder.add_edge("pre_model_hook", "agent")
    if post_model_hook is not None:
        builder.add_node("post_model_hook", post_model_hook)
        builder.add_edge("agent", "post_model_hook")
    if response_format is not None:
        text, form = response_format if isinstance(response_format, tuple) else (None, response_format)
        builder.add_node("generate_structured_response", Structure(choice, form, text, plain))
        builder.add_edge("generate_structured_response", END)
    builder.add_edge(START, routes.start)
    _connect(builder, routes, "agent" if post_model_hook is None else "post_model_hook")
    return builder.compile(
        checkpointer=checkpointer,
        store=store,
        interrupt_before=interrupt_before,
        interrupt_after=interrupt_after,
        debug=debug,
        name=name,
    )


def _tool_node(tools: Sequence[Any] | ToolNode, plain: bool) -> tuple[ToolNode, list[dict[str, Any]]]:
    """The node of the tools, and the tools that the model's provider runs."""
    if isinstance(tools, ToolNode):
        return tools, []
    ours = [tool for tool in tools if not isinstance(tool, dict)]
    if plain:
        ours = [tool if hasattr(tool, "invoke") else FunctionTool(tool) for tool in ours]
    return ToolNode(ours), [tool for tool in tools if isinstance(tool, dict)]


def _model(model: Any, tools: Sequence[Any]) -> Any:
    return model if chooses_model(model) else ready(model, tools)


@dataclass(frozen=True)
class _Routes:
    """Where an agent goes: `start` begins a turn, `end` closes the last one.

    `hooked` says that a hook follows the model, and may have answered its calls.
    """

    version: str
    start: str
    end: str
    direct: frozenset[str]
    hooked: bool

    def after_model(self, state: Any) -> Any:
        """To the tools for the calls of the last message that nobody has answered; else to the end."""
        messages = value_of(state, "messages")
        open_calls = open_calls_in(messages)
        if not open_calls:
            return self.start if self.hooked and role_of(messages[-1]) == "tool" else self.end
        if self.version == "v1" and open_calls == calls_of(last_of_model(messages)):
            return "tools"
        return [Send("tools", {"__type": CALL_WITH_CONTEXT, "tool_call": call}) for call in open_calls]

    def after_tools(self, state: Any) -> str:
        """To the end if one of the last calls is to be returned as it is; else from the top.

        With v2 each call decides by itself, and sees no other call's answer: so the calls count, not the answers.
        """
        source = last_of_model(value_of(state, "messages"))
        calls = () if source is None else calls_of(source)
        return END if any(call["name"] in self.direct for call in calls) else self.start


def _connect(builder: Any, routes: _Routes, last: str) -> None:
    """The edges out of the model's turn, whose last node is `last`, and out of the tools."""
    if "tools" not in builder.nodes:
        builder.add_edge(last, routes.end)
        return
    back = [routes.start] if routes.hooked else []
    _branch(builder, last, routes.after_model, ["tools", *back, routes.end])
    if routes.direct:
        _branch(builder, "tools", routes.after_tools, [routes.start, END])
    else:
        builder.add_edge("tools", routes.start)


def _should_bind_tools(model: Any, tools: Sequence[Any], num_builtin: int = 0) -> bool:
    """Whether tools are still to be bound to a model; libraries that bind them otherwise ask.

    Raises:
        ValueError: others are bound.
    """
    return not is_bound(model, tools, num_builtin)


def _branch(builder: Any, source: str, path: Callable[[Any], Any], ends: list[str]) -> None:
    """A conditional edge whose function takes no time."""
    name = path.__name__
    builder.branches[source][name] = BranchSpec(immediate(path, name, path), {end: end for end in ends})


create_tool_calling_executor: Callable[..., Any] = create_react_agent
