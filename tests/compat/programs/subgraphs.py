"""Graphs inside graphs: how they are called, what they see and what they give back (behaviour of section 2.25)."""

import asyncio
import operator
from functools import partial
from types import SimpleNamespace
from typing import Annotated, TypedDict

from langchain_core.runnables import RunnableLambda
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.func import entrypoint, task
from langgraph.graph import START, StateGraph
from langgraph.types import Command, Send, interrupt

from ..trace import differs


class State(TypedDict):
    x: Annotated[list, operator.add]


class Inner(TypedDict):
    word: str
    secret: str


class InnerInput(TypedDict):
    word: str


class Outer(TypedDict):
    word: str
    other: str


THREAD = {"configurable": {"thread_id": "1"}}


def says(word):
    """A node that appends its word."""

    def node(state):
        return {"x": [word]}

    return node


def chain(t, *nodes):
    """A builder of nodes one after the other: names, or pairs of a name and a node."""
    builder = StateGraph(State)
    builder.add_sequence([(n, t.node(says(n))) if isinstance(n, str) else n for n in nodes])
    builder.add_edge(START, nodes[0] if isinstance(nodes[0], str) else nodes[0][0])
    return builder


async def subgraph_as_a_node(t):
    """A subgraph's whole output is its node's update: a shared reducer's key is applied again."""
    sub = chain(t, "s1", "s2").compile()
    graph = chain(t, "a", ("sub", sub), "z").compile()
    await t.invoke(graph, {"x": ["i"]})
    await t.stream(graph, {"x": ["i"]}, stream_mode=["values", "updates"])
    await t.stream(graph, {"x": ["i"]}, stream_mode=["values", "updates"], subgraphs=True)


async def subgraph_called_by_a_node(t):
    """A node may call a graph as a function, and map its state to the graph's and back."""

    def shout(state):
        return {"word": state["word"].upper(), "secret": "s"}

    builder = StateGraph(Inner)
    builder.add_node("shout", t.node(shout))
    builder.add_edge(START, "shout")
    sub = builder.compile()

    async def node(state):
        result = await t.call(sub, "invoke", {"word": state["word"]})
        return {"other": f"{result['word']}!{result['secret']}"}

    builder = StateGraph(Outer)
    builder.add_node("node", t.node(node))
    builder.add_edge(START, "node")
    graph = builder.compile(checkpointer=InMemorySaver())
    await t.stream(graph, {"word": "hi"}, THREAD, subgraphs=True)
    await t.state(graph, THREAD, subgraphs=True)
    await t.history(graph, THREAD, limit=2)


async def subgraph_with_another_schema(t):
    """A subgraph as a node shares the keys that both schemas have; its own ones stay inside."""

    def inner(state):
        return {"word": state["word"] + "?", "secret": "s"}

    builder = StateGraph(Inner, input_schema=InnerInput)
    builder.add_node("inner", t.node(inner))
    builder.add_edge(START, "inner")
    sub = builder.compile()
    builder = StateGraph(Outer)
    builder.add_node("sub", sub)
    builder.add_edge(START, "sub")
    graph = builder.compile()
    await t.invoke(graph, {"word": "w", "other": "o"})
    await t.stream(graph, {"word": "w", "other": "o"}, stream_mode="values", subgraphs=True)


async def two_levels(t):
    """The namespace of a graph in a graph in a graph has a segment for each level."""
    leaf = chain(t, "leaf").compile()
    middle = chain(t, "m", ("deep", leaf)).compile()
    graph = chain(t, "a", ("middle", middle)).compile(checkpointer=InMemorySaver())
    await t.stream(graph, {"x": ["i"]}, THREAD, stream_mode="updates", subgraphs=True)
    await t.stream(graph, {"x": ["j"]}, THREAD, stream_mode="checkpoints", subgraphs=True)
    await t.state(graph, THREAD, subgraphs=True)


