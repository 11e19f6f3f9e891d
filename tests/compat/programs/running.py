"""Running a graph: supersteps, the order of writes, Sends, Commands and limits (sections 2.3 to 2.15 and 2.22)."""

import asyncio
import operator
import time
from contextvars import ContextVar
from typing import Annotated, Any

from langchain_core.messages import AIMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.func import entrypoint, task
from langgraph.graph import END, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode
from langgraph.runtime import RunControl, Runtime
from langgraph.types import Command, Send, interrupt
from pydantic import BaseModel
from typing_extensions import TypedDict

from ..parts import ONE, TWO, State, edges, in_turn, nodes
from ..trace import Trace, differs


async def writes_are_applied_by_name(t: Trace) -> None:
    """Writes of one superstep are applied pulled nodes first, by name, then Sends in the order they were sent."""
    builder = nodes(t, StateGraph(State), "zeta", "alpha", "mid", w=lambda arg: {"x": [f"send{arg}"]})

    def start(state: State) -> Any:
        return [Send("w", 2), "zeta", "alpha", Send("w", 1), "mid"]

    await t.invoke(builder.add_conditional_edges("__start__", start).compile(), {"x": []})


async def several_sources_trigger_a_node_once(t: Trace) -> None:
    """A node that three others lead to in one superstep runs once."""
    arrows = [". a d .", ". b d", ". c d"]
    await t.invoke(edges(nodes(t, StateGraph(State), "a", "b", "c", "d"), *arrows).compile(), {"x": []})


async def parallel_nodes_see_the_state_before_them(t: Trace) -> None:
    """Nodes of one superstep don't see each other's writes."""

    def count(state: State) -> Any:
        return {"x": [len(state["x"])]}

    builder = nodes(t, StateGraph(State), a=count, b=count, c=count)
    await t.invoke(edges(builder, ". a c .", ". b c").compile(), {"x": ["i"]})


async def what_a_node_sets_in_context_variables_is_its_own(t: Trace) -> None:
    """Neither a later node, which may run in another process, nor a parallel one, a subgraph or the caller sees it."""
    tenant: ContextVar[str] = ContextVar("tenant", default="nobody")

    def sets(state: State) -> Any:
        tenant.set("ada")
        return {"x": [tenant.get()]}

    def sees(state: State) -> Any:
        return {"x": [tenant.get()]}

    nested = edges(nodes(t, StateGraph(State), c=sets, d=sees), ". c d").compile()
    builder = nodes(t, StateGraph(State), a=sets, b=sees, e=sees, f=sets)
    builder.add_node("nested", nested)
    await t.invoke(edges(builder, ". a b nested e", "b f e").compile(), {"x": []})
    t.note("caller", tenant.get())
    tenant.set("bob")
    await t.invoke(edges(nodes(t, StateGraph(State), a=sees), ". a").compile(), {"x": []})


async def what_an_entrypoint_sets_in_context_variables_is_its_own(t: Trace) -> None:
    """Its caller doesn't see it; the entrypoint sees what its caller set."""
    tenant: ContextVar[str] = ContextVar("tenant", default="nobody")

    @entrypoint()
    @t.node
    def flow(name: str) -> str:
        before = tenant.get()
        tenant.set(name)
        return f"{before}, then {tenant.get()}"

    await t.invoke(flow, "ada")
    t.note("caller", tenant.get())
    tenant.set("bob")
    await t.invoke(flow, "eve")
    t.note("caller", tenant.get())


