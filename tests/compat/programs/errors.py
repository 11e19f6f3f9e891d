"""Errors and warnings: classes and the words that users match on (section 9)."""

import asyncio
import operator
import pickle
import threading
import warnings
from concurrent.futures import ThreadPoolExecutor
from typing import Annotated, Any

from langchain_core.messages import AIMessage, RemoveMessage
from langgraph import errors
from langgraph.cache.memory import InMemoryCache
from langgraph.channels import DeltaChannel, EphemeralValue, LastValue, NamedBarrierValue, Topic
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.config import get_config, get_store, get_stream_writer
from langgraph.func import task
from langgraph.graph import StateGraph, add_messages
from langgraph.pregel import NodeBuilder, Pregel
from langgraph.runtime import get_runtime
from langgraph.store.base import BaseStore
from langgraph.store.memory import InMemoryStore
from langgraph.types import Command, GraphOutput, Overwrite, Send, StateUpdate, interrupt
from langgraph.warnings import LangGraphDeprecationWarning
from typing_extensions import TypedDict

from ..parts import ONE, State, edges, nodes
from ..trace import Trace, differs, differs_by_caller


def _chain(t: Trace, *names: str, **options: Any) -> Any:
    builder = nodes(t, StateGraph(State), *names)
    return edges(builder, " ".join([".", *names, "."])).compile(checkpointer=InMemorySaver(), **options)


async def what_errors_derive_from(t: Trace) -> None:
    """Users catch an error by its builtin base, and control flow by GraphBubbleUp."""
    pairs = [
        ("GraphRecursionError", RecursionError),
        ("InvalidUpdateError", Exception),
        ("EmptyInputError", Exception),
        ("EmptyChannelError", Exception),
        ("GraphInterrupt", errors.GraphBubbleUp),
        ("NodeInterrupt", errors.GraphInterrupt),
        ("ParentCommand", errors.GraphBubbleUp),
        ("GraphDrained", errors.GraphBubbleUp),
        ("NodeTimeoutError", Exception),
        ("NodeCancelledError", Exception),
        ("TaskNotFound", Exception),
    ]
    t.note("subclasses", {name: issubclass(getattr(errors, name), base) for name, base in pairs})


async def error_codes(t: Trace) -> None:
    """A message may end with the page of its code."""
    t.note("codes", {code.name: code.value for code in errors.ErrorCode})
    message = errors.create_error_message(message="What.", error_code=errors.ErrorCode.GRAPH_RECURSION_LIMIT)
    t.note("page", message.rpartition("/")[2])


async def the_page_of_an_error(t: Trace) -> None:
    """The codes that runs end with."""

    def graph(**functions: Any) -> Any:
        return edges(
            nodes(t, StateGraph(TypedDict("S", {"k": int})), **functions),
            *[f". {name}" for name in functions],
        )

    def one(state: Any) -> Any:
        return {"k": 1}

    def text(state: Any) -> Any:
        return "text"

    for builder in [graph(a=one, b=one), graph(a=text), edges(graph(a=one), "a a")]:
        try:
            await t.call(builder.compile(), "invoke", {}, {"recursion_limit": 3})
        except Exception as error:
            t.note("code", (type(error).__name__, str(error).rpartition("/")[2]))


async def an_error_is_the_very_object(t: Trace) -> None:
    """The exception of a node is raised as it is, with its cause and a note."""
    error = ValueError("boom")
    error.__cause__ = KeyError("cause")

    def fail(state: State) -> Any:
        raise error

    graph = edges(nodes(t, StateGraph(State), a=fail), ". a .").compile()
    try:
        await t.call(graph, "invoke", {"x": []})
    except ValueError as raised:
        t.note("same", (raised is error, raised.__cause__))


