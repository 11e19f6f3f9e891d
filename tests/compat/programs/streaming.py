"""Streams: modes, framing and order of chunks (behaviour of section 4)."""

import contextlib
import io
import operator
from dataclasses import dataclass
from typing import Annotated, TypedDict

from langchain_core.runnables import RunnableConfig, RunnableLambda
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.config import get_stream_writer
from langgraph.constants import TAG_HIDDEN
from langgraph.func import entrypoint, task
from langgraph.graph import START, StateGraph
from langgraph.runtime import Runtime
from langgraph.types import Command, StreamWriter, interrupt
from pydantic import BaseModel

from ..parts import ONE, edges, in_turn, nodes
from ..trace import differs


class State(TypedDict):
    x: Annotated[list, operator.add]


class Wide(TypedDict):
    x: Annotated[list, operator.add]
    y: str
    private: str


class Narrow(TypedDict):
    y: str


class Model(BaseModel):
    count: int = 0
    name: str = "n"


THREAD = {"configurable": {"thread_id": "1"}}


def says(word):
    """A node that appends its word."""

    def node(state):
        return {"x": [word]}

    return node


def chain(t, *nodes, schema=State, **kwargs):
    """A builder of nodes one after the other: names, or pairs of a name and a node."""
    builder = StateGraph(schema, **kwargs)
    builder.add_sequence([(n, t.node(says(n))) if isinstance(n, str) else n for n in nodes])
    builder.add_edge(START, nodes[0] if isinstance(nodes[0], str) else nodes[0][0])
    return builder


async def _first(t, count, graph, *args, **kw):
    """The first chunks of a stream that is then closed."""
    chunks = []
    if t.asyncio:
        stream = graph.astream(*args, **kw)
        async for chunk in stream:
            chunks.append(chunk)
            if len(chunks) == count:
                break
        await stream.aclose()
    else:
        stream = graph.stream(*args, **kw)
        for chunk in stream:
            chunks.append(chunk)
            if len(chunks) == count:
                break
        stream.close()
    return chunks


async def default_mode(t):
    """A state graph streams updates unless told otherwise."""
    graph = chain(t, "a", "b").compile()
    await t.stream(graph, {"x": ["i"]})
    t.note("mode", graph.stream_mode)


async def each_mode(t):
    """Each mode alone is framed by nothing but its payload."""
    for mode in ("values", "updates", "tasks", "checkpoints", "custom", "messages"):
        graph = chain(t, "a", "b").compile(checkpointer=InMemorySaver())
        await t.stream(graph, {"x": ["i"]}, THREAD, stream_mode=mode)


async def debug_mode(t):
    """Debug is checkpoints and tasks with their steps."""
    graph = chain(t, "a").compile(checkpointer=InMemorySaver())
    await t.stream(graph, {"x": ["i"]}, THREAD, stream_mode="debug")


async def debug_mode_without_saver(t):
    """Without a saver there are no checkpoints to show."""
    graph = chain(t, "a").compile()
    await t.stream(graph, {"x": ["i"]}, stream_mode="debug")
    await t.stream(graph, {"x": ["i"]}, stream_mode="checkpoints")


async def a_list_of_modes(t):
    """A list of modes names the mode of each chunk, also a list of one."""
    graph = chain(t, "a", "b").compile(checkpointer=InMemorySaver())
    await t.stream(graph, {"x": ["i"]}, THREAD, stream_mode=["values", "updates", "tasks", "checkpoints"])
    await t.stream(graph, {"x": ["j"]}, THREAD, stream_mode=["updates"])
    await t.stream(graph, {"x": ["j"]}, THREAD, stream_mode=["updates"], subgraphs=True)


async def a_mode_that_is_listed_twice(t):
    """It is streamed once: whoever adds a mode to somebody's list needn't look whether it is there."""
    graph = chain(t, "a", "b").compile()
    await t.stream(graph, {"x": ["i"]}, stream_mode=["updates", "values", "updates"])
    await t.stream(graph, {"x": ["i"]}, stream_mode=["values", "values"], version="v2")


async def an_invocation_that_names_no_mode(t):
    """None is the mode in which a stream is that names none."""
    await t.invoke(chain(t, "a", "b").compile(), {"x": ["i"]}, stream_mode=None)


