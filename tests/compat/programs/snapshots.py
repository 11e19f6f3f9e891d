"""State of a thread: get_state and get_state_history (behaviour of section 2.27)."""

import copy
import operator
import pickle
from typing import Annotated, TypedDict
from uuid import UUID

from langgraph.channels import DeltaChannel
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.func import entrypoint, task
from langgraph.graph import END, START, StateGraph
from langgraph.types import Command, Send, interrupt

from ..trace import differs


class State(TypedDict):
    x: Annotated[list, operator.add]


class Two(TypedDict):
    x: Annotated[list, operator.add]
    y: str


THREAD = {"configurable": {"thread_id": "1"}}


def says(word):
    """A node that appends its word."""

    def node(state):
        return {"x": [word]}

    return node


def chain(t, *names):
    builder = StateGraph(State)
    builder.add_sequence([(name, t.node(says(name))) for name in names])
    builder.add_edge(START, names[0])
    return builder


async def state_without_saver(t):
    """A graph without a saver has no state to show."""
    graph = chain(t, "a").compile()
    await t.state(graph, THREAD)
    await t.history(graph, THREAD)
    await t.update(graph, THREAD, {"x": ["u"]})


async def the_configuration_of_an_empty_state(t):
    """It is that of the call, over what the graph is bound to; the thread's id is a text."""
    graph = chain(t, "a").compile(checkpointer=InMemorySaver())
    bound = graph.with_config({"tags": ["of the graph"], "metadata": {"team": "a"}})
    said = {"configurable": {"thread_id": 7, "user": "u"}, "tags": ["of the call"], "recursion_limit": 9}
    gone = {"configurable": {"thread_id": "7", "checkpoint_ns": "", "checkpoint_id": "1ef"}}
    for each in (graph, bound):
        for config in (THREAD, said, gone):
            t.note("config", (await t.call(each, "get_state", config)).config)


async def a_state_that_is_pickled(t):
    """It comes back equal, with what it waits for; so does a copy."""

    @task
    def fetched(x):
        return [*x, "fetched"]

    def asks(state):
        return {"x": [*fetched(state["x"]).result(), interrupt("?")]}

    graph = (
        StateGraph(State).add_node("asks", asks).add_edge(START, "asks").compile(checkpointer=InMemorySaver())
    )
    await t.invoke(graph, {"x": ["i"]}, THREAD)
    state = graph.get_state(THREAD)
    for again in (pickle.loads(pickle.dumps(state)), copy.deepcopy(state)):
        t.note("again", (again == state, again.interrupts == state.interrupts, again.tasks[0].name))


async def an_input_that_is_a_dict_of_ones_own(t):
    """Its items are the input, for a graph inside as well, and its class isn't stored."""

    class Attributes(dict):
        __getattr__ = dict.__getitem__

    inner = chain(t, "b").compile()

    async def calls(state):
        return {"x": (await t.call(inner, "invoke", Attributes(x=["in"])))["x"]}

    graph = StateGraph(State).add_node("calls", t.node(calls)).add_edge(START, "calls")
    await t.invoke(graph.compile(checkpointer=InMemorySaver()), Attributes(x=["i"]), THREAD)


async def state_of_an_unknown_thread(t):
    """A thread that never ran shows no values, no next nodes and no metadata; nor does an unknown checkpoint."""

    @entrypoint(checkpointer=InMemorySaver())
    @t.node
    def workflow(x):
        return x

    for graph in (chain(t, "a").compile(checkpointer=InMemorySaver()), workflow):
        await t.state(graph, THREAD)
        await t.history(graph, THREAD)
        await t.state(graph, {"configurable": {"thread_id": "1", "checkpoint_id": "nowhere"}})


async def state_after_a_run(t):
    """The last checkpoint of a finished thread has no next nodes."""
    graph = chain(t, "a", "b").compile(checkpointer=InMemorySaver())
    await t.invoke(graph, {"x": ["i"]}, THREAD)
    await t.state(graph, THREAD)


async def history_newest_first(t):
    """The history has one snapshot for each superstep, newest first, the input's last."""
    graph = chain(t, "a", "b").compile(checkpointer=InMemorySaver())
    await t.invoke(graph, {"x": ["i"]}, THREAD)
    await t.history(graph, THREAD)