async def what_a_call_sets_in_context_variables_is_its_own(t: Trace) -> None:
    """Neither its caller nor another call sees it, be it of a task, or of a tool, called with others or alone."""
    tenant: ContextVar[str] = ContextVar("tenant", default="nobody")

    async def sets(name: str) -> str:
        before = tenant.get()
        tenant.set(name)
        return before

    async def one(name: str) -> str:
        """Set it."""
        return await sets(name)

    async def node(state: State) -> Any:
        found = [await t.value(called("ada")), tenant.get()]
        tenant.set("bob")
        first = called("eve")
        tenant.set("joe")
        found += [await t.value(first), await t.value(called("sue")), tenant.get()]
        return {"x": found}

    def calls(names: str) -> Any:
        return [{"name": "one", "args": {"name": name}, "id": name, "type": "tool_call"} for name in names]

    async def alone(state: MessagesState) -> Any:
        answered = await t.call(ToolNode([t.node(one)]), "invoke", state)
        return {"messages": [*answered["messages"], AIMessage(tenant.get(), id="2")]}

    called = task(t.node(sets))
    for options in ({}, {"checkpointer": InMemorySaver()}):
        await t.invoke(edges(nodes(t, StateGraph(State), a=node), ". a").compile(**options), {"x": []}, ONE)
        for names in ("abc", "a"):
            builder = StateGraph(MessagesState).add_node("a", t.node(alone))
            question = AIMessage("", id="1", tool_calls=calls(names))
            await t.invoke(edges(builder, ". a").compile(**options), {"messages": [question]}, TWO)


async def what_a_node_may_return(t: Trace) -> None:
    """A dict, None, a Command, a list with Commands in it, an object with annotations or a Send."""

    class Update(BaseModel):
        x: list[str] = []

    results: list[Any] = [
        {},
        None,
        Command(update={"x": ["command"]}),
        Command(update=[("x", ["pair"]), ("x", ["pair2"])]),
        [{"x": ["dict"]}, Command(update={"x": ["command"]}, goto="b")],
        [Command(goto="b"), Command(goto=Send("b", None))],
        (Command(update={"x": ["tuple"]}),),
        Update(x=["model"]),
        Send("b", None),
        Command(),
    ]
    for result in results:
        builder = nodes(t, StateGraph(State), "b", a=lambda state, result=result: result)
        await t.stream(edges(builder, ". a").compile(), {"x": ["i"]}, stream_mode=["updates", "values"])


async def what_a_node_may_not_return(t: Trace) -> None:
    """Anything else, and the message shows it."""
    for result in ["text", 1, True, ["list"], [("x", 1)], [Send("b", None)], {"set"}]:
        builder = nodes(t, StateGraph(State), "b", a=lambda state, result=result: result)
        await t.invoke(edges(builder, ". a").compile(), {"x": []})


async def a_send_brings_its_own_input(t: Trace) -> None:
    """A Send's argument is given as it is: not merged with the state, not made an instance of the schema."""

    class Model(BaseModel):
        x: Annotated[list[str], operator.add] = []

    def w(arg: Model) -> Any:
        t.note("given", arg)
        return None

    for arg in [{"x": "no list"}, {"other": 1}, None, "text", Model(x=["m"])]:
        builder = nodes(t, StateGraph(Model), w=w)
        builder.add_conditional_edges("__start__", lambda state, arg=arg: Send("w", arg), ["w"])
        await t.invoke(builder.compile(), {"x": ["i"]})


async def sends_and_edges_to_one_node(t: Trace) -> None:
    """A node that is both triggered and sent to runs for each, in the same superstep."""

    def route(state: State) -> Any:
        return ["w", Send("w", {"x": ["sent"]}), Send("w", {"x": ["sent too"]})]

    builder = nodes(t, StateGraph(State), "a", "z", w=lambda state: {"x": [state["x"][-1] + "!"]})
    builder.add_conditional_edges("a", route, ["w"])
    await t.invoke(edges(builder, ". a", "w z").compile(), {"x": []})


async def sends_from_sends(t: Trace) -> None:
    """What a Send started may send on, one superstep later each time."""

    def w(depth: int) -> Any:
        again = [Send("w", depth - 1), Send("w", depth - 2)] if depth > 1 else []
        return Command(update={"x": [depth]}, goto=again)

    builder = nodes(t, StateGraph(State), w=w).add_conditional_edges(
        "__start__", lambda s: Send("w", 3), ["w"]
    )
    await t.stream(builder.compile(), {"x": []}, stream_mode="values")