async def an_empty_list_of_modes(t):
    """A stream of no modes has no chunks, and the run is made."""
    graph = chain(t, "a", "b").compile(checkpointer=InMemorySaver())
    await t.stream(graph, {"x": ["i"]}, THREAD, stream_mode=[])
    await t.invoke(graph, {"x": ["j"]}, THREAD, stream_mode=[])
    await t.state(graph, THREAD)


async def all_keys_are_streamed(t):
    """A stream shows all keys, a result those of the output schema."""

    def write(state):
        return {"y": "y", "private": "p", "x": ["w"]}

    graph = chain(t, ("write", t.node(write)), schema=Wide, output_schema=Narrow).compile()
    await t.invoke(graph, {"x": ["i"]})
    await t.stream(graph, {"x": ["i"]}, stream_mode=["values", "updates"])


async def output_keys(t):
    """`output_keys` narrows values and updates, for a result too; a wrong one is refused."""

    def write(state):
        return {"y": "y", "private": "p"}

    graph = chain(t, "a", ("write", t.node(write)), schema=Wide).compile()
    await t.stream(graph, {"x": ["i"]}, output_keys=["y"], stream_mode=["values", "updates", "tasks"])
    await t.stream(graph, {"x": ["i"]}, output_keys="y", stream_mode=["values", "updates", "tasks"])
    await t.invoke(graph, {"x": ["i"]}, output_keys=["y", "private"])
    await t.invoke(graph, {"x": ["i"]}, output_keys="y")
    await t.invoke(graph, {"x": ["i"]}, output_keys=["nope"])


async def checkpoints_of_some_output_keys(t):
    """`output_keys` leaves checkpoints whole, in `debug` too."""
    graph = chain(t, "a", schema=Wide).compile(checkpointer=InMemorySaver())
    for keys in (["y"], "y", []):
        for mode in ("checkpoints", "debug"):
            await t.stream(graph, {"x": ["i"], "y": "y"}, ONE, output_keys=keys, stream_mode=mode)


async def updates_of_nothing(t):
    """A node that writes nothing has an update of None, and makes no values."""

    def nothing(state):
        return None

    def empty(state):
        return {}

    graph = chain(t, ("nothing", t.node(nothing)), ("empty", t.node(empty)), "z").compile()
    await t.stream(graph, {"x": ["i"]}, stream_mode=["values", "updates"])


async def several_updates_of_one_node(t):
    """A node that returns a list of Commands has a list as its update."""

    def several(state):
        return [Command(update={"x": ["1"]}), Command(update={"x": ["2"]})]

    graph = chain(t, ("several", t.node(several))).compile()
    await t.stream(graph, {"x": ["i"]}, stream_mode=["values", "updates", "tasks"])


async def custom_chunks(t):
    """The writer's chunks come out at once, between those of other modes; without the mode they're dropped."""

    def injected(state, writer: StreamWriter):
        writer({"from": "parameter"})
        return {"x": ["a"]}

    def looked_up(state):
        writer = get_stream_writer()
        writer("one")
        writer(2)
        return {"x": ["b"]}

    graph = chain(t, ("a", t.node(injected)), ("b", t.node(looked_up))).compile()
    await t.stream(graph, {"x": ["i"]}, stream_mode="custom")
    await t.stream(graph, {"x": ["i"]}, stream_mode=["updates", "custom"])
    await t.stream(graph, {"x": ["i"]}, stream_mode="updates")
    await t.invoke(graph, {"x": ["i"]}, stream_mode="custom")


async def custom_chunks_of_a_subgraph(t):
    """A subgraph's custom chunks come out only with `subgraphs`."""

    def inner(state):
        get_stream_writer()("inside")
        return {"x": ["s"]}

    sub = chain(t, ("inner", t.node(inner))).compile()
    graph = chain(t, ("sub", sub)).compile()
    await t.stream(graph, {"x": []}, stream_mode=["custom"])
    await t.stream(graph, {"x": []}, stream_mode=["custom"], subgraphs=True)
    await t.stream(graph, {"x": []}, stream_mode="custom", subgraphs=True)


async def subgraphs_in_each_mode(t):
    """With `subgraphs` each chunk has its namespace first, in every mode."""
    sub = chain(t, "s").compile()
    for mode in ("values", "updates", "tasks", "checkpoints"):
        graph = chain(t, "a", ("sub", sub)).compile(checkpointer=InMemorySaver())
        await t.stream(graph, {"x": ["i"]}, THREAD, stream_mode=mode, subgraphs=True)


