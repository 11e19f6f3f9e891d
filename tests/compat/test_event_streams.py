"""Stream events v3, beside what the programs in `programs/event_streams.py` compare: errors, readers, no LangChain."""

import asyncio
import operator
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Any

import pytest
from typing_extensions import TypedDict

from graph_compat.graph import START, StateGraph
from graph_compat.stream import StreamChannel, StreamTransformer
from graph_compat.stream._mux import StreamMux
from graph_compat.stream.transformers import BUILTINS

from .test_messages import WITHOUT


class State(TypedDict):
    x: Annotated[list[Any], operator.add]


def chain(*functions: Any, **options: Any) -> Any:
    """A graph of nodes in turn."""
    builder = StateGraph(State)
    before = START
    for number, function in enumerate(functions):
        builder.add_node(f"n{number}", function)
        builder.add_edge(before, f"n{number}")
        before = f"n{number}"
    return builder.compile(**options)


def says(word: str) -> Any:
    return lambda state: {"x": [word]}


def fails(state: Any) -> Any:
    raise ValueError("no luck")


class Idle(StreamTransformer):
    """Sees events, and shows nothing."""

    def init(self) -> dict[str, Any]:
        return {}

    def process(self, event: Any) -> bool:
        return True


NOTHING: Any = {"x": []}


def begun(graph: Any, given: Any = NOTHING, **options: Any) -> Any:
    return graph.stream_events(given, version="v3", **options)


async def abegun(graph: Any, given: Any = NOTHING, **options: Any) -> Any:
    return await graph.astream_events(given, version="v3", **options)


async def each(shown: Any) -> list[Any]:
    return [item async for item in shown]


@dataclass(frozen=True)
class Reader:
    """Who begins runs and reads them: a blocking program, or one of asyncio."""

    runner: asyncio.Runner | None

    def begun(self, graph: Any, given: Any = NOTHING, **options: Any) -> Any:
        if self.runner is None:
            return begun(graph, given, **options)
        return self.runner.run(abegun(graph, given, **options))

    def each(self, shown: Any) -> list[Any]:
        """All that a projection shows."""
        return list(shown) if self.runner is None else self.runner.run(each(shown))

    def first(self, shown: Any) -> Any:
        """What a projection shows first."""
        return next(iter(shown)) if self.runner is None else self.runner.run(anext(aiter(shown)))

    def output(self, run: Any) -> Any:
        """What a run comes to."""
        return run.output if self.runner is None else self.runner.run(run.output())


@pytest.fixture(params=["blocking", "asyncio"])
def reader(request: pytest.FixtureRequest) -> Iterator[Reader]:
    if request.param == "blocking":
        yield Reader(None)
        return
    with asyncio.Runner() as runner:
        yield Reader(runner)


class Endless:
    """A node that waits until it is stopped."""

    def __init__(self) -> None:
        self.reached = asyncio.Event()
        self.was_stopped = False

    async def waits(self, state: Any) -> Any:
        self.reached.set()
        try:
            await asyncio.Event().wait()
        finally:
            self.was_stopped = True


# -- who is refused -------------------------------------------------------------------------------


@pytest.mark.parametrize("option", ["stream_mode", "subgraphs"])
def test_what_is_streamed_is_not_the_callers_to_say(reader: Reader, option: str) -> None:
    """The modes are those of the transformers, nested graphs included; the message says what to pass instead."""
    with pytest.raises(TypeError, match=rf"do not accept {option}: .*Pass transformers="):
        reader.begun(chain(says("a")), **{option: "values"})


def test_what_is_no_factory_is_refused(reader: Reader) -> None:
    """An instance, which can't serve two graphs, is told apart from what is no transformer at all."""
    with pytest.raises(
        TypeError, match=r"got pre-built instance Idle\. .*`lambda scope: Idle\(scope, \.\.\.\)`"
    ):
        reader.begun(chain(says("a")), transformers=[Idle()])
    with pytest.raises(TypeError, match=r"scope-aware callables, got int\."):
        reader.begun(chain(says("a"), transformers=[5]))
    with pytest.raises(TypeError, match="is no factory of transformers: it returned 1"):
        reader.begun(chain(says("a")), transformers=[lambda scope: 1])


