"""Persistence of graphs inside graphs: savers, namespaces, interrupts and time travel (sections 2.25 and 2.26)."""

import operator
import re
from functools import partial
from typing import Annotated, TypedDict

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.func import entrypoint
from langgraph.graph import START, StateGraph
from langgraph.runtime import Runtime
from langgraph.types import Command, Send, interrupt

from ..parts import ONE, edges, nodes
from ..trace import differs


class State(TypedDict):
    x: Annotated[list, operator.add]


class Note(TypedDict):
    word: str
    notes: Annotated[list, operator.add]


UUID = "[0-9a-f]{8}-[0-9a-f-]{27}"

THREAD = {"configurable": {"thread_id": "1"}}


def says(word):
    """A node that appends its word."""

    def node(state):
        return {"x": [word]}

    return node


def asks(question, log=None):
    """A node that appends the answer to its question."""

    def node(state):
        if log is not None:
            log.append(question)
        return {"x": [interrupt(question)]}

    return node


def chain(t, *nodes):
    """A builder of nodes one after the other: names, or pairs of a name and a node."""
    builder = StateGraph(State)
    builder.add_sequence([(n, t.node(says(n))) if isinstance(n, str) else n for n in nodes])
    builder.add_edge(START, nodes[0] if isinstance(nodes[0], str) else nodes[0][0])
    return builder


def memory(t):
    """A builder of a graph that notes the words it's given."""

    def note(state):
        return {"notes": [state["word"]]}

    builder = StateGraph(Note)
    builder.add_node("note", t.node(note))
    builder.add_edge(START, "note")
    return builder


def remembering(t, sub):
    """A graph whose node calls the subgraph with the last word, and appends how many notes it has."""

    async def node(state):
        result = await t.call(sub, "invoke", {"word": state["x"][-1]})
        return {"x": [len(result["notes"])]}

    return chain(t, ("node", t.node(node))).compile(checkpointer=InMemorySaver())


async def subgraph_starts_fresh_in_each_run(t):
    """A subgraph without a saver of its own remembers nothing of the thread's last run."""
    graph = remembering(t, memory(t).compile())
    await t.invoke(graph, {"x": ["i"]}, THREAD)
    await t.invoke(graph, {"x": ["j"]}, THREAD)


async def subgraph_with_memory(t):
    """A subgraph compiled with `checkpointer=True` keeps its state for the whole thread."""
    graph = remembering(t, memory(t).compile(checkpointer=True))
    await t.invoke(graph, {"x": ["i"]}, THREAD)
    await t.invoke(graph, {"x": ["j"]}, THREAD)
    await t.invoke(graph, {"x": ["k"]}, {"configurable": {"thread_id": "2"}})


async def subgraph_with_memory_as_a_node(t):
    """The memory of a subgraph that is a node has the name of the node as its namespace."""
    sub = chain(t, "s").compile(checkpointer=True)
    graph = chain(t, ("sub", sub)).compile(checkpointer=InMemorySaver())
    await t.invoke(graph, {"x": ["i"]}, THREAD)
    await t.stream(graph, {"x": ["j"]}, THREAD, subgraphs=True)
    await t.state(graph, {"configurable": {"thread_id": "1", "checkpoint_ns": "sub"}})
    await t.history(graph, {"configurable": {"thread_id": "1", "checkpoint_ns": "sub"}})


async def memory_at_the_root(t):
    """`checkpointer=True` is for subgraphs; a root graph refuses it."""
    await t.invoke(chain(t, "a").compile(checkpointer=True), {"x": []}, THREAD)


@differs("configurations hold names alone")
async def state_of_a_subgraph_that_waits(t):
    """With `subgraphs` the task of a waiting subgraph shows its snapshot, and without it only its config."""
    sub = chain(t, "s", ("ask", t.node(asks("?")))).compile()
    graph = chain(t, "a", ("sub", sub), "z").compile(checkpointer=InMemorySaver())
    await t.invoke(graph, {"x": ["i"]}, THREAD)
    await t.state(graph, THREAD)
    inside = await t.state(graph, THREAD, subgraphs=True)
    await t.state(graph, inside.tasks[0].state.config)
    await t.history(graph, inside.tasks[0].state.config)
    await t.invoke(graph, Command(resume="yes"), THREAD)
    await t.state(graph, THREAD, subgraphs=True)


async def history_of_a_subgraph(t):
    """The history of a subgraph's namespace is that of its own supersteps."""
    sub = chain(t, "s", ("ask", t.node(asks("?")))).compile()
    graph = chain(t, ("sub", sub)).compile(checkpointer=InMemorySaver())
    await t.invoke(graph, {"x": ["i"]}, THREAD)
    waiting = await t.state(graph, THREAD)
    await t.history(graph, waiting.tasks[0].state)


async def filters_of_a_subgraphs_history(t):
    """They compare what the caller gave, and the checkpoints around; a limit counts what is left."""
    sub = chain(t, "s", ("ask", t.node(asks("?")))).compile()
    graph = chain(t, ("sub", sub)).compile(checkpointer=InMemorySaver())
    await t.invoke(graph, {"x": ["i"]}, {**THREAD, "metadata": {"user": "ann", "of": {"team": 1}}})
    inside = (await t.state(graph, THREAD)).tasks[0].state
    found = await t.history(graph, inside, filter={"user": "ann"}, limit=2)
    await t.history(graph, inside, filter={"user": "eve"})
    await t.history(graph, inside, filter={"of": {"team": 1}, "source": "loop", "step": 0})
    await t.history(graph, inside, filter={"parents": found[0].metadata["parents"]}, before=found[0].config)
    await t.update(graph, inside, {"x": ["u"]})
    await t.history(graph, inside, filter={"source": "update"})