async def private_keys_of_a_subgraph(t):
    """Values and updates of a nested graph show its output; its tasks and checkpoints show all of its keys."""
    writes = t.node(lambda state: {"x": ["s"], "private": "secret"})
    sub = chain(t, ("s", writes), schema=Wide, output_schema=State).compile()
    graph = chain(t, ("sub", sub)).compile(checkpointer=InMemorySaver())
    for mode in ("values", "updates", "tasks", "checkpoints"):
        await t.stream(
            graph, {"x": ["i"]}, {"configurable": {"thread_id": mode}}, stream_mode=mode, subgraphs=True
        )


async def interrupts_in_each_mode(t):
    """An interrupt is a tuple in updates and in values, and a list of dicts in the result of its task."""

    def ask(state):
        return {"x": [interrupt({"q": "?"})]}

    for mode in ("values", "updates", "tasks", "checkpoints", ["values", "updates"]):
        graph = chain(t, "a", ("ask", t.node(ask))).compile(checkpointer=InMemorySaver())
        await t.stream(graph, {"x": ["i"]}, THREAD, stream_mode=mode)
        await t.stream(graph, Command(resume="yes"), THREAD, stream_mode=mode)


async def breakpoints_in_each_mode(t):
    """A breakpoint is an empty interrupt in updates, and nothing elsewhere."""
    for mode in ("values", "updates", "tasks", "debug"):
        graph = chain(t, "a", "b").compile(checkpointer=InMemorySaver(), interrupt_before=["b"])
        await t.stream(graph, {"x": ["i"]}, THREAD, stream_mode=mode)
        await t.stream(graph, None, THREAD, stream_mode=mode)


async def version_2(t):
    """Version 2 makes every chunk a dict of type, namespace and data."""
    sub = chain(t, "s").compile()
    graph = chain(t, "a", ("sub", sub)).compile(checkpointer=InMemorySaver())
    modes = ["values", "updates", "tasks", "checkpoints", "debug"]
    await t.stream(graph, {"x": ["i"]}, THREAD, stream_mode=modes, version="v2")
    await t.stream(graph, {"x": ["i"]}, THREAD, stream_mode="updates", version="v2", subgraphs=True)


async def version_2_interrupts(t):
    """Version 2 shows interrupts next to the values, and GraphOutput as the result."""

    def ask(state):
        return {"x": [interrupt("?")]}

    graph = chain(t, "a", ("ask", t.node(ask))).compile(checkpointer=InMemorySaver())
    await t.stream(graph, {"x": ["i"]}, THREAD, stream_mode=["values", "updates"], version="v2")
    output = await t.invoke(graph, Command(resume="yes"), THREAD, version="v2")
    t.note("value", output.value)
    t.note("interrupts", output.interrupts)
    await t.invoke(graph, {"x": ["j"]}, THREAD, version="v2")
    await t.invoke(graph, Command(resume="yes"), THREAD, version="v2", stream_mode="updates")


async def version_2_coerces_values(t):
    """Version 2 gives models where the output schema is one."""

    def count(state: Model):
        return {"count": state.count + 1}

    graph = chain(t, ("count", t.node(count)), schema=Model).compile()
    await t.invoke(graph, {"count": "3"})
    await t.invoke(graph, {"count": "3"}, version="v2")
    await t.stream(graph, {"count": 3}, stream_mode=["values", "updates"], version="v2")
    await t.stream(graph, {"count": 3}, stream_mode=["values", "updates"])


async def version_2_coerces_some_keys(t):
    """A result of some keys alone is coerced as the stream's values are."""

    def count(state: Model):
        return {"count": state.count + 1}

    graph = chain(t, ("count", t.node(count)), schema=Model).compile()
    for keys in (["count"], ["count", "name"], "count"):
        await t.invoke(graph, {"count": 3}, version="v2", output_keys=keys)
        await t.stream(graph, {"count": 3}, stream_mode="values", version="v2", output_keys=keys)


@differs("one key's value is what it is")
async def version_2_leaves_the_value_of_a_key(t):
    """A dict under a key isn't taken for a state, whose keys it hasn't."""

    class Holder(BaseModel):
        held: dict = {}

    graph = chain(t, ("a", t.node(lambda state: {"held": {"count": 1}})), schema=Holder).compile()
    await t.invoke(graph, {}, version="v2", output_keys="held")
    await t.stream(graph, {}, stream_mode="values", version="v2", output_keys="held")


