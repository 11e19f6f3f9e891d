"""Stream events v3: runs that are read by what they show (behaviour of section 4.7)."""

import warnings
from typing import ClassVar

from langchain_core._api import LangChainBetaWarning
from langchain_core.language_models.fake_chat_models import FakeMessagesListChatModel, GenericFakeChatModel
from langchain_core.messages import AIMessage, AIMessageChunk, HumanMessage, ToolMessage
from langchain_core.outputs import ChatGenerationChunk
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.config import get_stream_writer
from langgraph.errors import GraphDrained
from langgraph.func import entrypoint
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.graph.message import push_message
from langgraph.prebuilt import ToolCallTransformer, ToolNode, ToolRuntime
from langgraph.runtime import RunControl
from langgraph.stream import (
    CheckpointsTransformer,
    CustomTransformer,
    DebugTransformer,
    StreamChannel,
    StreamTransformer,
    TasksTransformer,
    UpdatesTransformer,
)
from langgraph.types import Command, Send, interrupt

from ..parts import ONE, State, edges, nodes
from ..trace import differs, differs_by_caller, raised


async def _begun(t, graph, *args, **kw):
    """A run by v3."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LangChainBetaWarning)
        return await t.call(graph, "stream_events", *args, version="v3", **kw)


async def _told(t, run, name):
    """Its `output`, `interrupted` or `interrupts`."""
    return await getattr(run, name)() if t.asyncio else getattr(run, name)


async def _read(t, channel, label="read"):
    """What a projection shows, and the error that it ends with."""
    found = []
    try:
        if t.asyncio:
            async for each in channel:
                found.append(without_time(each))
        else:
            for each in channel:
                found.append(without_time(each))
    except (Exception, GraphDrained) as error:
        t.note(f"{label} raised", raised(error))
    t.note(label, found)
    return found


async def _each_of(t, channel, function):
    """Call the function with each item when it is shown."""
    if t.asyncio:
        async for each in channel:
            await function(each)
    else:
        for each in channel:
            await function(each)


def without_time(event):
    """An event whose time is only known to be a number."""
    if not isinstance(event, dict) or "params" not in event:
        return event
    params = event["params"]
    return {**event, "params": {**params, "timestamp": isinstance(params["timestamp"], int)}}


def leaf(t, *names, **functions):
    """A graph of nodes in turn."""
    builder = nodes(t, StateGraph(State), *names, **functions)
    return edges(builder, " ".join([".", *names, *functions, "."]))


def around(t, inner):
    """A graph whose node `sub` is another one."""
    builder = nodes(t, StateGraph(State), "a", "z").add_node("sub", inner)
    return edges(builder, ". a sub z .")


async def raw_events(t):
    """A run iterated: its events in order, nested graphs' and their lifecycle included."""
    graph = around(t, leaf(t, "i", "j").compile()).compile()
    run = await _begun(t, graph, {"x": []})
    await _read(t, run)
    t.note("output", await _told(t, run, "output"))


async def projections(t):
    """Each projection shows its own graph."""
    graph = around(t, leaf(t, "i").compile()).compile()
    for name in ("values", "lifecycle", "messages"):
        run = await _begun(t, graph, {"x": []})
        t.note("extensions", sorted(run.extensions))
        await _read(t, getattr(run, name), name)
        t.note("output", await _told(t, run, "output"))


async def what_was_not_read_is_gone(t):
    """A projection keeps what comes after somebody has begun to read it."""
    run = await _begun(t, leaf(t, "a", "b").compile(), {"x": []})
    t.note("output", await _told(t, run, "output"))
    await _read(t, run.values, "values")
    await _read(t, run, "raw")


async def nothing_runs_unasked(t):
    """A run begins when something of it is read, and goes on as far as is asked."""
    ran = []
    graph = leaf(t, first=lambda state: ran.append("first")).compile()
    run = await _begun(t, graph, {"x": []})
    t.note("begun", list(ran))
    found = aiter(run.values) if t.asyncio else iter(run.values)
    t.note("state", await anext(found) if t.asyncio else next(found))
    t.note("after the input", list(ran))
    await _read(t, found)
    t.note("at the end", ran)