async def an_error_in_a_subgraph(t: Trace) -> None:
    """It has a note for each level."""

    def fail(state: State) -> Any:
        raise ValueError("deep")

    sub = edges(nodes(t, StateGraph(State), s=fail), ". s .").compile()
    graph = edges(StateGraph(State).add_node("sub", sub), ". sub .").compile(checkpointer=InMemorySaver())
    await t.invoke(graph, {"x": []}, ONE)
    await t.state(graph, ONE)


async def an_error_in_a_stream(t: Trace) -> None:
    """Chunks before the error are delivered; `tasks` shows it."""

    def fail(state: State) -> Any:
        raise ValueError("boom")

    graph = edges(nodes(t, StateGraph(State), "a", b=fail), ". a b .").compile()
    await t.stream(graph, {"x": []}, stream_mode=["updates", "values", "tasks"])


async def an_error_in_a_reducer(t: Trace) -> None:
    """A reducer that raises ends the run after its superstep."""

    class Mixed(TypedDict):
        k: Annotated[list, operator.add]

    graph = edges(nodes(t, StateGraph(Mixed), a=lambda state: {"k": 1}), ". a .").compile(
        checkpointer=InMemorySaver()
    )
    await t.invoke(graph, {"k": []}, ONE)
    await t.invoke(graph, {"k": 2}, ONE)


async def updates_that_are_refused(t: Trace) -> None:
    """update_state wants to know as whom, and a node that exists."""
    graph = edges(nodes(t, StateGraph(State), "a", "b", "c"), ". a c .", ". b c").compile(
        checkpointer=InMemorySaver()
    )
    await t.update(graph, ONE, {"x": ["u"]}, as_node="zz")
    await t.update(graph, ONE, "text", as_node="a")
    await t.invoke(graph, {"x": []}, ONE, interrupt_after=["a", "b"])
    await t.update(graph, ONE, {"x": ["u"]})
    await t.update(graph, ONE, {"x": ["u"]}, as_node="c")
    t.note("next", (await t.state(graph, ONE)).next)


async def bulk_updates_that_are_refused(t: Trace) -> None:
    """Something to do, as somebody, and the special names alone in their superstep."""
    graph = _chain(t, "a", "b")
    one, two = StateUpdate({"x": ["1"]}, "a"), StateUpdate({"x": ["2"]}, "b")
    for supersteps in [
        [],
        [[]],
        [[StateUpdate({"x": []}), StateUpdate({"x": []})]],
        [[one, StateUpdate({"x": []})]],
        [[StateUpdate(None, "__end__"), one]],
        [[StateUpdate({"x": []}, "__input__"), one]],
        [[StateUpdate(None, "__copy__"), one]],
        [[StateUpdate(None, "__copy__")]],
        [[StateUpdate(None, "__input__")]],
    ]:
        await t.bulk(graph, ONE, supersteps)
    await t.bulk(graph, ONE, [[one, two], [one]])
    await t.state(graph, ONE)


@differs("answers that nobody waits for")
async def commands_that_are_refused(t: Trace) -> None:
    """An answer needs a checkpointer and a question, a Command for a parent needs one."""
    graph = edges(nodes(t, StateGraph(State), "a"), ". a .").compile()
    await t.invoke(graph, Command(resume=1))
    await t.invoke(_chain(t, "a"), Command(graph=Command.PARENT), ONE)
    await t.invoke(_chain(t, "a"), Command(resume=1), ONE)
    await t.invoke(_chain(t, "a"), Command(resume={"0" * 32: 1}), ONE)


class Counted(TypedDict):
    x: Annotated[list[str], operator.add]
    n: int


@differs("a command that is refused leaves nothing")
async def a_command_whose_update_is_refused(t: Trace) -> None:
    """Two values for a channel that takes one are an error; the thread is asked, updated and gone on with after it."""

    def ask(state: Counted) -> Any:
        return {"x": [interrupt("?")]}

    graph = edges(nodes(t, StateGraph(Counted), ask=ask), ". ask .").compile(checkpointer=InMemorySaver())
    await t.invoke(graph, {"x": ["i"], "n": 1}, ONE)
    for command in (
        Command(update=[("n", 2), ("n", 3)]),
        Command(resume="yes", update=[("n", 2), ("n", 3)], goto="ask"),
    ):
        await t.invoke(graph, command, ONE)
        await t.state(graph, ONE)
    await t.update(graph, ONE, {"n": 4})
    await t.invoke(graph, None, ONE)
    await t.invoke(graph, Command(resume="yes", update={"n": 5}), ONE)