async def version_2_coerces_values_that_wait(t):
    """So it does where the graph asks, or stops at a breakpoint."""

    def count(state: Model):
        return {"count": state.count + interrupt("?")}

    for stops in ({}, {"interrupt_before": ["count"]}):
        builder = chain(t, ("count", t.node(count)), schema=Model)
        graph = builder.compile(checkpointer=InMemorySaver(), **stops)
        await t.stream(graph, {"count": 3}, THREAD, stream_mode=["values", "checkpoints"], version="v2")
        await t.stream(graph, None, THREAD, stream_mode=["values", "updates"], version="v2")
        await t.invoke(graph, {"count": 3}, {"configurable": {"thread_id": "2"}}, version="v2")


@differs("options that don't exist")
async def unknown_version(t):
    """A version that there isn't is taken as the first."""
    graph = chain(t, "a").compile()
    await t.stream(graph, {"x": []}, version="v9")


async def invoke_in_another_mode(t):
    """`invoke` with another mode than values returns the chunks as a list."""
    graph = chain(t, "a", "b").compile()
    await t.invoke(graph, {"x": ["i"]}, stream_mode="updates")
    await t.invoke(graph, {"x": ["i"]}, stream_mode=["values", "updates"])
    await t.invoke(graph, {"x": ["i"]}, stream_mode=["values"])


async def a_stream_that_is_stopped(t):
    """A stream that's closed early keeps the steps that finished, and the thread can go on."""
    log = []

    def noted(word):
        def node(state):
            log.append(word)
            return {"x": [word]}

        return (word, t.node(node))

    graph = chain(t, noted("a"), noted("b"), noted("c")).compile(checkpointer=InMemorySaver())
    t.note("chunks", await _first(t, 1, graph, {"x": ["i"]}, THREAD, durability="sync"))
    t.note("ran", log)
    await t.state(graph, THREAD)
    await t.invoke(graph, None, THREAD)
    t.note("ran", log)


async def a_stream_that_is_never_read(t):
    """A stream that nobody reads runs nothing."""
    graph = chain(t, "a").compile(checkpointer=InMemorySaver())
    stream = graph.astream({"x": []}, THREAD) if t.asyncio else graph.stream({"x": []}, THREAD)
    await t.state(graph, THREAD)
    if t.asyncio:
        await stream.aclose()
    else:
        stream.close()
    await t.history(graph, THREAD)


async def streams_of_an_entrypoint(t):
    """An entrypoint streams the results of its tasks, and its own last."""

    @task
    @t.node
    def double(n):
        get_stream_writer()(f"doubling {n}")
        return 2 * n

    @entrypoint()
    @t.node
    async def flow(n):
        return await t.value(double(await t.value(double(n))))

    for mode in ("updates", "values", "custom", "tasks", ["updates", "custom"]):
        await t.stream(flow, 1, stream_mode=mode)


async def hidden_tag_of_a_runnable(t):
    """The hidden tag is for nodes: on the Runnable that a node runs it hides nothing."""
    hidden = RunnableLambda(says("hidden")).with_config(tags=[TAG_HIDDEN])
    graph = chain(t, "a", ("hidden", hidden), "z").compile()
    await t.stream(graph, {"x": []}, stream_mode=["updates", "values"])


async def printed_modes(t):
    """`print_mode` prints the chunks of its modes, and changes nothing else."""
    graph = chain(t, "a").compile()
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        await t.stream(graph, {"x": ["i"]}, print_mode=["values", "updates"])
        await t.stream(graph, {"x": ["i"]}, print_mode="updates", subgraphs=True)
    t.note("printed", out.getvalue())