def test_what_shows_no_dict_or_a_taken_name_is_refused(reader: Reader) -> None:
    """`init()` returns a dict, whose names no other transformer has; the message says which one does."""

    class Nothing(Idle):
        def init(self) -> Any:
            return None

    class Values(Idle):
        def init(self) -> Any:
            return {"values": StreamChannel()}

    with pytest.raises(TypeError, match=r"init\(\) must return a dict, got NoneType"):
        reader.begun(chain(says("a")), transformers=[Nothing])
    with pytest.raises(ValueError, match=r"Values returned .* 'values' \(owned by ValuesTransformer\)"):
        reader.begun(chain(says("a")), transformers=[Values])


def test_what_has_to_be_awaited_is_refused_by_a_blocking_run() -> None:
    """A transformer that overrides an async method, or says so, is for asyncio; unless it says that it does both."""

    class Awaited(Idle):
        async def aprocess(self, event: Any) -> bool:
            return True

    class Marked(Idle):
        requires_async = True

    class Both(Awaited):
        supports_sync = True

    for kind in (Awaited, Marked):
        with pytest.raises(
            RuntimeError, match=rf"{kind.__name__} requires an async run.*Use astream_events\(\)"
        ):
            begun(chain(says("a")), transformers=[kind])
    assert begun(chain(says("a")), transformers=[Both]).output == {"x": ["a"]}


def test_what_is_scheduled_needs_an_event_loop() -> None:
    """`schedule()` in a blocking run fails the run, and says what to write."""

    async def nothing() -> None: ...

    class Schedules(Idle):
        def process(self, event: Any) -> bool:
            self.schedule(nothing())
            return True

    with pytest.raises(RuntimeError, match=r"Schedules\.schedule\(\) requires .* Set requires_async=True"):
        assert begun(chain(says("a")), transformers=[Schedules]).output


def test_a_name_that_is_in_extensions_is_told(reader: Reader) -> None:
    """A program's projections are no attributes; the message says where they are."""

    class Shows(Idle):
        def init(self) -> dict[str, Any]:
            return {"mine": StreamChannel()}

    run = reader.begun(chain(says("a")), transformers=[Shows])
    with pytest.raises(AttributeError, match=r"run\.extensions\['mine'\]"):
        assert run.mine


# -- channels -------------------------------------------------------------------------------------


def channel(*, is_async: bool = False) -> StreamChannel[Any]:
    found: StreamChannel[Any] = StreamChannel()
    found._bind(is_async=is_async)
    return found


def test_a_channel_belongs_to_a_run() -> None:
    """It can't be read before, nor by the other kind of caller."""
    with pytest.raises(TypeError, match="has not been bound yet"):
        iter(StreamChannel())
    with pytest.raises(TypeError, match="bound to async mode — use 'async for' instead"):
        iter(channel(is_async=True))
    with pytest.raises(TypeError, match="bound to sync mode — use 'for' instead"):
        aiter(channel())
    with pytest.raises(ValueError, match="maxlen must be a positive int or None"):
        StreamChannel(maxlen=0)


def test_a_channel_shows_what_comes_before_it_ends() -> None:
    """What was pushed is read before the error that the channel ended with; nothing is pushed after that."""
    shown = channel()
    reader = iter(shown)
    shown.push(1)
    shown.fail(ValueError("over"))
    assert next(reader) == 1
    with pytest.raises(ValueError, match="over"):
        next(reader)
    with pytest.raises(RuntimeError, match="Cannot push to a closed StreamChannel"):
        shown.push(2)


def test_a_reader_that_has_gone_keeps_nothing() -> None:
    """What comes after a reader has left is kept for nobody."""
    shown = channel()
    reader: Any = iter(shown)
    shown.push(1)
    assert next(reader) == 1
    reader.close()
    assert shown._sinks == []