async def names_of_subgraphs(t):
    """get_subgraphs finds graphs by node, and with `recurse` those inside them."""
    leaf = chain(t, "leaf").compile()
    middle = chain(t, "m", ("deep", leaf)).compile(name="middle graph")
    graph = chain(t, ("one", middle), "b", ("two", leaf)).compile()
    t.note("all", [(name, sub.name) for name, sub in graph.get_subgraphs()])
    t.note("recursive", [(name, sub.name) for name, sub in graph.get_subgraphs(recurse=True)])
    t.note("of one", [name for name, _ in graph.get_subgraphs(namespace="two")])
    t.note("of one and in it", [name for name, _ in graph.get_subgraphs(namespace="one", recurse=True)])
    t.note("of a path", [name for name, _ in graph.get_subgraphs(namespace="one|deep", recurse=True)])
    t.note("of none", [name for name, _ in graph.get_subgraphs(namespace="nope")])


async def two_calls_in_one_node(t):
    """A second graph called by one task has a namespace with a number."""
    first = chain(t, "p").compile()
    second = chain(t, "q").compile()

    async def node(state):
        one = await t.call(first, "invoke", {"x": []})
        two = await t.call(second, "invoke", one)
        three = await t.call(first, "invoke", two)
        return {"x": three["x"]}

    graph = chain(t, ("node", t.node(node))).compile(checkpointer=InMemorySaver())
    await t.stream(graph, {"x": ["i"]}, THREAD, subgraphs=True)


async def parent_command(t):
    """A Command for the parent skips the subgraph's own output, and the parent goes where it says."""

    def leave(state):
        return Command(graph=Command.PARENT, update={"x": ["left"]}, goto="other")

    sub = chain(t, "s1", ("leave", t.node(leave)), "never").compile()
    builder = StateGraph(State)
    builder.add_node("sub", sub, destinations=("other",))
    builder.add_node("other", t.node(says("other")))
    builder.add_edge(START, "sub")
    graph = builder.compile(checkpointer=InMemorySaver())
    await t.stream(graph, {"x": ["i"]}, THREAD, stream_mode=["values", "updates"], subgraphs=True)
    await t.history(graph, THREAD)


@differs("a parent's command meets an async router")
async def parent_command_and_an_async_router(t):
    """A router of the node decides after a Command for the parent as well, also one that has to be awaited."""

    async def leave(state):
        return Command(graph=Command.PARENT, update={"x": ["left"]})

    async def router(state):
        return "other"

    builder = chain(t, "other")
    builder.add_node("sub", StateGraph(State).add_node("leave", leave).add_edge(START, "leave").compile())
    builder.add_edge("other", "sub")
    builder.add_conditional_edges("sub", router, {"other": "__end__"})
    result = builder.compile().ainvoke({"x": ["i"]})
    try:
        t.note("result", await result if t.asyncio else asyncio.run(result))
    except TypeError as error:
        t.note("error", error)


async def parent_command_beside_others(t):
    """Who leaves a graph stops nobody there: what asks has asked, and what takes longer ends."""

    def leave(state):
        return Command(graph=Command.PARENT, update={"x": ["left"]}, goto="other")

    def ask(state):
        return {"x": [interrupt("?")]}

    async def takes_longer(state):
        for _ in range(20 if t.asyncio else 0):
            await asyncio.sleep(0)
        t.note("ended", "takes_longer")
        return {"x": ["takes_longer"]}

    sub = StateGraph(State)
    for function in (leave, ask, takes_longer):
        sub.add_node(function.__name__, t.node(function))
        sub.add_edge(START, function.__name__)
    for mode in ("tasks", "debug", "updates", "values"):
        builder = chain(t, ("sub", sub.compile()))
        builder.add_node("other", t.node(says("other")))
        graph = builder.compile(checkpointer=InMemorySaver())
        await t.stream(graph, {"x": ["i"]}, THREAD, stream_mode=mode, subgraphs=True, unordered=True)
        t.note("next", (await t.call(graph, "get_state", THREAD)).next)


async def parent_command_from_two_levels(t):
    """A Command for the parent goes up by one level only."""

    def leave(state):
        return Command(graph=Command.PARENT, update={"x": ["left"]})

    leaf = chain(t, ("leave", t.node(leave))).compile()
    middle = chain(t, ("deep", leaf), "m").compile()
    graph = chain(t, ("middle", middle), "z").compile()
    await t.stream(graph, {"x": ["i"]}, stream_mode="updates", subgraphs=True)