@differs("None is an answer")
async def a_parent_command_of_a_root(t: Trace) -> None:
    """It surfaces as ParentCommand, with the Command in its args."""

    def a(state: State) -> Any:
        return Command(graph=Command.PARENT, goto="z")

    graph = edges(nodes(t, StateGraph(State), a=a), ". a .").compile()
    try:
        await t.call(graph, "invoke", {"x": []})
    except errors.ParentCommand as error:
        t.note("args", error.args)


async def a_parent_command_of_a_root_is_an_exception(t: Trace) -> None:
    """Who catches exceptions catches it, `batch` and `gather` among them."""

    def a(state: State) -> Any:
        return Command(graph=Command.PARENT, goto="z")

    graph = edges(nodes(t, StateGraph(State), a=a), ". a .").compile()
    t.note("batch", await t.call(graph, "batch", [{"x": []}, {"x": []}], return_exceptions=True))
    try:
        await t.call(graph, "invoke", {"x": []})
    except Exception as error:
        again = pickle.loads(pickle.dumps(error))
        t.note("caught", (type(error).__name__, isinstance(again, errors.ParentCommand)))


async def a_future_that_a_node_forgot_to_wait_for(t: Trace) -> None:
    """It is no update."""

    @task
    def work(state: State) -> Any:
        return {"x": ["work"]}

    for forgets in (work, lambda state: work(state)):
        graph = edges(nodes(t, StateGraph(State), a=forgets), ". a .").compile()
        try:
            await t.call(graph, "invoke", {"x": []})
        except errors.InvalidUpdateError as error:
            t.note("refused", str(error)[:26])


async def outside_of_a_graph(t: Trace) -> None:
    """What a node may ask for isn't there outside of one."""
    for function in [get_config, get_store, get_stream_writer, get_runtime]:
        t.raises(function)
    t.raises(interrupt, 1)


async def injection_of_what_is_missing(t: Trace) -> None:
    """A store that isn't there is None; a config of another annotation isn't given, with a warning."""

    def wants_store(state: State, store: BaseStore) -> Any:
        return {"x": [store]}

    def odd(state: State, config: int) -> Any:
        return None

    await t.invoke(edges(nodes(t, StateGraph(State), a=wants_store), ". a .").compile(), {"x": []})
    builder = StateGraph(State)
    t.warns(builder.add_node, "a", odd)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        graph = edges(builder, ". a .").compile()
    await t.invoke(graph, {"x": []})


@differs_by_caller("a coroutine can be cancelled, a thread can't")
async def a_step_timeout(t: Trace) -> None:
    """A superstep that lasts too long fails; what has ended is kept, and the rest runs when the thread goes on."""
    ran: list[str] = []

    async def slow(state: State) -> Any:
        ran.append("slow")
        if ran.count("slow") == 1:
            await asyncio.Event().wait()
        return {"x": ["slow"]}

    def blocked(state: State) -> Any:
        ran.append("slow")
        threading.Event().wait(0.5)
        return {"x": ["slow"]}

    builder = nodes(t, StateGraph(State), "quick", "z", slow=slow if t.asyncio else blocked)
    graph = edges(builder, ". quick z .", ". slow z").compile(checkpointer=InMemorySaver())
    graph.step_timeout = 0.2
    try:
        await t.call(graph, "invoke", {"x": ["i"]}, ONE)
    except TimeoutError:
        t.note("timed out", True)
    t.note("kept", (await t.call(graph, "get_state", ONE)).values)
    graph.step_timeout = None
    await t.invoke(graph, None, ONE)
    t.note("ran", ran)