async def a_send_in_the_history(t: Trace) -> None:
    """Tasks of Sends are listed with their paths in the snapshot before them."""
    builder = nodes(t, StateGraph(State), "a", w=lambda arg: {"x": [arg]})
    builder.add_conditional_edges("a", lambda state: [Send("w", 1), Send("w", 2)], ["w"])
    graph = edges(builder, ". a").compile(checkpointer=InMemorySaver())
    await t.invoke(graph, {"x": []}, ONE)
    for snapshot in (await t.history(graph, ONE))[:2]:
        t.note("next", (snapshot.next, [task.path for task in snapshot.tasks]))


async def commands_that_route(t: Trace) -> None:
    """goto takes a name, a Send, or several; END and unknown names go nowhere."""
    for goto in ["b", ["b", "c"], ("c",), Send("b", {}), ["c", Send("b", {})], END, [END, "b"], "zz", []]:
        t.note("goto", goto)
        builder = nodes(t, StateGraph(State), "b", "c", a=lambda state, goto=goto: Command(goto=goto))
        await t.invoke(edges(builder, ". a").compile(), {"x": []})


async def a_loop_of_commands(t: Trace) -> None:
    """Nodes that send each other on by goto, without an edge, until one goes to END."""

    def ping(state: State) -> Command:
        return Command(update={"x": ["ping"]}, goto="pong" if len(state["x"]) < 4 else END)

    def pong(state: State) -> Command:
        return Command(update={"x": ["pong"]}, goto="ping")

    await t.invoke(edges(nodes(t, StateGraph(State), ping=ping, pong=pong), ". ping").compile(), {"x": []})


async def a_goto_that_is_no_name(t: Trace) -> None:
    """A goto of another type in a graph's input is refused."""
    graph = edges(nodes(t, StateGraph(State), "a"), ". a").compile(checkpointer=InMemorySaver())
    await t.invoke(graph, {"x": []}, ONE)
    for goto in [1, [1], ["a", None]]:
        await t.invoke(graph, Command(goto=goto), ONE)  # type: ignore[arg-type]


async def a_command_as_input(t: Trace) -> None:
    """On a thread with a state, a Command's update is applied, and only its goto starts nodes."""
    builder = edges(nodes(t, StateGraph(State), "a", "b"), ". a .")
    graph = builder.compile(checkpointer=InMemorySaver())
    await t.invoke(graph, {"x": ["i"]}, ONE)
    await t.invoke(graph, Command(update={"x": ["u"]}, goto="b"), ONE)
    await t.invoke(graph, Command(goto=[Send("b", {}), "a"]), ONE)
    await t.history(graph, ONE)


async def a_command_that_only_updates(t: Trace) -> None:
    """Without a goto nothing runs: the result has the update, and no step was made of it."""
    graph = edges(nodes(t, StateGraph(State), "a"), ". a .").compile(checkpointer=InMemorySaver())
    await t.invoke(graph, {"x": ["i"]}, ONE)
    await t.invoke(graph, Command(update={"x": ["u"]}), ONE)
    await t.state(graph, ONE)


async def a_command_that_runs_nothing(t: Trace) -> None:
    """What a command writes to a finished thread is kept, whenever the run's checkpoints are."""
    for durability in ("sync", "async"):
        graph = edges(nodes(t, StateGraph(State), "a"), ". a .").compile(checkpointer=InMemorySaver())
        await t.invoke(graph, {"x": ["i"]}, ONE)
        await t.invoke(graph, Command(update={"x": ["u"]}), ONE, durability=durability)
        await t.state(graph, ONE)