async def parent_command_and_static_edges(t):
    """The static edges of the subgraph's node fire besides the Command's goto."""

    def leave(state):
        return Command(graph=Command.PARENT, update={"x": ["left"]}, goto="b")

    sub = chain(t, ("leave", t.node(leave))).compile()
    builder = StateGraph(State)
    builder.add_node("sub", sub)
    builder.add_node("b", t.node(says("b")))
    builder.add_node("c", t.node(says("c")))
    builder.add_edge(START, "sub")
    builder.add_edge("sub", "c")
    await t.invoke(builder.compile(), {"x": []})


async def parent_command_with_sends(t):
    """A Command for the parent may send to the parent's nodes."""

    def leave(state):
        return Command(graph=Command.PARENT, goto=[Send("w", 2), Send("w", 1)])

    def worker(number):
        return {"x": [number]}

    sub = chain(t, ("leave", t.node(leave))).compile()
    builder = chain(t, ("sub", sub))
    builder.add_node("w", t.node(worker))
    await t.invoke(builder.compile(), {"x": []})


@differs("commands for a graph around can't be swallowed")
async def a_parent_command_in_a_try(t):
    """A node that calls a graph catches what a command for the graph around leaves it by."""

    def leave(state):
        return Command(graph=Command.PARENT, update={"x": ["up"]})

    sub = chain(t, ("leave", t.node(leave))).compile()

    async def tries(state):
        try:
            return await t.call(sub, "invoke", state)
        except Exception as error:
            return {"x": [type(error).__name__]}

    await t.invoke(chain(t, ("tries", t.node(tries)), "z").compile(), {"x": ["i"]})


async def parent_command_at_the_root(t):
    """At the root a Command for the parent is raised; as an input it's refused."""

    def leave(state):
        return Command(graph=Command.PARENT, update={"x": ["left"]})

    graph = chain(t, ("leave", t.node(leave))).compile(checkpointer=InMemorySaver())
    await t.invoke(graph, {"x": ["i"]}, THREAD)
    await t.invoke(graph, Command(graph=Command.PARENT, update={"x": ["u"]}), THREAD)


async def command_for_a_graph_by_name(t):
    """A Command for any graph but the parent is for the graph of its own node."""

    def leave(state):
        return Command(graph="elsewhere", update={"x": ["left"]}, goto="z")

    sub = chain(t, ("leave", t.node(leave))).compile()
    graph = chain(t, ("sub", sub), "z").compile()
    await t.invoke(graph, {"x": ["i"]})


async def failure_in_a_subgraph(t):
    """A failure inside a subgraph has a note for each level."""

    def fail(state):
        raise RuntimeError("boom")

    leaf = chain(t, "s", ("fail", t.node(fail))).compile()
    graph = chain(t, ("sub", leaf)).compile(checkpointer=InMemorySaver())
    await t.stream(graph, {"x": ["i"]}, THREAD, subgraphs=True)
    await t.state(graph, THREAD, subgraphs=True)


async def failures_of_nodes_of_one_name(t):
    """A node of a subgraph may be called as the node that the subgraph is: each of them shows the error."""

    def fail(state):
        raise ValueError("m")

    graph = t.node(fail)
    for level in range(3):
        builder = StateGraph(State).add_node("m", graph).add_edge(START, "m")
        graph = builder.compile(checkpointer=InMemorySaver() if level == 2 else None)
    for given in ({"x": []}, None):
        await t.invoke(graph, given, THREAD)
        await t.state(graph, THREAD, subgraphs=True)


async def failure_in_a_subgraph_resumes_inside(t):
    """A subgraph with the parent's saver resumes at its own node that failed."""
    log = []

    def first(state):
        log.append("first")
        return {"x": ["first"]}

    def flaky(state):
        log.append("flaky")
        if log.count("flaky") == 1:
            raise RuntimeError("boom")
        return {"x": ["flaky"]}

    sub = chain(t, ("first", t.node(first)), ("flaky", t.node(flaky))).compile()
    graph = chain(t, "a", ("sub", sub)).compile(checkpointer=InMemorySaver())
    await t.invoke(graph, {"x": ["i"]}, THREAD)
    await t.invoke(graph, None, THREAD)
    t.note("ran", log)


