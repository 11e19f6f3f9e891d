"""Writing a thread's state: update_state and bulk_update_state (behaviour of section 2.28)."""

import asyncio
import operator
from typing import Annotated, TypedDict

from langchain_core.runnables import RunnableConfig, RunnableLambda
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.config import get_config, get_store, get_stream_writer
from langgraph.func import entrypoint
from langgraph.graph import END, START, StateGraph
from langgraph.managed import IsLastStep, RemainingSteps
from langgraph.managed.base import ManagedValue
from langgraph.runtime import Runtime
from langgraph.store.base import BaseStore
from langgraph.store.memory import InMemoryStore
from langgraph.types import Command, Send, StateUpdate, StreamWriter, interrupt

from ..parts import edges, nodes
from ..trace import differs


class State(TypedDict):
    x: Annotated[list, operator.add]


THREAD = {"configurable": {"thread_id": "1"}}


def says(word):
    """A node that appends its word."""

    def node(state):
        return {"x": [word]}

    return node


def chain(t, *names, **kwargs):
    builder = StateGraph(State)
    builder.add_sequence([(name, t.node(says(name))) for name in names])
    builder.add_edge(START, names[0])
    return builder.compile(checkpointer=InMemorySaver(), **kwargs)


def fork(t, **kwargs):
    """a to b and c, which both lead to d."""
    builder = StateGraph(State)
    for name in "abcd":
        builder.add_node(name, t.node(says(name)))
    for edge in ((START, "a"), ("a", "b"), ("a", "c"), ("b", "d"), ("c", "d")):
        builder.add_edge(*edge)
    return builder.compile(checkpointer=InMemorySaver(), **kwargs)


async def update_of_a_finished_thread(t):
    """An update of a finished thread is inferred to be of the last node, whose edges fire."""
    graph = chain(t, "a", "b")
    await t.invoke(graph, {"x": ["i"]}, THREAD)
    await t.update(graph, THREAD, {"x": ["u"]})
    await t.state(graph, THREAD)
    await t.history(graph, THREAD, limit=2)


async def update_of_a_fresh_thread(t):
    """The first update of a thread stands for its input."""
    graph = chain(t, "a", "b")
    await t.update(graph, THREAD, {"x": ["u"]})
    await t.state(graph, THREAD)
    await t.invoke(graph, None, THREAD)


async def update_as_a_node(t):
    """An update as a node fires the edges of that node."""
    graph = chain(t, "a", "b", "c")
    await t.update(graph, THREAD, {"x": ["u"]}, as_node="b")
    await t.state(graph, THREAD)
    await t.invoke(graph, None, THREAD)
    await t.history(graph, THREAD)


async def update_runs_the_router(t):
    """An update as a node runs the conditional edges of that node on the updated state."""
    seen = []

    def route(state):
        seen.append(list(state["x"]))
        return "c" if "u" in state["x"] else "b"

    builder = StateGraph(State)
    for name in "abc":
        builder.add_node(name, t.node(says(name)))
    builder.add_edge(START, "a")
    builder.add_conditional_edges("a", route, ["b", "c"])
    graph = builder.compile(checkpointer=InMemorySaver(), interrupt_before=["b"])
    await t.invoke(graph, {"x": ["i"]}, THREAD)
    await t.update(graph, THREAD, {"x": ["u"]}, as_node="a")
    await t.state(graph, THREAD)
    t.note("seen", seen)


async def update_runs_an_async_router(t):
    """A router in the caller's colour decides as well, on the event loop of an asyncio caller."""
    here = asyncio.get_running_loop() if t.asyncio else None

    def router(state):
        seen.append(here is None or asyncio.get_running_loop() is here)
        return "b"

    seen = []
    builder = StateGraph(State)
    for name in "ab":
        builder.add_node(name, t.node(says(name)))
    builder.add_edge(START, "a")
    builder.add_conditional_edges("a", t.node(router), ["b"])
    graph = builder.compile(checkpointer=InMemorySaver())
    await t.update(graph, THREAD, {"x": ["u"]}, as_node="a")
    await t.bulk(graph, THREAD, [[StateUpdate({"x": ["u"]}, "a")], [StateUpdate({"x": ["v"]}, "a")]])
    t.note("seen", seen)
    await t.invoke(graph, None, THREAD)