async def unknown_subgraph(t):
    """A namespace in which nothing ran has an empty state."""
    sub = chain(t, "s").compile()
    graph = chain(t, ("sub", sub)).compile(checkpointer=InMemorySaver())
    await t.invoke(graph, {"x": ["i"]}, THREAD)
    await t.state(graph, {"configurable": {"thread_id": "1", "checkpoint_ns": "nope"}})


async def interrupt_in_a_subgraph(t):
    """An interrupt inside stops the parent; what ran before it inside doesn't run again."""
    log = []

    def first(state):
        log.append("first")
        return {"x": ["first"]}

    sub = chain(t, ("first", t.node(first)), ("ask", t.node(asks("?", log)))).compile()
    graph = chain(t, "a", ("sub", sub), "z").compile(checkpointer=InMemorySaver())
    await t.stream(graph, {"x": ["i"]}, THREAD, stream_mode=["values", "updates"], subgraphs=True)
    await t.stream(graph, Command(resume="yes"), THREAD, stream_mode=["values", "updates"], subgraphs=True)
    t.note("ran", log)
    await t.history(graph, THREAD)


async def interrupt_in_a_subgraph_without_saver(t):
    """With `checkpointer=False` the whole subgraph runs again for an answer."""
    log = []

    def first(state):
        log.append("first")
        return {"x": ["first"]}

    sub = chain(t, ("first", t.node(first)), ("ask", t.node(asks("?", log)))).compile(checkpointer=False)
    graph = chain(t, ("sub", sub)).compile(checkpointer=InMemorySaver())
    await t.invoke(graph, {"x": ["i"]}, THREAD)
    await t.state(graph, THREAD, subgraphs=True)
    await t.invoke(graph, Command(resume="yes"), THREAD)
    t.note("ran", log)


async def interrupt_two_levels_down(t):
    """An interrupt passes through all levels with one id."""
    leaf = chain(t, ("ask", t.node(asks("deep?")))).compile()
    middle = chain(t, "m", ("leaf", leaf)).compile()
    graph = chain(t, ("middle", middle), "z").compile(checkpointer=InMemorySaver())
    await t.invoke(graph, {"x": ["i"]}, THREAD)
    await t.state(graph, THREAD, subgraphs=True)
    await t.stream(graph, Command(resume="yes"), THREAD, subgraphs=True)


async def interrupts_of_two_subgraphs(t):
    """Two subgraphs that wait in one step are answered by the ids of their interrupts."""
    builder = StateGraph(State)
    for name in ("p", "q"):
        builder.add_node(name, chain(t, ("ask", t.node(asks(name)))).compile())
        builder.add_edge(START, name)
    graph = builder.compile(checkpointer=InMemorySaver())
    result = await t.invoke(graph, {"x": []}, {**THREAD, "max_concurrency": 1})
    await t.invoke(graph, Command(resume="both?"), THREAD)
    answers = {i.id: i.value.upper() for i in result["__interrupt__"]}
    await t.invoke(graph, Command(resume=answers), THREAD)


async def two_calls_that_ask(t):
    """A node that calls a graph twice is asked twice, one after the other."""
    sub = chain(t, ("ask", t.node(asks("?")))).compile()

    async def node(state):
        one = await t.call(sub, "invoke", {"x": []})
        two = await t.call(sub, "invoke", {"x": []})
        return {"x": one["x"] + two["x"]}

    graph = chain(t, ("node", t.node(node))).compile(checkpointer=InMemorySaver())
    await t.invoke(graph, {"x": []}, THREAD)
    await t.invoke(graph, Command(resume="1"), THREAD)
    await t.invoke(graph, Command(resume="2"), THREAD)


async def interrupt_before_a_node_of_a_subgraph(t):
    """A breakpoint compiled into a subgraph stops the parent too."""
    sub = chain(t, "s1", "s2").compile(interrupt_before=["s2"])
    graph = chain(t, ("sub", sub), "z").compile(checkpointer=InMemorySaver())
    await t.stream(graph, {"x": ["i"]}, THREAD, subgraphs=True)
    await t.state(graph, THREAD, subgraphs=True)
    await t.stream(graph, None, THREAD, subgraphs=True)


async def update_of_a_waiting_subgraph(t):
    """The state of a waiting subgraph can be edited by the config of its snapshot."""
    sub = chain(t, "s1", "s2").compile(interrupt_before=["s2"])
    graph = chain(t, ("sub", sub)).compile(checkpointer=InMemorySaver())
    await t.invoke(graph, {"x": ["i"]}, THREAD)
    waiting = await t.state(graph, THREAD, subgraphs=True)
    await t.update(graph, waiting.tasks[0].state.config, {"x": ["edited"]})
    await t.state(graph, THREAD, subgraphs=True)
    await t.invoke(graph, None, THREAD)


async def update_of_a_subgraph_as_its_node(t):
    """An update as the node of a waiting subgraph stands for the subgraph's whole result."""
    sub = chain(t, ("ask", t.node(asks("?")))).compile()
    graph = chain(t, ("sub", sub), "z").compile(checkpointer=InMemorySaver())
    await t.invoke(graph, {"x": ["i"]}, THREAD)
    await t.update(graph, THREAD, {"x": ["by hand"]}, as_node="sub")
    await t.invoke(graph, None, THREAD)
    await t.history(graph, THREAD)


async def replay_before_a_subgraph(t):
    """A replay of a checkpoint before a subgraph runs the subgraph from its start, which asks again."""
    log = []
    sub = chain(t, "s", ("ask", t.node(asks("?", log)))).compile()
    graph = chain(t, "a", ("sub", sub)).compile(checkpointer=InMemorySaver())
    await t.invoke(graph, {"x": ["i"]}, THREAD)
    await t.invoke(graph, Command(resume="one"), THREAD)
    before = next(s for s in await t.history(graph, THREAD) if s.next == ("sub",))
    await t.stream(graph, None, before.config, subgraphs=True)
    await t.invoke(graph, Command(resume="two"), THREAD)
    t.note("ran", log)