@differs_by_caller("what makes several readers is named")
async def one_reader_each(t):
    """A projection is read once; `tee` makes several readers of one."""
    run = await _begun(t, leaf(t, "a").compile(), {"x": []})
    first, second = run.values.atee(2) if t.asyncio else run.values.tee(2)
    await _read(t, first)
    await _read(t, second)
    t.raises(lambda: iter(run.values) if not t.asyncio else aiter(run.values))
    t.raises(lambda: run.values.atee(0) if t.asyncio else run.values.tee(0))


@differs_by_caller("blocking callers have interleave(), asyncio ones have tasks")
async def several_projections_in_order(t):
    """`interleave` has the items of several projections in the order of the run."""
    graph = around(t, leaf(t, "i").compile()).compile()
    run = await _begun(t, graph, {"x": []})
    if t.asyncio:
        t.raises(lambda: run.interleave("values"))
        return
    found = run.interleave("lifecycle", "values", "subgraphs")
    t.note("in order", [(name, None if name == "subgraphs" else item) for name, item in found])
    run = await _begun(t, graph, {"x": []})
    t.raises(lambda: list(run.interleave("nope")))


@differs_by_caller("iteration of the other kind is named")
async def the_other_kind_of_iteration(t):
    """A blocking run isn't read by `async for`, nor an asyncio one by `for`."""
    run = await _begun(t, leaf(t, "a").compile(), {"x": []})
    t.raises(lambda: iter(run.values) if t.asyncio else aiter(run.values))


@differs_by_caller("the classes of runs have names of their own")
async def names_that_are_no_projection(t):
    """A projection that nobody asked for is no attribute; the message lists those that are."""
    run = await _begun(t, leaf(t, "a").compile(), {"x": []})
    t.raises(lambda: run.updates)


async def nested_runs(t):
    """A handle on each nested graph, and on those in it: who it is, its result, how it ended."""
    graph = around(t, around(t, leaf(t, "i").compile()).compile()).compile()
    run = await _begun(t, graph, {"x": ["0"]})

    async def nested(handle):
        t.note("nested", (handle.path, handle.graph_name, handle.trigger_call_id, handle.status))
        await _each_of(t, handle.subgraphs, nested)
        t.note("output", await _told(t, handle, "output"))
        t.note("ended", (handle.status, handle.error, await _told(t, handle, "interrupted")))

    await _each_of(t, run.subgraphs, nested)
    t.note("output", await _told(t, run, "output"))


@differs("a nested run shows what it begins with")
async def states_of_nested_runs(t):
    """The state of a nested graph, from the first on."""
    run = await _begun(t, around(t, leaf(t, "i").compile()).compile(), {"x": ["0"]})
    await _each_of(t, run.subgraphs, lambda handle: _read(t, handle.values, "values"))


@differs("a nested run shows what it begins with")
async def events_of_nested_runs(t):
    """The raw events of a nested graph."""
    graph = around(t, around(t, leaf(t, "i").compile()).compile()).compile()
    run = await _begun(t, graph, {"x": ["0"]})
    await _each_of(t, run.subgraphs, lambda handle: _read(t, handle, "raw"))


@differs("each graph that a node calls is told of")
async def two_graphs_in_a_node(t):
    """A node that calls two graphs, one after the other."""
    inner = leaf(t, "i").compile()

    async def calls(state):
        await t.call(inner, "invoke", {"x": ["1"]})
        return await t.call(inner, "invoke", {"x": ["2"]})

    graph = leaf(t, calls=calls).compile()
    await _read(t, (await _begun(t, graph, {"x": []})).lifecycle, "lifecycle")
    run = await _begun(t, graph, {"x": []})

    async def nested(handle):
        t.note("output", await _told(t, handle, "output"))

    await _each_of(t, run.subgraphs, nested)


async def nested_graphs_side_by_side(t):
    """Each of the graphs that one superstep runs has its own handle, and its own result."""
    inner = leaf(t, w=lambda state: {"x": ["w"]}).compile()
    builder = StateGraph(State).add_node("w", inner)
    builder.add_conditional_edges(START, lambda state: [Send("w", {"x": [i]}) for i in range(3)], ["w"])
    run = await _begun(t, builder.compile(), {"x": []})
    found = []

    async def nested(handle):
        found.append((await _told(t, handle, "output"), handle.status))

    await _each_of(t, run.subgraphs, nested)
    t.note("nested", sorted(found, key=str))
    t.note("output", await _told(t, run, "output"))