@differs("a Command on an empty thread is applied once")
async def a_command_on_an_empty_thread(t: Trace) -> None:
    """LangGraph applies it twice: as the graph's own write and as START's."""
    graph = edges(nodes(t, StateGraph(State), "a"), ". a .").compile(checkpointer=InMemorySaver())
    await t.invoke(graph, Command(update={"x": ["u"]}, goto="a"), ONE)


@differs("an empty Command is an EmptyInputError")
async def an_empty_command(t: Trace) -> None:
    """LangGraph trips over a variable of its own."""
    graph = edges(nodes(t, StateGraph(State), "a"), ". a .").compile(checkpointer=InMemorySaver())
    await t.invoke(graph, {"x": ["i"]}, ONE)
    await t.invoke(graph, Command(), ONE)


async def inputs(t: Trace) -> None:
    """None needs something to go on with, `{}` starts a run, and anything but a dict is refused by START."""
    graph = edges(nodes(t, StateGraph(State), "a"), ". a .").compile(checkpointer=InMemorySaver())
    for given in [None, {}, {"x": ["i"]}, {"unknown": 1}, None, [("x", ["pair"])], "text", 7]:
        t.note("given", given)
        await t.invoke(graph, given, ONE)
    await t.state(graph, ONE)


async def none_without_a_checkpointer(t: Trace) -> None:
    """There's nothing to go on with."""
    await t.invoke(edges(nodes(t, StateGraph(State), "a"), ". a .").compile(), None)


async def a_second_run_on_a_thread(t: Trace) -> None:
    """State stays from run to run, and a thread is as good as empty to another thread's run."""
    graph = edges(nodes(t, StateGraph(State), "a"), ". a .").compile(checkpointer=InMemorySaver())
    for config in [ONE, TWO, ONE]:
        await t.invoke(graph, {"x": ["i"]}, config)


async def recursion_limits(t: Trace) -> None:
    """A fresh run of two nodes needs a limit of 3, and the message names the limit."""
    graph = edges(nodes(t, StateGraph(State), "a", "b"), ". a b .").compile()
    for limit in [0, -1, 1, 2, 3]:
        await t.invoke(graph, {"x": []}, {"recursion_limit": limit})


async def going_on_after_the_recursion_limit(t: Trace) -> None:
    """What was reached is stored, and `None` goes on from there with two supersteps more than the limit."""
    builder = edges(nodes(t, StateGraph(State), a=lambda state: {"x": [len(state["x"])]}), ". a a")
    graph = builder.compile(checkpointer=InMemorySaver())
    config = {**ONE, "recursion_limit": 3}
    await t.invoke(graph, {"x": []}, config)
    await t.state(graph, ONE)
    await t.invoke(graph, None, config)
    t.note("reached", (await t.state(graph, ONE)).values)


async def durability_modes(t: Trace) -> None:
    """Every mode but "exit" keeps a checkpoint for each superstep; "exit" keeps the last one."""
    for durability in ["sync", "async", "exit"]:
        t.note("durability", durability)
        graph = edges(nodes(t, StateGraph(State), "a", "b"), ". a b .").compile(checkpointer=InMemorySaver())
        await t.invoke(graph, {"x": ["i"]}, ONE, durability=durability)
        await t.history(graph, ONE)


async def durability_exit_of_a_failure(t: Trace) -> None:
    """Under "exit" a failed run is stored once, with what its last superstep had finished."""

    def fail(state: State) -> Any:
        raise RuntimeError("boom")

    builder = edges(nodes(t, StateGraph(State), "a", b=fail), ". a b .")
    graph = builder.compile(checkpointer=InMemorySaver())
    await t.invoke(graph, {"x": ["i"]}, ONE, durability="exit")
    await t.history(graph, ONE)


async def durability_without_a_checkpointer(t: Trace) -> None:
    """It has no effect, and a warning says so."""
    graph = edges(StateGraph(State).add_node("a", lambda state: {"x": ["a"]}), ". a .").compile()
    t.note("result", t.warns(graph.invoke, {"x": []}, durability="exit"))