def test_projections_that_are_left_keep_nothing() -> None:
    """Who leaves `interleave` early leaves nothing behind, and the run can be read on."""
    run = begun(chain(says("a"), says("b")))
    reader = run.interleave("values", "lifecycle")
    assert next(reader) == ("values", {"x": []})
    reader.close()
    assert (run.values._sinks, run.output) == ([], {"x": ["a", "b"]})


def test_instances_make_no_transformers_of_nested_graphs() -> None:
    """A mux of instances says that it can't be asked for those of a nested graph."""
    with pytest.raises(RuntimeError, match="made without factories"):
        StreamMux([Idle()])._make_child(("a:1",))
    assert StreamMux(factories=BUILTINS)._make_child(("a:1",)).scope == ("a:1",)


# -- ends -----------------------------------------------------------------------------------------


def test_a_nested_failure_has_its_cause(reader: Reader) -> None:
    """What a handle raises says what the nested graph raised."""
    handle = reader.first(reader.begun(chain(chain(fails))).subgraphs)
    with pytest.raises(RuntimeError, match="no luck") as raised:
        assert reader.output(handle)
    assert isinstance(raised.value.__cause__, ValueError)


def test_a_transformer_that_fails_fails_the_run(reader: Reader) -> None:
    """Its error is that of every projection, be it raised by an event or at the end, and the graph stops."""
    ran = []

    class Fails(Idle):
        def process(self, event: Any) -> bool:
            raise ValueError("no luck")

    class FailsLate(Idle):
        def finalize(self) -> None:
            raise ValueError("no luck")

    for kind in (Fails, FailsLate):
        with pytest.raises(ValueError, match="no luck"):
            reader.each(reader.begun(chain(says("a")), transformers=[kind]).lifecycle)
    with pytest.raises(ValueError, match="no luck"):
        reader.output(reader.begun(chain(says("a"), lambda state: ran.append(1)), transformers=[Fails]))
    assert ran == []


def test_the_graphs_in_calls_of_a_tool_node_end(reader: Reader) -> None:
    """A graph that one of several tool calls runs ends with its superstep, though the call isn't shown as a task."""
    from graph_compat.graph import MessagesState
    from graph_compat.prebuilt import ToolNode

    inner = chain(says("i"))

    def delegate(q: str) -> str:
        """Delegate."""
        return str(inner.invoke({"x": [q]})["x"])

    def model(state: Any) -> Any:
        from langchain_core.messages import AIMessage

        calls = [{"name": "delegate", "args": {"q": q}, "id": q} for q in "ab"]
        return {"messages": [AIMessage("", id="ai", tool_calls=calls)]}

    builder = StateGraph(MessagesState).add_node("model", model).add_node("tools", ToolNode([delegate]))
    builder.add_node("last", lambda state: {}).add_edge(START, "model").add_edge("model", "tools")
    graph = builder.add_edge("tools", "last").compile()
    told = reader.each(reader.begun(graph, {"messages": []}).lifecycle)
    assert sorted(end["event"] for end in told) == ["completed", "completed", "started", "started"]
    handles = reader.each(reader.begun(graph, {"messages": []}).subgraphs)
    assert sorted(reader.output(handle)["x"][0] for handle in handles) == ["a", "b"]


