"""`create_react_agent`: a graph in which a model is called until it calls no more tools.

| node | does | then |
|---|---|---|
| `pre_model_hook` | changes the state, or what the model is told | `agent` |
| `agent` | calls the model | `post_model_hook`, else `tools` for calls, else the end |
| `post_model_hook` | changes the state, may answer calls | `tools` for open calls, else the end |
| `tools` | answers calls: in one task (v1), or each in its own (v2) | from the top; the end after `return_direct` |
| `generate_structured_response` | calls the model once more, for `response_format` | the end |

Rule: the nodes are put together here, and do their work elsewhere: `agent_nodes` calls the model, `tool_node` the
tools, and `agent_routes` says where to go.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from flowfn.python.lazy import lazily
from graph_compat.constants import END
from graph_compat.graph.state import CompiledStateGraph, StateGraph
from graph_compat.prebuilt.agent_nodes import CallModel, Choice, Structure, value_of
from graph_compat.prebuilt.agent_routes import Routes, connect
from graph_compat.prebuilt.agent_states import (
    AgentState,
    AgentStateWithStructuredResponse,
    check_state,
    default_state,
    pydantic_states,
    with_model_input,
)
from graph_compat.prebuilt.chat import uses_langchain
from graph_compat.prebuilt.chat_models import answers_messages, chooses_model, ready
from graph_compat.prebuilt.prompts import prompt_action
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

StateSchema = TypeVar("StateSchema")
"""A state, in annotations."""

StateSchemaType = type[Any]
"""The class of a state."""

StructuredResponse = Any
"""A dict of a JSON schema, or an instance of a pydantic model."""

StructuredResponseSchema = dict[str, Any] | type[Any]
"""A JSON schema, or a pydantic model."""


_MOVED = (
    "create_react_agent has been moved to `langchain.agents`. Please update your import to"
    " `from langchain.agents import create_agent`."
)


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
        "BaseChatModel": "langchain_core.language_models",
        **dict.fromkeys(
            ("AIMessage", "BaseMessage", "SystemMessage", "ToolMessage"), "langchain_core.messages"
        ),
        **dict.fromkeys(("Runnable", "RunnableConfig"), "langchain_core.runnables"),
        "BaseTool": "langchain_core.tools",
        **dict.fromkeys(
            (
                "PROMPT_RUNNABLE_NAME",
                "_get_model",
                "_get_prompt_runnable",
                "_get_state_value",
                "_should_bind_tools",
                "_validate_chat_history",
            ),
            "graph_compat.prebuilt.agent_parts",
        ),
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
    context_schema = _context_schema(context_schema, deprecated_kwargs)
    plain = answers_messages(model)
    node, provided = _tool_node(tools, plain)
    choice = Choice(_model(model, [*node.tools_by_name.values(), *provided]))
    if not plain and uses_langchain():
        warn(_MOVED, LangGraphDeprecatedSinceV10)
    structured = response_format is not None
    schema = default_state(dicts=plain, structured=structured) if state_schema is None else state_schema
    check_state(schema, structured=structured)
    routes = Routes(
        version,
        start="agent" if pre_model_hook is None else "pre_model_hook",
        end="generate_structured_response" if structured else END,
        direct=_direct(node),
        hooked=post_model_hook is not None,
    )
    read = prompt_action(prompt, lambda state: value_of(state, "messages"), as_dict=plain)
    nodes = {
        "agent": CallModel(choice, read, name, routes.direct),
        "tools": node if node.tools_by_name else None,
        "pre_model_hook": pre_model_hook,
        "post_model_hook": post_model_hook,
        "generate_structured_response": _structure(choice, response_format, plain),
    }
    builder = _with_nodes(StateGraph(schema, context_schema), nodes)
    connect(builder, routes)
    return builder.compile(
        checkpointer=checkpointer,
        store=store,
        interrupt_before=interrupt_before,
        interrupt_after=interrupt_after,
        debug=debug,
        name=name,
    )


def _context_schema(given: Any, deprecated: dict[str, Any]) -> Any:
    """The class of the context, which also goes by an older name.

    Raises:
        TypeError: there are other arguments, which nobody knows.
    """
    if "config_schema" in deprecated:
        warn(
            "`config_schema` is deprecated. Please use `context_schema` instead.",
            LangGraphDeprecatedSinceV10,
            depth=4,
        )
        given = deprecated.pop("config_schema")
    if deprecated:
        raise TypeError(f"create_react_agent() got unexpected keyword arguments: {deprecated}")
    return given


def _tool_node(tools: Sequence[Any] | ToolNode, plain: bool) -> tuple[ToolNode, list[dict[str, Any]]]:
    """The node of the tools, and the tools that the model's provider runs."""
    if isinstance(tools, ToolNode):
        return tools, []
    ours = [tool for tool in tools if not isinstance(tool, dict)]
    if plain:
        ours = [tool if hasattr(tool, "invoke") else FunctionTool(tool) for tool in ours]
    return ToolNode(ours), [tool for tool in tools if isinstance(tool, dict)]


def _direct(node: ToolNode) -> frozenset[str]:
    """The tools whose answers are the agent's last word."""
    return frozenset(
        name for name, tool in node.tools_by_name.items() if getattr(tool, "return_direct", False)
    )


def _model(model: Any, tools: Sequence[Any]) -> Any:
    return model if chooses_model(model) else ready(model, tools)


def _structure(choice: Choice, response_format: Any, plain: bool) -> Structure | None:
    """The node of the structured answer, where one is asked for."""
    if response_format is None:
        return None
    text, form = response_format if isinstance(response_format, tuple) else (None, response_format)
    return Structure(choice, form, text, plain)


def _with_nodes(
    builder: StateGraph[Any, Any, Any, Any], nodes: Mapping[str, Any]
) -> StateGraph[Any, Any, Any, Any]:
    """The graph with those nodes that there are; the model's also reads what a hook before it says."""
    hooked, schema = nodes["pre_model_hook"] is not None, builder.state_schema
    seen = {"agent": with_model_input(schema) if hooked else schema}
    for name, action in nodes.items():
        if action is not None:
            builder.add_node(name, action, input_schema=seen.get(name))
    return builder


create_tool_calling_executor: Callable[..., Any] = create_react_agent