async def checkpoint_during(t: Trace) -> None:
    """The old name of durability: False is "exit", with a warning; both together are refused."""
    builder = edges(StateGraph(State).add_node("a", lambda state: {"x": ["a"]}), ". a .")
    graph = builder.compile(checkpointer=InMemorySaver())
    t.warns(graph.invoke, {"x": []}, ONE, checkpoint_during=False)
    t.note("checkpoints", len(list(graph.get_state_history(ONE))))
    t.warns(t.raises, graph.invoke, {"x": []}, ONE, checkpoint_during=True, durability="sync")


async def a_send_as_the_input(t: Trace) -> None:
    """A Send runs its node beside those that START leads to; several as the input are no update."""
    builder = nodes(t, StateGraph(State), "b", a=lambda arg: {"x": [arg["q"]]}).add_edge("__start__", "b")
    await t.invoke(builder.compile(), Send("a", {"q": 1}))
    await t.invoke(builder.compile(checkpointer=InMemorySaver()), Send("a", {"q": 1}), ONE)
    await t.invoke(builder.compile(), [Send("a", {"q": 1})])


async def max_concurrency(t: Trace) -> None:
    """However few may run at once, the result is the same."""
    builder = nodes(t, StateGraph(State), "a", w=lambda arg: {"x": [arg]})
    builder.add_conditional_edges("a", lambda state: [Send("w", i) for i in range(5)], ["w"])
    graph = edges(builder, ". a").compile()
    for most in [3, 7]:
        await t.invoke(graph, {"x": []}, {"max_concurrency": most})


async def max_concurrency_of_a_nested_graph(t: Trace) -> None:
    """A graph that a node calls runs no more at once than its own configuration says, which it may be bound to."""
    running, most = set[int](), [0]

    def begin(arg: int) -> None:
        running.add(arg)
        most[0] = max(most[0], len(running))

    def work(arg: int) -> Any:
        begin(arg)
        time.sleep(0.005)
        running.remove(arg)
        return {"x": [arg]}

    async def awork(arg: int) -> Any:
        begin(arg)
        await asyncio.sleep(0.005)
        running.remove(arg)
        return {"x": [arg]}

    builder = StateGraph(State).add_node("w", awork if t.asyncio else work)
    builder.add_conditional_edges("__start__", lambda state: [Send("w", i) for i in range(6)], ["w"])
    graph = builder.compile()

    def calling(config: Any) -> Any:
        async def node(state: Any) -> Any:
            return await t.call(graph, "invoke", {"x": []}, config)

        return t.node(node)

    one = {"max_concurrency": 1}
    for node, around in (
        (calling(one), {}),
        (calling(one), {"max_concurrency": 3}),
        (graph.with_config(one), {}),
        (calling(None), one),
    ):
        most[0] = 0
        outer = edges(StateGraph(State).add_node("node", node), ". node .").compile()
        await t.invoke(outer, {"x": []}, around)
        t.note("at once", most)


async def output_keys_and_stream_modes_of_invoke(t: Trace) -> None:
    """invoke gives the keys asked for, and the chunks of another stream mode as a list."""

    class Two(TypedDict):
        x: Annotated[list, operator.add]
        y: str

    graph = edges(nodes(t, StateGraph(Two), "a"), ". a .").compile()
    await t.invoke(graph, {"x": ["i"], "y": "y"}, output_keys=["x"])
    await t.invoke(graph, {"x": ["i"], "y": "y"}, output_keys="y")
    await t.invoke(graph, {"x": ["i"], "y": "y"}, output_keys=["zz"])
    await t.invoke(graph, {"x": ["i"]}, stream_mode="updates")
    await t.invoke(graph, {"x": ["i"]}, stream_mode=["updates", "values"])
    await t.stream(graph, {"x": ["i"], "y": "y"}, stream_mode="values", output_keys=["y"])


