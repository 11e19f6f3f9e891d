"""Replay and fork from any checkpoint of a thread (behaviour of section 2.26)."""

import operator
from typing import Annotated, TypedDict

from langgraph.checkpoint.memory import InMemorySaver
from langgraph.func import entrypoint, task
from langgraph.graph import START, StateGraph
from langgraph.types import Command, interrupt

from ..trace import differs


class State(TypedDict):
    x: Annotated[list, operator.add]


THREAD = {"configurable": {"thread_id": "1"}}


def says(word, log=None):
    """A node that appends its word, and notes in the log that it ran."""

    def node(state):
        if log is not None:
            log.append(word)
        return {"x": [word]}

    return node


def chain(t, *names, log=None):
    builder = StateGraph(State)
    builder.add_sequence([(name, t.node(says(name, log))) for name in names])
    builder.add_edge(START, names[0])
    return builder.compile(checkpointer=InMemorySaver())


async def _at(t, graph, node):
    """The config of the newest checkpoint whose next node is this one."""
    return next(s.config for s in await t.history(graph, THREAD) if s.next == (node,))


async def replay_from_the_middle(t):
    """A replay copies its checkpoint as a fork and runs what comes after it again."""
    log = []
    graph = chain(t, "a", "b", "c", log=log)
    await t.invoke(graph, {"x": ["i"]}, THREAD)
    await t.invoke(graph, None, await _at(t, graph, "b"))
    t.note("ran", log)
    await t.history(graph, THREAD)


async def replay_of_the_input(t):
    """A replay of the input's checkpoint runs everything again."""
    graph = chain(t, "a", "b")
    await t.invoke(graph, {"x": ["i"]}, THREAD)
    await t.stream(graph, None, await _at(t, graph, "__start__"), stream_mode=["values", "updates"])
    await t.history(graph, THREAD)


@differs("a replay of the end changes nothing")
async def replay_of_the_end(t):
    """A replay of a final checkpoint runs nothing, and leaves a fork."""
    graph = chain(t, "a")
    await t.invoke(graph, {"x": ["i"]}, THREAD)
    head = await t.state(graph, THREAD)
    await t.invoke(graph, None, head.config)
    await t.history(graph, THREAD)


@differs("an end at an old checkpoint is an end")
async def an_end_at_an_old_checkpoint(t):
    """A thread that is ended where it once stood has nothing left to run, and has what it had there."""
    graph = chain(t, "a", "b", "c")
    await t.invoke(graph, {"x": ["i"]}, THREAD)
    old = (await t.history(graph, THREAD))[2]
    await t.update(graph, old.config, None, as_node="__end__")
    await t.state(graph, THREAD)


@differs("going on from the head is no fork")
async def going_on_from_the_head(t):
    """The configuration of a state names its checkpoint; a run that stopped there goes on from it."""
    graph = chain(t, "a", "b")
    await t.invoke(graph, {"x": ["i"]}, THREAD, interrupt_before=["b"])
    head = await t.state(graph, THREAD)
    await t.invoke(graph, None, head.config)
    t.note("steps", [(s.metadata["source"], s.metadata["step"]) for s in await t.history(graph, THREAD)])


async def fork_by_update(t):
    """An update of an old checkpoint is a branch, from which a run continues; the old branch stays."""
    graph = chain(t, "a", "b", "c")
    await t.invoke(graph, {"x": ["i"]}, THREAD)
    forked = await t.update(graph, await _at(t, graph, "b"), {"x": ["F"]})
    await t.state(graph, forked)
    await t.stream(graph, None, forked, stream_mode="updates")
    await t.history(graph, THREAD)


async def fork_as_another_node(t):
    """A fork may stand for another node than the one that ran."""
    graph = chain(t, "a", "b", "c")
    await t.invoke(graph, {"x": ["i"]}, THREAD)
    forked = await t.update(graph, await _at(t, graph, "b"), {"x": ["F"]}, as_node="b")
    await t.invoke(graph, None, forked)


async def fork_in_the_place_of_a_task(t):
    """What a fork writes as a node that had run there doesn't become what that node came to."""
    graph = chain(t, "a", "b")
    await t.invoke(graph, {"x": ["i"]}, THREAD)
    await t.update(graph, await _at(t, graph, "a"), {"x": ["F"]}, as_node="a")
    await t.history(graph, THREAD)


async def new_input_at_an_old_checkpoint(t):
    """A new input at an old checkpoint is a branch of it."""
    graph = chain(t, "a", "b")
    await t.invoke(graph, {"x": ["i"]}, THREAD)
    await t.invoke(graph, {"x": ["j"]}, await _at(t, graph, "b"))
    await t.history(graph, THREAD)


@differs("an unknown checkpoint is an error")
async def replay_from_an_unknown_checkpoint(t):
    """A checkpoint that doesn't exist has nothing to resume."""
    graph = chain(t, "a")
    await t.invoke(graph, {"x": ["i"]}, THREAD)
    await t.invoke(graph, None, {"configurable": {"thread_id": "1", "checkpoint_id": "0"}})
    await t.history(graph, THREAD)