async def update_at_a_breakpoint(t):
    """An update at a breakpoint is inferred to be of the node before it."""
    graph = chain(t, "a", "b", interrupt_before=["b"])
    await t.invoke(graph, {"x": ["i"]}, THREAD)
    await t.update(graph, THREAD, {"x": ["u"]})
    await t.state(graph, THREAD)
    await t.invoke(graph, None, THREAD)


async def update_of_nothing(t):
    """An update with None only routes."""
    graph = chain(t, "a", "b")
    await t.invoke(graph, {"x": ["i"]}, THREAD)
    await t.update(graph, THREAD, None, as_node="a")
    await t.state(graph, THREAD)


async def update_with_unknown_keys(t):
    """Unknown keys of an update are dropped; a value that is no dict is refused."""
    graph = chain(t, "a", "b")
    await t.invoke(graph, {"x": ["i"]}, THREAD)
    await t.update(graph, THREAD, {"nope": 1}, as_node="a")
    await t.state(graph, THREAD)
    await t.update(graph, THREAD, 5, as_node="a")


async def update_of_an_unknown_node(t):
    """An update as a node that isn't there is refused."""
    graph = chain(t, "a", "b")
    await t.update(graph, THREAD, {"x": ["u"]}, as_node="z")
    await t.state(graph, THREAD)


async def ambiguous_update(t):
    """After two nodes ran in one step nobody can tell whose update it is."""
    graph = fork(t)
    await t.invoke(graph, {"x": ["i"]}, THREAD, interrupt_before=["d"])
    await t.update(graph, THREAD, {"x": ["u"]})
    await t.update(graph, THREAD, {"x": ["u"]}, as_node="b")
    await t.state(graph, THREAD)
    await t.invoke(graph, None, THREAD)


async def update_before_a_pending_interrupt(t):
    """An update of an interrupted thread runs the asking node again, which can still be answered."""

    def ask(state):
        return {"x": [interrupt(len(state["x"]))]}

    builder = StateGraph(State)
    builder.add_sequence([("a", t.node(says("a"))), ("ask", t.node(ask)), ("z", t.node(says("z")))])
    builder.add_edge(START, "a")
    graph = builder.compile(checkpointer=InMemorySaver())
    await t.invoke(graph, {"x": ["i"]}, THREAD)
    await t.update(graph, THREAD, {"x": ["u"]})
    await t.state(graph, THREAD)
    await t.invoke(graph, None, THREAD)
    await t.invoke(graph, Command(resume="yes"), THREAD)
    await t.history(graph, THREAD)


async def update_in_the_place_of_the_asking_node(t):
    """An update as the node that asks answers for it."""

    def ask(state):
        return {"x": [interrupt("?")]}

    builder = StateGraph(State)
    builder.add_sequence([("ask", t.node(ask)), ("z", t.node(says("z")))])
    builder.add_edge(START, "ask")
    graph = builder.compile(checkpointer=InMemorySaver())
    await t.invoke(graph, {"x": ["i"]}, THREAD)
    await t.update(graph, THREAD, {"x": ["by hand"]}, as_node="ask")
    await t.state(graph, THREAD)
    await t.invoke(graph, None, THREAD)


async def update_as_the_end(t):
    """An update of None as END finishes the thread; with values it is refused."""
    graph = chain(t, "a", "b", interrupt_before=["b"])
    await t.invoke(graph, {"x": ["i"]}, THREAD)
    await t.update(graph, THREAD, {"x": ["u"]}, as_node=END)
    await t.state(graph, THREAD)
    await t.update(graph, THREAD, None, as_node=END)
    await t.state(graph, THREAD)
    await t.invoke(graph, None, THREAD)
    await t.history(graph, THREAD)


async def end_keeps_what_siblings_did(t):
    """An update as END applies the stored writes of the tasks that finished."""

    def ask(state):
        interrupt("?")

    builder = StateGraph(State)
    builder.add_node("ask", t.node(ask))
    builder.add_node("side", t.node(says("side")))
    builder.add_edge(START, "ask")
    builder.add_edge(START, "side")
    graph = builder.compile(checkpointer=InMemorySaver())
    await t.invoke(graph, {"x": ["i"]}, THREAD)
    await t.update(graph, THREAD, None, as_node=END)
    await t.state(graph, THREAD)


@differs("an update as the input starts anew")
async def update_as_the_input(t):
    """An update as `__input__` is an input that hasn't run yet; what was due before stays due."""
    graph = chain(t, "a", "b", interrupt_before=["b"])
    await t.invoke(graph, {"x": ["i"]}, THREAD)
    await t.update(graph, THREAD, {"x": ["j"]}, as_node="__input__")
    await t.state(graph, THREAD)
    await t.invoke(graph, None, THREAD)
    await t.history(graph, THREAD)