async def history_of_two_runs(t):
    """A second input continues the numbers of the steps of its thread."""
    graph = chain(t, "a").compile(checkpointer=InMemorySaver())
    await t.invoke(graph, {"x": ["i"]}, THREAD)
    await t.invoke(graph, {"x": ["j"]}, THREAD)
    await t.history(graph, THREAD)


async def history_is_filtered_by_metadata(t):
    """`filter` compares metadata, in which scalars of the config are found too."""
    graph = chain(t, "a", "b").compile(checkpointer=InMemorySaver())
    first = {"configurable": {"thread_id": "1", "user": "ann"}}
    second = {"configurable": {"thread_id": "1"}, "metadata": {"user": "bob"}}
    await t.invoke(graph, {"x": ["i"]}, first)
    await t.invoke(graph, {"x": ["j"]}, second)
    await t.history(graph, THREAD, filter={"source": "input"})
    await t.history(graph, THREAD, filter={"user": "ann", "step": 1})
    await t.history(graph, THREAD, filter={"user": "bob", "source": "loop"})
    await t.history(graph, THREAD, filter={"user": "eve"})


async def history_before_and_limit(t):
    """`before` is exclusive and `limit` counts from the newest of what remains."""
    graph = chain(t, "a", "b", "c").compile(checkpointer=InMemorySaver())
    await t.invoke(graph, {"x": ["i"]}, THREAD)
    snapshots = await t.history(graph, THREAD, limit=2)
    await t.history(graph, THREAD, before=snapshots[1].config)
    await t.history(graph, THREAD, before=snapshots[1].config, limit=1)


async def history_of_one_checkpoint(t):
    """A config with a checkpoint id has a history of that checkpoint alone."""
    graph = chain(t, "a", "b").compile(checkpointer=InMemorySaver())
    await t.invoke(graph, {"x": ["i"]}, THREAD)
    snapshots = await t.history(graph, THREAD)
    await t.history(graph, snapshots[1].config)
    await t.state(graph, snapshots[1].config)


async def state_of_a_missing_checkpoint(t):
    """A checkpoint id that doesn't exist gives an empty snapshot."""
    graph = chain(t, "a").compile(checkpointer=InMemorySaver())
    await t.invoke(graph, {"x": ["i"]}, THREAD)
    await t.state(graph, {"configurable": {"thread_id": "1", "checkpoint_id": "0"}})


async def an_empty_checkpoint_id_names_none(t):
    """It is the thread's last one that is read, updated and gone on from, as without an id."""
    graph = chain(t, "a").compile(checkpointer=InMemorySaver())
    await t.invoke(graph, {"x": ["i"]}, THREAD)
    empty = {"configurable": {"thread_id": "1", "checkpoint_ns": "", "checkpoint_id": ""}}
    await t.state(graph, empty)
    await t.history(graph, empty)
    await t.update(graph, empty, {"x": ["u"]})
    await t.invoke(graph, {"x": ["j"]}, empty)
    await t.history(graph, THREAD)


async def threads_are_apart(t):
    """A thread sees nothing of another's; a number is the same thread as its string."""
    graph = chain(t, "a").compile(checkpointer=InMemorySaver())
    await t.invoke(graph, {"x": ["i"]}, {"configurable": {"thread_id": 1}})
    await t.invoke(graph, {"x": ["j"]}, {"configurable": {"thread_id": "2"}})
    await t.state(graph, THREAD)
    await t.state(graph, {"configurable": {"thread_id": 2}})


@differs("a thread has to be named")
async def thread_is_required(t):
    """A graph with a saver wants a thread, and an id that says nothing names none."""
    graph = chain(t, "a").compile(checkpointer=InMemorySaver())
    await t.invoke(graph, {"x": ["i"]})
    await t.state(graph, {"configurable": {"checkpoint_ns": ""}})
    await t.invoke(graph, {"x": ["j"]}, {"configurable": {"thread_id": None}})
    await t.invoke(graph, {"x": ["k"]}, {"configurable": {"thread_id": ""}})


async def state_without_a_checkpointer(t):
    """Who keeps no past says so, whether a thread is named or not."""
    graph = chain(t, "a").compile()
    for where in ({}, THREAD):
        await t.state(graph, where)
        await t.update(graph, where, {"x": []})
        await t.history(graph, where)