async def debug_prints(t):
    """`debug=True` prints values and updates."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        await t.stream(chain(t, "a").compile(), {"x": ["i"]}, debug=True)
        await t.invoke(chain(t, "a").compile(debug=True), {"x": ["i"]})
        await t.invoke(chain(t, "a").compile(), {"x": ["i"]}, debug=True)
    t.note("printed", out.getvalue())


async def invoke_shows_nested_graphs(t):
    """A mode other than `values` has it return the chunks, with `subgraphs` those of nested graphs too."""
    graph = chain(t, "a", ("sub", chain(t, "b").compile())).compile()
    for mode in ("values", "updates", ["updates", "values"]):
        await t.invoke(graph, {"x": ["i"]}, stream_mode=mode, subgraphs=True)


async def invoke_shows_the_keys_of_the_output(t):
    """What it returns of another mode than `values` has the output's keys, or those that it was asked for; what a
    stream shows has all."""

    def write(state):
        return {"x": ["x"], "y": "y", "private": "p"}

    builder = StateGraph(Wide, output_schema=Narrow).add_node("write", t.node(write))
    graph = edges(builder, ". write .").compile()
    for mode in ("updates", ["updates", "values"]):
        await t.invoke(graph, {"x": ["i"]}, stream_mode=mode)
        await t.invoke(graph, {"x": ["i"]}, stream_mode=mode, output_keys=["private"])
        await t.stream(graph, {"x": ["i"]}, stream_mode=mode)


@differs("options that don't exist")
async def unknown_mode(t):
    """A mode that there isn't streams nothing."""
    await t.stream(chain(t, "a").compile(), {"x": []}, stream_mode="nope")


async def chunks_of_parallel_nodes(t):
    """Updates come as nodes finish; values once a superstep, in the order of names."""
    builder = StateGraph(State)
    for name in ("zeta", "alpha", "mid"):
        builder.add_node(name, t.node(says(name)))
        builder.add_edge(START, name)
    graph = builder.compile()
    await t.stream(graph, {"x": []}, unordered=True)
    await t.stream(graph, {"x": []}, stream_mode="values")


async def modes_in_whatever_order(t):
    """What an event shows comes in one order, however the modes are listed."""

    def ask(state):
        return {"x": [interrupt("?")]}

    builder = edges(nodes(t, StateGraph(State), "a", ask=ask), ". a ask .")
    for modes in (["tasks", "values", "updates"], ["debug", "tasks", "updates", "values"]):
        graph = builder.compile(checkpointer=InMemorySaver())
        await t.stream(graph, {"x": []}, ONE, stream_mode=modes)
        await t.stream(graph, Command(resume="A"), ONE, stream_mode=modes)


async def a_breakpoint_after_a_node(t):
    """The checkpoint that a run stops at is shown."""
    builder = edges(nodes(t, StateGraph(State), "a", "b"), ". a b .")
    for mode in ("checkpoints", "debug", ["updates", "values", "checkpoints"]):
        graph = builder.compile(checkpointer=InMemorySaver(), interrupt_after=["a"])
        await t.stream(graph, {"x": []}, ONE, stream_mode=mode)
        await t.stream(graph, None, ONE, stream_mode=mode)


async def questions_of_a_graph_that_keeps_nothing(t):
    """A question in a nested graph without a checkpointer is shown in its namespace, and in the one around."""
    builder = edges(
        StateGraph(State).add_node("ask", t.node(lambda state: {"x": [interrupt("?")]})), ". ask ."
    )
    inner = builder.compile(checkpointer=False)
    graph = edges(StateGraph(State).add_node("inner", inner), ". inner .").compile(
        checkpointer=InMemorySaver()
    )
    for mode in ("updates", "values", "tasks"):
        config = {"configurable": {"thread_id": mode}}
        await t.stream(graph, {"x": []}, config, stream_mode=mode, subgraphs=True)


async def debugging_other_schemas(t):
    """Version 2 shows the values of a checkpoint as the state's class in debug mode as well."""

    @dataclass
    class Record:
        x: Annotated[list, operator.add]

    builder = StateGraph(Record).add_node("a", t.node(lambda state: {"x": ["a"]}))
    graph = edges(builder, ". a .").compile(checkpointer=InMemorySaver())
    await t.stream(graph, {"x": []}, ONE, stream_mode="debug", version="v2")


async def a_finished_task_that_wrote_nothing(t):
    """A checkpoint that is taken up shows what finished tasks of its superstep wrote, where they wrote anything."""

    def ask(state):
        return {"x": [interrupt("?")]}

    builder = nodes(t, StateGraph(State), "said", ask=ask, silent=lambda state: None)
    graph = edges(builder, ". said .", ". ask .", ". silent .").compile(checkpointer=InMemorySaver())
    await t.invoke(graph, {"x": []}, ONE)
    await t.stream(graph, None, ONE, stream_mode="checkpoints")