@differs("a superstep whose time is up waits for its threads")
async def a_step_timeout_of_threads_in_asyncio(t: Trace) -> None:
    """Sync nodes of an asyncio run can't be stopped."""
    go_on, ended = threading.Event(), threading.Event()

    def blocked(state: State) -> Any:
        go_on.wait(0.5)
        ended.set()
        return {"x": ["blocked"]}

    async def run(graph: Any) -> None:
        try:
            await graph.ainvoke({"x": ["i"]}, ONE)
        except TimeoutError:
            t.note("timed out, and the node has ended", ended.is_set())

    graph = edges(StateGraph(State).add_node("a", blocked), ". a .").compile(checkpointer=InMemorySaver())
    graph.step_timeout = 0.2
    with ThreadPoolExecutor(1) as threads:
        threads.submit(asyncio.run, run(graph)).result()
    go_on.set()
    t.note("kept", graph.get_state(ONE).values)


async def keys_and_modes_that_are_unknown(t: Trace) -> None:
    """Of output and of streams."""
    graph = _chain(t, "a")
    await t.invoke(graph, {"x": []}, ONE, output_keys="zz")
    await t.stream(graph, {"x": []}, ONE, output_keys=["x", "zz"])
    await t.invoke(graph, {"x": []}, ONE)
    await t.state(graph, {"configurable": {"thread_id": "1", "checkpoint_ns": "zz"}})
    await t.state(
        graph, {"configurable": {"thread_id": "1", "checkpoint_id": "1ef00000-0000-6000-8000-000000000000"}}
    )


@differs("what can't be stored is named")
async def values_that_cannot_be_stored(t: Trace) -> None:
    """A value that no serializer knows."""

    def a(state: State) -> Any:
        return {"x": [threading.Lock()]}

    graph = edges(nodes(t, StateGraph(State), a=a), ". a .").compile(checkpointer=InMemorySaver())
    await t.invoke(graph, {"x": []}, ONE, durability="sync")


async def namespaces_of_a_store(t: Trace) -> None:
    """Labels are non-empty strings without periods, and the first isn't "langgraph"."""
    store = InMemoryStore()
    for namespace in [(), ("a", 1), ("a.b",), ("a", ""), ("langgraph", "a")]:
        t.raises(store.put, namespace, "k", {"v": 1})


@differs("stores have a time to live")
async def texts_of_a_store(t: Trace) -> None:
    """A TTL that it can't keep, an operator that it doesn't know."""
    store = InMemoryStore()
    store.put(("a",), "k", {"v": 1})
    t.raises(store.put, ("a",), "k", {"v": 1}, ttl=1)
    t.raises(store.search, ("a",), filter={"v": {"$odd": 1}})


async def texts_of_add_messages(t: Trace) -> None:
    """Both sides, ids that exist, and a format that is known."""
    t.raises(add_messages, [AIMessage("a", id="1")], None)
    t.raises(add_messages, [AIMessage("a", id="1")], [RemoveMessage(id="zz")])
    t.raises(add_messages, [], [AIMessage("a", id="1")], format="odd")


async def texts_of_channels(t: Trace) -> None:
    """A channel's own words, when it's used by hand."""
    channel = LastValue(int, "k")
    t.raises(channel.get)
    t.raises(channel.update, [1, 2])
    t.raises(EphemeralValue(int).update, [1, 2])
    t.raises(NamedBarrierValue(str, {"a"}).update, ["zz"])
    t.raises(Topic(int).get)
    t.raises(DeltaChannel, operator.add, list, snapshot_frequency=0)