async def input_of_nothing(t):
    """An update of None as `__input__` is refused."""
    graph = chain(t, "a", "b")
    await t.update(graph, THREAD, None, as_node="__input__")
    await t.state(graph, THREAD)


async def update_as_start(t):
    """An update as START writes state and fires the edges from START."""
    graph = chain(t, "a", "b")
    await t.update(graph, THREAD, {"x": ["s"]}, as_node=START)
    await t.state(graph, THREAD)
    await t.invoke(graph, None, THREAD)


async def copy_of_a_checkpoint(t):
    """An update as `__copy__` clones a checkpoint next to it."""
    graph = chain(t, "a", "b")
    await t.invoke(graph, {"x": ["i"]}, THREAD)
    snapshots = await t.history(graph, THREAD)
    await t.update(graph, snapshots[1].config, None, as_node="__copy__")
    await t.state(graph, THREAD)
    await t.invoke(graph, None, THREAD)
    await t.history(graph, THREAD)


async def copy_of_nothing(t):
    """A thread without a checkpoint can't be copied."""
    graph = chain(t, "a")
    await t.update(graph, THREAD, None, as_node="__copy__")
    await t.state(graph, THREAD)


async def copy_with_updates(t):
    """A copy with a list of updates applies them to the copy."""
    graph = chain(t, "a", "b", "c")
    await t.invoke(graph, {"x": ["i"]}, THREAD)
    snapshots = await t.history(graph, THREAD)
    await t.update(graph, snapshots[2].config, [({"x": ["A2"]}, "a")], as_node="__copy__")
    await t.state(graph, THREAD)
    await t.history(graph, THREAD, limit=3)


async def bulk_of_two_supersteps(t):
    """A bulk update is one checkpoint for each superstep."""
    graph = chain(t, "a", "b", "c")
    await t.bulk(
        graph,
        THREAD,
        [
            [StateUpdate({"x": ["i"]}, "__input__")],
            [StateUpdate({"x": ["i"]}, START)],
            [StateUpdate(values={"x": ["A"]}, as_node="a")],
            [StateUpdate({"x": ["B"]}, "b")],
        ],
    )
    await t.history(graph, THREAD)
    await t.invoke(graph, None, THREAD)


async def bulk_of_two_updates_in_one_superstep(t):
    """Updates of one superstep are applied at once, in the order of the list."""
    graph = fork(t)
    await t.invoke(graph, {"x": ["i"]}, THREAD, interrupt_before=["b", "c"])
    await t.bulk(graph, THREAD, [[StateUpdate({"x": ["C"]}, "c"), StateUpdate({"x": ["B"]}, "b")]])
    await t.state(graph, THREAD)
    await t.history(graph, THREAD, limit=2)
    await t.invoke(graph, None, THREAD)


async def bulk_is_checked(t):
    """A bulk update wants supersteps, updates, and a node for each of several."""
    graph = chain(t, "a", "b")
    await t.invoke(graph, {"x": ["i"]}, THREAD)
    await t.bulk(graph, THREAD, [])
    await t.bulk(graph, THREAD, [[]])
    await t.bulk(graph, THREAD, [[StateUpdate({"x": ["1"]}), StateUpdate({"x": ["2"]})]])
    await t.bulk(graph, THREAD, [[StateUpdate({"x": ["1"]}, "a"), StateUpdate(None, END)]])
    await t.bulk(graph, THREAD, [[StateUpdate(None, END), StateUpdate({"x": ["1"]}, "a")]])
    await t.bulk(graph, THREAD, [[StateUpdate({"x": ["1"]}, "__input__"), StateUpdate({"x": ["2"]}, "a")]])
    await t.bulk(graph, THREAD, [[StateUpdate(None, "__copy__"), StateUpdate({"x": ["2"]}, "a")]])
    await t.state(graph, THREAD)


async def update_of_an_entrypoint(t):
    """An update of an entrypoint's thread is both its value and the next run's previous."""

    @entrypoint(checkpointer=InMemorySaver())
    @t.node
    def flow(number, *, previous=None):
        return (previous or 0) + number

    await t.invoke(flow, 1, THREAD)
    await t.update(flow, THREAD, 40)
    await t.state(flow, THREAD)
    await t.invoke(flow, 2, THREAD)