async def a_superstep_that_changes_nothing(t: Trace) -> None:
    """A "values" chunk comes only of a superstep that changed a key; "updates" has one for each node."""
    builder = nodes(t, StateGraph(State), "a", quiet=lambda state: None, empty=lambda state: {})
    graph = edges(builder, ". a quiet empty .").compile()
    await t.stream(graph, {"x": []}, stream_mode=["updates", "values"])


async def bound_configs(t: Trace) -> None:
    """with_config binds a config, which a call's config is merged into."""
    graph = edges(nodes(t, StateGraph(State), "a"), ". a .").compile(checkpointer=InMemorySaver())
    bound = graph.with_config(ONE)
    await t.invoke(bound, {"x": ["i"]})
    await t.invoke(bound, {"x": ["j"]}, {"recursion_limit": 5})
    await t.invoke(bound, {"x": ["k"]}, TWO)
    await t.state(bound, ONE)


async def batches(t: Trace) -> None:
    """batch runs an input each, in parallel, and keeps their order; one config serves all."""
    graph = edges(nodes(t, StateGraph(State), "a"), ". a .").compile(checkpointer=InMemorySaver())
    await t.batch(graph, [{"x": ["i"]}, {"x": ["j"]}], [ONE, TWO])
    await t.batch(graph, [{"x": ["k"]}], ONE)
    await t.batch(
        graph, [None, {"x": []}], [{"configurable": {"thread_id": "3"}}, TWO], return_exceptions=True
    )


@differs("a thread has to be named")
async def threads_that_are_missing(t: Trace) -> None:
    """A graph with a checkpointer needs a thread; without one, its state can't be read."""
    builder = edges(nodes(t, StateGraph(State), "a"), ". a .")
    graph = builder.compile(checkpointer=InMemorySaver())
    await t.invoke(graph, {"x": []})
    await t.invoke(graph, {"x": []}, {"configurable": {}})
    await t.invoke(graph, {"x": []}, {"configurable": {"user": "u"}})
    await t.state(graph, ONE)
    await t.state(builder.compile(), ONE)
    await t.history(builder.compile(), ONE)
    await t.update(builder.compile(), ONE, {"x": []})
    await t.invoke(builder.compile(checkpointer=True), {"x": []}, ONE)
    await t.invoke(builder.compile(checkpointer=False), {"x": []}, ONE)


async def drain(t: Trace) -> None:
    """A drain that a node asks for stops the run before the next superstep, and `None` goes on."""

    def a(state: State, runtime: Runtime) -> Any:
        runtime.control.request_drain("deploy")  # type: ignore[union-attr]
        t.note("draining", (runtime.drain_requested, runtime.drain_reason))
        return {"x": ["a"]}

    builder = edges(nodes(t, StateGraph(State), "b", a=a), ". a b .")
    graph = builder.compile(checkpointer=InMemorySaver())
    await t.invoke(graph, {"x": []}, ONE)
    await t.state(graph, ONE)
    await t.invoke(graph, None, ONE)


async def drain_from_outside(t: Trace) -> None:
    """A control that is already draining lets nothing run; one with nothing left to stop is no error."""
    graph = edges(nodes(t, StateGraph(State), "a"), ". a .").compile(checkpointer=InMemorySaver())
    control = RunControl()
    t.note("control", (control.drain_requested, control.drain_reason))
    control.request_drain()
    t.note("control", (control.drain_requested, control.drain_reason))
    await t.stream(graph, {"x": ["i"]}, ONE, control=control, stream_mode="values")
    await t.stream(graph, None, ONE, control=RunControl(), stream_mode="values")
    await t.stream(graph, None, ONE, control=control, stream_mode="values")


async def async_nodes_in_a_blocking_call(t: Trace) -> None:
    """A node that is async, or whose router is, can't be invoked blocking, and the message names which it is."""

    async def a(state: State) -> Any:
        return {"x": ["a"]}

    async def route(state: State) -> Any:
        return "__end__"

    graph = edges(StateGraph(State).add_node("a", a), ". a .").compile()
    t.raises(graph.invoke, {"x": []})
    builder = edges(StateGraph(State).add_node("a", lambda state: {"x": ["a"]}), ". a")
    t.raises(builder.add_conditional_edges("a", route).compile().invoke, {"x": []})


