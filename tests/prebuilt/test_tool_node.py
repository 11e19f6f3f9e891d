"""ToolNode with dict messages and plain functions; and what it does better than LangGraph's."""

import asyncio
import operator
import threading
from dataclasses import dataclass
from typing import Annotated, Any

import pytest
from typing_extensions import TypedDict

from graph_compat.checkpoint.memory import InMemorySaver
from graph_compat.constants import START
from graph_compat.graph.state import StateGraph
from graph_compat.managed import RemainingSteps
from graph_compat.prebuilt import InjectedState, ToolNode, ToolRuntime, tools_condition
from graph_compat.prebuilt.agent_states import DictAgentState
from graph_compat.prebuilt.tool import FunctionTool
from graph_compat.pushing import push
from graph_compat.types import Command, RetryPolicy, Send, interrupt

from .callers import ASYNCIO, BLOCKING, ONE, Caller, calls, contents, node_graph, says


def add(a: int, b: int = 1) -> int:
    """Add two numbers."""
    return a + b


def node(*functions: Any, **options: Any) -> ToolNode:
    """A node of plain functions, whether the test run has loaded LangChain or not."""
    return ToolNode([FunctionTool(function) for function in functions], **options)


def test_dicts_are_answered_with_dicts(caller: Caller) -> None:
    """An answer has the form of the call, the order of the calls, and their ids."""
    result = caller.invoke(
        node_graph(node(add)), {"messages": [calls(("add", {"a": 1}), ("add", {"a": "2", "b": 5}))]}
    )
    assert result["messages"][1:] == [
        {"role": "tool", "tool_call_id": "0", "name": "add", "content": "2"},
        {"role": "tool", "tool_call_id": "1", "name": "add", "content": "7"},
    ]


def test_arguments_that_are_no_json_are_answered(caller: Caller) -> None:
    """A model that writes broken JSON is told, and the other calls run."""
    result = caller.invoke(node_graph(node(add)), {"messages": [calls(("add", '{"a": '), ("add", {"a": 1}))]})
    broken, fine = contents(result)
    assert broken == (
        "Error invoking tool 'add' with kwargs {\"a\":  with error:\n the arguments are no JSON object\n"
        " Please fix the error and try again."
    )
    assert fine == "2"


def test_async_functions_are_tools(caller: Caller) -> None:
    """They are awaited by asyncio callers, and refused by blocking ones, who are told what to do."""

    async def slow(a: int) -> int:
        await asyncio.sleep(0)
        return a

    graph = node_graph(node(slow))
    given = {"messages": [calls(("slow", {"a": 1}), ("slow", {"a": 2}))]}
    if caller.asyncio:
        assert contents(caller.invoke(graph, given)) == ["1", "2"]
    else:
        with pytest.raises(TypeError, match="the tool 'slow' is async: call its graph with ainvoke"):
            caller.invoke(graph, given)


def test_the_graph_fills_what_the_model_does_not_see(caller: Caller) -> None:
    """The state, a key of it, and the runtime; what the model says in their place doesn't count."""

    class State(DictAgentState):
        user: str

    def who(user: Annotated[str, InjectedState("user")], runtime: ToolRuntime[Any, Any], x: int = 0) -> str:
        return f"{user} {runtime.tool_call_id} {sorted(runtime.state)} {x}"

    graph = node_graph(node(who), State)
    given = {"messages": [calls(("who", {"user": "eve", "x": 3}))], "user": "ada"}
    assert contents(caller.invoke(graph, given)) == ["ada 0 ['messages', 'remaining_steps', 'user'] 3"]


class Talk(TypedDict):
    messages: Annotated[list[Any], operator.add]


class Secrets(TypedDict):
    secret: int


class Both(Talk, Secrets):
    left: RemainingSteps


@dataclass
class Held:
    messages: Annotated[list[Any], operator.add]


@pytest.mark.parametrize(
    ("state", "own", "seen"),
    [
        pytest.param(Talk, None, "dict: messages", id="the graph's"),
        pytest.param(Talk, Both, "dict: left, messages, secret", id="the node's own"),
        pytest.param(Held, None, "Held: messages", id="an object"),
    ],
)
def test_a_call_that_is_sent_sees_the_input_that_its_node_would_have(
    caller: Caller, state: type, own: type | None, seen: str
) -> None:
    """Its state has the form and the keys of the node's own schema, not keys that only other nodes have."""

    def look(state: Annotated[Any, InjectedState], runtime: ToolRuntime) -> str:
        assert runtime.state == state
        return (
            f"{type(state).__name__}: {', '.join(sorted(state if isinstance(state, dict) else vars(state)))}"
        )

    def keep(state: Secrets) -> dict[str, Any]:
        return {"secret": 1}

    builder = StateGraph(state).add_node("keep", keep).add_node("tools", node(look), input_schema=own)
    call = {"name": "look", "args": {}, "id": "1", "type": "tool_call"}
    builder.add_edge(START, "keep").add_conditional_edges(
        "keep", lambda _: [Send("tools", [call])], ["tools"]
    )
    (answer,) = caller.invoke(builder.compile(), {"messages": []})["messages"]
    assert answer.content == seen