async def starts_of_tasks_that_had_finished(t):
    """The tasks of a superstep that is taken up start in their order, whichever of them had finished."""

    def ask(state):
        return {"x": [interrupt("?")]}

    builder = nodes(t, StateGraph(State), "z", a=ask)
    graph = edges(builder, ". a .", ". z .").compile(checkpointer=InMemorySaver())
    await t.invoke(graph, {"x": []}, ONE)
    await t.stream(graph, Command(resume="!"), ONE, stream_mode="tasks")


async def ends_beside_a_failure(t):
    """A task that has ended before another one fails is shown with its result."""

    def fail(state):
        raise ValueError("boom")

    builder = nodes(t, StateGraph(State), "a", fail=fail)
    graph = edges(builder, ". a .", ". fail .").compile(checkpointer=InMemorySaver())
    await t.stream(graph, {"x": []}, in_turn(t, ONE), stream_mode="tasks", unordered=True)


async def the_checkpoint_at_which_the_steps_are_used_up(t):
    """A run that may take no more steps shows the last checkpoint that it made, and then raises."""
    graph = edges(nodes(t, StateGraph(State), "a", "b"), ". a b a").compile(checkpointer=InMemorySaver())
    for mode in ["checkpoints", "debug", ["values", "checkpoints"]]:
        await t.stream(graph, {"x": []}, {**ONE, "recursion_limit": 3}, stream_mode=mode)


@differs("a streamed checkpoint names the one before it")
async def parents_of_checkpoints_that_are_kept_at_the_end(t):
    """Each checkpoint's parent_config is the config of the one before it, whatever the durability."""
    graph = edges(nodes(t, StateGraph(State), "a", "b"), ". a b .").compile(checkpointer=InMemorySaver())
    for _ in range(2):
        chunks = await t.stream(graph, {"x": ["i"]}, ONE, stream_mode="checkpoints", durability="exit")
        parents = [chunk["parent_config"] for chunk in chunks[1:]]
        t.note("chain", parents == [chunk["config"] for chunk in chunks[:-1]])


async def tasks_show_what_the_caller_gave(t):
    """The start of a task, also in a nested graph, has the metadata of its node and of the call, and its tags."""
    graph = StateGraph(State)
    graph.add_node("a", t.node(lambda state: {"x": [interrupt("?")]}), metadata={"m": "node", "n": 1})
    sub = StateGraph(State).add_node("s", t.node(lambda state: {"x": ["s"]})).add_edge(START, "s")
    graph.add_node("sub", sub.compile()).add_edge(START, "a").add_edge("a", "sub")
    graph = graph.compile(checkpointer=InMemorySaver())
    config = {**ONE, "metadata": {"m": "call", "c": 2}, "tags": ["t"]}
    await t.stream(graph, {"x": []}, config, stream_mode="tasks")
    await t.stream(graph, Command(resume="!"), config, stream_mode="tasks", subgraphs=True)


@differs("checkpoints in streams say what is stored")
async def checkpoints_and_what_the_caller_gave(t):
    """A streamed checkpoint's config and metadata, where the caller gave other keys of its own."""
    graph = StateGraph(State).add_node("a", t.node(lambda state: {"x": ["a"]})).add_edge(START, "a")
    graph = graph.compile(checkpointer=InMemorySaver())
    config = {"configurable": {"thread_id": "1", "user": "u"}, "metadata": {"m": 1}}
    await t.stream(graph, {"x": []}, config, stream_mode="checkpoints")


async def tasks_that_a_signal_ends(t):
    """A task that a command for the graph around, or a drain, unwound has a start and no end."""

    def leaves(state):
        return Command(graph=Command.PARENT, goto="z", update={"x": ["left"]})

    def drains(state, runtime: Runtime):
        runtime.control.request_drain("enough")
        return {"x": ["drained"]}

    inner = edges(nodes(t, StateGraph(State), leaves=leaves), ". leaves .").compile()
    other = edges(nodes(t, StateGraph(State), "next", drains=drains), ". drains next .").compile()
    builder = nodes(t, StateGraph(State), "z")
    builder.add_node("inner", inner)
    builder.add_node("other", other)
    builder.add_edge(START, "inner")
    builder.add_edge("z", "other")
    graph = builder.compile(checkpointer=InMemorySaver())
    for modes in ("tasks", "debug"):
        await t.stream(
            graph, {"x": []}, {"configurable": {"thread_id": modes}}, stream_mode=modes, subgraphs=True
        )