async def dicts_of_async_functions_in_a_blocking_call(t: Trace) -> None:
    """A node that is a dict of functions can't be invoked blocking where one of them is async."""

    async def x(state: State) -> Any:
        return ["x"]

    class Two(State):
        y: str

    builder = StateGraph(Two).add_node("a", {"x": x, "y": lambda state: "y"})
    graph = edges(builder, ". a .").compile()
    try:
        t.note("came to", graph.invoke({"x": []}))
    except TypeError:
        t.note("refused", True)


async def a_failure_beside_another_node(t: Trace) -> None:
    """A failing node's exception is the caller's, with a note; its sibling's writes are kept for the resume."""

    class Mine(Exception):
        pass

    def fail(state: State) -> Any:
        raise Mine("boom", 1)

    builder = edges(nodes(t, StateGraph(State), "b", z=fail), ". b .", ". z .")
    graph = builder.compile(checkpointer=InMemorySaver())
    await t.invoke(graph, {"x": []}, in_turn(t, ONE))
    t.note("next", (await t.state(graph, ONE)).next)


async def sends_to_a_deferred_node(t: Trace) -> None:
    """A Send to a deferred node isn't deferred."""
    builder = edges(nodes(t, StateGraph(State), "a", "b", "c"), ". a b c .")
    builder.add_node("d", t.node(lambda arg: {"x": ["d"]}), defer=True)
    builder.add_conditional_edges("a", lambda state: Send("d", {}), ["d"])
    await t.stream(builder.compile(), {"x": []}, stream_mode="values")


async def a_drain_in_a_subgraph(t: Trace) -> None:
    """It stops the whole run, and None goes on in the subgraph."""

    def s1(state: State, runtime: Runtime) -> Any:
        runtime.control.request_drain("deploy")  # type: ignore[union-attr]
        return {"x": ["s1"]}

    sub = edges(nodes(t, StateGraph(State), "s2", s1=s1), ". s1 s2 .").compile()
    builder = nodes(t, StateGraph(State), "z").add_node("sub", sub)
    graph = edges(builder, ". sub z .").compile(checkpointer=InMemorySaver())
    await t.invoke(graph, {"x": []}, ONE)
    t.note("next", (await t.state(graph, ONE)).next)
    await t.invoke(graph, None, ONE)


async def a_drain_in_a_subgraph_beside_others(t: Trace) -> None:
    """It waits for what the graphs around are at."""

    def s1(state: State, runtime: Runtime) -> Any:
        runtime.control.request_drain("deploy")  # type: ignore[union-attr]
        return {"x": ["s1"]}

    async def takes_longer(state: State) -> Any:
        for _ in range(20 if t.asyncio else 0):
            await asyncio.sleep(0)
        t.note("ended", "takes_longer")
        return {"x": ["takes_longer"]}

    sub = edges(nodes(t, StateGraph(State), "s2", s1=s1), ". s1 s2 .").compile()
    builder = nodes(t, StateGraph(State), takes_longer=takes_longer).add_node("sub", sub)
    graph = edges(builder, ". sub .", ". takes_longer .").compile(checkpointer=InMemorySaver())
    await t.invoke(graph, {"x": []}, ONE)
    t.note("next", (await t.state(graph, ONE)).next)
    await t.invoke(graph, None, ONE)


async def threads_with_odd_ids(t: Trace) -> None:
    """A thread's id is made a string, and an unknown key of the config is a configurable one."""

    def a(state: State, config) -> Any:  # type: ignore[no-untyped-def]
        return {"x": [config["configurable"]["thread_id"], config["configurable"].get("odd")]}

    graph = edges(nodes(t, StateGraph(State), a=a), ". a .").compile(checkpointer=InMemorySaver())
    await t.invoke(graph, {"x": []}, {"configurable": {"thread_id": 1}, "odd": 2})
    await t.invoke(graph, {"x": []}, ONE)