def asks(log):
    def ask(state):
        log.append("ask")
        return {"x": [interrupt("?")]}

    return ask


def asking(t, log):
    """a, then a node that asks, then z."""
    builder = StateGraph(State)
    builder.add_sequence(
        [("a", t.node(says("a", log))), ("ask", t.node(asks(log))), ("z", t.node(says("z", log)))]
    )
    builder.add_edge(START, "a")
    return builder.compile(checkpointer=InMemorySaver())


async def replay_fires_the_interrupt_again(t):
    """A replay of a checkpoint whose interrupt was answered asks again."""
    log = []
    graph = asking(t, log)
    await t.invoke(graph, {"x": ["i"]}, THREAD)
    await t.invoke(graph, Command(resume="one"), THREAD)
    await t.invoke(graph, None, await _at(t, graph, "ask"))
    await t.invoke(graph, Command(resume="two"), THREAD)
    t.note("ran", log)
    await t.history(graph, THREAD)


async def fork_fires_the_interrupt_again(t):
    """A fork carries no answers: its interrupt asks again."""
    log = []
    graph = asking(t, log)
    await t.invoke(graph, {"x": ["i"]}, THREAD)
    await t.invoke(graph, Command(resume="one"), THREAD)
    forked = await t.update(graph, await _at(t, graph, "ask"), {"x": ["F"]})
    await t.invoke(graph, None, forked)
    await t.invoke(graph, Command(resume="two"), THREAD)
    t.note("ran", log)


@differs("an answer is used once")
async def answer_at_an_old_checkpoint(t):
    """An answer to an old checkpoint whose interrupt was answered is dropped: the old answer is used again."""
    log = []
    graph = asking(t, log)
    await t.invoke(graph, {"x": ["i"]}, THREAD)
    asked = await t.state(graph, THREAD)
    await t.invoke(graph, Command(resume="one"), THREAD)
    await t.invoke(graph, Command(resume="two"), asked.config)
    t.note("ran", log)
    await t.history(graph, THREAD)


async def answer_with_the_id_of_the_head(t):
    """An answer with the config of the head is no time travel: no fork is written."""
    log = []
    graph = asking(t, log)
    await t.invoke(graph, {"x": ["i"]}, THREAD)
    head = await t.state(graph, THREAD)
    await t.invoke(graph, Command(resume="yes"), head.config)
    t.note("ran", log)
    await t.history(graph, THREAD)


async def second_of_two_interrupts_in_a_replay(t):
    """A replay forgets all the answers of its node, the first one too."""

    def ask(state):
        return {"x": [interrupt("first"), interrupt("second")]}

    builder = StateGraph(State)
    builder.add_node("ask", t.node(ask))
    builder.add_edge(START, "ask")
    graph = builder.compile(checkpointer=InMemorySaver())
    await t.invoke(graph, {"x": []}, THREAD)
    await t.invoke(graph, Command(resume="1"), THREAD)
    await t.invoke(graph, Command(resume="2"), THREAD)
    await t.invoke(graph, None, await _at(t, graph, "ask"))
    await t.invoke(graph, Command(resume="3"), THREAD)
    await t.invoke(graph, Command(resume="4"), THREAD)


async def replay_of_a_breakpoint(t):
    """A replay passes the breakpoint of its own checkpoint, and stops at later ones."""
    graph = chain(t, "a", "b", "c")
    await t.invoke(graph, {"x": ["i"]}, THREAD)
    old = await _at(t, graph, "b")
    await t.invoke(graph, None, old, interrupt_before=["b", "c"])
    await t.state(graph, THREAD)


async def goto_from_an_old_checkpoint(t):
    """A Command with goto at an old checkpoint adds its node to those that were next."""
    graph = chain(t, "a", "b", "c")
    await t.invoke(graph, {"x": ["i"]}, THREAD)
    await t.invoke(graph, Command(goto="c"), await _at(t, graph, "b"))
    await t.history(graph, THREAD, limit=4)


async def replay_of_an_entrypoint(t):
    """A replay of an entrypoint's input runs its tasks again."""
    log = []

    @task
    @t.node
    def double(n):
        log.append(n)
        return 2 * n

    @entrypoint(checkpointer=InMemorySaver())
    @t.node
    async def flow(n):
        return await t.value(double(n)) + await t.value(double(n + 1))

    await t.invoke(flow, 1, THREAD)
    await t.invoke(flow, None, await _at(t, flow, "flow"))
    t.note("ran", log)
    await t.history(flow, THREAD)


async def replay_after_a_command(t):
    """What a command wrote at a checkpoint is there in a replay of it, as the history shows it."""
    graph = asking(t, [])
    await t.invoke(graph, {"x": ["i"]}, THREAD)
    asked = await t.state(graph, THREAD)
    await t.invoke(graph, Command(update={"x": ["u"]}), THREAD)
    await t.invoke(graph, Command(resume="one", update={"x": ["v"]}), THREAD)
    await t.state(graph, asked.config)
    await t.invoke(graph, None, asked.config)
    await t.invoke(graph, Command(resume="two"), THREAD)