def stepping(t, log, checkpointer):
    """A graph with a subgraph of three steps, the last of which asks; and the log of what ran."""

    def noted(word):
        def node(state):
            log.append(word)
            return {"x": [word]}

        return (word, t.node(node))

    sub = chain(t, noted("s1"), noted("s2"), ("ask", t.node(asks("?", log))))
    return chain(t, noted("a"), ("sub", sub.compile(checkpointer=checkpointer)), noted("z")).compile(
        checkpointer=InMemorySaver()
    )


async def replay_inside_a_subgraph(t):
    """A replay by a subgraph's own config runs all of it: the parent's fork gives it a new namespace."""
    log = []
    graph = stepping(t, log, None)
    await t.invoke(graph, {"x": ["i"]}, THREAD)
    waiting = await t.state(graph, THREAD)
    inside = await t.history(graph, waiting.tasks[0].state)
    del log[:]
    before = next(s for s in inside if s.next == ("s2",))
    await t.stream(graph, None, before.config, subgraphs=True)
    t.note("ran", log)
    await t.invoke(graph, Command(resume="yes"), THREAD)
    t.note("ran", log)


async def replay_inside_a_subgraph_of_a_branch(t):
    """Where the thread stands at an update, or at a replay's copy, the subgraph goes on from its own checkpoint."""

    async def past(graph):
        if t.asyncio:
            return [each async for each in graph.aget_state_history(THREAD)]
        return list(graph.get_state_history(THREAD))

    for branch in ("update", "replay"):
        sub = chain(t, "s1", "s2").compile(interrupt_before=["s2"])
        graph = chain(t, "a", ("sub", sub), "z").compile(checkpointer=InMemorySaver())
        await t.invoke(graph, {"x": ["i"]}, THREAD)
        if branch == "update":
            await t.update(graph, THREAD, {"x": ["u"]}, as_node="a")
            await t.invoke(graph, None, THREAD)
        else:
            for due in ("a", "sub"):
                before = [each for each in await past(graph) if each.next == (due,)]
                await t.invoke(graph, None, before[-1].config)
        inside = (await t.call(graph, "get_state", THREAD, subgraphs=True)).tasks[0].state
        for config in (inside.parent_config, THREAD, inside.config):
            await t.invoke(graph, None, config)
            t.note("next", (await t.call(graph, "get_state", THREAD)).next)
        t.note(
            "past",
            [(each.metadata["source"], each.metadata["step"], each.next) for each in await past(graph)],
        )


@differs("parents of a checkpoint are those around it")
async def parents_after_a_replay_inside_a_subgraph(t):
    """What the thread's own checkpoints have to say of the checkpoint that was gone back to."""
    sub = chain(t, "s1", "s2").compile(interrupt_before=["s2"])
    graph = chain(t, "a", ("sub", sub), "z").compile(checkpointer=InMemorySaver())
    await t.invoke(graph, {"x": ["i"]}, THREAD)
    inside = (await t.call(graph, "get_state", THREAD, subgraphs=True)).tasks[0].state
    await t.invoke(graph, None, inside.config)
    state = await t.call(graph, "get_state", THREAD)
    t.note("parents", (state.metadata["parents"], "checkpoint_map" in state.config["configurable"]))


async def going_on_from_an_update_of_a_memory(t):
    """An update at a checkpoint of a graph with memory is what a run goes on from that names it, whatever the graph
    has remembered since."""
    sub = chain(t, "s", ("ask", t.node(asks("?")))).compile(checkpointer=True)
    graph = chain(t, "a", ("sub", sub), "z").compile(checkpointer=InMemorySaver())
    for turn in ("i", "j"):
        await t.invoke(graph, {"x": [turn]}, THREAD)
        await t.invoke(graph, Command(resume=turn.upper()), THREAD)
    memory = {"configurable": {"thread_id": "1", "checkpoint_ns": "sub"}}
    for due in ("s", "ask"):
        inside = await t.history(graph, memory)
        before = next(s for s in inside if s.next == (due,))
        updated = await t.update(graph, before.config, {"x": ["edited"]})
        await t.stream(graph, None, updated, stream_mode="updates", subgraphs=True)
        await t.stream(graph, Command(resume="again"), THREAD, stream_mode="updates", subgraphs=True)
        if due == "s":
            graph = chain(t, "a", ("sub", sub), "z").compile(checkpointer=InMemorySaver())
            await t.invoke(graph, {"x": ["k"]}, THREAD)
    await t.invoke(graph, {"x": ["l"]}, THREAD)


@differs("an update of a memory is copied by the call that goes on from it")
async def steps_after_an_update_of_a_memory(t):
    """Which checkpoints a graph with memory has that went on from an update of what it was before."""
    graph = chain(t, ("sub", chain(t, "s").compile(checkpointer=True))).compile(checkpointer=InMemorySaver())
    await t.invoke(graph, {"x": ["i"]}, THREAD)
    memory = {"configurable": {"thread_id": "1", "checkpoint_ns": "sub"}}
    before = next(s for s in await t.history(graph, memory) if s.next == ("s",))
    await t.invoke(graph, None, await t.update(graph, before.config, {"x": ["edited"]}))
    state = await t.call(graph, "get_state", memory)
    t.note("step", state.metadata["step"])