async def recursion_limits_of_subgraphs(t: Trace) -> None:
    """A subgraph counts its own supersteps, with the limit of the whole run."""
    sub = edges(nodes(t, StateGraph(State), "s1", "s2"), ". s1 s2 .").compile()
    graph = edges(nodes(t, StateGraph(State), "a").add_node("sub", sub), ". sub a .").compile()
    for limit in [2, 3]:
        await t.invoke(graph, {"x": []}, {"recursion_limit": limit})


async def metadata_of_checkpoints(t: Trace) -> None:
    """A run's metadata and its own configurable keys are kept with each checkpoint."""
    graph = edges(nodes(t, StateGraph(State), "a"), ". a .").compile(checkpointer=InMemorySaver())
    config = {
        "configurable": {"thread_id": "1", "mine": 1, "__hidden": 2},
        "metadata": {"owner": "me", "deep": [1]},
    }
    await t.invoke(graph, {"x": []}, config)
    t.note("metadata", (await t.state(graph, ONE)).metadata)


async def a_run_that_is_left_early(t: Trace) -> None:
    """Who stops reading a stream keeps what was finished, whenever that is stored, and None goes on."""
    builder = edges(nodes(t, StateGraph(State), "a", "b", "c"), ". a b c .")
    for durability in ("sync", "async", "exit"):
        graph = builder.compile(checkpointer=InMemorySaver())
        if t.asyncio:
            stream = graph.astream({"x": []}, ONE, durability=durability)
            async for chunk in stream:
                t.note("chunk", chunk)
                break
            await stream.aclose()
        else:
            for chunk in graph.stream({"x": []}, ONE, durability=durability):
                t.note("chunk", chunk)
                break
        await t.invoke(graph, None, ONE)


async def a_command_with_unknown_keys(t: Trace) -> None:
    """A command whose update has unknown keys alone isn't empty: the graph goes on where it stands."""
    builder = edges(StateGraph(State).add_node("a", t.node(lambda state: {"x": [interrupt("?")]})), ". a .")
    graph = builder.compile(checkpointer=InMemorySaver())
    await t.invoke(graph, {"x": []}, ONE)
    for command in (Command(update={"unknown": 1}), Command(goto=END), Command(goto="unknown")):
        await t.stream(graph, command, ONE, stream_mode=["values", "updates"])
    await t.invoke(graph, Command(resume="!"), ONE)
    await t.invoke(graph, Command(goto=END), ONE)


async def commands_that_only_update_one_after_another(t: Trace) -> None:
    """Each command's update of a graph that waits stays, whether or not it brings an answer too."""
    ask = t.node(lambda state: {"x": [interrupt(question) for question in (1, 2)]})
    graph = edges(StateGraph(State).add_node("ask", ask), ". ask .").compile(checkpointer=InMemorySaver())
    await t.invoke(graph, {"x": []}, ONE)
    for n in range(3):
        await t.invoke(graph, Command(update={"x": [n]}), ONE)
    for answer in "ab":
        await t.invoke(graph, Command(resume=answer, update={"x": [answer.upper()]}), ONE)


@differs("a deferred node that is due is due")
async def goto_a_deferred_node_that_is_due(t: Trace) -> None:
    """A run that stopped before a deferred node goes on to it, also where a command names it."""
    builder = nodes(t, StateGraph(State), "a").add_node("d", t.node(lambda state: {"x": ["d"]}), defer=True)
    graph = edges(builder, ". a d .").compile(checkpointer=InMemorySaver(), interrupt_before=["d"])
    await t.invoke(graph, {"x": []}, ONE)
    await t.invoke(graph, Command(goto="d"), ONE)
    t.note("due", (await t.call(graph, "get_state", ONE)).next)