def streams(t, graph, **options):
    """A graph of one node, which streams another graph and keeps its chunks."""

    async def node(state):
        if t.asyncio:
            return {"x": [chunk async for chunk in graph.astream({"x": ["j"]}, **options)]}
        return {"x": [*graph.stream({"x": ["j"]}, **options)]}

    return chain(t, ("node", t.node(node)))


async def a_stream_inside_a_node(t):
    """A node that streams a graph gets the chunks that it asked for, whatever its own graph's caller asked for."""
    sub = chain(t, "a", ("deep", chain(t, "b").compile())).compile()
    for mode in ("values", "updates", "tasks", ["values", "updates"]):
        for options in ({}, {"subgraphs": True}, {"version": "v2"}):
            graph = streams(t, sub, stream_mode=mode, **options).compile()
            await t.invoke(graph, {"x": []})
            await t.stream(graph, {"x": []})


async def a_stream_inside_a_node_with_its_configuration(t):
    """Where a node hands on its configuration, the stream of a graph shows values unless it says otherwise."""
    sub = chain(t, "a", "b").compile()

    async def node(state, config: RunnableConfig):
        found = []
        for given in (config, {**config, "tags": ["t"]}, {"tags": ["t"]}, None):
            if t.asyncio:
                found.append([chunk async for chunk in sub.astream({"x": []}, given)])
            else:
                found.append([*sub.stream({"x": []}, given)])
        return {"x": found}

    await t.invoke(chain(t, ("node", t.node(node))).compile(), {"x": []})


async def checkpoints_of_a_stream_inside_a_node(t):
    """A stream of checkpoints inside a node has those of its graph alone."""
    graph = streams(t, chain(t, "a").compile(), stream_mode="checkpoints").compile(
        checkpointer=InMemorySaver()
    )
    (chunk,) = await t.stream(graph, {"x": []}, THREAD)
    t.note("steps", [each["metadata"]["step"] for each in chunk["node"]["x"]])


async def a_stream_around_one_inside_a_node(t):
    """The caller's stream with `subgraphs` shows what the node streams too, but for its custom chunks."""

    def write(state):
        get_stream_writer()("written")
        return {"x": ["s"]}

    for mode in ("updates", ["updates", "custom"]):
        graph = streams(t, chain(t, ("s", t.node(write))).compile(), stream_mode=mode).compile()
        await t.stream(graph, {"x": []}, stream_mode=["updates", "custom", "values"], subgraphs=True)


async def a_stream_inside_a_node_that_is_left(t):
    """A node that leaves a graph's stream early goes on, and that graph doesn't."""
    ran = []

    def noted(word):
        def node(state):
            ran.append(word)
            return {"x": [word]}

        return word, t.node(node)

    sub = chain(t, *map(noted, "abc")).compile()

    async def node(state):
        if t.asyncio:
            async with contextlib.aclosing(sub.astream({"x": []})) as chunks:
                async for chunk in chunks:
                    return {"x": [chunk]}
        with contextlib.closing(sub.stream({"x": []})) as chunks:
            return {"x": [next(chunks)]}

    await t.invoke(chain(t, ("node", t.node(node)), "z").compile(), {"x": []})
    t.note("ran", ran)


async def a_stream_inside_a_node_that_asks(t):
    """The chunks of a question come before the node waits; the next stream of it goes on behind them."""
    heard = []
    sub = chain(t, "a", ("ask", t.node(lambda state: {"x": [interrupt("?")]}))).compile()

    async def node(state):
        if t.asyncio:
            async for chunk in sub.astream({"x": []}, stream_mode=["updates", "values"]):
                heard.append(chunk)
        else:
            heard.extend(sub.stream({"x": []}, stream_mode=["updates", "values"]))
        return {"x": ["heard"]}

    graph = chain(t, ("node", t.node(node))).compile(checkpointer=InMemorySaver())
    await t.invoke(graph, {"x": []}, THREAD)
    await t.invoke(graph, Command(resume="!"), THREAD)
    t.note("heard", heard)