def test_an_answer_written_by_the_tool_passes(caller: Caller) -> None:
    """A tool may return the message itself."""

    def own(runtime: ToolRuntime[Any, Any]) -> dict[str, Any]:
        return {"role": "tool", "tool_call_id": runtime.tool_call_id, "content": [1]}

    assert contents(caller.invoke(node_graph(node(own)), {"messages": [calls(("own", {}))]})) == ["[1]"]


def test_outside_of_a_graph_it_is_refused() -> None:
    """It needs the run around it."""
    with pytest.raises(
        ValueError, match=r"Missing required config key 'N/A' for 'tools'\. A ToolNode runs in a graph"
    ):
        node(add).invoke({"messages": [calls(("add", {"a": 1}))]})


@pytest.mark.parametrize("given", [[], {}, {"messages": []}])
def test_a_condition_needs_messages(given: Any) -> None:
    """An empty list is no state to decide on, in any form."""
    with pytest.raises(ValueError, match="No messages found in input state to tool_edge"):
        tools_condition(given)
    assert tools_condition([says("x")]) == "__end__"
    assert tools_condition([calls(("add", {}))]) == "tools"


# -- errors -----------------------------------------------------------------------------------------


def test_an_object_may_handle_errors(caller: Caller) -> None:
    """The annotation of its `__call__` says which."""

    class Handler:
        def __call__(self, error: ValueError) -> str:
            return f"called with {error}"

    def fail(kind: str) -> str:
        raise {"value": ValueError, "key": KeyError}[kind](kind)

    graph = node_graph(node(fail, handle_tool_errors=Handler()))
    assert contents(caller.invoke(graph, {"messages": [calls(("fail", {"kind": "value"}))]})) == [
        "called with value"
    ]
    with pytest.raises(KeyError):
        caller.invoke(graph, {"messages": [calls(("fail", {"kind": "key"}))]})


def test_a_question_is_no_error(caller: Caller) -> None:
    """G8: with a wrapper, and every error handled, even by a tool that catches everything, an interrupt gets out."""

    def ask(what: str) -> str:
        try:
            return f"{what}: {interrupt(what)}"
        except Exception as error:
            return f"swallowed {error!r}"

    graph = node_graph(
        node(ask, handle_tool_errors=True, wrap_tool_call=lambda request, execute: execute(request)),
        checkpointer=InMemorySaver(),
    )
    result = caller.invoke(graph, {"messages": [calls(("ask", {"what": "name"}))]}, ONE)
    assert [question.value for question in result["__interrupt__"]] == ["name"]
    assert contents(caller.invoke(graph, Command(resume="ada"), ONE)) == ["name: ada"]


@pytest.mark.parametrize("first", [BLOCKING, ASYNCIO], ids=lambda caller: caller.name)
@pytest.mark.parametrize("nested", [False, True], ids=["itself", "in a graph of its own"])
def test_what_a_tool_asked_one_caller_is_answered_by_another(first: Caller, nested: bool) -> None:
    """Beside an async tool a blocking one is awaited in asyncio, and its question is the same question."""
    ran = []

    def begin(state: Any) -> None:
        ran.append("began")

    def approve(state: Any) -> dict[str, Any]:
        return {"messages": [says(interrupt("sure?"))]}

    inner: Any = StateGraph(DictAgentState).add_node("begin", begin).add_node("approve", approve)
    inner = inner.add_edge(START, "begin").add_edge("begin", "approve").compile()

    def ask(a: int) -> str:
        if not nested:
            return str(interrupt("sure?"))
        return str(inner.invoke({"messages": []})["messages"][-1]["content"])

    async def other(a: int) -> str:
        return "other"

    graph = node_graph(node(ask, other), checkpointer=InMemorySaver())
    first.invoke(graph, {"messages": [calls(("ask", {"a": 1}))]}, ONE)
    then = BLOCKING if first.asyncio else ASYNCIO
    assert contents(then.invoke(graph, Command(resume="yes"), ONE)) == ["yes"]
    assert ran == ["began"] * nested