async def node_that_is_inferred(t):
    """An update that names no node is of the one that ran last, whatever was written in others' names since."""
    for names in (["a", None], ["b", None], ["c", None, None], ["a", "c", None]):
        for ran in (True, False):
            graph = chain(t, "a", "b", "c", interrupt_before=["c"])
            if ran:
                await t.invoke(graph, {"x": ["i"]}, THREAD)
            for name in names:
                await t.update(graph, THREAD, {"x": ["u"]}, as_node=name)
            t.note("next", (await t.call(graph, "get_state", THREAD)).next)


@differs("a node isn't ambiguous with itself")
async def node_that_two_edges_led_to(t):
    """The node that ran last is meant also where a join and an edge led to it at once."""
    builder = StateGraph(State)
    for name in "ab":
        builder.add_node(name, t.node(says(name)))
    builder.add_edge(START, "a")
    builder.add_edge("a", "b")
    builder.add_edge(["a"], "b")
    graph = builder.compile(checkpointer=InMemorySaver())
    await t.invoke(graph, {"x": ["i"]}, THREAD)
    await t.update(graph, THREAD, {"x": ["u"]})
    await t.state(graph, THREAD)


async def updates_of_a_checkpoint_that_is_no_head(t):
    """What an update of the head wrote is shown as its task's; one of an older checkpoint leaves that as it is."""
    graph = fork(t, interrupt_before=["b", "c"])
    await t.invoke(graph, {"x": ["i"]}, THREAD)
    waiting = await t.state(graph, THREAD)
    for name in "bc":
        await t.update(graph, waiting.config, {"x": [f"for {name}"]}, as_node=name)
        await t.state(graph, waiting.config)
        await t.state(graph, THREAD)
    await t.history(graph, THREAD)


@differs("a checkpoint that was replayed is what it was")
async def update_of_an_input_that_was_replayed(t):
    """At the checkpoint of an input an update that names no node is of the input, also where a replay copied it."""
    builder = StateGraph(State)
    for name in "ab":
        builder.add_node(name, t.node(says(name)))
    builder.add_edge(START, "a")
    builder.add_edge("a", "b")
    graph = builder.compile(checkpointer=InMemorySaver())
    await t.invoke(graph, {"x": ["i"]}, THREAD)
    given = (await t.history(graph, THREAD))[-1]
    await t.invoke(graph, None, given.config)
    copied = next(each for each in await t.history(graph, THREAD) if each.next == (START,))
    t.note("source", copied.metadata["source"])
    for snapshot in (given, copied):
        if (changed := await t.update(graph, snapshot.config, {"x": ["u"]})) is not None:
            await t.invoke(graph, None, changed)


@differs("a checkpoint that was replayed is what it was")
async def update_of_an_update_that_was_replayed(t):
    """After an update of a new thread another one that names no node is of the input, also where a replay copied it."""
    graph = chain(t, "a", "b", "c")
    given = await t.update(graph, THREAD, {"x": ["i"]}, as_node="a")
    await t.invoke(graph, None, given)
    await t.invoke(graph, None, given)
    copied = next(each for each in await t.history(graph, THREAD) if each.metadata["source"] == "fork")
    for config in (given, copied.config):
        if (changed := await t.update(graph, config, {"x": ["u"]})) is not None:
            await t.invoke(graph, None, changed)


@differs("an update after a Send is of the node that it went to")
async def update_after_a_send(t):
    """The node that ran last is meant also where it ran for a Send, and its edges lead on."""
    builder = StateGraph(State)
    for name in "ab":
        builder.add_node(name, t.node(says(name)))
    builder.add_conditional_edges(START, lambda state: [Send("a", state)])
    builder.add_edge("a", "b")
    graph = builder.compile(checkpointer=InMemorySaver(), interrupt_after=["a"])
    await t.invoke(graph, {"x": ["i"]}, THREAD)
    await t.update(graph, THREAD, {"x": ["u"]})
    await t.invoke(graph, None, THREAD)
    t.note("state", (await t.call(graph, "get_state", THREAD)).values)


async def bulk_updates_that_are_tuples(t):
    """An update may be a plain tuple."""
    graph = chain(t, "a", "b")
    await t.bulk(graph, THREAD, [[({"x": ["1"]}, "a", None)], [({"x": ["2"]}, "b", None)]])
    await t.state(graph, THREAD)