async def going_on_after_an_abort(t):
    """A run that was left is gone on with, from where it stopped."""
    graph = leaf(t, "a", "b", "c").compile(checkpointer=InMemorySaver())
    run = await _begun(t, graph, {"x": []}, ONE)
    found = aiter(run.values) if t.asyncio else iter(run.values)
    for _ in range(2):
        await anext(found) if t.asyncio else next(found)
    await run.abort() if t.asyncio else run.abort()
    run = await _begun(t, graph, None, ONE)
    t.note("output", await _told(t, run, "output"))


async def questions(t):
    """A run that stops for answers says so, and which."""
    graph = leaf(t, asks=lambda state: {"x": [interrupt("who?")]}, b=lambda state: {"x": ["b"]})
    graph = graph.compile(checkpointer=InMemorySaver())
    run = await _begun(t, graph, {"x": []}, ONE)
    await _read(t, run)
    for name in ("interrupted", "interrupts", "output"):
        t.note(name, await _told(t, run, name))
    run = await _begun(t, graph, Command(resume="me"), ONE)
    await _read(t, run)
    for name in ("interrupted", "interrupts", "output"):
        t.note(name, await _told(t, run, name))


async def questions_of_nested_graphs(t):
    """The nested run is interrupted, and goes on as another one."""
    inner = leaf(t, asks=lambda state: {"x": [interrupt("who?")]})
    graph = around(t, inner.compile()).compile(checkpointer=InMemorySaver())
    for given in ({"x": []}, Command(resume="me")):
        run = await _begun(t, graph, given, ONE)
        await _read(t, run, "raw")
        t.note("interrupts", await _told(t, run, "interrupts"))


@differs("a graph that stopped isn't complete")
async def breakpoints_of_nested_graphs(t):
    """A nested graph that stops at a breakpoint."""
    inner = leaf(t, "i", "j").compile(interrupt_before=["j"])
    graph = around(t, inner).compile(checkpointer=InMemorySaver())
    for given in ({"x": []}, None):
        run = await _begun(t, graph, given, ONE)
        await _read(t, run.lifecycle, "lifecycle")
        t.note("interrupted", await _told(t, run, "interrupted"))


@differs("a graph that stopped isn't complete")
async def graphs_that_are_left(t):
    """What becomes of a nested graph when its run is aborted."""
    run = await _begun(t, around(t, leaf(t, "i", "j").compile()).compile(), {"x": []})
    found = aiter(run.lifecycle) if t.asyncio else iter(run.lifecycle)
    t.note("started", await anext(found) if t.asyncio else next(found))
    await run.abort() if t.asyncio else run.abort()
    await _read(t, found)


async def runs_that_are_drained(t):
    """A run that is asked to stop after its superstep."""
    control = RunControl()

    def drains(state):
        control.request_drain("enough")
        return {"x": ["d"]}

    inner = leaf(t, drains=drains, later=lambda state: {"x": ["l"]}).compile()
    graph = around(t, inner).compile(checkpointer=InMemorySaver())
    run = await _begun(t, graph, {"x": []}, ONE, control=control)
    await _read(t, run.lifecycle, "lifecycle")


@differs("a run that a node reads is like any other")
async def runs_that_a_node_reads(t):
    """A node reads two runs by v3, one after the other."""
    inner = around(t, leaf(t, "i").compile()).compile()

    async def reads(state):
        found = []
        for _ in range(2):
            found.append(await _all(t, (await _begun(t, inner, {"x": ["0"]})).values))
        t.note(
            "lifecycle",
            [each["event"] for each in await _all(t, (await _begun(t, inner, {"x": []})).lifecycle)],
        )
        return {"x": found}

    await t.invoke(leaf(t, reads=reads).compile(), {"x": []})


@differs("an AttributeError of a node is told")
async def attribute_errors(t):
    """A node of a blocking run, whose result is a property, fails with an AttributeError."""

    def fails(state):
        raise AttributeError("of the node")

    builder = StateGraph(State).add_node("fails", fails)
    graph = edges(builder, ". fails .").compile()

    def result():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", LangChainBetaWarning)
            return graph.stream_events({"x": []}, version="v3").output

    t.raises(result)