async def replay_inside_a_subgraph_with_memory(t):
    """A replay by the config of a subgraph with memory starts inside, and the parent goes on after it."""
    log = []
    graph = stepping(t, log, True)
    await t.invoke(graph, {"x": ["i"]}, THREAD)
    waiting = await t.state(graph, THREAD)
    inside = await t.history(graph, waiting.tasks[0].state)
    await t.invoke(graph, Command(resume="one"), THREAD)
    del log[:]
    before = next(s for s in inside if s.next == ("s2",))
    await t.stream(graph, None, before.config, subgraphs=True)
    t.note("ran", log)
    await t.invoke(graph, Command(resume="two"), THREAD)
    t.note("ran", log)


async def replay_with_memory(t):
    """A replay shows a subgraph with memory what it knew at that time."""
    graph = remembering(t, memory(t).compile(checkpointer=True))
    await t.invoke(graph, {"x": ["i"]}, THREAD)
    await t.invoke(graph, {"x": ["j"]}, THREAD)
    await t.invoke(graph, {"x": ["k"]}, THREAD)
    second = [s for s in await t.history(graph, THREAD) if s.next == ("node",)][1]
    await t.invoke(graph, None, second.config)


def calling_twice(t, sub):
    """A graph whose node calls the subgraph with two words."""

    async def node(state):
        calls = [await t.call(sub, "invoke", {"x": [word]}) for word in ("one", "two")]
        return {"x": [call["x"] for call in calls]}

    return chain(t, ("node", t.node(node))).compile(checkpointer=InMemorySaver())


async def memories_of_several_calls(t):
    """Each of a node's calls of a graph with memory has a memory of its own."""
    graph = calling_twice(t, chain(t, "s").compile(checkpointer=True))
    await t.stream(graph, {"x": ["i"]}, THREAD, subgraphs=True)
    await t.stream(graph, {"x": ["j"]}, THREAD, subgraphs=True)


@differs("a memory is no result")
async def a_memory_after_an_answer(t):
    """Each call of a graph with memory runs on its own input, whatever was answered before it."""
    graph = calling_twice(t, chain(t, ("ask", asks("?"))).compile(checkpointer=True))
    for turn in ("i", "j"):
        await t.invoke(graph, {"x": [turn]}, THREAD)
        await t.invoke(graph, Command(resume="A"), THREAD)
        if (await t.state(graph, THREAD)).next:
            await t.invoke(graph, Command(resume="B"), THREAD)


async def a_memory_of_several_sends(t):
    """Sends that share a memory each take their own input, and get their own result."""
    sub = chain(t, "s").compile(checkpointer=True)

    async def node(state):
        return {"x": [(await t.call(sub, "invoke", state))["x"]]}

    builder = StateGraph(State)
    builder.add_node("node", t.node(node))
    builder.add_conditional_edges(START, lambda state: [Send("node", {"x": [n]}) for n in (1, 2)], ["node"])
    graph = builder.compile(checkpointer=InMemorySaver())
    config = THREAD | {"max_concurrency": 1}
    await t.invoke(graph, {"x": []}, config)
    await t.invoke(graph, {"x": []}, config)


def counting(t):
    """A graph that counts what its part with memory has noted, three times in a loop, and its builder's thread."""
    sub = memory(t).compile(checkpointer=True)

    async def count(state):
        result = await t.call(sub, "invoke", {"word": state["x"][-1]})
        return {"x": [len(result["notes"])]}

    builder = chain(t, "a")
    builder.add_node("count", t.node(count))
    builder.add_edge("a", "count")
    builder.add_conditional_edges("count", lambda state: "count" if state["x"][-1] % 3 else "__end__")
    return builder.compile(checkpointer=InMemorySaver())


async def replay_of_a_loop_with_memory(t):
    """A replay finds the memory of then, and from there on its own."""
    graph = counting(t)
    await t.invoke(graph, {"x": ["i"]}, THREAD)
    first = [s.config for s in await t.history(graph, THREAD) if s.next == ("count",)][-1]
    await t.invoke(graph, None, first)
    await t.invoke(graph, {"x": ["j"]}, THREAD)


async def fork_with_memory(t):
    """An update of an old checkpoint is a branch, on which memory is as it was then."""
    graph = remembering(t, memory(t).compile(checkpointer=True))
    for word in ("i", "j", "k"):
        await t.invoke(graph, {"x": [word]}, THREAD)
    second = [s.config for s in await t.history(graph, THREAD) if s.next == ("node",)][1]
    forked = await t.update(graph, second, {"x": ["F"]})
    await t.invoke(graph, None, forked)
    await t.invoke(graph, {"x": ["l"]}, THREAD)


async def state_of_a_memory_to_come(t):
    """Before a part with memory has run, its state is empty, and named as it will be."""
    graph = chain(t, "a", ("b", chain(t, "s").compile(checkpointer=True)))
    graph = graph.compile(checkpointer=InMemorySaver(), interrupt_before=["b"])
    await t.invoke(graph, {"x": ["i"]}, THREAD)
    state = await t.call(graph, "get_state", THREAD, subgraphs=True)
    part = state.tasks[0].state
    t.note("part", [part.values, part.config["configurable"]["checkpoint_ns"]])
    await t.state(graph, THREAD)


async def thread_of_its_own(t):
    """A subgraph that's called with a thread of its own is a root run with its own saver."""
    sub = memory(t).compile(checkpointer=InMemorySaver())

    async def node(state):
        config = {"configurable": {"thread_id": "inner"}}
        result = await t.call(sub, "invoke", {"word": state["x"][-1]}, config)
        return {"x": [len(result["notes"])]}

    graph = chain(t, ("node", t.node(node))).compile(checkpointer=InMemorySaver())
    await t.invoke(graph, {"x": ["i"]}, THREAD)
    await t.invoke(graph, {"x": ["j"]}, {"configurable": {"thread_id": "2"}})
    await t.state(sub, {"configurable": {"thread_id": "inner"}})