@pytest.mark.parametrize("beside", ["blocking", "awaited"])
def test_what_a_blocking_tool_has_done_is_kept_though_another_fails(caller: Caller, beside: str) -> None:
    """G1: asyncio stops waiting for its thread, and records what that comes to."""
    failed, never, ran = threading.Event(), threading.Event(), []

    def pay(a: int) -> str:
        assert failed.wait(10)
        never.wait(0.05)  # so that nobody waits for it any more
        ran.append("pay")
        return "paid"

    def fail(a: int) -> str:
        ran.append("fail")
        failed.set()
        if ran.count("fail") == 1:
            raise ConnectionError("lost")
        return "ok"

    async def fail_awaited(a: int) -> str:
        return fail(a)

    if beside == "awaited" and not caller.asyncio:
        pytest.skip("a blocking caller has no async tools")
    other = fail if beside == "blocking" else fail_awaited
    asked = [
        {"name": name, "args": {"a": 1}, "id": name, "type": "tool_call"} for name in ("pay", other.__name__)
    ]
    builder: Any = StateGraph(DictAgentState)
    builder.add_node("tools", node(pay, other))
    builder.add_conditional_edges(START, lambda _: [Send("tools", [call]) for call in asked], ["tools"])
    graph = builder.compile(checkpointer=InMemorySaver())
    with pytest.raises(ConnectionError):
        caller.invoke(graph, {"messages": []}, ONE)
    assert contents(caller.invoke(graph, None, ONE)) == ["paid", "ok"]
    assert ran.count("pay") == 1


# -- interceptors -------------------------------------------------------------------------------------


def test_a_blocking_wrapper_runs_async_tools() -> None:
    """In asyncio `execute` runs the tool on the loop, while the wrapper waits in a thread."""

    async def slow(a: int) -> int:
        await asyncio.sleep(0)
        return a

    def wrapper(request: Any, execute: Any) -> Any:
        return {**execute(request), "content": "wrapped " + execute(request)["content"]}

    graph = node_graph(node(slow, wrap_tool_call=wrapper))
    result = asyncio.run(graph.ainvoke({"messages": [calls(("slow", {"a": 1}))]}))
    assert contents(result) == ["wrapped 1"]


def test_a_blocking_wrapper_lets_questions_of_async_tools_out() -> None:
    """G8: through the thread, and back with the answer."""

    async def ask(what: str) -> str:
        return f"{what}: {interrupt(what)}"

    wrapped = node(ask, handle_tool_errors=True, wrap_tool_call=lambda request, execute: execute(request))
    graph = node_graph(wrapped, checkpointer=InMemorySaver())
    asyncio.run(graph.ainvoke({"messages": [calls(("ask", {"what": "name"}))]}, ONE))
    assert contents(asyncio.run(graph.ainvoke(Command(resume="ada"), ONE))) == ["name: ada"]


def test_a_wrapper_may_bring_a_tool(caller: Caller) -> None:
    """A call of a name that the node doesn't have runs the tool that the request was given."""

    def late(x: int) -> str:
        return f"late {x}"

    def wrapper(request: Any, execute: Any) -> Any:
        return execute(request.override(tool=FunctionTool(late)))

    graph = node_graph(node(add, wrap_tool_call=wrapper))
    assert contents(caller.invoke(graph, {"messages": [calls(("late", {"x": 1}))]})) == ["late 1"]


# -- each call is a task --------------------------------------------------------------------------------


def test_a_finished_call_is_not_repeated_when_another_fails(caller: Caller) -> None:
    """G1: a retry of the node runs the failed call alone."""
    ran: list[str] = []

    def work(what: str) -> str:
        ran.append(what)
        if what == "flaky" and ran.count("flaky") == 1:
            raise ConnectionError(what)
        return what

    builder: Any = StateGraph(DictAgentState)
    builder.add_node("tools", node(work), retry_policy=RetryPolicy(initial_interval=0, jitter=False))
    builder.add_edge(START, "tools")
    graph = builder.compile(checkpointer=InMemorySaver())
    asked = calls(("work", {"what": "a"}), ("work", {"what": "b"}), ("work", {"what": "flaky"}))
    assert contents(caller.invoke(graph, {"messages": [asked]}, ONE)) == ["a", "b", "flaky"]
    assert sorted(ran) == ["a", "b", "flaky", "flaky"]