def _fails(state):
    raise ValueError("no luck")


async def failures(t):
    """Readers get what was shown, then the error, as who asks for the result does."""
    graph = leaf(t, a=lambda state: {"x": ["a"]}, fails=_fails).compile()
    for name in ("values", "lifecycle", "messages", "subgraphs"):
        run = await _begun(t, graph, {"x": []})
        await _read(t, getattr(run, name), name)
    for name in ("output", "interrupted", "interrupts"):
        try:
            await _told(t, run, name)
        except ValueError as error:
            t.note(name, raised(error))


async def failures_of_nested_graphs(t):
    """The nested run has failed, with the text of the error."""
    graph = around(t, leaf(t, fails=_fails).compile()).compile()
    run = await _begun(t, graph, {"x": []})
    await _read(t, run, "raw")
    run = await _begun(t, graph, {"x": []})

    async def nested(handle):
        try:
            await _told(t, handle, "output")
        except RuntimeError as error:
            t.note("nested", raised(error))
        t.note("ended", (handle.status, handle.error))

    try:
        await _each_of(t, run.subgraphs, nested)
    except ValueError as error:
        t.note("run", raised(error))


async def runs_that_are_left(t):
    """`abort()`, or the end of its `with`, stops a run: what it showed last is its output."""
    ran = []
    graph = leaf(t, "a", second=lambda state: ran.append("second")).compile()
    run = await _begun(t, graph, {"x": ["0"]})
    found = aiter(run.values) if t.asyncio else iter(run.values)
    t.note("state", await anext(found) if t.asyncio else next(found))
    await run.abort() if t.asyncio else run.abort()
    await _read(t, found)
    t.note("output", (await _told(t, run, "output"), await _told(t, run, "interrupted"), ran))
    run = await _begun(t, graph, {"x": ["0"]})
    if t.asyncio:
        async with run:
            pass
    else:
        with run:
            pass
    await _read(t, run)
    t.note("output", (await _told(t, run, "output"), ran))


class _Names(StreamTransformer):
    """Shows the nodes that ended, in a channel that is an event too, and in one that isn't; hides states."""

    required_stream_modes = ("updates",)
    log: ClassVar[list] = []

    def init(self):
        self.named, self.unnamed = StreamChannel("names"), StreamChannel()
        self.log.append(("init", self.scope))
        return {"names": self.named, "quiet": self.unnamed, "constant": 42}

    def process(self, event):
        if event["method"] == "updates":
            self.named.push(list(event["params"]["data"]))
            self.unnamed.push(len(event["params"]["namespace"]))
        return event["method"] != "values"

    def finalize(self):
        self.unnamed.push("finalized")
        self.log.append(("finalize", self.scope))

    def fail(self, err):
        self.log.append(("fail", self.scope, type(err).__name__))


async def transformers(t):
    """A transformer's projections are in `run.extensions`; it is made for each nested graph as well."""
    graph = around(t, leaf(t, "i").compile()).compile()
    _Names.log.clear()
    for name in ("names", "quiet"):
        run = await _begun(t, graph, {"x": []}, transformers=[_Names])
        await _read(t, run.extensions[name], name)
    t.note("extensions", (sorted(run.extensions), run.extensions["constant"]))
    t.note("log", _Names.log)
    run = await _begun(t, graph, {"x": []}, transformers=[_Names])
    await _read(t, run, "raw")


async def transformers_of_failed_runs(t):
    """A transformer is told of a failure."""
    _Names.log.clear()
    run = await _begun(t, leaf(t, fails=_fails).compile(), {"x": []}, transformers=[_Names])
    await _read(t, run.extensions["names"])
    t.note("log", _Names.log)


async def compiled_transformers(t):
    """Those that a graph was compiled with come before those of the call."""
    graph = leaf(t, "a").compile(transformers=[_Names, UpdatesTransformer])
    t.note("kept", [each.__name__ for each in graph.stream_transformers])
    run = await _begun(t, graph, {"x": []}, transformers=[CustomTransformer])
    t.note("extensions", list(run.extensions))
    await _read(t, run.updates)