async def subgraph_in_a_send(t):
    """A subgraph as the target of Sends runs once for each, in a namespace of its own."""
    sub = chain(t, "s").compile()
    builder = StateGraph(State)
    builder.add_node("sub", sub)
    builder.add_conditional_edges(START, lambda state: [Send("sub", {"x": [n]}) for n in (2, 1)], ["sub"])
    graph = builder.compile()
    await t.invoke(graph, {"x": ["i"]})
    await t.stream(graph, {"x": ["i"]}, subgraphs=True, unordered=True)


async def subgraph_whose_invoke_was_replaced(t):
    """What stands in for a subgraph's `invoke`, as in somebody's tests, is what its node calls."""
    sub = chain(t, "s").compile()
    graph = chain(t, "a", ("sub", sub), "z").compile()

    async def on_loop(state, config=None, **options):
        return {"x": ["replaced"]}

    sub.invoke, sub.ainvoke = lambda state, config=None, **options: {"x": ["replaced"]}, on_loop
    await t.invoke(graph, {"x": ["i"]})


async def graphs_that_code_names(t):
    """A graph that a node's code names, also in an object, or that is in its chain, is nested in it."""
    graph = chain(t, "a", ("ask", t.node(lambda state: {"x": [interrupt("?")]}))).compile()
    holder = SimpleNamespace(inner=SimpleNamespace(graph=graph), other=lambda state: {"x": ["other"]})

    async def names(state):
        return await t.call(graph, "invoke", state)

    async def names_in_an_object(state):
        return await t.call(holder.inner.graph, "invoke", state)

    async def names_something_else(state):
        return holder.other(state)

    async def workflow(state):
        return await t.call(graph, "invoke", state)

    in_nodes = [
        chain(t, ("node", node)).compile(checkpointer=InMemorySaver())
        for node in [
            *map(t.node, (names, names_in_an_object, names_something_else)),
            RunnableLambda(dict) | graph,
        ]
    ]
    for each in (*in_nodes, entrypoint(checkpointer=InMemorySaver())(t.node(workflow))):
        t.note("nested", [name for name, _ in each.get_subgraphs()])
        t.note("drawn", len(each.get_graph(xray=True).nodes))
        await t.stream(each, {"x": []}, THREAD, stream_mode="checkpoints")
        await t.state(each, THREAD, subgraphs=True)


async def graphs_that_objects_and_partials_call(t):
    """A graph that is called by an object or a partial is none of the node's."""
    graph = chain(t, "s").compile()

    async def calls(state):
        return await t.call(graph, "invoke", state)

    class Calls:
        __call__ = staticmethod(t.node(calls))

    for action in (t.node(calls), partial(t.node(calls)), Calls()):
        each = chain(t, ("node", action)).compile()
        t.note("nested", [name for name, _ in each.get_subgraphs()])
        await t.invoke(each, {"x": []})


async def graphs_that_name_themselves(t):
    """A graph isn't nested in itself."""

    def node(state):
        return again.invoke(state) if len(state["x"]) > 3 else {"x": ["end"]}

    @entrypoint()
    def workflow(state):
        return workflow.invoke(state) if len(state["x"]) > 3 else state

    again = chain(t, ("node", node)).compile()
    for each in (again, workflow):
        t.note("nested", [name for name, _ in each.get_subgraphs(recurse=True)])
        t.note("drawn", len(each.get_graph(xray=True).nodes))


async def recursion_limit_of_a_subgraph(t):
    """A subgraph counts its own steps against the limit of the call."""
    sub = chain(t, "s1", "s2", "s3").compile()
    graph = chain(t, ("sub", sub)).compile()
    await t.invoke(graph, {"x": ["i"]}, {"recursion_limit": 3})
    await t.invoke(graph, {"x": ["i"]}, {"recursion_limit": 4})