async def a_thread_of_the_same_name(t):
    """Of a subgraph that keeps threads elsewhere, the name of the run's own thread is a thread there."""
    sub = memory(t).compile(checkpointer=InMemorySaver())

    async def node(state, config: RunnableConfig):
        found = []
        for given in (THREAD, THREAD, config):
            result = await t.call(sub, "invoke", {"word": state["x"][-1]}, given)
            found.append(len(result["notes"]))
        return {"x": found}

    for options in ({"checkpointer": InMemorySaver()}, {}):
        graph = chain(t, ("node", t.node(node))).compile(**options)
        await t.invoke(graph, {"x": ["i"]}, THREAD)
        await t.invoke(graph, {"x": ["j"]}, THREAD)
        await t.state(sub, THREAD)


async def answer_after_an_update(t):
    """An update of a graph that waits, at the root or nested, has the question asked anew: a plain answer is for it."""
    for nested in (False, True):
        sub = chain(t, "s1", ("ask", asks("?")))
        builder = chain(t, ("sub", sub.compile())) if nested else sub
        graph = builder.compile(checkpointer=InMemorySaver())
        await t.invoke(graph, {"x": ["i"]}, THREAD)
        waiting = await t.state(graph, THREAD, subgraphs=True)
        config = waiting.tasks[0].state.config if nested else THREAD
        await t.update(graph, config, {"x": ["edited"]})
        await t.state(graph, THREAD, subgraphs=True)
        await t.stream(
            graph, Command(resume="!"), THREAD, stream_mode=["values", "checkpoints"], subgraphs=True
        )


@differs("an answer by id after an update of a nested graph")
async def answer_by_id_after_an_update(t):
    """An answer by the id of a question that was asked before the update of a nested graph."""
    sub = chain(t, "s1", ("ask", asks("?"))).compile()
    graph = chain(t, ("sub", sub)).compile(checkpointer=InMemorySaver())
    await t.invoke(graph, {"x": ["i"]}, THREAD)
    waiting = await t.state(graph, THREAD, subgraphs=True)
    await t.update(graph, waiting.tasks[0].state.config, {"x": ["edited"]})
    await t.invoke(graph, Command(resume={waiting.interrupts[0].id: "!"}), THREAD)


async def answer_after_an_update_of_what_is_due_later(t):
    """After an update a plain answer is for what is asked next, in nested graphs too, not for what is due later."""
    for names in (("ask",), ("s", "ask"), ("sub",), ("s", "sub")):
        sub = chain(t, "s1", ("deep", asks("deep?"))).compile()
        parts = {"s": t.node(says("s")), "ask": t.node(asks("?")), "sub": sub}
        graph = chain(t, "a", *[(name, parts[name]) for name in names]).compile(checkpointer=InMemorySaver())
        await t.invoke(graph, {"x": ["i"]}, THREAD)
        await t.update(graph, THREAD, {"x": ["u"]}, as_node="a")
        await t.stream(graph, Command(resume="!"), THREAD, subgraphs=True)


@differs("nothing in a graph that stores nothing is stored")
async def a_graph_in_one_that_stores_nothing(t):
    """A graph without a saver of its own, in one with `checkpointer=False`."""
    saver = InMemorySaver()
    middle = chain(t, ("inner", chain(t, "s1").compile())).compile(checkpointer=False)
    graph = chain(t, ("middle", middle)).compile(checkpointer=saver)
    chunks = await t.stream(graph, {"x": ["i"]}, THREAD, stream_mode="checkpoints", subgraphs=True)
    t.note("streamed", sorted({len(namespace) for namespace, _ in chunks}))
    stored = [each.config["configurable"]["checkpoint_ns"] for each in saver.list(THREAD)]
    t.note("stored", sorted({namespace.count(":") for namespace in stored}))


async def a_memory_on_another_thread(t):
    """A graph with `checkpointer=True` has no thread of its own: it runs on that of the graph around, or not at all."""
    sub = memory(t).compile(checkpointer=True)

    async def node(state):
        return {
            "x": (await t.call(sub, "invoke", {"word": "w"}, {"configurable": {"thread_id": "other"}}))[
                "notes"
            ]
        }

    graph = chain(t, ("node", t.node(node))).compile(checkpointer=InMemorySaver())
    await t.invoke(graph, {"x": ["i"]}, THREAD)


async def a_nested_graph_without_an_input(t):
    """A call of a nested graph begins it, so that it needs an input."""
    sub = memory(t).compile()

    async def node(state):
        return {"x": (await t.call(sub, "invoke", None))["notes"]}

    await t.invoke(chain(t, ("node", t.node(node))).compile(), {"x": ["i"]})


async def a_command_for_a_nested_graph(t):
    """A nested graph that begins with a command asks through the graph around, as one that begins with an input."""
    sub = chain(t, "s1", ("ask", asks("?"))).compile()

    async def node(state):
        result = await t.call(sub, "invoke", Command(goto="ask"))
        return {"x": result["x"]}

    graph = chain(t, ("node", t.node(node))).compile(checkpointer=InMemorySaver())
    await t.invoke(graph, {"x": ["i"]}, THREAD)
    await t.state(graph, THREAD)
    await t.stream(graph, Command(resume="one"), THREAD, subgraphs=True, unordered=True)
    await t.stream(graph, Command(resume="two"), THREAD, subgraphs=True, unordered=True)
    await t.state(graph, THREAD)


