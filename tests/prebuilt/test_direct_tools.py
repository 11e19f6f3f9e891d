"""Tools that need nothing of LangChain but its name are called without it, unless somebody could tell."""

import dataclasses
import decimal
import functools
import math
from contextvars import ContextVar
from typing import Annotated, Any, Literal

import pytest

pytest.importorskip("langchain_core")

import langgraph.graph
import langgraph.prebuilt
from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.messages import AIMessage, ToolMessage
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import StructuredTool, ToolException, tool
from pydantic import BaseModel, Field

from graph_compat.constants import START
from graph_compat.graph import MessagesState, StateGraph
from graph_compat.prebuilt import ToolNode, create_react_agent
from graph_compat.prebuilt.tool import FunctionTool
from graph_compat.runtime import Runtime
from graph_compat.warnings import LangGraphDeprecatedSinceV10

from .callers import Caller, node_graph


class Point(BaseModel):
    x: int
    y: str = "y"


@dataclasses.dataclass
class Plain:
    a: int


RESULTS = [
    *(1, "é", None, {"a": "é", "b": [1]}, ["a", "b"], [1, 2], (1, "b"), {1}, b"x", True, range(3)),
    *([{"type": "text", "text": "x"}], [{"type": "other"}], ["a", {"type": "text", "text": "b"}]),
    *(Point(x=1), {"p": Point(x=1)}, Plain(1), decimal.Decimal("1.5"), math.nan, "", [], {}),
    *(ToolMessage("m", tool_call_id="0"), ValueError("no"), ToolException("no"), KeyError("no")),
]
"""What a tool returns; or raises, where it is an exception."""


def measure(
    a: int,
    b: str | None = None,
    c: Literal["x", "y"] = "x",
    d: Point | None = None,
    z: Annotated[int, Field(ge=3, default=5)] = 5,
) -> str:
    """Show the arguments."""
    return repr((a, b, c, d, z))


ARGUMENTS: list[dict[str, Any]] = [
    *({}, {"a": 1}, {"a": "2"}, {"a": "x"}, {"a": 1, "c": "bad"}, {"a": 1, "other": 3}, {"a": 1, "z": 1}),
    {"a": 1, "b": "t", "c": "y", "d": {"x": 1}, "z": 7},
]


def answer(module: Any, graph: Any, given: Any, name: str, args: Any, **options: Any) -> tuple[Any, ...]:
    """What a graph of one node with this tool answers a call with, or fails with."""
    builder = graph.StateGraph(graph.MessagesState)
    builder.add_node("tools", module.ToolNode([given], **options))
    builder.add_edge(graph.START, "tools")
    asked = AIMessage("", tool_calls=[{"name": name, "args": args, "id": "0", "type": "tool_call"}])
    try:
        message = builder.compile().invoke({"messages": [asked]})["messages"][-1]
    except Exception as error:
        return type(error).__name__, str(error)
    return message.content, message.status, message.artifact, message.name, message.tool_call_id


def both(*args: Any, **options: Any) -> tuple[Any, Any]:
    """The answers of LangGraph and of graph_compat."""
    import graph_compat.graph
    import graph_compat.prebuilt

    theirs = answer(langgraph.prebuilt, langgraph.graph, *args, **options)
    return theirs, answer(graph_compat.prebuilt, graph_compat.graph, *args, **options)


@pytest.mark.parametrize("made", [lambda function: function, tool], ids=["function", "tool"])
@pytest.mark.parametrize("result", RESULTS, ids=repr)
def test_any_result_is_answered_as_by_langchain(made: Any, result: Any) -> None:
    """What a tool returns or raises becomes the same message, whoever calls it."""

    def look() -> Any:
        """Look."""
        if isinstance(result, Exception):
            raise result
        return result

    theirs, ours = both(made(look), "look", {}, handle_tool_errors=True)
    assert ours == theirs


@pytest.mark.parametrize("made", [lambda function: function, tool], ids=["function", "tool"])
@pytest.mark.parametrize("args", ARGUMENTS, ids=repr)
@pytest.mark.parametrize("handled", [True, False])
def test_any_arguments_are_checked_as_by_langchain(made: Any, args: Any, handled: bool) -> None:
    """They are converted, filled and refused alike."""
    theirs, ours = both(made(measure), "measure", args, handle_tool_errors=handled)
    assert ours == theirs


class Heard(BaseCallbackHandler):
    """Counts the tools that it is told of."""

    def __init__(self) -> None:
        self.tools: list[str] = []

    def on_tool_start(self, serialized: dict[str, Any], *args: Any, **kwargs: Any) -> None:
        self.tools.append(serialized["name"])