async def entrypoint_in_a_graph(t):
    """A node may call an entrypoint, whose tasks stream in the namespace of the node's task."""

    @task
    @t.node
    def double(n):
        return 2 * n

    @entrypoint()
    @t.node
    async def flow(n):
        return await t.value(double(n))

    async def node(state):
        return {"x": [await t.call(flow, "invoke", 4)]}

    graph = chain(t, ("node", t.node(node))).compile(checkpointer=InMemorySaver())
    await t.stream(graph, {"x": []}, THREAD, stream_mode="updates", subgraphs=True)


@differs("a graph in a task is named by the task")
async def graph_in_an_entrypoint(t):
    """A task may call a graph."""
    sub = chain(t, "s").compile()

    @task
    @t.node
    async def ask_graph(word):
        return (await t.call(sub, "invoke", {"x": [word]}))["x"]

    @entrypoint(checkpointer=InMemorySaver())
    @t.node
    async def flow(word):
        return await t.value(ask_graph(word))

    await t.stream(flow, "w", THREAD, stream_mode="updates", subgraphs=True)
    await t.state(flow, THREAD)


async def a_graph_that_calls_itself(t):
    """A graph may call itself through a node, while its input says so."""

    async def node(state):
        if len(state["x"]) >= 3:
            return {"x": ["end"]}
        result = await t.call(graph, "invoke", {"x": [*state["x"], len(state["x"])]})
        return {"x": result["x"][len(state["x"]) :]}

    graph = chain(t, ("node", t.node(node))).compile()
    await t.invoke(graph, {"x": []})
    await t.stream(graph, {"x": []}, stream_mode="updates", subgraphs=True)


async def a_graph_in_a_loop_of_its_own(t):
    """A node that isn't async runs an async graph with `asyncio.run`, whoever called the graph around."""

    async def says_so(state):
        await asyncio.sleep(0)
        return {"x": ["inside"]}

    builder = StateGraph(State).add_node("a", says_so).add_edge(START, "a")
    inner, keeps = builder.compile(), builder.compile(checkpointer=InMemorySaver())

    def node(state):
        own = {"configurable": {"thread_id": "its own"}}
        return {"x": [asyncio.run(inner.ainvoke({"x": []})), asyncio.run(keeps.ainvoke({"x": []}, own))]}

    for options in ({}, {"checkpointer": InMemorySaver()}):
        graph = StateGraph(State).add_node("n", node).add_edge(START, "n").compile(**options)
        await t.invoke(graph, {"x": ["i"]}, {"configurable": {"thread_id": "1"}})


def of_graphs(levels, innermost, call=None, **compiled):
    """A graph in a graph in a graph: as its node, or by what `call` makes a node of."""
    builder = StateGraph(State).add_node("n", innermost if levels == 1 else _within(levels, innermost, call))
    return builder.add_edge(START, "n").compile(**compiled)


def _within(levels, innermost, call):
    graph = of_graphs(levels - 1, innermost, call)
    return graph if call is None else call(graph)


def calls(graph):
    """A node that calls a graph."""

    def node(state):
        return graph.invoke(state)

    async def anode(state):
        return await graph.ainvoke(state)

    return RunnableLambda(node, anode)


async def graphs_thirty_deep(t):
    """Graphs nest as deeply as the stack of a thread allows in LangGraph, as nodes and as what nodes call."""
    for call in (None, calls):
        graph = of_graphs(30, t.node(says("innermost")), call)
        await t.invoke(graph, {"x": []})


async def a_failure_thirty_deep(t):
    """What fails far inside fails outside as itself."""

    def fails(state):
        raise ValueError("innermost")

    for call in (None, calls):
        await t.invoke(of_graphs(30, t.node(fails), call), {"x": []})


async def a_question_thirty_deep(t):
    """What is asked far inside is answered outside, and each level goes on."""

    def asks(state):
        return {"x": [interrupt("name?")]}

    graph = of_graphs(30, t.node(asks), checkpointer=InMemorySaver())
    await t.invoke(graph, {"x": []}, THREAD)
    await t.invoke(graph, Command(resume="Ada"), THREAD)