async def another_thread_in_the_configuration_of_a_node(t):
    """A graph that is handed its node's configuration is a part of the run around, whatever thread that names."""
    sub = chain(t, "s1", ("ask", asks("?"))).compile(checkpointer=InMemorySaver())

    async def node(state, config: RunnableConfig):
        elsewhere = {**config, "configurable": {**config["configurable"], "thread_id": "other"}}
        return {"x": (await t.call(sub, "invoke", {"x": ["j"]}, elsewhere))["x"]}

    graph = chain(t, ("node", t.node(node))).compile(checkpointer=InMemorySaver())
    await t.invoke(graph, {"x": ["i"]}, THREAD)
    await t.invoke(graph, Command(resume="!"), THREAD)
    await t.state(sub, {"configurable": {"thread_id": "other"}})


OTHER = {"thread_id": "other"}


def talks(t):
    """A builder of a graph that says on which thread it is, and how often it has been called there."""

    def talk(state, config: RunnableConfig):
        return {"x": [f"{config['configurable'].get('thread_id')} had {len(state['x'])}"]}

    return chain(t, ("talk", t.node(talk)))


def for_each(t, sub, place, **options):
    """A graph whose node calls the subgraph for the last word, with its own configuration but for the `place`."""

    async def node(state, config: RunnableConfig):
        configurable = {**config["configurable"], **place(state["x"][-1])}
        result = await t.call(sub, "invoke", {"x": []}, {**config, "configurable": configurable})
        return {"x": [result["x"]]}

    return chain(t, ("node", t.node(node))).compile(**options)


async def a_thread_for_each_customer(t):
    """A graph that a node hands its configuration with another thread sees that thread, and what it remembers is that
    thread's alone."""
    for own in (True, None, InMemorySaver(), False):
        for around in (InMemorySaver(), None):
            if own is True and around is None:
                continue
            sub = talks(t).compile(checkpointer=own)
            graph = for_each(t, sub, lambda word: {"thread_id": f"for {word}"}, checkpointer=around)
            for word in ("ann", "bob", "ann"):
                await t.invoke(graph, {"x": [word]}, THREAD)


async def a_namespace_for_each_customer(t):
    """What a graph remembers that a node calls in a namespace which it names is that one's, whatever its saver is."""
    for own in (True, None, InMemorySaver()):
        sub = talks(t).compile(checkpointer=own)
        for place in (lambda word: {"checkpoint_ns": word}, lambda word: {"checkpoint_ns": word, **OTHER}):
            graph = for_each(t, sub, place, checkpointer=InMemorySaver())
            for word in ("ann", "bob", "ann"):
                await t.invoke(graph, {"x": [word]}, THREAD)


async def customers_with_separators_in_their_names(t):
    """Whatever a thread is called, and a namespace, what is remembered there is its own."""
    sub = talks(t).compile(checkpointer=True)
    for key in ("thread_id", "checkpoint_ns"):
        names = {
            "thread_id": ("a", "a:b", "a|b", "a@b", "a%7Cb", "42"),
            "checkpoint_ns": ("a", "42", "a@b", "a%40b"),
        }
        graph = for_each(t, sub, partial(dict_of, key), checkpointer=InMemorySaver())
        for word in (*names[key], *names[key]):
            result = await t.call(graph, "invoke", {"x": [word]}, THREAD)
            t.note(word, result["x"][-1])


def dict_of(key, value):
    return {key: value}


async def a_question_for_each_customer(t):
    """A graph that remembers by customer asks through the graph around, and takes its answer."""
    for place in (lambda word: {"thread_id": word}, lambda word: {"checkpoint_ns": word}):
        sub = chain(t, "s1", ("ask", t.node(asks("?")))).compile(checkpointer=True)
        graph = for_each(t, sub, place, checkpointer=InMemorySaver())
        for word in ("ann", "bob", "ann"):
            await t.invoke(graph, {"x": [word]}, THREAD)
            await t.invoke(graph, Command(resume=f"for {word}"), THREAD)


async def memories_below_another_thread(t):
    """A graph that remembers is on the thread of the graph that calls it, however that came to be on it."""
    memory = talks(t).compile(checkpointer=True)

    def calling(*given):
        async def call(state, config: RunnableConfig):
            found = [config if each == "its own" else each for each in given]
            return {"x": [(await t.call(memory, "invoke", {"x": []}, *found))["x"]]}

        return t.node(call)

    for middle_node in (memory, calling(), calling({"tags": ["t"]}), calling("its own")):
        middle = chain(t, ("middle", middle_node)).compile()
        graph = for_each(t, middle, lambda word: {"thread_id": word}, checkpointer=InMemorySaver())
        for word in ("ann", "bob", "ann"):
            await t.invoke(graph, {"x": [word]}, THREAD)


async def parallel_customers(t):
    """Nodes beside each other that call one graph on threads of their own have memories of their own."""
    sub = talks(t).compile(checkpointer=True)

    async def node(state, config: RunnableConfig):
        configurable = {**config["configurable"], "thread_id": state["x"]}
        result = await t.call(sub, "invoke", {"x": []}, {**config, "configurable": configurable})
        return {"x": [result["x"]]}

    builder = StateGraph(State).add_node("node", t.node(node))
    builder.add_conditional_edges(START, lambda state: [Send("node", {"x": who}) for who in "abc"], ["node"])
    graph = builder.compile(checkpointer=InMemorySaver())
    for _ in range(3):
        await t.invoke(graph, {"x": []}, THREAD)


async def an_entrypoint_for_each_customer(t):
    """An entrypoint that is handed a configuration with another thread sees that one, and so does a graph in one."""

    def inner(given, config: RunnableConfig):
        return config["configurable"].get("thread_id")

    async def ainner(given, config: RunnableConfig):
        return inner(given, config)

    called = entrypoint()(ainner if t.asyncio else inner)

    async def node(state, config: RunnableConfig):
        elsewhere = {**config, "configurable": {**config["configurable"], "thread_id": "other"}}
        given = (elsewhere, None, {"configurable": {"thread_id": "bare"}})
        return {"x": [await t.call(called, "invoke", 1, each) for each in given]}

    for options in ({"checkpointer": InMemorySaver()}, {}):
        graph = chain(t, ("node", t.node(node))).compile(**options)
        await t.invoke(graph, {"x": []}, THREAD)
    await t.invoke(graph, {"x": []})