class _First(StreamTransformer):
    """Changes states before anybody sees them."""

    before_builtins = True

    def init(self):
        return {}

    def process(self, event):
        if event["method"] == "values":
            event["params"]["data"] = "changed"
        return True


async def transformers_before_the_others(t):
    """A transformer may come before the built-in ones, and change what they show; the result is the graph's."""
    run = await _begun(t, leaf(t, "a").compile(), {"x": []}, transformers=[_First])
    await _read(t, run.values)
    t.note("output", await _told(t, run, "output"))


async def transformers_by_functions(t):
    """A function of the scope makes a transformer as well."""
    run = await _begun(t, leaf(t, "a").compile(), {"x": []}, transformers=[lambda scope: _Names(scope)])
    await _read(t, run.extensions["quiet"])


async def modes_on_demand(t):
    """Other stream modes are projections of transformers that come with the library."""

    def writes(state):
        get_stream_writer()({"written": True})
        return {"x": ["w"]}

    graph = leaf(t, writes=writes).compile(checkpointer=InMemorySaver())
    for kind, name in (
        (UpdatesTransformer, "updates"),
        (CustomTransformer, "custom"),
        (TasksTransformer, "tasks"),
    ):
        run = await _begun(t, graph, {"x": []}, ONE, transformers=[kind])
        await _read(t, getattr(run, name), name)
    run = await _begun(t, graph, {"x": []}, ONE, transformers=[CheckpointsTransformer, DebugTransformer])
    t.note("next", [each["next"] for each in await _all(t, run.checkpoints)])
    run = await _begun(t, graph, {"x": []}, ONE, transformers=[DebugTransformer])
    t.note("types", [each["type"] for each in await _all(t, run.debug)])


async def _all(t, channel):
    """What a projection shows, not noted."""
    return [each async for each in channel] if t.asyncio else list(channel)


class _NoDict(StreamTransformer):
    def init(self):
        return None


class _Conflict(StreamTransformer):
    def init(self):
        return {"values": StreamChannel()}


class _Idle(StreamTransformer):
    def init(self):
        return {}


async def transformers_that_are_refused(t):
    """What is no transformer, or shows what another one shows, is refused before the run; what sees nothing, in it."""
    graph = leaf(t, "a").compile()
    for given in ([5], [_Idle(())], [_NoDict], [_Conflict], [_Names, _Names]):
        try:
            await _begun(t, graph, {"x": []}, transformers=given)
        except Exception as error:
            t.note("refused", raised(error))
    run = await _begun(t, graph, {"x": []}, transformers=[_Idle])
    await _read(t, run.values)


@differs("options that don't exist")
async def unknown_modes(t):
    """A transformer that wants the events of a mode that there isn't."""

    class Wants(_First):
        required_stream_modes = ("nope",)

    run = await _begun(t, leaf(t, "a").compile(), {"x": []}, transformers=[Wants])
    await _read(t, run.values)


@differs("transformers are for v3")
@differs_by_caller("blocking callers have no other version")
async def transformers_of_another_version(t):
    """Events of LangChain's, with a transformer that would be left out of them."""
    graph = leaf(t, "a").compile()
    try:
        if t.asyncio:
            t.note(
                "events",
                len([e async for e in graph.astream_events({"x": []}, version="v2", transformers=[_First])]),
            )
        else:
            graph.stream_events({"x": []}, version="v2", transformers=[_First])
    except Exception as error:
        t.note("refused", raised(error))


class _Late(StreamTransformer):
    """Shows what it learns a while after an event."""

    def init(self):
        self.late = StreamChannel()
        return {"late": self.late}

    async def aprocess(self, event):
        self.schedule(self.learn(event["method"]))
        return True

    async def learn(self, method):
        if method == "values":
            self.late.push(method)


@differs_by_caller("it is for asyncio")
async def transformers_for_asyncio(t):
    """A transformer may be awaited, and have coroutines run, which the end of the run waits for; not when blocking."""
    graph = leaf(t, "a").compile()
    if not t.asyncio:
        try:
            await _begun(t, graph, {"x": []}, transformers=[_Late])
        except RuntimeError as error:
            t.note("refused", str(error).partition("Use")[0])
        return
    await _read(t, (await _begun(t, graph, {"x": []}, transformers=[_Late])).extensions["late"])