def test_what_a_finished_call_pushed_is_not_lost(caller: Caller) -> None:
    """A tool's push to the state is part of its call's record: a retry of the node has it, and has it once."""

    class State(DictAgentState):
        pushed: Annotated[list[int], operator.add]

    failures = [ConnectionError("once")]

    def note(a: int) -> str:
        push("pushed", [a])
        return "noted"

    def flaky() -> str:
        if failures:
            raise failures.pop()
        return "fine"

    builder: Any = StateGraph(State)
    builder.add_node("tools", node(note, flaky), retry_policy=RetryPolicy(initial_interval=0, jitter=False))
    builder.add_edge(START, "tools")
    given = {"messages": [calls(("note", {"a": 1}), ("note", {"a": 2}), ("flaky", {}))], "pushed": [0]}
    result = caller.invoke(builder.compile(), given)
    assert (result["pushed"], contents(result)) == ([0, 1, 2], ["noted", "noted", "fine"])


def test_equal_calls_are_two_calls(caller: Caller) -> None:
    """Section 4: the call's id tells them apart."""
    ran: list[int] = []

    def roll() -> int:
        ran.append(len(ran))
        return ran[-1]

    graph = node_graph(node(roll), checkpointer=InMemorySaver())
    assert sorted(contents(caller.invoke(graph, {"messages": [calls(("roll", {}), ("roll", {}))]}, ONE))) == [
        "0",
        "1",
    ]


def test_several_calls_ask_at_once(caller: Caller) -> None:
    """G8: all questions of one node are surfaced, each is answered by its id, and nothing else runs again."""
    ran: list[str] = []

    def ask(what: str) -> str:
        ran.append(what)
        return f"{what}: {interrupt(what)}"

    graph = node_graph(node(ask, add), checkpointer=InMemorySaver())
    asked = calls(("ask", {"what": "x"}), ("add", {"a": 1}), ("ask", {"what": "y"}))
    result = caller.invoke(graph, {"messages": [asked]}, ONE)
    ids = {question.value: question.id for question in result["__interrupt__"]}
    assert sorted(ids) == ["x", "y"]
    result = caller.invoke(graph, Command(resume={ids["y"]: "Y"}), ONE)
    assert [question.value for question in result["__interrupt__"]] == ["x"]
    assert contents(caller.invoke(graph, Command(resume={ids["x"]: "X"}), ONE)) == ["x: X", "2", "y: Y"]
    assert ran.count("y") == 2


def test_streams_show_the_node_alone(caller: Caller) -> None:
    """Its calls are a part of it, as in LangGraph."""
    given = {"messages": [calls(("add", {"a": 1}), ("add", {"a": 2}))]}
    chunks = caller.stream(node_graph(node(add)), given, stream_mode=["updates", "tasks"])
    named = [next(iter(chunk)) if mode == "updates" else chunk["name"] for mode, chunk in chunks]
    assert named == ["tools", "tools", "tools"]


# -- commands -------------------------------------------------------------------------------------------


def test_commands_for_the_graph_around_become_one(caller: Caller) -> None:
    """All that they send arrives, and so does all that they update."""

    class State(DictAgentState):
        seen: Annotated[list[Any], operator.add]

    def hand(x: int) -> Command[Any]:
        return Command(
            graph=Command.PARENT, goto=[Send("after", {"seen": [x]})], update={"seen": [f"update {x}"]}
        )

    builder: Any = StateGraph(State)
    builder.add_node("inner", node_graph(node(hand), State))
    builder.add_node("after", lambda state: {"seen": [("after", state["seen"])]})
    builder.add_edge(START, "inner")
    given = {"messages": [calls(("hand", {"x": 1}), ("hand", {"x": 2}))], "seen": []}
    assert caller.invoke(builder.compile(), given)["seen"] == [
        "update 1",
        "update 2",
        ("after", [1]),
        ("after", [2]),
    ]


def test_a_command_needs_its_answer(caller: Caller) -> None:
    """Else the model's next call would be refused."""

    class State(TypedDict):
        messages: Annotated[list[Any], operator.add]
        user: str

    def rename(user: str, runtime: ToolRuntime[Any, Any]) -> Command[Any]:
        answer = {"role": "tool", "tool_call_id": runtime.tool_call_id, "content": "renamed"}
        return Command(update={"user": user, **({"messages": [answer]} if user == "bob" else {})})

    graph = node_graph(node(rename), State)
    result = caller.invoke(graph, {"messages": [calls(("rename", {"user": "bob"}))]})
    assert (result["user"], result["messages"][-1]["name"]) == ("bob", "rename")
    with pytest.raises(
        ValueError, match=r"Expected to have a matching ToolMessage in Command\.update for tool 'rename'"
    ):
        caller.invoke(graph, {"messages": [calls(("rename", {"user": "eve"}))]})