async def texts_of_pregel(t: Trace) -> None:
    """A graph made by hand names channels and nodes that exist."""

    def make(**options: Any) -> Any:
        node = NodeBuilder().subscribe_only("a").do(lambda value: value).write_to("b").build()
        given = {"nodes": {"n": node}, "channels": {"a": EphemeralValue(int), "b": LastValue(int)}}
        return Pregel(**{**given, "input_channels": "a", "output_channels": "b", **options})

    t.raises(make)
    t.raises(make, input_channels="zz")
    t.raises(make, input_channels=["zz"])
    t.raises(make, input_channels="b")
    t.raises(make, output_channels="zz")
    t.raises(make, stream_channels=["zz"])
    t.raises(make, interrupt_before_nodes=["zz"])
    t.raises(make, interrupt_after_nodes=["zz"])
    t.raises(make, channels={"b": LastValue(int)})
    t.raises(make, channels={"a": EphemeralValue(int), "b": LastValue(int), "__input__": LastValue(int)})
    t.raises(make, nodes={"__input__": NodeBuilder().subscribe_only("a").build()})


async def texts_of_a_node_builder(t: Trace) -> None:
    """One channel as the input, or several as a dict, not both."""
    t.raises(NodeBuilder().subscribe_to("a").subscribe_only, "b")
    t.raises(NodeBuilder().subscribe_only("a").subscribe_to, "b")


async def running_pregel(t: Trace) -> None:
    """A graph made by hand: input of one channel or of several, and what isn't a dict."""
    node = NodeBuilder().subscribe_only("a").do(lambda value: value + 1).write_to("b").build()
    channels = {"a": EphemeralValue(int), "b": LastValue(int)}
    graph = Pregel(nodes={"n": node}, channels=channels, input_channels="a", output_channels="b")
    await t.invoke(graph, 1)
    await t.stream(graph, 1)
    await t.stream(graph, 1, stream_mode=["updates", "values"])
    graph = Pregel(nodes={"n": node}, channels=channels, input_channels=["a"], output_channels=["a", "b"])
    await t.invoke(graph, {"a": 1})
    await t.invoke(graph, "text")
    await t.invoke(graph, {"zz": 1})


async def reserved_names(t: Trace) -> None:
    """Names that a graph uses itself can't be keys or nodes."""
    for name in ["__input__", "__interrupt__", "__pregel_tasks", "configurable"]:
        schema = TypedDict("Reserved", {name: int})  # type: ignore[misc]
        t.note("name", name)
        t.raises(lambda schema=schema: edges(nodes(t, StateGraph(schema), "a"), ". a .").compile())
        t.raises(lambda name=name: edges(nodes(t, StateGraph(State), name), f". {name} .").compile())


async def overwrites_that_are_refused(t: Trace) -> None:
    """One Overwrite of a key, in one node's list of updates too."""

    def a(state: State) -> Any:
        return [Command(update={"x": Overwrite([1])}), Command(update={"x": Overwrite([2])})]

    await t.invoke(edges(nodes(t, StateGraph(State), a=a), ". a .").compile(), {"x": []})


async def deprecations(t: Trace) -> None:
    """What warns when it's used, and what its warnings are."""
    output = GraphOutput(value={"x": 1}, interrupts=())
    t.note("value", t.warns(lambda: (output["x"], "x" in output)))
    warning = LangGraphDeprecationWarning("Old.", since=(1, 0))
    t.note(
        "warning",
        (str(warning), isinstance(warning, DeprecationWarning), warning.since, warning.expected_removal),
    )


async def deprecated_constants(t: Trace) -> None:
    """Send and Interrupt are still found in constants, with a warning."""
    from langgraph import constants

    t.warns(lambda: constants.Send is Send)
    t.warns(lambda: constants.Interrupt)
    t.note("constants", (constants.START, constants.END, constants.TAG_HIDDEN, constants.TAG_NOSTREAM))


async def clearing_a_cache(t: Trace) -> None:
    """A graph without a cache has none to clear; one with a cache has nothing to say."""
    t.raises(_chain(t, "a").clear_cache)
    t.raises(_chain(t, "a", cache=InMemoryCache()).clear_cache)