async def interrupted_state_is_ahead(t):
    """A sibling's stored writes are in the values of the head, and not in those of the checkpoint by its id."""

    def ask(state):
        return {"x": [interrupt({"q": 1})]}

    builder = StateGraph(State)
    builder.add_node("ask", t.node(ask))
    builder.add_node("side", t.node(says("side")))
    builder.add_edge(START, "ask")
    builder.add_edge(START, "side")
    graph = builder.compile(checkpointer=InMemorySaver())
    await t.invoke(graph, {"x": ["i"]}, THREAD)
    head = await t.state(graph, THREAD)
    await t.state(graph, head.config)
    await t.history(graph, THREAD, limit=1)


async def static_interrupt_in_the_state(t):
    """A breakpoint leaves next nodes and no interrupts."""
    graph = chain(t, "a", "b").compile(checkpointer=InMemorySaver(), interrupt_before=["b"])
    await t.invoke(graph, {"x": ["i"]}, THREAD)
    await t.state(graph, THREAD)


async def resumed_interrupts_remain_in_history(t):
    """A historic task keeps both its old interrupt and its result."""

    def ask(state):
        return {"x": [interrupt("ok?")]}

    builder = StateGraph(State)
    builder.add_node("ask", t.node(ask))
    builder.add_edge(START, "ask")
    graph = builder.compile(checkpointer=InMemorySaver())
    await t.invoke(graph, {"x": ["i"]}, THREAD)
    await t.invoke(graph, Command(resume="yes"), THREAD)
    await t.history(graph, THREAD)


async def results_of_sends_and_commands(t):
    """A task's result is what it wrote to state keys; Sends are tasks of their own path."""

    def fan(state):
        return Command(update={"y": "fanned", "x": ["f"]}, goto=[Send("w", {"n": n}) for n in (2, 1)])

    def worker(sent):
        return {"x": [sent["n"]]}

    builder = StateGraph(Two)
    builder.add_node("fan", t.node(fan))
    builder.add_node("w", t.node(worker))
    builder.add_edge(START, "fan")
    graph = builder.compile(checkpointer=InMemorySaver())
    await t.invoke(graph, {"x": ["i"]}, THREAD)
    await t.history(graph, THREAD)


async def a_key_written_twice_by_one_task(t):
    """Several updates of one node fold to `$writes` in the result of its task."""

    def twice(state):
        return [Command(update={"x": ["1"]}), Command(update={"x": ["2"]}), {"y": "z"}]

    builder = StateGraph(Two)
    builder.add_node("twice", t.node(twice))
    builder.add_edge(START, "twice")
    builder.add_edge("twice", END)
    graph = builder.compile(checkpointer=InMemorySaver())
    await t.stream(graph, {"x": []}, THREAD)
    await t.history(graph, THREAD, limit=2)


async def metadata_of_the_config(t):
    """Scalars of metadata and configurable are stored with each checkpoint; other values and dunder keys aren't."""
    graph = chain(t, "a").compile(checkpointer=InMemorySaver())
    config = {
        "metadata": {"team": "red", "n": 1, "ok": True, "no": [1], "langgraph_step": 9},
        "configurable": {"thread_id": "1", "team": "blue", "user": "u", "__secret": "s", "obj": {"a": 1}},
        "tags": ["t"],
        "run_name": "r",
    }
    await t.invoke(graph, {"x": ["i"]}, config)
    snapshot = await t.state(graph, THREAD)
    t.note("metadata", snapshot.metadata)


async def metadata_that_name_a_thread(t):
    """Ids among the caller's metadata are for traces: a checkpoint's own are in its configuration."""
    graph = chain(t, "a").compile(checkpointer=InMemorySaver())
    mine = {"thread_id": "mine", "checkpoint_id": "c", "checkpoint_ns": "n", "team": "red"}
    await t.invoke(graph, {"x": ["i"]}, {**THREAD, "metadata": mine})
    await t.history(graph, THREAD)