async def the_run_of_another_thread(t):
    """What a runtime says of the thread is what the configuration says."""

    def inner(state, config: RunnableConfig, runtime: Runtime):
        return {"x": [runtime.execution_info.thread_id, config["configurable"]["thread_id"]]}

    sub = chain(t, ("inner", t.node(inner))).compile()
    for thread in ("1", 5):
        graph = for_each(t, sub, lambda word: {"thread_id": word}, checkpointer=InMemorySaver())
        await t.invoke(graph, {"x": ["ann"]}, {"configurable": {"thread_id": thread}})


async def a_bare_namespace_in_a_node(t):
    """A thread that a node names without its configuration is one of its own: a namespace beside it names nothing, and
    what has no thread of its own is refused there."""

    def calling(sub):
        async def node(state):
            place = {"thread_id": "1", "checkpoint_ns": state["x"][-1]}
            return {"x": [(await t.call(sub, "invoke", {"x": []}, {"configurable": place}))["x"]]}

        return t.node(node)

    for own in (True, InMemorySaver()):
        sub = talks(t).compile(checkpointer=own)
        graph = chain(t, ("node", calling(sub))).compile(checkpointer=InMemorySaver())
        for word in ("ann", "bob", "ann"):
            await t.invoke(graph, {"x": [word]}, THREAD)


async def the_place_of_a_customer(t):
    """Streams and code are shown a place that its caller named without its thread, and by its name."""

    def talk(state, config: RunnableConfig):
        return {"x": [re.sub(UUID, "*", config["configurable"]["checkpoint_ns"])]}

    def place(kind, word):
        return {"thread_id": word, "checkpoint_ns": kind} if kind else {"thread_id": word}

    for kind in ("", "a customer"):
        for own in (True, None):
            inner = chain(t, ("talk", t.node(talk))).compile(checkpointer=own)
            sub = chain(t, "s", ("in", inner)).compile(checkpointer=own)
            graph = for_each(t, sub, partial(place, kind), checkpointer=InMemorySaver())
            for word in ("ann", "bob", "ann"):
                await t.stream(graph, {"x": [word]}, THREAD, stream_mode="updates", subgraphs=True)


@differs("a run writes to its own thread")
async def a_customer_of_two_threads(t):
    """What a part of a run remembers for a thread that its caller names, where that's called on another thread."""
    sub = talks(t).compile(checkpointer=True)
    graph = for_each(t, sub, lambda word: {"thread_id": word}, checkpointer=InMemorySaver())
    await t.invoke(graph, {"x": ["ann"]}, THREAD)
    await t.invoke(graph, {"x": ["ann"]}, {"configurable": {"thread_id": "2"}})


@differs("what is remembered doesn't depend on what was called before")
async def customers_in_turn(t):
    """A node that calls a graph for two customers, and later for one of them, or for both the other way round."""
    sub = talks(t).compile(checkpointer=True)

    async def node(state, config: RunnableConfig):
        found = []
        for who in state["x"][-1]:
            configurable = {**config["configurable"], "thread_id": who}
            result = await t.call(sub, "invoke", {"x": []}, {**config, "configurable": configurable})
            found.append(len(result["x"]))
        return {"x": [found]}

    graph = chain(t, ("node", t.node(node))).compile(checkpointer=InMemorySaver())
    for turn in ("ab", "ab", "b", "ba"):
        await t.invoke(graph, {"x": [turn]}, THREAD)


async def commands_for_a_memory(t):
    """A command goes on from what a nested graph remembers, without its first edges; the first call takes them."""
    builder = StateGraph(State).add_edge(START, "a").add_edge("a", "c")
    for name in "abc":
        builder.add_node(name, t.node(says(name)))
    sub = builder.compile(checkpointer=True)
    sends = Command(goto=Send("b", {"x": []}), update={"x": ["v"]})
    given = [Command(goto="b"), Command(goto="b", update={"x": ["u"]}), Command(update={"x": ["w"]}), sends]
    turns = iter([*given, {"x": ["j"]}])

    async def node(state):
        return {"x": [(await t.call(sub, "invoke", next(turns)))["x"]]}

    graph = chain(t, ("node", t.node(node))).compile(checkpointer=InMemorySaver())
    for _ in range(5):
        await t.invoke(graph, {"x": []}, THREAD)


async def an_answer_at_an_older_checkpoint_of_a_nested_graph(t):
    """Who answers again where a nested graph stood, updated or not, has it go on there, though the thread is over."""
    inner = chain(t, "a", ("ask", t.node(asks("q")))).compile()
    graph = chain(t, ("in", inner), "z").compile(checkpointer=InMemorySaver())
    for name in ("as it was", "updated"):
        config = {"configurable": {"thread_id": name}}
        await t.invoke(graph, {"x": []}, config)
        (waiting,) = (await t.call(graph, "get_state", config, subgraphs=True)).tasks
        inside = waiting.state.config
        await t.invoke(graph, Command(resume="yes"), config)
        if name == "updated":
            inside = await t.call(graph, "update_state", inside, {"x": ["edit"]})
        await t.invoke(graph, Command(resume="no"), inside)
        t.note("values", (await t.call(graph, "get_state", config)).values)