@pytest.fixture
def by_langchain(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The tools that LangChain has called."""
    called: list[str] = []
    theirs = StructuredTool._to_args_and_kwargs

    def counted(self: Any, *args: Any, **kwargs: Any) -> Any:
        called.append(self.name)
        return theirs(self, *args, **kwargs)

    monkeypatch.setattr(StructuredTool, "_to_args_and_kwargs", counted)
    return called


def ask(name: str, args: Any) -> dict[str, Any]:
    calls = [{"name": name, "args": args, "id": "0", "type": "tool_call"}]
    return {"messages": [AIMessage("", tool_calls=calls)]}


@pytest.mark.parametrize("made", [lambda function: function, tool], ids=["function", "tool"])
def test_a_plain_tool_that_nobody_listens_to_runs_without_langchain(
    caller: Caller, made: Any, by_langchain: list[str]
) -> None:
    """It takes a fiftieth of the time."""
    result = caller.invoke(node_graph(ToolNode([made(measure)]), MessagesState), ask("measure", {"a": 1}))
    assert result["messages"][-1].content == "(1, None, 'x', None, 5)"
    assert by_langchain == []


def test_callbacks_hear_of_it(caller: Caller, by_langchain: list[str]) -> None:
    """A tool of a graph that somebody listens to is LangChain's to call."""
    heard = Heard()
    graph = node_graph(ToolNode([measure]), MessagesState)
    caller.invoke(graph, ask("measure", {"a": 1}), {"callbacks": [heard]})
    assert heard.tools == by_langchain == ["measure"]


def test_a_tool_that_is_not_langchains_runs_whoever_listens(caller: Caller) -> None:
    """LangChain doesn't know it, and so nobody is told of it."""
    heard = Heard()
    graph = node_graph(ToolNode([FunctionTool(measure)]), MessagesState)
    result = caller.invoke(graph, ask("measure", {"a": 1}), {"callbacks": [heard]})
    assert result["messages"][-1].content == "(1, None, 'x', None, 5)"
    assert heard.tools == []


def test_outside_of_a_graph_a_tool_is_langchains_to_call(by_langchain: list[str]) -> None:
    """A tracer may be at work there that no configuration tells of."""
    node = ToolNode([measure])
    node.invoke(ask("measure", {"a": 1}), {"configurable": {"__pregel_runtime": Runtime()}})
    assert by_langchain == ["measure"]


@pytest.mark.parametrize(
    "options",
    [
        {"tags": ["a"]},
        {"metadata": {"a": 1}},
        {"verbose": True},
        {"handle_tool_error": True},
        {"callbacks": [Heard()]},
    ],
    ids=lambda options: next(iter(options)),
)
def test_a_tool_with_settings_of_its_own_is_langchains(
    caller: Caller, options: dict[str, Any], by_langchain: list[str]
) -> None:
    """What it is set to only LangChain knows."""
    given = StructuredTool.from_function(measure, **options)
    caller.invoke(node_graph(ToolNode([given]), MessagesState), ask("measure", {"a": 1}))
    assert by_langchain == ["measure"]


class Loud(StructuredTool):
    """A tool that says what it came to in its own way."""

    def _run(self, *args: Any, config: RunnableConfig, **kwargs: Any) -> Any:
        return f"{super()._run(*args, config=config, **kwargs)}!"

    async def _arun(self, *args: Any, config: RunnableConfig, **kwargs: Any) -> Any:
        return f"{await super()._arun(*args, config=config, **kwargs)}!"


def test_a_tool_of_a_class_of_its_own_runs_as_that_says(caller: Caller) -> None:
    """What extends LangChain's tools is called by the methods that it has."""
    result = caller.invoke(
        node_graph(ToolNode([Loud.from_function(measure)]), MessagesState), ask("measure", {"a": 1})
    )
    assert result["messages"][-1].content.endswith("!")


def test_who_puts_code_around_langchains_tools_has_it_run(
    caller: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Tracers do, with a wrapper that tells what it wraps."""
    seen = []
    for name in ("invoke", "ainvoke"):
        theirs = getattr(StructuredTool, name)

        @functools.wraps(theirs)
        def traced(self: Any, *args: Any, theirs: Any = theirs, **kwargs: Any) -> Any:
            seen.append(self.name)
            return theirs(self, *args, **kwargs)

        monkeypatch.setattr(StructuredTool, name, traced)
    caller.invoke(node_graph(ToolNode([measure]), MessagesState), ask("measure", {"a": 1}))
    assert "measure" in seen


variable: ContextVar[str] = ContextVar("variable", default="as it was")


def test_what_a_tool_sets_in_its_context_stays_there(caller: Caller) -> None:
    """As LangChain has it: each call runs in a context of its own."""

    def first() -> str:
        """Set it."""
        variable.set("changed")
        return "set"

    def second(state: Any) -> Any:
        return {"messages": [ToolMessage(variable.get(), tool_call_id="1")]}

    def both(state: Any) -> Any:
        nested.invoke(state)
        return second(state)

    nested = ToolNode([first])
    graph = StateGraph(MessagesState)
    graph.add_node("both", both)
    graph.add_edge(START, "both")
    result = caller.invoke(graph.compile(), ask("first", {}))
    assert result["messages"][-1].content == "as it was"


def test_a_model_of_ones_own_is_handed_a_plain_configuration(caller: Caller) -> None:
    """A dict and no subclass of it, which code in C would read as an empty one."""
    kinds = []

    class Model:
        def bind_tools(self, tools: Any, **kwargs: Any) -> Any:
            return self

        def invoke(self, messages: Any, config: RunnableConfig | None = None) -> Any:
            kinds.append((type(config), (config or {})["metadata"]["langgraph_node"]))
            return AIMessage("done")

        async def ainvoke(self, messages: Any, config: RunnableConfig | None = None) -> Any:
            return self.invoke(messages, config)

    with pytest.warns(LangGraphDeprecatedSinceV10):
        agent = create_react_agent(Model(), [measure])
    caller.invoke(agent, {"messages": [("user", "Go.")]})
    assert kinds == [(dict, "agent")]