def test_a_graph_in_a_call_of_a_tool_node_that_asks_is_interrupted(reader: Reader) -> None:
    """Of two calls at once, the graph of the one that asks is, and that of the other is complete."""
    from langchain_core.messages import AIMessage

    from graph_compat.checkpoint.memory import InMemorySaver
    from graph_compat.graph import MessagesState
    from graph_compat.prebuilt import ToolNode
    from graph_compat.types import interrupt

    inner = chain(lambda state: {"x": [interrupt("?")]} if state["x"] == ["asks"] else {"x": ["!"]})

    def delegate(q: str) -> str:
        """Delegate."""
        return str(inner.invoke({"x": [q]})["x"])

    def model(state: Any) -> Any:
        calls = [{"name": "delegate", "args": {"q": q}, "id": q} for q in ("asks", "tells")]
        return {"messages": [AIMessage("", id="ai", tool_calls=calls)]}

    builder = StateGraph(MessagesState).add_node("model", model).add_node("tools", ToolNode([delegate]))
    graph = builder.add_edge(START, "model").add_edge("model", "tools").compile(checkpointer=InMemorySaver())
    config = {"configurable": {"thread_id": "1"}}
    told = reader.each(reader.begun(graph, {"messages": []}, config=config).lifecycle)
    assert sorted(end["event"] for end in told) == ["completed", "interrupted", "started", "started"]


# -- asyncio --------------------------------------------------------------------------------------


def test_several_tasks_read_one_run() -> None:
    """Each gets what it reads, whoever drives the run, and the result is there for all."""

    async def main() -> Any:
        run = await abegun(chain(says("a"), chain(says("b"))))

        async def nested() -> list[Any]:
            return [await each(handle.values) async for handle in run.subgraphs]

        return await asyncio.gather(each(run.values), nested(), run.output(), run.interrupted())

    states, nested, output, interrupted = asyncio.run(main())
    assert states == [{"x": []}, {"x": ["a"]}, {"x": ["a", "a", "b"]}]
    assert nested == [[{"x": ["a"]}, {"x": ["a", "b"]}]]
    assert (output, interrupted) == ({"x": ["a", "a", "b"]}, False)


def test_what_is_scheduled_ends_before_the_run_does() -> None:
    """What it shows late is shown; an error of it is logged, or with `on_error="raise"` is the run's."""

    class Late(Idle):
        on_error: Any = "log"

        def init(self) -> dict[str, Any]:
            self.late: StreamChannel[Any] = StreamChannel()
            return {"late": self.late}

        async def aprocess(self, event: Any) -> bool:
            if event["method"] == "values":
                self.schedule(self.learn(event["params"]["data"]), on_error=self.on_error)
            return True

        async def learn(self, state: Any) -> None:
            await asyncio.sleep(0)
            if state["x"]:
                raise ValueError("no luck")
            self.late.push(state)

    class Strict(Late):
        on_error = "raise"

    async def read(kind: Any) -> Any:
        run = await abegun(chain(says("a")), transformers=[kind])
        found = await each(run.extensions["late"])
        return found, await run.output(), run._mux._collect_scheduled_tasks()

    assert asyncio.run(read(Late)) == ([{"x": []}], {"x": ["a"]}, [])
    with pytest.raises(ValueError, match="no luck"):
        asyncio.run(read(Strict))


def test_a_reader_that_is_cancelled_leaves_the_run_to_others() -> None:
    """The step that it waited for goes on, and what comes of it is read by another one."""

    async def main() -> Any:
        reached, go = asyncio.Event(), asyncio.Event()

        async def waits(state: Any) -> Any:
            reached.set()
            await go.wait()
            return {"x": ["waited"]}

        run = await abegun(chain(waits))
        reader = asyncio.ensure_future(run.output())
        await reached.wait()
        reader.cancel()
        with pytest.raises(asyncio.CancelledError):
            await reader
        go.set()
        return await run.output()

    assert asyncio.run(main()) == {"x": ["waited"]}


def test_a_run_is_aborted_while_somebody_waits() -> None:
    """The node is cancelled, and who waits reads the end."""

    async def main() -> Any:
        node = Endless()
        run = await abegun(chain(node.waits))
        reading = asyncio.ensure_future(each(run.values))
        await node.reached.wait()
        await run.abort()
        return await asyncio.wait_for(reading, 30), await run.output(), node.was_stopped

    assert asyncio.run(main()) == ([{"x": []}], {"x": []}, True)


