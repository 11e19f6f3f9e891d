"""The golden traces of the behaviour page's appendix C."""

from typing import Any

from langgraph.checkpoint.memory import InMemorySaver
from langgraph.func import entrypoint, task
from langgraph.graph import StateGraph
from langgraph.types import Command, Send, StreamWriter, interrupt

from ..parts import ONE, TWO, State, edges, in_turn, nodes
from ..trace import Trace, differs


async def diamond(t: Trace) -> None:
    """C1: d runs once, for both of its edges fire in one superstep; a second call goes on counting steps."""
    builder = edges(nodes(t, StateGraph(State), "a", "b", "c", "d"), ". a b d .", "a c d")
    graph = builder.compile(checkpointer=InMemorySaver())
    await t.invoke(graph, {"x": ["i"]}, ONE)
    await t.history(graph, ONE)
    await t.invoke(graph, {"x": ["j"]}, ONE)
    t.note("sources", [(s.metadata["source"], s.metadata["step"]) for s in await t.history(graph, ONE)])


async def diamond_streams(t: Trace) -> None:
    """C1: what each stream mode shows of the diamond."""
    graph = edges(nodes(t, StateGraph(State), "a", "b", "c", "d"), ". a b d .", "a c d").compile()
    await t.stream(graph, {"x": ["i"]}, stream_mode="values")
    for mode in ["updates", "tasks", ["values", "updates"]]:
        await t.stream(graph, {"x": ["i"]}, in_turn(t, {}), stream_mode=mode)
    await t.stream(graph, {"x": ["i"]}, in_turn(t, {}), stream_mode="updates", version="v2")


def _uneven(t: Trace, *, defer: bool = False) -> StateGraph:
    builder = edges(nodes(t, StateGraph(State), "a", "b", "b2", "c"), ". a b b2", "a c")
    return builder.add_node("d", t.node(lambda state: {"x": ["d"]}), defer=defer)


async def uneven_join(t: Trace) -> None:
    """C2: a join edge waits for the longer path, plain edges run d twice, a deferred d runs once at the end."""
    await t.invoke(_uneven(t).add_edge(["b2", "c"], "d").compile(), {"x": []})
    await t.invoke(edges(_uneven(t), "b2 d", "c d").compile(), {"x": []})
    await t.invoke(edges(_uneven(t, defer=True), "b2 d", "c d").compile(), {"x": []})


async def send_map_reduce(t: Trace) -> None:
    """C3: results of Sends are applied in the order in which they were sent; the node after them runs once."""

    def w(arg: int) -> dict[str, Any]:
        return {"x": [f"w{arg}"]}

    builder = edges(nodes(t, StateGraph(State), "gen", "r", w=w), ". gen", "w r .")
    builder.add_conditional_edges("gen", lambda state: [Send("w", i) for i in (2, 0, 1)], ["w"])
    await t.stream(builder.compile(), {"x": []}, in_turn(t, {}), stream_mode="updates")
    await t.invoke(builder.compile(), {"x": []})


async def command_and_static_edge(t: Trace) -> None:
    """C4: goto adds to the static edges; writes are applied pulled nodes first, by name, then the Sends."""

    def a(state: State) -> Command:
        return Command(update={"x": ["a"]}, goto=["b", Send("b", {"x": ["custom"]})])

    def b(state: State) -> dict[str, Any]:
        return {"x": [f"b{len(state['x'])}"]}

    builder = edges(nodes(t, StateGraph(State), "z", a=a, b=b), ". a z .")
    await t.stream(builder.compile(), {"x": []}, in_turn(t, {}), stream_mode="updates")
    await t.invoke(builder.compile(), {"x": []})


def _asking(t: Trace) -> Any:
    def ask(state: State) -> dict[str, Any]:
        return {"x": [interrupt({"q": 1}), interrupt("second")]}

    builder = edges(nodes(t, StateGraph(State), "a", "side", ask=ask), ". a ask .", "a side .")
    return builder.compile(checkpointer=InMemorySaver())