async def a_stream_inside_a_node_that_fails(t):
    """An error ends the stream behind the chunks that came before it, and a node may catch it."""

    def fail(state):
        raise ValueError("boom")

    sub = chain(t, "a", ("fail", t.node(fail))).compile()

    async def node(state):
        chunks = []
        try:
            if t.asyncio:
                async for chunk in sub.astream({"x": []}):
                    chunks.append(chunk)
            else:
                for chunk in sub.stream({"x": []}):
                    chunks.append(chunk)
        except ValueError as error:
            chunks.append(str(error))
        return {"x": chunks}

    await t.invoke(chain(t, ("node", t.node(node)), "z").compile(), {"x": []})


async def an_entrypoint_streamed_inside_a_node(t):
    """A node that streams an entrypoint gets its chunks, those of its tasks among them."""

    @task
    def inc(number):
        get_stream_writer()(f"inc {number}")
        return number + 1

    @entrypoint()
    def flow(number):
        return inc(number).result()

    chunks = []

    def node(state):
        chunks.extend(flow.stream(1, stream_mode=["updates", "custom", "values"]))
        return {"x": ["z"]}

    chain(t, ("node", node)).compile().invoke({"x": []})
    t.note("chunks", chunks)


@differs("each stream shows what it was asked for")
async def custom_chunks_inside_a_stream_inside_a_node(t):
    """A node streams a graph without `subgraphs`: what a graph nested in that one writes is the caller's, who asks."""

    def write(state):
        get_stream_writer()("deep")
        return {"x": ["s"]}

    sub = chain(t, ("deep", chain(t, ("s", t.node(write))).compile())).compile()
    graph = streams(t, sub, stream_mode=["custom"]).compile()
    await t.stream(graph, {"x": []}, stream_mode=["custom", "updates"], subgraphs=True)


@differs("what a nested graph keeps to itself")
async def private_keys_of_a_stream_inside_a_node(t):
    """A node streams a graph that has a key beside its output: it sees that key, and the caller around it doesn't."""
    writes = t.node(lambda state: {"x": ["s"], "private": "secret"})
    sub = chain(t, ("s", writes), schema=Wide, output_schema=State).compile()
    graph = streams(t, sub, stream_mode="values").compile()
    await t.stream(graph, {"x": []}, stream_mode=["updates", "values"], subgraphs=True)


async def one_mode_in_a_tuple(t):
    """Only a list of modes has each chunk say of which it is."""
    graph = edges(StateGraph(State).add_node("a", t.node(lambda state: {"x": ["a"]})), ". a .").compile()
    for mode in (("values",), ("updates",), ["values"]):
        await t.stream(graph, {"x": ["i"]}, stream_mode=mode)
        await t.stream(graph, {"x": ["i"]}, stream_mode=mode, subgraphs=True)
        await t.invoke(graph, {"x": ["i"]}, stream_mode=mode)


@differs("chunks of several modes are told apart")
async def several_modes_in_a_tuple(t):
    """As those of a list."""
    graph = edges(StateGraph(State).add_node("a", t.node(lambda state: {"x": ["a"]})), ". a .").compile()
    await t.stream(graph, {"x": ["i"]}, stream_mode=("values", "updates"))


async def a_stream_inside_a_node_that_is_left_at_its_first_chunk(t):
    """No node runs that its reader had left before; nor where the graph that it reads goes on."""
    ran = []
    for left_at in (1, 2):
        inner = StateGraph(State)
        for name in ("a", "b", "c"):
            inner.add_node(name, t.node(lambda state, name=name: ran.append(name) or {"x": [name]}))
        inner = edges(inner, ". a b c .").compile()

        async def reads(state, inner=inner, left_at=left_at):
            read = await _first(t, left_at, inner, {"x": ["n"]}, stream_mode="values")
            t.note("read", (read, list(ran)))
            return {"x": [interrupt("?")]}

        def reads_blocking(state, inner=inner, left_at=left_at):
            stream = inner.stream({"x": ["n"]}, stream_mode="values")
            read = [next(stream) for _ in range(left_at)]
            stream.close()
            t.note("read", (read, list(ran)))
            return {"x": [interrupt("?")]}

        node = reads if t.asyncio else reads_blocking
        graph = edges(StateGraph(State).add_node("o", node), ". o .").compile(checkpointer=InMemorySaver())
        await t.invoke(graph, {"x": ["i"]}, ONE)
        await t.invoke(graph, Command(resume="!"), ONE)
        t.note("ran", list(ran))