def test_a_run_that_a_node_reads_stops_with_the_node() -> None:
    """A node that is cancelled while it reads leaves nothing running behind it."""

    async def main() -> Any:
        node = Endless()
        inner = chain(node.waits)

        async def reads(state: Any) -> Any:
            return await (await abegun(inner)).output()

        running = asyncio.ensure_future(chain(reads).ainvoke({"x": []}))
        await node.reached.wait()
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        return node.was_stopped

    assert asyncio.run(main()) is True


LEFT = """
import asyncio, gc
from typing import TypedDict
from graph_compat.graph import START, StateGraph

class State(TypedDict, total=False):
    x: int

async def node(state):
    return {"x": 1}

graph = StateGraph(State).add_node("a", node).add_node("b", node).add_edge(START, "a").add_edge("a", "b").compile()

async def main():
    run = await graph.astream_events({"x": 0}, version="v3")
    async for state in run.values:
        break
    if LEAVES:
        del run
        while len(asyncio.all_tasks()) > 1:
            gc.collect()
            await asyncio.sleep(0)
    print(state)

asyncio.run(main())
"""


@pytest.mark.parametrize("leaves", [True, False])
def test_a_run_that_is_left_ends_quietly(leaves: bool, run_python: Any) -> None:
    """A run that nobody has any more ends, and one that somebody has does when the loop ends."""
    done = run_python("-W", "error", "-c", f"LEAVES = {leaves}\n{LEFT}")
    assert (done.stdout, done.stderr) == ("{'x': 0}\n", "")


# -- without LangChain ----------------------------------------------------------------------------


def test_without_langchain(run_python: Any) -> None:
    """Where langchain-core isn't installed, messages are shown as the dicts that they are, and calls of functions."""
    code = """
from graph_compat.prebuilt import ToolCallTransformer, ToolRuntime, create_react_agent

def weather(city: str, runtime: ToolRuntime) -> str:
    "The weather in a city."
    runtime.emit_output_delta("looking")
    return f"21 degrees in {city}"

def fails() -> str:
    "Fails."
    raise ValueError("no luck")

def model(messages, tools):
    if messages[-1]["role"] == "tool":
        return "It is " + messages[-1]["content"]
    name, arguments = ("weather", '{"city": "Rome"}') if messages[-1]["content"] == "warm?" else ("fails", "{}")
    call = {"id": "1", "type": "function", "function": {"name": name, "arguments": arguments}}
    return {"role": "assistant", "content": "", "tool_calls": [call]}

agent = create_react_agent(model, [weather, fails])
run = agent.stream_events({"messages": "warm?"}, version="v3", transformers=[ToolCallTransformer])
for call in run.tool_calls:
    print(call.tool_name, call.input, list(call), call.output, call.error)
run = agent.stream_events({"messages": "warm?"}, version="v3")
print([message["content"] for message in run.messages])
run = agent.stream_events({"messages": "cold?"}, version="v3", transformers=[ToolCallTransformer])
try:
    for call in run.tool_calls:
        print(list(call), call.output, call.error)
except ValueError as error:
    print(error)
"""
    done = run_python("-c", WITHOUT + code)

    assert done.stderr == ""
    assert done.stdout.splitlines() == [
        "weather {'city': 'Rome'} ['looking'] 21 degrees in Rome None",
        "['', 'It is 21 degrees in Rome']",
        "[] None no luck",
        "no luck",
    ]


def test_importing_the_package_imports_no_langchain(run_python: Any) -> None:
    """`import graph_compat.stream` loads nothing of LangChain, nor does a graph that has transformers."""
    code = """
import sys
from graph_compat.graph import START, StateGraph
from graph_compat.stream import UpdatesTransformer
builder = StateGraph(dict).add_node("n", lambda state: state).add_edge(START, "n")
print(builder.compile(transformers=[UpdatesTransformer]).invoke({}))
print([name for name in sys.modules if name.startswith("langchain")])
"""
    assert run_python("-c", code).stdout.splitlines() == ["{}", "[]"]