async def interrupts_in_a_node(t: Trace) -> None:
    """C5: two questions of one node share an id, and its finished neighbour isn't run again."""
    graph = _asking(t)
    await t.invoke(graph, {"x": ["i"]}, ONE)
    await t.state(graph, ONE)
    await t.invoke(graph, Command(resume="A"), ONE)
    await t.stream(graph, Command(resume="B"), ONE, stream_mode=["values", "updates"])
    await t.state(graph, ONE)


async def streams_of_an_interrupt(t: Trace) -> None:
    """C5: an interrupt in each stream mode, and in the second version of invoke's result."""
    for mode in ["values", "updates"]:
        graph = _asking(t)
        await t.stream(graph, {"x": ["i"]}, in_turn(t, TWO), stream_mode=mode, unordered=True)
    await t.invoke(_asking(t), {"x": ["i"]}, ONE, version="v2")


@differs("finished siblings of an abandoned superstep")
async def new_input_abandons_an_interrupt(t: Trace) -> None:
    """C5: new input drops the waiting node, and what its finished neighbour had written."""
    graph = _asking(t)
    await t.invoke(graph, {"x": ["i"]}, ONE)
    await t.invoke(graph, {"x": ["new"]}, ONE)


async def parallel_interrupts(t: Trace) -> None:
    """C6: two pending interrupts are answered by id; a plain answer is refused while there are two."""

    def ask(name: str) -> Any:
        return lambda state: {"x": [f"{name}:{interrupt(name)}"]}

    builder = edges(nodes(t, StateGraph(State), p=ask("p"), q=ask("q")), ". p .", ". q .")
    graph = builder.compile(checkpointer=InMemorySaver())
    result = await t.invoke(graph, {"x": []}, ONE, unordered=True)
    ids = {interrupt.value: interrupt.id for interrupt in result["__interrupt__"]}
    await t.invoke(graph, Command(resume="both"), ONE)
    await t.invoke(graph, Command(resume={ids["p"]: "P"}), ONE)
    await t.invoke(graph, Command(resume="Q"), ONE)


async def static_interrupts(t: Trace) -> None:
    """C7: a stop before b and after every node; the result has no key __interrupt__."""
    builder = edges(nodes(t, StateGraph(State), "a", "b"), ". a b .")
    graph = builder.compile(checkpointer=InMemorySaver(), interrupt_before=["b"])
    await t.stream(graph, {"x": []}, ONE, stream_mode="updates")
    t.note("next", (await t.state(graph, ONE)).next)
    await t.stream(graph, None, ONE, stream_mode="updates")
    await t.stream(graph, {"x": []}, TWO, stream_mode="values")
    after = builder.compile(checkpointer=InMemorySaver(), interrupt_after="*")
    await t.invoke(after, {"x": []}, ONE)
    await t.state(after, ONE)
    await t.invoke(after, None, ONE)
    await t.state(after, ONE)


def _workflow(t: Trace) -> tuple[Any, list[int]]:
    ran: list[int] = []

    def inc(n: int, writer: StreamWriter) -> int:
        ran.append(n)
        writer(f"w{n}")
        return n + 1

    inc_task = task(t.node(inc))

    async def wf(n: int, *, previous: Any) -> Any:
        first = await t.value(inc_task(n))
        second = await t.value(inc_task(first))
        answer = interrupt("ok?")
        return entrypoint.final(value={"r": [first, second], "a": answer, "prev": previous}, save=n)

    return entrypoint(checkpointer=InMemorySaver())(t.node(wf)), ran


async def entrypoint_with_tasks(t: Trace) -> None:
    """C8: finished tasks aren't run again after an answer, and the next call sees what was saved."""
    wf, ran = _workflow(t)
    await t.invoke(wf, 10, ONE)
    await t.state(wf, ONE)
    ran.clear()
    await t.invoke(wf, Command(resume="yes"), ONE)
    t.note("ran again", ran)
    await t.state(wf, ONE)
    await t.invoke(wf, 5, ONE)
    await t.invoke(wf, Command(resume="y2"), ONE)
    await t.history(wf, ONE)


@differs("recorded calls aren't told again")
async def entrypoint_streams(t: Trace) -> None:
    """C8: an entrypoint and its tasks in each stream mode."""
    for mode in ["updates", "values", "tasks", "custom", ["updates", "custom"]]:
        wf, _ = _workflow(t)
        await t.stream(wf, 10, ONE, stream_mode=mode)
        await t.stream(wf, Command(resume="z"), ONE, stream_mode=mode)