# -- messages -------------------------------------------------------------------------------------


def fake(text):
    return GenericFakeChatModel(messages=iter([AIMessage(text, id="ai")] * 9))


def talking(t, **functions):
    builder = StateGraph(MessagesState)
    for name, function in functions.items():
        builder.add_node(name, t.node(function))
    names = list(functions)
    for start, end in zip([START, *names], names, strict=False):
        builder.add_edge(start, end)
    return builder


def asking(t, model):
    async def node(state):
        return {"messages": [await t.call(model, "invoke", state["messages"])]}

    return node


ASK = {"messages": [HumanMessage("hi", id="h")]}


def _made(state):
    return {
        "messages": [
            AIMessage("made up", id="m", tool_calls=[{"name": "x", "args": {"q": 1}, "id": "c"}]),
            ToolMessage("an answer", tool_call_id="c", id="t"),
            HumanMessage("hm", id="h2"),
        ]
    }


async def messages(t):
    """A message each that a model writes, or a node returns; not those of tools."""
    whole = FakeMessagesListChatModel(responses=[AIMessage("whole", id="w")])
    graph = talking(t, asks=asking(t, fake("hello big world")), whole=asking(t, whole), made=_made).compile()
    run = await _begun(t, graph, ASK)

    async def message(stream):
        text = [piece async for piece in stream.text] if t.asyncio else list(stream.text)
        output = await stream.output if t.asyncio else stream.output
        t.note(
            "message", (stream.node, stream.message_id.split("-")[0], text, output.text, output.tool_calls)
        )

    await _each_of(t, run.messages, message)


async def events_of_messages(t):
    """The raw events of messages: pieces of what a model writes, and whole messages."""
    graph = talking(t, asks=asking(t, fake("hello world")), made=_made).compile()
    run = await _begun(t, graph, ASK)
    for event in await _all(t, run):
        if event["method"] == "messages":
            payload, metadata = event["params"]["data"]
            shown = payload if isinstance(payload, dict) else (type(payload).__name__, payload.content)
            t.note("event", (event["seq"], shown, metadata["langgraph_node"], "run_id" in metadata))


async def pieces_of_messages(t):
    """A message iterated: the events that it is made of."""
    run = await _begun(t, talking(t, asks=asking(t, fake("hello world")), made=_made).compile(), ASK)

    async def message(stream):
        await _read(t, stream, "pieces")

    await _each_of(t, run.messages, message)


@differs("a nested run shows what it begins with")
async def messages_of_nested_graphs(t):
    """They are shown by the handle of the nested graph alone."""
    builder = StateGraph(MessagesState)
    builder.add_node("sub", talking(t, asks=asking(t, fake("hello world"))).compile())
    builder.add_edge(START, "sub")
    graph = builder.compile()
    t.note("around", await _all(t, (await _begun(t, graph, ASK)).messages))
    run = await _begun(t, graph, ASK)

    async def message(stream):
        t.note("message", (stream.node, await stream.text if t.asyncio else str(stream.text)))
        t.note("place", len(stream.namespace))

    async def nested(handle):
        await _each_of(t, handle.messages, message)

    await _each_of(t, run.subgraphs, nested)


@differs("a message that a node streams itself is shown")
async def messages_that_a_node_streams(t):
    """A node that reads its model's stream itself, and returns something else."""
    model = fake("hello world")

    async def node(state):
        await t.call(Streamed(model), "read", state["messages"])
        return {"messages": [AIMessage("made up", id="m")]}

    run = await _begun(t, talking(t, node=node).compile(), ASK)

    async def message(stream):
        t.note("message", await stream.text if t.asyncio else str(stream.text))

    await _each_of(t, run.messages, message)


async def tokens_in_runs_by_v3(t):
    """A node streams a graph's tokens, and its own run is read by v3."""
    inner = talking(t, asks=asking(t, fake("hello world"))).compile()

    async def node(state):
        if t.asyncio:
            chunks = [chunk async for chunk in inner.astream(ASK, stream_mode="messages")]
        else:
            chunks = list(inner.stream(ASK, stream_mode="messages"))
        t.note("tokens", [message.content for message, _ in chunks])
        return {"messages": [AIMessage("made up", id="m")]}

    graph = talking(t, node=node).compile()
    t.note("messages", [each.message_id for each in await _all(t, (await _begun(t, graph, ASK)).messages)])