@differs("an answer where a graph nested twice stood")
async def an_answer_at_an_older_checkpoint_two_levels_down(t):
    """The same of a graph in a nested one."""
    inner = chain(t, "a", ("ask", t.node(asks("q")))).compile()
    middle = chain(t, "m", ("deep", inner)).compile()
    graph = chain(t, ("in", middle), "z").compile(checkpointer=InMemorySaver())
    await t.invoke(graph, {"x": []}, ONE)
    (waiting,) = (await t.call(graph, "get_state", ONE, subgraphs=True)).tasks
    (deep,) = waiting.state.tasks
    await t.invoke(graph, Command(resume="yes"), ONE)
    inside = await t.call(graph, "update_state", deep.state.config, {"x": ["edit"]})
    await t.invoke(graph, Command(resume="no"), inside)


@differs("a checkpoint that another one names is kept")
async def a_memory_kept_at_the_end(t):
    """With durability exit the checkpoint around one of a graph that remembers is there, as that one names it."""
    inner = edges(nodes(t, StateGraph(State), "s"), ". s .").compile(checkpointer=True)
    builder = nodes(t, StateGraph(State), "a", "z").add_node("inner", inner)
    graph = edges(builder, ". a inner z .").compile(checkpointer=InMemorySaver())
    await t.invoke(graph, {"x": ["i"]}, ONE, durability="exit")
    outer = [snapshot.config["configurable"]["checkpoint_id"] for snapshot in await t.history(graph, ONE)]
    remembered = await t.state(graph, {"configurable": {"thread_id": "1", "checkpoint_ns": "inner"}})
    t.note("kept", remembered.metadata["parents"][""] in outer)


async def an_answer_at_the_config_of_the_graph_that_waits(t):
    """Who answers where the nested graph stands goes on there: what has run there doesn't run again."""
    log = []
    inner = chain(t, "a", ("ask", t.node(asks("q", log))))
    graph = chain(t, ("in", inner.compile()), "z").compile(checkpointer=InMemorySaver())
    for name in ("as it was", "updated"):
        config = {"configurable": {"thread_id": name}}
        await t.invoke(graph, {"x": []}, config)
        (waiting,) = (await t.call(graph, "get_state", config, subgraphs=True)).tasks
        inside = waiting.state.config
        if name == "updated":
            inside = await t.call(graph, "update_state", inside, {"x": ["edit"]})
        await t.invoke(graph, Command(resume="yes"), inside)
        values = await t.call(graph, "get_state", config)
        t.note("steps", values.metadata["step"])
    t.note("asked", log)


async def a_memory_asks_after_an_update(t):
    """A nested graph that remembers, and asks after an update of the graph around it, takes its answer."""

    class Word(TypedDict):
        word: str

    def node(state):
        return {"word": interrupt(state["word"])}

    inner = edges(nodes(t, StateGraph(Word), ask=node), ". ask .").compile(checkpointer=True)
    builder = nodes(t, StateGraph(Word), a=lambda state: {"word": "a"}).add_node("in", inner)
    graph = edges(builder, ". a in .").compile(checkpointer=InMemorySaver())
    for name in ("by value", "by id"):
        config = {"configurable": {"thread_id": name}}
        await t.call(graph, "invoke", {"word": "?"}, config)
        await t.call(graph, "update_state", config, {"word": "a"}, as_node="a")
        await t.call(graph, "invoke", None, config)
        (question,) = (await t.call(graph, "get_state", config)).interrupts
        await t.invoke(graph, Command(resume="yes" if name == "by value" else {question.id: "yes"}), config)


async def an_answer_after_an_update_of_the_graph_between(t):
    """An answer reaches the graph two levels down that asked, though the one between was updated meanwhile."""
    log = []
    inner = chain(t, ("ask", t.node(asks("q", log)))).compile()
    middle = chain(t, "m", ("deep", inner)).compile()
    graph = chain(t, ("in", middle)).compile(checkpointer=InMemorySaver())
    await t.invoke(graph, {"x": []}, THREAD)
    (waiting,) = (await t.call(graph, "get_state", THREAD, subgraphs=True)).tasks
    await t.call(graph, "update_state", waiting.state.config, {"x": ["edit"]})
    await t.invoke(graph, Command(resume="yes"), THREAD)
    t.note("asked", log)


@differs("an answer by id after an update of a nested graph")
async def answers_after_an_update_beside_another_question(t):
    """Two nested graphs ask, one is updated, and both are answered by the ids that the state shows."""
    inner = {name: chain(t, ("ask", t.node(asks(name)))).compile() for name in ("p", "q")}
    builder = StateGraph(State).add_node("p", inner["p"]).add_node("q", inner["q"])
    graph = edges(builder, ". p .", ". q .").compile(checkpointer=InMemorySaver())
    await t.invoke(graph, {"x": []}, THREAD, unordered=True)
    first, _ = (await t.call(graph, "get_state", THREAD, subgraphs=True)).tasks
    await t.call(graph, "update_state", first.state.config, {"x": ["edit"]})
    shown = (await t.call(graph, "get_state", THREAD)).interrupts
    await t.invoke(graph, Command(resume={one.id: f"for {one.value}" for one in shown}), THREAD)


@differs("an answer by id after an update of a nested graph")
async def an_answer_to_the_second_question_after_an_update(t):
    """A node asks two things, and its graph is updated in between: the second answer is for the second question."""

    def ask(state):
        return {"x": [interrupt("amount?"), interrupt("sure?")]}

    inner = chain(t, ("ask", t.node(ask))).compile()
    graph = chain(t, ("in", inner)).compile(checkpointer=InMemorySaver())
    await t.invoke(graph, {"x": []}, THREAD)
    await t.invoke(graph, Command(resume=100), THREAD)
    (waiting,) = (await t.call(graph, "get_state", THREAD, subgraphs=True)).tasks
    await t.call(graph, "update_state", waiting.state.config, {"x": ["edit"]})
    await t.invoke(graph, Command(resume={waiting.interrupts[0].id: "yes"}), THREAD)