def _parent_command(t: Trace) -> tuple[Any, Any]:
    def s2(state: State) -> Command:
        return Command(graph=Command.PARENT, update={"x": ["fromsub"]}, goto="end")

    sub = edges(nodes(t, StateGraph(State), "s1", s2=s2), ". s1 s2 .").compile()
    builder = edges(nodes(t, StateGraph(State), "end"), ". sub", "end .")
    return builder.add_node("sub", sub).compile(), sub


async def command_to_the_parent(t: Trace) -> None:
    """C9: a Command for the parent graph is what the subgraph node wrote; s1's own update is dropped."""
    builder = nodes(t, StateGraph(State), "end")
    graph, sub = _parent_command(t)
    await t.stream(graph, {"x": ["i"]}, stream_mode="updates", subgraphs=True)
    await t.stream(graph, {"x": ["i"]}, stream_mode="updates")
    await t.invoke(graph, {"x": ["i"]})
    await t.invoke(sub, {"x": ["i"]})
    builder = edges(nodes(t, StateGraph(State), "a"), ". a .")
    await t.invoke(builder.compile(), Command(graph=Command.PARENT, update={"x": ["u"]}))


async def subgraph_repeats_a_reduced_key(t: Trace) -> None:
    """C9: a subgraph's result is its node's update, so what a reduced key had before comes twice."""
    sub = edges(nodes(t, StateGraph(State), "s1"), ". s1 .").compile()
    graph = edges(StateGraph(State).add_node("sub", sub), ". sub .").compile()
    await t.invoke(graph, {"x": ["i"]})
    await t.stream(graph, {"x": ["i"]}, stream_mode=["values", "updates"], subgraphs=True)


async def time_travel(t: Trace) -> None:
    """C10: a replay from an old checkpoint, a fork of it, and what as_node says of an update."""
    builder = edges(nodes(t, StateGraph(State), "a", "b", "c"), ". a b c .")
    graph = builder.compile(checkpointer=InMemorySaver())
    await t.invoke(graph, {"x": ["i"]}, ONE)
    after_a = (await t.history(graph, ONE))[2]
    await t.invoke(graph, None, after_a.config)
    await t.history(graph, ONE)
    fork = await t.update(graph, after_a.config, {"x": ["FORK"]})
    await t.state(graph, fork)
    await t.invoke(graph, None, fork)
    await t.state(graph, await t.update(graph, after_a.config, {"x": ["ASB"]}, as_node="b"))


async def update_of_a_fresh_thread(t: Trace) -> None:
    """C10: an update of a thread without checkpoints starts it, and as_node END finishes it."""
    builder = edges(nodes(t, StateGraph(State), "a", "b", "c"), ". a b c .")
    graph = builder.compile(checkpointer=InMemorySaver())
    await t.state(graph, await t.update(graph, ONE, {"x": ["first"]}))
    await t.invoke(graph, None, ONE)
    await t.update(graph, ONE, {"x": ["j"]}, as_node="__start__")
    await t.update(graph, ONE, None, as_node="__end__")
    await t.state(graph, ONE)


async def resume_after_a_failure(t: Trace) -> None:
    """C11: what a finished node wrote beside a failing one is kept, and only the failed one runs again."""
    ran: list[str] = []

    def fine(state: State) -> dict[str, Any]:
        ran.append("fine")
        return {"x": ["fine"]}

    def flaky(state: State) -> dict[str, Any]:
        ran.append("flaky")
        if ran.count("flaky") == 1:
            raise RuntimeError("boom")
        return {"x": ["flaky"]}

    builder = edges(nodes(t, StateGraph(State), "z", fine=fine, flaky=flaky), ". fine", ". flaky", "z .")
    graph = builder.add_edge(["fine", "flaky"], "z").compile(checkpointer=InMemorySaver())
    await t.invoke(graph, {"x": []}, in_turn(t, ONE))
    await t.state(graph, ONE)
    await t.invoke(graph, None, ONE)
    t.note("ran", sorted(ran))