async def runs_by_v3_in_tokens(t):
    """A node reads a graph's messages by v3, and its own run is streamed by tokens."""
    inner = talking(t, asks=asking(t, fake("hello world"))).compile()

    async def node(state):
        found = [each.message_id[:3] for each in await _all(t, (await _begun(t, inner, ASK)).messages)]
        return {"messages": [AIMessage(str(found), id="m")]}

    await t.stream(talking(t, node=node).compile(), ASK, stream_mode="messages")


class Streamed:
    """Reads a model's stream."""

    def __init__(self, model):
        self.model = model

    def read(self, given):
        return list(self.model.stream(given))

    async def aread(self, given):
        return [piece async for piece in self.model.astream(given)]


# -- tools ------------------------------------------------------------------------------------------


@tool
def adds(a: int, runtime: ToolRuntime) -> str:
    """Adds one."""
    runtime.emit_output_delta("adding")
    runtime.emit_output_delta({"to": a})
    return str(a + 1)


@tool
def fails() -> str:
    """Fails."""
    raise ValueError("no luck")


@tool
def commands() -> Command:
    """Returns a command."""
    return Command(update={"messages": [ToolMessage("done", tool_call_id="c", id="t")]})


@tool
def asks(q: str) -> str:
    """Asks."""
    return interrupt(q)


def calling(t, call):
    """A graph whose tools answer a call."""

    def model(state):
        return {"messages": [AIMessage("", id="ai", tool_calls=[call])]}

    builder = StateGraph(MessagesState).add_node("model", t.node(model))
    builder.add_node("tools", ToolNode([adds, fails, commands, asks], handle_tool_errors=True))
    return edges(builder, ". model tools .")


CALLS = (
    {"name": "adds", "args": {"a": 1}, "id": "a"},
    {"name": "fails", "args": {}, "id": "f"},
    {"name": "commands", "args": {}, "id": "c"},
)


async def tool_calls(t):
    """A call each of a tool, with the pieces of its output, and what it came to."""

    async def call(stream):
        t.note("begun", (repr(stream), stream.tool_call_id, stream.tool_name, stream.input))
        await _read(t, stream.output_deltas, "deltas")
        output = stream.output if isinstance(stream.output, str) else type(stream.output).__name__
        t.note("ended", (repr(stream), output, stream.error, stream.completed))

    for each in CALLS:
        run = await _begun(t, calling(t, each).compile(), ASK, transformers=[ToolCallTransformer])
        await _each_of(t, run.tool_calls, call)


async def events_of_tools(t):
    """The raw events of tools, and the stream mode that they are of."""
    for call in CALLS:
        graph = calling(t, call).compile()
        run = await _begun(t, graph, ASK, transformers=[ToolCallTransformer])
        t.note("events", [shown(e) for e in await _all(t, run) if e["method"] == "tools"])
        chunks = await (_astreamed(graph) if t.asyncio else _streamed(graph))
        t.note("chunks", [without_output(chunk) for chunk in chunks])


async def _streamed(graph):
    return list(graph.stream(ASK, stream_mode="tools"))


async def _astreamed(graph):
    return [chunk async for chunk in graph.astream(ASK, stream_mode="tools")]


def shown(event):
    return event["seq"], event["params"]["namespace"], without_output(event["params"]["data"])


def without_output(data):
    """What a tool does; of what it returns the type, as an answer gets its id later."""
    return {key: type(each).__name__ if key == "output" else each for key, each in data.items()}


async def tools_that_ask(t):
    """A call that asks is there again when it is answered."""
    graph = calling(t, {"name": "asks", "args": {"q": "?"}, "id": "q"}).compile(checkpointer=InMemorySaver())

    async def call(stream):
        await _read(t, stream.output_deltas, "deltas")
        t.note("call", (stream.tool_call_id, stream.output, stream.error, stream.completed))

    for given in (ASK, Command(resume="!")):
        run = await _begun(t, graph, given, ONE, transformers=[ToolCallTransformer])
        await _each_of(t, run.tool_calls, call)
        t.note("interrupts", await _told(t, run, "interrupts"))