@differs("checkpoints know their run")
async def the_id_of_a_run(t):
    """The id that a caller gives a run is in the metadata of its checkpoints."""
    graph = chain(t, "a").compile(checkpointer=InMemorySaver())
    await t.invoke(graph, {"x": ["i"]}, {**THREAD, "run_id": UUID(int=7)})
    snapshot = await t.state(graph, THREAD)
    t.note("run", snapshot.metadata.get("run_id"))


async def durability_exit_keeps_the_last(t):
    """With durability `exit` a run leaves one checkpoint, which has no parent."""
    graph = chain(t, "a", "b").compile(checkpointer=InMemorySaver())
    await t.invoke(graph, {"x": ["i"]}, THREAD, durability="exit")
    await t.history(graph, THREAD)
    await t.invoke(graph, {"x": ["j"]}, THREAD, durability="exit")
    await t.history(graph, THREAD)


async def durability_sync_keeps_all(t):
    """With durability `sync` the history is that of the default."""
    graph = chain(t, "a", "b").compile(checkpointer=InMemorySaver())
    await t.invoke(graph, {"x": ["i"]}, THREAD, durability="sync")
    await t.history(graph, THREAD)


async def metadata_of_each_call(t):
    """A checkpoint has the metadata of the call that made it, also where that goes on with an earlier one's work."""
    graph = (
        StateGraph(State).add_node("a", t.node(lambda state: {"x": [interrupt("?")]})).add_edge(START, "a")
    )
    graph = graph.compile(checkpointer=InMemorySaver())
    for n, given in enumerate(({"x": []}, Command(resume="!"), None)):
        at = (await t.call(graph, "get_state", THREAD)).parent_config if given is None else THREAD
        await t.call(graph, "invoke", given, {**at, "metadata": {"n": n}})
    await t.history(graph, THREAD)


class LosesOne(InMemorySaver):
    """Can't be reached once, when the checkpoint of the first nodes is to be saved."""

    lost = False

    def _lose(self, metadata):
        if metadata["step"] == 1 and not self.lost:
            self.lost = True
            raise ConnectionResetError

    def put(self, config, checkpoint, metadata, new_versions):
        self._lose(metadata)
        return super().put(config, checkpoint, metadata, new_versions)

    async def aput(self, config, checkpoint, metadata, new_versions):
        self._lose(metadata)
        return await super().aput(config, checkpoint, metadata, new_versions)


@differs("a run that isn't over has something next")
async def a_superstep_without_its_checkpoint(t):
    """Where a run stopped when its parallel nodes had ended, and before what follows, it is to be gone on with."""
    builder = StateGraph(State)
    for name in "abc":
        builder.add_node(name, t.node(says(name)))
        builder.add_edge(START, name) if name != "c" else builder.add_edge(["a", "b"], "c")
    graph = builder.compile(checkpointer=LosesOne())
    await t.invoke(graph, {"x": ["i"]}, THREAD, durability="sync")
    state = await t.state(graph, THREAD)
    while state.next:
        await t.invoke(graph, None, THREAD)
        state = await t.state(graph, THREAD)


async def a_subgraph_that_is_not_there(t):
    """A namespace in which no graph is nested has no state and no history, and can't be updated."""
    graph = chain(t, "a").compile(checkpointer=InMemorySaver())
    await t.invoke(graph, {"x": ["i"]}, THREAD)
    nowhere = {"configurable": {**THREAD["configurable"], "checkpoint_ns": "nowhere"}}
    await t.state(graph, nowhere)
    await t.history(graph, nowhere)
    try:
        await t.call(graph, "update_state", nowhere, {"x": ["u"]})
    except ValueError as error:
        t.note("says", str(error).startswith("Subgraph nowhere not found"))


@differs("a DeltaChannel needs no snapshots")
async def metadata_of_a_delta_channel(t):
    """Metadata count what was written to a DeltaChannel since it was stored whole."""

    class Folded(TypedDict):
        x: Annotated[list, DeltaChannel(lambda value, writes: sum(writes, value))]

    builder = StateGraph(Folded).add_node("a", t.node(lambda state: {"x": ["a"]}))
    graph = builder.add_edge(START, "a").compile(checkpointer=InMemorySaver())
    await t.invoke(graph, {"x": ["i"]}, THREAD)
    t.note("metadata", [each.metadata for each in await t.history(graph, THREAD)][:1])