async def update_before_a_join_that_is_due(t):
    """An update in the name of a node that a join has waited for changes nothing of what is due."""
    builder = StateGraph(State)
    for name in "abc":
        builder.add_node(name, t.node(says(name)))
        builder.add_edge(START, name) if name != "c" else builder.add_edge(["a", "b"], "c")
    graph = builder.compile(checkpointer=InMemorySaver(), interrupt_before=["c"])
    await t.invoke(graph, {"x": ["i"]}, THREAD)
    await t.update(graph, THREAD, {"x": ["u"]}, as_node="b")
    await t.state(graph, THREAD)
    await t.invoke(graph, None, THREAD)


def routed(t, route, state=State, **parts):
    """A graph whose only node is led on by a router."""
    builder = StateGraph(state)
    builder.add_node("a", t.node(says("a")))
    builder.add_edge(START, "a")
    builder.add_conditional_edges("a", route)
    return builder.compile(checkpointer=InMemorySaver(), **parts)


async def routers_find_the_configuration_of_an_update(t):
    """A router that an update asks is given the caller's configuration and a writer, and may look them up."""

    def route(state: State, config: RunnableConfig):
        told = {"thread": config["configurable"]["thread_id"], "mine": config["configurable"]["mine"]}
        t.note("given", {**told, "tags": config["tags"], "metadata": dict(config["metadata"])})
        t.note("looked up", get_config()["configurable"]["mine"])
        return END

    def writes(state: State, writer: StreamWriter):
        writer("nobody hears this")
        return END

    config = {"configurable": {"thread_id": "1", "mine": 3}, "tags": ["tag"], "metadata": {"m": 1}}
    for router in (t.node(route), RunnableLambda(route), t.node(writes)):
        graph = routed(t, router)
        await t.update(graph, config, {"x": ["u"]}, as_node="a")
        await t.state(graph, THREAD)


async def an_update_inside_of_a_node_asks_its_own_routers(t):
    """A router of the thread that a node updates finds the configuration of the update, not the node's."""
    routers = [
        routed(t, t.node(lambda state: t.note("mine", get_config()["configurable"].get("mine")) or END))
    ]

    async def node(state: State):
        config = {"configurable": {"thread_id": "2", "mine": "inner"}}
        await t.call(routers[0], "update_state", config, {"x": ["u"]}, "a")
        t.note("the node's", get_config()["configurable"].get("mine"))

    builder = StateGraph(State)
    builder.add_node("n", t.node(node))
    builder.add_edge(START, "n")
    await t.invoke(builder.compile(), {"x": ["i"]}, {"configurable": {"mine": "outer"}})


class Numbered(ManagedValue):
    """Which superstep it is, and of which the last."""

    @staticmethod
    def get(scratchpad):
        return f"{scratchpad.step} of {scratchpad.stop}"


class Counted(TypedDict):
    x: Annotated[list, operator.add]
    left: RemainingSteps
    last: IsLastStep
    step: Annotated[str, Numbered]


async def routers_of_updates_find_the_steps_that_remain(t):
    """Managed values are there for a router that an update asks, as for one in a run."""

    def route(state: Counted):
        t.note("seen", (state["left"], state["last"], state["step"]))
        return END

    graph = routed(t, route, Counted)
    await t.update(graph, THREAD, {"x": ["u"]}, as_node="a")
    await t.invoke(graph, {"x": ["i"]}, {**THREAD, "recursion_limit": 6})
    await t.update(graph, {**THREAD, "recursion_limit": 6}, {"x": ["u"]}, as_node="a")
    await t.bulk(graph, THREAD, [[StateUpdate({"x": ["u"]}, "a")], [StateUpdate({"x": ["v"]}, "a")]])


@differs("a router is given what it asks for")
async def routers_of_updates_find_the_store(t):
    """A router that an update asks may ask for the runtime and the store."""

    def by_runtime(state: State, runtime: Runtime):
        return "a" if runtime.store.get(("n",), "again") else END

    def by_store(state: State, *, store: BaseStore):
        return "a" if store.get(("n",), "again") else END

    def by_lookups(state: State):
        get_stream_writer()("nobody hears this")
        return "a" if get_store().get(("n",), "again") else END

    store = InMemoryStore()
    store.put(("n",), "again", {})
    for route in (by_runtime, by_store, by_lookups):
        graph = routed(t, route, store=store)
        await t.update(graph, THREAD, {"x": ["u"]}, as_node="a")
        t.note("next", (await t.call(graph, "get_state", THREAD)).next)