async def tools_of_nested_graphs(t):
    """They are shown by the handle of the nested graph alone."""
    builder = StateGraph(MessagesState).add_node("sub", calling(t, CALLS[0]).compile())
    graph = edges(builder, ". sub .").compile(transformers=[ToolCallTransformer])
    t.note("around", await _all(t, (await _begun(t, graph, ASK)).tool_calls))
    run = await _begun(t, graph, ASK)

    async def call(stream):
        await _read(t, stream, "deltas")

    async def nested(handle):
        await _each_of(t, handle.tool_calls, call)

    await _each_of(t, run.subgraphs, nested)


async def agents_that_tools_call(t):
    """The lifecycle of a graph with the name of an agent has the tool call that it answers."""
    for name in (None, "helper"):
        inner = leaf(t, "i").compile()
        if name is not None:
            inner = inner.with_config({"metadata": {"lc_agent_name": name}})

        @tool
        def delegates(q: str, inner=inner) -> str:
            """Delegates."""
            return str(inner.invoke({"x": [q]})["x"])

        @tool("delegates")
        async def adelegates(q: str, inner=inner) -> str:
            """Delegates."""
            return str((await inner.ainvoke({"x": [q]}))["x"])

        def model(state):
            call = {"name": "delegates", "args": {"q": "?"}, "id": "d", "type": "tool_call"}
            return {"messages": [AIMessage("", id="ai", tool_calls=[call])]}

        builder = StateGraph(MessagesState).add_node("model", t.node(model))
        builder.add_node("tools", ToolNode([adelegates if t.asyncio else delegates]))
        builder.add_edge(START, "model")
        builder.add_conditional_edges(
            "model", lambda state: [Send("tools", state["messages"][-1].tool_calls)], ["tools"]
        )
        run = await _begun(t, builder.compile(), ASK)
        await _read(t, run.lifecycle, "lifecycle")


class _Calling(GenericFakeChatModel):
    """A model that writes a tool call in two pieces."""

    def _stream(self, *args, **kw):
        for piece in (
            AIMessageChunk("a", id="c"),
            AIMessageChunk("", tool_call_chunks=[{"name": "t", "args": '{"q"', "id": "c1", "index": 0}]),
            AIMessageChunk("", tool_call_chunks=[{"name": None, "args": ": 1}", "id": None, "index": 0}]),
        ):
            yield ChatGenerationChunk(message=piece)


async def tool_calls_of_messages(t):
    """The tool calls that a model writes, piece by piece, and whole."""
    model = _Calling(messages=iter([]))
    run = await _begun(t, talking(t, asks=asking(t, model)).compile(), ASK)

    async def message(stream):
        await _read(t, stream.tool_calls, "pieces")
        t.note("calls", await stream.tool_calls if t.asyncio else stream.tool_calls.get())

    await _each_of(t, run.messages, message)


async def pushed_messages(t):
    """A message that a node pushes is shown, once."""

    def pushes(state):
        push_message(AIMessage("pushed", id="p"))
        return {"messages": [AIMessage("returned", id="r")]}

    run = await _begun(t, talking(t, pushes=pushes).compile(), ASK)
    t.note("messages", [each.message_id for each in await _all(t, run.messages)])


async def functions_that_ask(t):
    """An entrypoint that stops for an answer has no state to show yet."""

    @entrypoint(checkpointer=InMemorySaver())
    @t.node
    def whole(a):
        return [a, interrupt("who?")]

    for given in (1, Command(resume="me")):
        run = await _begun(t, whole, given, ONE)
        t.note("came to", (await _told(t, run, "output"), await _told(t, run, "interrupts")))


async def functions_by_v3(t):
    """Entrypoints are read in the same way."""
    inner = leaf(t, "i").compile()

    @entrypoint()
    @t.node
    async def whole(a):
        await t.call(inner, "invoke", {"x": ["0"]})
        return a

    run = await _begun(t, whole, 1)
    await _read(t, run)
    t.note("output", await _told(t, run, "output"))