async def update_after_a_stream_that_is_left(t):
    """Whoever breaks out of a stream may update its thread at once: the run has ended, or is about to."""
    graph = chain(t, "a", "b", "c")
    if t.asyncio:
        async for _ in graph.astream({"x": ["i"]}, THREAD, durability="sync"):
            break
    else:
        for _ in graph.stream({"x": ["i"]}, THREAD, durability="sync"):
            break
    await t.update(graph, THREAD, {"x": ["u"]}, as_node="b")
    t.note("next", (await t.call(graph, "get_state", THREAD)).next)
    await t.invoke(graph, None, THREAD)


@differs("a thread has one writer")
async def an_update_under_a_run(t):
    """Somebody updates a thread whose run is under way."""
    graph = chain(t, "a", "b")
    if t.asyncio:
        async for _ in graph.astream({"x": ["i"]}, THREAD):
            await t.update(graph, THREAD, {"x": ["u"]}, as_node="b")
    else:
        for _ in graph.stream({"x": ["i"]}, THREAD):
            await t.update(graph, THREAD, {"x": ["u"]}, as_node="b")
    t.note("kept", (await t.call(graph, "get_state", THREAD)).values)


@differs("a thread has one writer")
async def a_call_under_a_run(t):
    """Whoever reads a stream calls its thread before the run has ended."""
    builder = StateGraph(State)
    builder.add_node("a", t.node(lambda state: {}))  # whether LangGraph has stored its end by then is a race
    builder.add_node("b", t.node(lambda state: {"x": ["b"]}))
    graph = builder.add_edge(START, "a").add_edge("a", "b").compile(checkpointer=InMemorySaver())
    if t.asyncio:
        async for chunk in graph.astream({"x": ["i"]}, THREAD):
            if "a" in chunk:
                await t.invoke(graph, {"x": ["j"]}, THREAD)
    else:
        for chunk in graph.stream({"x": ["i"]}, THREAD):
            if "a" in chunk:
                await t.invoke(graph, {"x": ["j"]}, THREAD)
    t.note("kept", (await t.call(graph, "get_state", THREAD)).values)


async def updates_beside_a_question(t):
    """An update that makes a finished task due again takes the place of what it wrote, and the question stays."""
    builder = nodes(t, StateGraph(State), "a", "b", q=lambda state: {"x": [interrupt("?")]})
    graph = edges(builder, ". a b .", ". q .").compile(checkpointer=InMemorySaver())
    for name, count in (("one", 1), ("two", 2)):
        config = {"configurable": {"thread_id": name}}
        await t.call(graph, "invoke", {"x": []}, config)
        for number in range(count):
            await t.call(graph, "update_state", config, {"x": [f"edit {number}"]})
            t.note("due", (await t.call(graph, "get_state", config)).next)
        await t.call(graph, "invoke", None, config)
        await t.invoke(graph, Command(resume="yes"), config)


@differs("finished siblings of an abandoned superstep")
async def an_input_beside_a_finished_sibling(t):
    """What was to run after a task of an abandoned superstep doesn't run beside the new input."""
    seen = []

    def b(state):
        seen.append(list(state["x"]))
        return {"x": ["b"]}

    builder = nodes(t, StateGraph(State), "s", "a", b=b, q=lambda state: {"x": [interrupt("?")]})
    builder.add_conditional_edges("s", lambda state: ["b"] if "new" in state["x"] else ["a", "q"])
    graph = edges(builder, ". s", "a b .").compile(checkpointer=InMemorySaver())
    await t.call(graph, "invoke", {"x": ["old"]}, THREAD)
    await t.invoke(graph, {"x": ["new"]}, THREAD)
    t.note("seen", seen)


async def an_update_that_sends_anew(t):
    """Who updates a state as the node that sent tasks has them made anew: what some of them had written is given up."""

    def plan(state):
        return {"x": ["plan"]}

    def work(word):
        return {"x": [interrupt("?") if word == "ask" else word]}

    builder = nodes(t, StateGraph(State), "end", plan=plan, work=work)
    builder.add_conditional_edges("plan", lambda state: [Send("work", "did"), Send("work", "ask")], ["work"])
    graph = edges(builder, ". plan", "work end .").compile(checkpointer=InMemorySaver())
    await t.call(graph, "invoke", {"x": []}, THREAD)
    await t.call(graph, "update_state", THREAD, {"x": ["edited"]}, as_node="plan")
    t.note("due", (await t.call(graph, "get_state", THREAD)).next)
    await t.call(graph, "invoke", None, THREAD)
    await t.invoke(graph, Command(resume="yes"), THREAD)
