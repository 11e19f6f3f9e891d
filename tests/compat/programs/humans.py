"""Questions to a human: dynamic and static interrupts, and the answers (sections 2.12 to 2.14 and 2.25)."""

import asyncio
import dataclasses
import operator
from typing import Annotated, Any

from langgraph.checkpoint.memory import InMemorySaver
from langgraph.errors import GraphInterrupt, NodeInterrupt
from langgraph.func import entrypoint, task
from langgraph.graph import END, StateGraph
from langgraph.types import Command, Interrupt, Send, interrupt
from pydantic import BaseModel
from typing_extensions import TypedDict

from ..parts import ONE, TWO, State, edges, in_turn, nodes
from ..trace import Trace, differs


def _ask(*questions: Any) -> Any:
    """A node that asks all questions in turn and appends the answers."""
    return lambda state: {"x": [interrupt(question) for question in questions]}


def _saved(builder: StateGraph, **options: Any) -> Any:
    return builder.compile(checkpointer=InMemorySaver(), **options)


def _ids(snapshot: Any) -> dict[Any, str]:
    return {interrupt.value: interrupt.id for interrupt in snapshot.interrupts}


async def one_question(t: Trace) -> None:
    """The run stops, the state tells the question, and the node runs from its start with the answer."""
    ran: list[str] = []

    def ask(state: State) -> Any:
        ran.append("start")
        answer = interrupt({"q": "name?"})
        ran.append(answer)
        return {"x": [answer]}

    graph = _saved(edges(nodes(t, StateGraph(State), "z", ask=ask), ". ask z ."))
    await t.invoke(graph, {"x": ["i"]}, ONE)
    await t.state(graph, ONE)
    await t.invoke(graph, Command(resume="Ann"), ONE)
    await t.state(graph, ONE)
    await t.history(graph, ONE)
    t.note("ran", ran)


async def values_of_answers(t: Trace) -> None:
    """Any value but None is an answer: False, 0, an empty string, a list, a dict."""
    graph = _saved(edges(nodes(t, StateGraph(State), ask=_ask("?")), ". ask ."))
    for i, answer in enumerate([False, 0, "", [], [1], {"a": 1}]):
        config = {"configurable": {"thread_id": str(i)}}
        await t.invoke(graph, {"x": []}, config)
        await t.invoke(graph, Command(resume=answer), config)


async def none_in_a_map_of_answers(t: Trace) -> None:
    """None is an answer when it's given by id."""
    graph = _saved(edges(nodes(t, StateGraph(State), ask=_ask("?")), ". ask ."))
    result = await t.invoke(graph, {"x": []}, ONE)
    await t.invoke(graph, Command(resume={result["__interrupt__"][0].id: None}), ONE)


async def several_questions_of_a_node(t: Trace) -> None:
    """Each answer takes the node to its next question; answers are kept by position."""
    graph = _saved(edges(nodes(t, StateGraph(State), ask=_ask("1?", "2?", "3?")), ". ask ."))
    await t.invoke(graph, {"x": []}, ONE)
    for answer in ["one", "two", "three"]:
        await t.invoke(graph, Command(resume=answer), ONE)
        await t.state(graph, ONE)


async def a_question_in_a_loop(t: Trace) -> None:
    """A node asks until the answer is right."""

    def ask(state: State) -> Any:
        question = "age?"
        while not str(answer := interrupt(question)).isdigit():
            question = f"not {answer}"
        return {"x": [int(answer)]}

    graph = _saved(edges(nodes(t, StateGraph(State), ask=ask), ". ask ."))
    await t.invoke(graph, {"x": []}, ONE)
    for answer in ["old", "very old", "99"]:
        await t.invoke(graph, Command(resume=answer), ONE)


async def a_question_in_a_loop_of_the_graph(t: Trace) -> None:
    """A node that the graph comes back to asks anew each time, under another id."""
    builder = nodes(t, StateGraph(State), ask=lambda state: {"x": [interrupt(len(state["x"]))]})
    builder.add_conditional_edges(
        "ask", lambda state: END if state["x"][-1] == "stop" else "ask", ["ask", END]
    )
    graph = _saved(edges(builder, ". ask"))
    await t.invoke(graph, {"x": []}, ONE)
    for answer in ["on", "on", "stop"]:
        await t.invoke(graph, Command(resume=answer), ONE)


async def a_checkpoint_of_a_node_that_comes_again(t: Trace) -> None:
    """The task that a checkpoint shows as due has asked nothing yet, whatever its node asked a superstep before."""
    again = nodes(t, StateGraph(State), ask=_ask("one?", "two?"))
    again.add_conditional_edges("ask", lambda state: "ask" if len(state["x"]) < 5 else END)
    graph = _saved(edges(again, ". ask"))
    await t.invoke(graph, {"x": ["i"]}, ONE)
    await t.invoke(graph, Command(resume="1"), ONE)
    await t.stream(graph, Command(resume="2"), ONE, stream_mode=["checkpoints", "debug"])
    await t.state(graph, ONE)


async def a_checkpoint_of_a_node_that_comes_again_in_a_subgraph(t: Trace) -> None:
    """So it is at checkpoints of a nested graph, and of one that remembers."""
    for memory in (None, True):
        again = nodes(t, StateGraph(State), ask=_ask("one?"))
        again.add_conditional_edges("ask", lambda state: "ask" if len(state["x"]) < 3 else END)
        builder = StateGraph(State).add_node("sub", edges(again, ". ask").compile(checkpointer=memory))
        graph = _saved(edges(builder, ". sub ."))
        await t.invoke(graph, {"x": ["i"]}, ONE)
        await t.stream(graph, Command(resume="1"), ONE, stream_mode="checkpoints", subgraphs=True)


@differs("the past shows the questions that were open last")
async def questions_answered_one_by_one(t: Trace) -> None:
    """The history shows what each task of a superstep asked, also the one that was answered first."""
    graph = _saved(edges(nodes(t, StateGraph(State), a=_ask("a?"), b=_ask("b?")), ". a .", ". b ."))
    await t.invoke(graph, {"x": ["i"]}, ONE, unordered=True)
    ids = _ids(await t.call(graph, "get_state", ONE))
    await t.invoke(graph, Command(resume={ids["a?"]: "1"}), ONE)
    await t.invoke(graph, Command(resume={ids["b?"]: "2"}), ONE)
    await t.history(graph, ONE)


@differs("an answer is used once")
async def an_answer_by_id_after_one_by_value(t: Trace) -> None:
    """Questions of a node that asks in turn take one answer each, however the answers come."""
    graph = _saved(edges(nodes(t, StateGraph(State), ask=_ask("one?", "two?", "three?", "four?")), ". ask ."))
    await t.invoke(graph, {"x": []}, ONE)
    await t.invoke(graph, Command(resume="1"), ONE)
    for _ in range(2):
        snapshot = await t.call(graph, "get_state", ONE)
        await t.invoke(graph, Command(resume={each.id: "by id" for each in snapshot.interrupts}), ONE)


async def questions_of_parallel_nodes(t: Trace) -> None:
    """All are told at once and can be answered together, by id."""
    graph = _saved(edges(nodes(t, StateGraph(State), p=_ask("p"), q=_ask("q")), ". p .", ". q ."))
    await t.invoke(graph, {"x": []}, ONE, unordered=True)
    ids = _ids(await t.state(graph, ONE))
    await t.invoke(graph, Command(resume={ids["q"]: "Q", ids["p"]: "P"}), ONE)


@differs("in asyncio a question is told once its branches have stopped")
async def a_question_and_what_ends_after_it(t: Trace) -> None:
    """Streams show a question when it's asked, and then what ends after it."""

    async def ask(state: State) -> Any:
        return {"x": [interrupt("a?")]}

    async def says_b(state: State) -> Any:
        return {"x": ["b"]}

    builder = StateGraph(State).add_node("a", ask).add_node("b", says_b)
    graph = _saved(edges(builder, ". a .", ". b ."))

    async def shown() -> list[Any]:
        return [chunk async for chunk in graph.astream({"x": ["i"]}, ONE, stream_mode="updates")]

    t.note("shown", [*map(list, await shown() if t.asyncio else asyncio.run(shown()))])


async def questions_of_sends(t: Trace) -> None:
    """Each Send asks for itself, and those answered aren't asked again."""
    builder = nodes(t, StateGraph(State), w=lambda arg: {"x": [f"{arg}:{interrupt(arg)}"]})
    builder.add_conditional_edges("__start__", lambda state: [Send("w", i) for i in range(3)], ["w"])
    graph = _saved(builder)
    await t.invoke(graph, {"x": []}, ONE, unordered=True)
    ids = _ids(await t.state(graph, ONE))
    await t.invoke(graph, Command(resume={ids[1]: "one"}), ONE, unordered=True)
    ids = _ids(await t.state(graph, ONE))
    await t.invoke(graph, Command(resume={ids[0]: "zero", ids[2]: "two"}), ONE)


async def a_plain_answer_to_several_questions(t: Trace) -> None:
    """It's refused, and the thread is as before."""
    graph = _saved(edges(nodes(t, StateGraph(State), p=_ask("p"), q=_ask("q")), ". p .", ". q ."))
    await t.invoke(graph, {"x": []}, ONE, unordered=True)
    await t.invoke(graph, Command(resume="both"), ONE)
    t.note("still", len((await t.state(graph, ONE)).interrupts))


async def a_finished_sibling_isnt_run_again(t: Trace) -> None:
    """What ran beside a question is kept, and told as cached when the run goes on."""
    ran: list[str] = []

    def side(state: State) -> Any:
        ran.append("side")
        return {"x": ["side"]}

    graph = _saved(edges(nodes(t, StateGraph(State), ask=_ask("?"), side=side), ". ask .", ". side ."))
    await t.invoke(graph, {"x": []}, ONE)
    await t.stream(graph, Command(resume="!"), ONE, stream_mode=["updates", "values"])
    t.note("ran", ran)


async def a_question_without_a_checkpointer(t: Trace) -> None:
    """It's told, and can't be answered."""
    graph = edges(nodes(t, StateGraph(State), ask=_ask("?")), ". ask .").compile()
    await t.invoke(graph, {"x": ["i"]})
    await t.invoke(graph, Command(resume="!"))


async def none_goes_on_without_an_answer(t: Trace) -> None:
    """The node runs again and asks again, with the same id."""
    graph = _saved(edges(nodes(t, StateGraph(State), ask=_ask("?")), ". ask ."))
    await t.invoke(graph, {"x": []}, ONE)
    await t.invoke(graph, None, ONE)
    await t.invoke(graph, Command(resume="!"), ONE)


@differs("an answer is used once")
async def a_used_answer_and_none(t: Trace) -> None:
    """LangGraph answers the second question with the first answer when it goes on with None."""
    graph = _saved(edges(nodes(t, StateGraph(State), ask=_ask("1?", "2?")), ". ask ."))
    await t.invoke(graph, {"x": []}, ONE)
    await t.invoke(graph, Command(resume="A"), ONE)
    await t.invoke(graph, None, ONE)


async def new_input_instead_of_an_answer(t: Trace) -> None:
    """The question is dropped, and the graph starts from its beginning with the state so far."""
    graph = _saved(edges(nodes(t, StateGraph(State), "a", ask=_ask("?")), ". a ask ."))
    await t.invoke(graph, {"x": ["i"]}, ONE)
    await t.invoke(graph, {"x": ["j"]}, ONE)
    await t.invoke(graph, Command(resume="!"), ONE)


@differs("answers that nobody waits for")
async def an_answer_that_nobody_asked_for(t: Trace) -> None:
    """On a finished thread an answer does nothing; on an empty one it's no input."""
    graph = _saved(edges(nodes(t, StateGraph(State), "a"), ". a ."))
    await t.invoke(graph, {"x": ["i"]}, ONE)
    await t.invoke(graph, Command(resume="!"), ONE)
    await t.invoke(graph, Command(resume={"0" * 32: "!"}), ONE)


@differs("answers that nobody waits for")
async def an_answer_by_an_unknown_id(t: Trace) -> None:
    """The question stays."""
    graph = _saved(edges(nodes(t, StateGraph(State), ask=_ask("?")), ". ask ."))
    await t.invoke(graph, {"x": []}, ONE)
    await t.invoke(graph, Command(resume={"0" * 32: "!"}), ONE)
    await t.invoke(graph, Command(resume={"short": "!"}), ONE)


async def an_answer_with_an_update_and_a_goto(t: Trace) -> None:
    """A Command may answer, write and route at once."""
    graph = _saved(edges(nodes(t, StateGraph(State), "b", ask=_ask("?")), ". ask ."))
    await t.invoke(graph, {"x": ["i"]}, ONE)
    await t.invoke(graph, Command(resume="!", update={"x": ["u"]}, goto="b"), ONE)


async def an_answer_that_goes_nowhere_else(t: Trace) -> None:
    """A server that got no `goto` and no `update` hands None on."""
    graph = _saved(edges(nodes(t, StateGraph(State), "b", ask=_ask("?")), ". ask b ."))
    await t.invoke(graph, {"x": ["i"]}, ONE)
    none: Any = None
    await t.invoke(graph, Command(resume="!", update=None, goto=none), ONE)


async def nodes_named_by_a_set(t: Trace) -> None:
    """What a node's `goto` holds may be any collection."""

    def ask(state: Any) -> Command[Any]:
        names: Any = {"b", "c"}
        return Command(goto=names)

    graph = edges(nodes(t, StateGraph(State), "b", "c", ask=ask), ". ask .")
    await t.invoke(graph.compile(), {"x": ["i"]})


async def a_question_and_a_command(t: Trace) -> None:
    """The usual approval: the answer decides where the node goes."""

    def ask(state: State) -> Any:
        return Command(update={"x": ["asked"]}, goto="yes" if interrupt("ok?") else "no")

    graph = _saved(edges(nodes(t, StateGraph(State), "yes", "no", ask=ask), ". ask"))
    for config, answer in [(ONE, True), (TWO, False)]:
        await t.invoke(graph, {"x": []}, config)
        await t.invoke(graph, Command(resume=answer), config)


@differs("a router belongs to its node's task")
async def a_question_in_a_router(t: Trace) -> None:
    """A router asks as part of its node's task, which runs again with the answer."""
    ran: list[str] = []

    def a(state: State) -> Any:
        ran.append("a")
        return {"x": ["a"]}

    builder = nodes(t, StateGraph(State), "b", a=a)
    builder.add_conditional_edges("a", t.node(lambda state: interrupt("where?")), ["b", END])
    graph = _saved(edges(builder, ". a"))
    await t.invoke(graph, {"x": []}, ONE)
    t.note("state", (await t.state(graph, ONE)).interrupts)
    await t.invoke(graph, Command(resume="b"), ONE)
    t.note("ran", ran)


async def a_plain_state_and_a_question(t: Trace) -> None:
    """Where the result isn't a dict, it's replaced by one with the questions."""
    builder = StateGraph(Annotated[int, operator.add])
    builder.add_node("ask", t.node(lambda state: interrupt("?")))
    graph = _saved(edges(builder, ". ask ."))
    await t.invoke(graph, 1, ONE)
    await t.stream(graph, 1, TWO, stream_mode="values")
    await t.invoke(graph, Command(resume=2), ONE)


async def a_question_in_a_subgraph(t: Trace) -> None:
    """It bubbles up to the caller; the answer goes down, and what the subgraph had finished isn't run again."""
    ran: list[str] = []

    def s1(state: State) -> Any:
        ran.append("s1")
        return {"x": ["s1"]}

    sub = edges(nodes(t, StateGraph(State), s1=s1, s2=_ask("?")), ". s1 s2 .").compile()
    graph = _saved(edges(nodes(t, StateGraph(State), "a").add_node("sub", sub), ". a sub ."))
    await t.invoke(graph, {"x": []}, ONE)
    await t.state(graph, ONE)
    await t.state(graph, ONE, subgraphs=True)
    await t.stream(graph, Command(resume="!"), ONE, subgraphs=True)
    t.note("ran", ran)


async def questions_of_a_subgraph_and_beside_it(t: Trace) -> None:
    """Two levels ask at once and are answered by id."""
    sub = edges(nodes(t, StateGraph(State), s=_ask("in")), ". s .").compile()
    builder = nodes(t, StateGraph(State), out=_ask("out")).add_node("sub", sub)
    graph = _saved(edges(builder, ". sub .", ". out ."))
    await t.invoke(graph, {"x": []}, ONE, unordered=True)
    ids = _ids(await t.state(graph, ONE))
    await t.invoke(graph, Command(resume={ids["in"]: "IN"}), ONE)
    await t.invoke(graph, Command(resume="OUT"), ONE)


async def a_question_in_a_graph_that_a_node_calls(t: Trace) -> None:
    """The calling node runs from its start again, the called graph goes on where it stopped."""
    ran: list[str] = []

    def s1(state: State) -> Any:
        ran.append("s1")
        return {"x": ["s1"]}

    sub = edges(nodes(t, StateGraph(State), s1=s1, s2=_ask("?")), ". s1 s2 .").compile()

    async def call(state: State) -> Any:
        ran.append("call")
        return await t.call(sub, "invoke", {"x": []})

    graph = _saved(edges(nodes(t, StateGraph(State), call=call), ". call ."))
    await t.invoke(graph, {"x": ["i"]}, ONE)
    await t.invoke(graph, Command(resume="!"), ONE)
    t.note("ran", ran)


async def a_question_in_a_subgraph_that_stores_nothing(t: Trace) -> None:
    """Under `checkpointer=False` the whole subgraph runs again with the answer."""
    ran: list[str] = []

    def s1(state: State) -> Any:
        ran.append("s1")
        return {"x": ["s1"]}

    sub = edges(nodes(t, StateGraph(State), s1=s1, s2=_ask("?")), ". s1 s2 .").compile(checkpointer=False)
    graph = _saved(edges(StateGraph(State).add_node("sub", sub), ". sub ."))
    await t.invoke(graph, {"x": []}, ONE)
    await t.invoke(graph, Command(resume="!"), ONE)
    t.note("ran", ran)


@differs("each question of a graph that stores nothing is answered")
async def questions_in_turn_of_a_graph_that_stores_nothing(t: Trace) -> None:
    """The second question of its node takes its answer, as the first one does."""
    sub = edges(nodes(t, StateGraph(State), ask=_ask("one?", "two?")), ". ask .").compile(checkpointer=False)

    async def called(state: State) -> Any:
        return await t.call(sub, "invoke", state)

    for node in (sub, t.node(called)):
        graph = _saved(edges(StateGraph(State).add_node("sub", node), ". sub ."))
        await t.invoke(graph, {"x": []}, ONE)
        for answer in ("1", "2"):
            await t.invoke(graph, Command(resume=answer), ONE)


@differs("an answer by id reaches a graph that stores nothing")
async def an_answer_by_id_in_a_subgraph_that_stores_nothing(t: Trace) -> None:
    """The answer goes to the question of that id."""
    inner = edges(nodes(t, StateGraph(State), ask=_ask("q")), ". ask .").compile(checkpointer=False)
    graph = _saved(edges(StateGraph(State).add_node("sub", inner), ". sub ."))
    await t.invoke(graph, {"x": ["i"]}, ONE)
    ids = _ids(await t.call(graph, "get_state", ONE))
    await t.invoke(graph, Command(resume={ids["q"]: "!"}), ONE)


async def stops_before_nodes(t: Trace) -> None:
    """interrupt_before, at compile or for a call, stops before each named node and is passed once."""
    builder = edges(nodes(t, StateGraph(State), "a", "b", "c"), ". a b c .")
    graph = _saved(builder, interrupt_before=["a", "c"])
    for given in [{"x": []}, None, None, None]:
        await t.stream(graph, given, ONE, stream_mode=["updates", "values"])
        t.note("next", (await t.call(graph, "get_state", ONE)).next)
    graph = _saved(builder)
    await t.invoke(graph, {"x": []}, ONE, interrupt_before=["b"])
    await t.invoke(graph, None, ONE, interrupt_before=["c"])
    await t.invoke(graph, None, ONE)


async def stops_after_nodes(t: Trace) -> None:
    """interrupt_after stops after a node, the last one too."""
    graph = _saved(edges(nodes(t, StateGraph(State), "a", "b"), ". a b ."), interrupt_after=["a", "b"])
    for given in [{"x": []}, None, None]:
        await t.stream(graph, given, ONE, stream_mode=["updates", "values"])
        t.note("next", (await t.call(graph, "get_state", ONE)).next)


async def stops_after_a_last_node_that_writes_nothing(t: Trace) -> None:
    """interrupt_after stops there too, when the run was resumed before that node."""
    builder = edges(nodes(t, StateGraph(State), "a", idle=lambda state: None), ". a idle .")
    graph = _saved(builder, interrupt_before=["idle"], interrupt_after=["idle"])
    for given in [{"x": []}, None]:
        await t.stream(graph, given, ONE, stream_mode="updates")


async def a_question_beside_a_command_without_an_update(t: Trace) -> None:
    """A task that has ended isn't next, also where what it came to is nothing."""
    builder = nodes(t, StateGraph(State), idle=lambda state: Command(), ask=_ask("?"))
    graph = _saved(edges(builder, ". idle", ". ask"))
    await t.invoke(graph, {"x": []}, ONE)
    t.note("next", (await t.call(graph, "get_state", ONE)).next)


async def stops_at_all_nodes(t: Trace) -> None:
    """`"*"` is every node but START, and an empty list for a call doesn't switch the compiled one off."""
    builder = edges(nodes(t, StateGraph(State), "a", "b"), ". a b .")
    graph = _saved(builder, interrupt_before="*")
    for given in [{"x": []}, None, None]:
        await t.invoke(graph, given, ONE)
    await t.invoke(graph, {"x": []}, TWO, interrupt_before=[])
    graph = _saved(builder, interrupt_after="*")
    for given in [{"x": []}, None, None]:
        await t.invoke(graph, given, ONE)


async def stops_before_one_of_two(t: Trace) -> None:
    """A stop before one node of a superstep stops all of it."""
    graph = _saved(edges(nodes(t, StateGraph(State), "a", "b"), ". a .", ". b ."), interrupt_before=["b"])
    await t.invoke(graph, {"x": []}, ONE)
    t.note("next", (await t.state(graph, ONE)).next)
    await t.invoke(graph, None, ONE)


async def a_stop_without_a_checkpointer(t: Trace) -> None:
    """The run ends early."""
    graph = edges(nodes(t, StateGraph(State), "a", "b"), ". a b .").compile(interrupt_before=["b"])
    await t.invoke(graph, {"x": []})
    await t.invoke(graph, {"x": []}, interrupt_before=["zz"])


async def an_update_at_a_stop(t: Trace) -> None:
    """The usual correction: stop before b, write as a, and go on."""
    graph = _saved(edges(nodes(t, StateGraph(State), "a", "b"), ". a b ."), interrupt_before=["b"])
    await t.invoke(graph, {"x": []}, ONE)
    await t.update(graph, ONE, {"x": ["human"]})
    await t.state(graph, ONE)
    await t.invoke(graph, None, ONE)


async def a_command_at_a_stop(t: Trace) -> None:
    """A command passes the stop, also one that only corrects the state; where it says to go there is no stop."""
    graph = _saved(edges(nodes(t, StateGraph(State), "a", "b"), ". a b ."), interrupt_before=["b"])
    await t.invoke(graph, {"x": []}, ONE)
    await t.stream(graph, Command(update={"x": ["human"]}), ONE, stream_mode=["updates", "values"])
    await t.invoke(graph, Command(goto="b"), ONE)
    await t.state(graph, ONE)


async def a_question_that_a_command_left(t: Trace) -> None:
    """A question in a graph that a command for its parent ends is nobody's, also where the run stops later."""

    def leave(state: State) -> Any:
        return Command(graph=Command.PARENT, update={"x": ["left"]}, goto="b")

    sub = edges(nodes(t, StateGraph(State), ask=_ask("?"), leave=leave), ". ask .", ". leave .").compile()
    builder = nodes(t, StateGraph(State), "b", "c")
    graph = _saved(edges(builder.add_node("sub", sub), ". sub", "b c ."), interrupt_before=["c"])
    await t.invoke(graph, {"x": []}, in_turn(t, ONE))
    await t.state(graph, ONE)


async def an_update_skips_the_asking_node(t: Trace) -> None:
    """Written as the node that asks, an update stands for it."""
    graph = _saved(edges(nodes(t, StateGraph(State), "z", ask=_ask("?")), ". ask z ."))
    await t.invoke(graph, {"x": []}, ONE)
    await t.update(graph, ONE, {"x": ["human"]}, as_node="ask")
    await t.invoke(graph, None, ONE)


async def an_update_before_the_asking_node(t: Trace) -> None:
    """Written as nobody, an update lets the node ask again, of the new state."""
    builder = nodes(t, StateGraph(State), "a", ask=lambda state: {"x": [interrupt(state["x"][-1])]})
    graph = _saved(edges(builder, ". a ask ."))
    await t.invoke(graph, {"x": []}, ONE)
    await t.update(graph, ONE, {"x": ["human"]})
    await t.state(graph, ONE)
    await t.invoke(graph, None, ONE)
    await t.invoke(graph, Command(resume="!"), ONE)


async def raising_an_interrupt(t: Trace) -> None:
    """GraphInterrupt raised by hand is told with the ids that it brings."""

    def ask(state: State) -> Any:
        raise GraphInterrupt([Interrupt(value="by hand", id="mine")])

    graph = _saved(edges(nodes(t, StateGraph(State), ask=ask), ". ask ."))
    await t.invoke(graph, {"x": []}, ONE)
    await t.state(graph, ONE)


async def raising_several_interrupts(t: Trace) -> None:
    """All are shown at once, in their order, and are answered by id."""
    ids, ran = ["1" * 32, "2" * 32], []

    def ask(state: State) -> Any:
        ran.append(len(ran))
        if len(ran) == 3:
            return {"x": ["done"]}
        raise GraphInterrupt([Interrupt(f"question {id[0]}", id=id) for id in ids])

    graph = _saved(edges(nodes(t, StateGraph(State), ask=ask), ". ask ."))
    await t.stream(graph, {"x": []}, ONE)
    await t.invoke(graph, None, ONE)
    await t.state(graph, ONE)
    await t.invoke(graph, Command(resume=dict.fromkeys(ids, "!")), ONE)
    nested = edges(nodes(t, StateGraph(State), ask=ask), ". ask .").compile()
    graph = _saved(edges(StateGraph(State).add_node("nested", nested), ". nested ."))
    ran.clear()
    await t.stream(graph, {"x": []}, ONE, subgraphs=True)
    await t.state(graph, ONE, subgraphs=True)


@differs("an answered question is closed")
async def raising_several_interrupts_that_are_answered_in_turn(t: Trace) -> None:
    """One that is answered doesn't come again beside the other; of two with one id the second comes after the first."""
    one, two = "1" * 32, "2" * 32
    for ids in ((one, two), (one, one)):

        def ask(state: State, ids: Any = ids) -> Any:
            raise GraphInterrupt([Interrupt(f"question {n}", id=id) for n, id in enumerate(ids)])

        graph = _saved(edges(nodes(t, StateGraph(State), ask=ask), ". ask ."))
        await t.call(graph, "invoke", {"x": []}, ONE)
        result = await t.call(graph, "invoke", Command(resume={one: "!"}), ONE)
        t.note("open", [question.value for question in result["__interrupt__"]])


async def raising_an_interrupt_without_a_question(t: Trace) -> None:
    """The node waits, and runs again when the thread goes on; what runs beside it has ended."""
    ran = []

    def waits(state: State) -> Any:
        ran.append(len(ran))
        if len(ran) < 3:
            raise GraphInterrupt()
        return {"x": ["waits"]}

    def inner(state: State) -> Any:
        raise GraphInterrupt([])

    graph = _saved(edges(nodes(t, StateGraph(State), "b", a=waits), ". a .", ". b ."))
    await t.stream(graph, {"x": []}, ONE)
    await t.state(graph, ONE)
    await t.invoke(graph, None, ONE)
    await t.invoke(graph, None, ONE)
    nested = edges(nodes(t, StateGraph(State), inner=inner), ". inner .").compile()
    graph = _saved(edges(nodes(t, StateGraph(State).add_node("nested", nested), "z"), ". nested z ."))
    await t.invoke(graph, {"x": []}, ONE)
    await t.state(graph, ONE)


async def node_interrupt(t: Trace) -> None:
    """The deprecated NodeInterrupt stops with its value; it warns when it's made, and None runs the node again."""

    def ask(state: State) -> Any:
        if len(state["x"]) < 2:
            raise t.warns(NodeInterrupt, "too short")
        return {"x": ["long"]}

    graph = _saved(edges(nodes(t, StateGraph(State), ask=ask), ". ask ."))
    await t.invoke(graph, {"x": ["i"]}, ONE)
    await t.state(graph, ONE)
    await t.update(graph, ONE, {"x": ["j"]})
    await t.invoke(graph, None, ONE)


async def node_interrupts_beside_each_other(t: Trace) -> None:
    """Each of several nodes that stop so has its own question, though nobody gave these ids."""

    def one(state: State) -> Any:
        raise t.warns(NodeInterrupt, "one?")

    def two(state: State) -> Any:
        raise t.warns(NodeInterrupt, "two?")

    graph = _saved(edges(nodes(t, StateGraph(State), one=one, two=two), ". one .", ". two ."))
    result = await t.call(graph, "invoke", {"x": []}, ONE)
    t.note("asked", sorted(question.value for question in result["__interrupt__"]))
    t.note("waits", sorted(question.value for question in graph.get_state(ONE).interrupts))


async def interrupt_outside_of_a_graph(t: Trace) -> None:
    """Nobody is there to ask."""
    t.raises(interrupt, "?")


async def interrupts_are_values(t: Trace) -> None:
    """An Interrupt compares by its fields, and has a deprecated way to its id."""
    question = Interrupt(value="?", id="1")
    t.note("equal", (question == Interrupt(value="?", id="1"), question == Interrupt(value="?", id="2")))
    t.note("default", Interrupt(value="?"))


@differs("ids of questions are made by runs alone")
async def interrupts_of_namespaces(t: Trace) -> None:
    """Older ways to make an Interrupt whose id stands for a namespace."""
    t.raises(lambda: Interrupt.from_ns(value="?", ns="a:b"))
    t.raises(Interrupt, "?", ns=["a:b"])
    t.note("old id", t.warns(lambda: Interrupt("?", id="1").interrupt_id))


async def the_second_version_of_results(t: Trace) -> None:
    """`version="v2"` gives a GraphOutput with the questions apart, and chunks that are dicts."""
    graph = _saved(edges(nodes(t, StateGraph(State), ask=_ask("?")), ". ask ."))
    await t.invoke(graph, {"x": ["i"]}, ONE, version="v2")
    await t.invoke(graph, Command(resume="!"), ONE, version="v2")
    await t.stream(graph, {"x": ["i"]}, TWO, version="v2", stream_mode=["values", "updates"])


async def an_interrupt_in_private_state(t: Trace) -> None:
    """A graph's output schema doesn't hide the questions."""

    class Out(TypedDict):
        y: str

    class Both(State, Out):
        pass

    builder = nodes(t, StateGraph(Both, output_schema=Out), ask=lambda state: {"y": interrupt("?")})
    graph = _saved(edges(builder, ". ask ."))
    await t.invoke(graph, {"x": ["i"]}, ONE)
    await t.invoke(graph, Command(resume="!"), ONE)


async def answers_that_are_checked(t: Trace) -> None:
    """With a type as its response_schema an answer is made an instance, or refused and may be given again."""

    class Approval(BaseModel):
        ok: bool

    def ask(state: State) -> Any:
        return {"x": [interrupt("ok?", response_schema=Approval).ok]}

    graph = _saved(edges(nodes(t, StateGraph(State), ask=ask), ". ask ."))
    await t.invoke(graph, {"x": []}, ONE)
    await t.invoke(graph, Command(resume={"ok": "perhaps"}), ONE)
    await t.state(graph, ONE)
    await t.invoke(graph, Command(resume={"ok": "yes"}), ONE)


async def schemas_of_answers(t: Trace) -> None:
    """A question shows the JSON schema of its answer; one that is given as a dict checks nothing."""

    class Typed(TypedDict):
        ok: bool

    @dataclasses.dataclass
    class Data:
        ok: bool

    for schema in [Typed, Data, int, {"type": "object"}]:
        node = t.node(lambda state, schema=schema: {"x": [str(interrupt("?", response_schema=schema))]})
        graph = _saved(edges(StateGraph(State).add_node("ask", node), ". ask ."))
        await t.invoke(graph, {"x": []}, ONE)
        await t.invoke(graph, Command(resume="text"), ONE)


async def an_answer_in_vain_isnt_lost(t: Trace) -> None:
    """A node that fails after it was answered is answered again by None."""
    tries: list[int] = []

    def ask(state: State) -> Any:
        answer = interrupt("?")
        tries.append(1)
        if len(tries) == 1:
            raise RuntimeError("boom")
        return {"x": [answer]}

    graph = _saved(edges(nodes(t, StateGraph(State), ask=ask), ". ask ."))
    await t.invoke(graph, {"x": []}, ONE)
    await t.invoke(graph, Command(resume="!"), ONE)
    await t.invoke(graph, None, ONE)


async def a_stop_in_a_subgraph(t: Trace) -> None:
    """A subgraph's own breakpoint stops the whole run."""
    builder = edges(nodes(t, StateGraph(State), "s1", "s2"), ". s1 s2 .")
    sub = builder.compile(interrupt_before=["s2"])
    graph = _saved(edges(nodes(t, StateGraph(State), "z").add_node("sub", sub), ". sub z ."))
    await t.stream(graph, {"x": []}, ONE, subgraphs=True)
    t.note("next", (await t.state(graph, ONE)).next)
    await t.stream(graph, None, ONE, subgraphs=True)


async def questions_through_two_levels(t: Trace) -> None:
    """A question of a graph in a graph in a graph."""
    inner = edges(nodes(t, StateGraph(State), ask=_ask("deep?")), ". ask .").compile()
    middle = edges(StateGraph(State).add_node("inner", inner), ". inner .").compile()
    graph = _saved(edges(StateGraph(State).add_node("middle", middle), ". middle ."))
    await t.stream(graph, {"x": []}, ONE, subgraphs=True)
    await t.stream(graph, Command(resume="!"), ONE, subgraphs=True)


async def a_question_beside_a_failure(t: Trace) -> None:
    """A question that was asked before another node failed waits for its answer, and that is taken."""
    failing = [True, True, False]

    def fail(state: State) -> Any:
        if failing.pop(0):
            raise ValueError("boom")
        return {"x": ["sound"]}

    def ask(state: State) -> Any:
        return {"x": [interrupt("?")]}

    builder = nodes(t, StateGraph(State), ask=ask, fail=fail)
    graph = edges(builder, ". ask .", ". fail .").compile(checkpointer=InMemorySaver())
    for given in ({"x": []}, Command(resume="A"), None):
        await t.invoke(graph, given, in_turn(t, ONE))
        await t.state(graph, ONE)


@differs("an answered question is closed")
async def a_failure_after_an_answer(t: Trace) -> None:
    """A node that failed with its answer has an error, and hasn't ended; when it is tried again it gets the answer."""
    failing = [True, True, False]

    def ask(state: State) -> Any:
        answer = interrupt("?")
        if failing.pop(0):
            raise ValueError("boom")
        return {"x": [answer]}

    graph = _saved(edges(nodes(t, StateGraph(State), ask=ask), ". ask ."))
    await t.invoke(graph, {"x": []}, ONE)
    await t.invoke(graph, Command(resume="A"), ONE)
    t.note("open", (await t.state(graph, ONE)).interrupts)
    await t.stream(graph, None, ONE, stream_mode="updates")
    await t.invoke(graph, None, ONE)


async def a_breakpoint_in_a_subgraph_is_no_end(t: Trace) -> None:
    """A node whose nested graph stops at a breakpoint hasn't ended, and no stream says that it has."""
    inner = edges(nodes(t, StateGraph(State), "a"), ". a .").compile(interrupt_before=["a"])
    builder = StateGraph(State).add_node("inner", inner)
    for mode in ("tasks", "debug", "updates"):
        graph = edges(builder, ". inner .").compile(checkpointer=InMemorySaver())
        await t.stream(graph, {"x": []}, ONE, stream_mode=mode, subgraphs=True)
        await t.stream(graph, None, ONE, stream_mode=mode, subgraphs=True)
        builder = StateGraph(State).add_node("inner", inner)


async def questions_that_a_node_sees_pass(t: Trace) -> None:
    """What unwinds a node has the question, also one of a graph that the node calls, or several of them."""
    seen: list[Any] = []
    one = edges(nodes(t, StateGraph(State), ask=_ask("one?")), ". ask .").compile()
    two = edges(nodes(t, StateGraph(State), ask=_ask("a?"), also=_ask("b?")), ". ask .", ". also .").compile()

    def passing(what: Any) -> Any:
        async def node(state: State) -> Any:
            try:
                return await what(state)
            except GraphInterrupt as signal:
                seen.append(sorted(interrupt.value for interrupt in signal.args[0]))
                raise

        return node

    async def own(state: State) -> Any:
        return {"x": [interrupt("own?")]}

    for what in (own, lambda state: t.call(one, "invoke", state), lambda state: t.call(two, "invoke", state)):
        graph = _saved(edges(nodes(t, StateGraph(State), node=passing(what)), ". node ."))
        await t.invoke(graph, {"x": []}, in_turn(t, ONE), unordered=True)
    t.note("seen", seen)


@differs("questions can't be swallowed")
async def a_question_in_a_try(t: Trace) -> None:
    """A node that catches all errors around its question."""

    def ask(state: State) -> Any:
        try:
            return {"x": [interrupt("?")]}
        except Exception as error:
            return {"x": [type(error).__name__]}

    graph = _saved(edges(nodes(t, StateGraph(State), ask=ask), ". ask ."))
    await t.invoke(graph, {"x": []}, ONE)
    await t.state(graph, ONE)


@differs("parallel questions are all shown")
async def questions_of_parallel_calls(t: Trace) -> None:
    """Two calls of an entrypoint that ask at once."""

    @task
    @t.node
    def ask(question: str) -> Any:
        return interrupt(question)

    @entrypoint(checkpointer=InMemorySaver())
    @t.node
    async def both(questions: list[str]) -> Any:
        return [await t.value(asked) for asked in [ask(question) for question in questions]]

    result = await t.call(both, "invoke", ["1?", "2?"], ONE)
    t.note("asked", sorted(question.value for question in result["__interrupt__"]))


@differs("what a command started is shown")
async def a_goto_beside_a_question(t: Trace) -> None:
    """What a command sends to beside the node that waits has run, and the state shows it."""
    graph = _saved(edges(nodes(t, StateGraph(State), "c", ask=_ask("?")), ". ask c ."))
    await t.invoke(graph, {"x": []}, ONE)
    await t.call(graph, "invoke", Command(goto="c"), ONE)
    await t.state(graph, ONE)


@differs("answers that nobody waits for")
async def an_answer_from_a_node_to_a_graph_in_it(t):
    """A graph in a node asks whoever runs the graph around: its node can't answer."""

    async def ask(state):
        return {"x": [interrupt("?")]}

    inner = edges(StateGraph(State).add_node("ask", t.node(ask)), ". ask .").compile()

    async def node(state):
        try:
            return await t.call(inner, "invoke", Command(resume="!"))
        except Exception as error:
            return {"x": [type(error).__name__]}

    graph = edges(StateGraph(State).add_node("node", t.node(node)), ". node .")
    await t.invoke(graph.compile(checkpointer=InMemorySaver()), {"x": []}, ONE)


async def answers_at_breakpoints(t: Trace) -> None:
    """Who answers at a breakpoint goes on past it, and what is asked next takes the answer."""
    for name, where, answers in (
        ("before", {"interrupt_before": ["ask"]}, "x"),
        ("behind", {"interrupt_before": ["z"]}, "xy"),
        ("after", {"interrupt_after": ["a"]}, "x"),
        ("all", {"interrupt_before": "*"}, "xyz"),
    ):
        graph = _saved(edges(nodes(t, StateGraph(State), "a", "z", ask=_ask("q")), ". a ask z ."), **where)
        config = {"configurable": {"thread_id": name}}
        await t.invoke(graph, {"x": []}, config)
        for answer in answers:
            await t.invoke(graph, Command(resume=answer), config)


async def an_answer_at_a_breakpoint_of_a_call(t: Trace) -> None:
    """The call that answers needn't name the breakpoint again, and may update the state."""
    graph = _saved(edges(nodes(t, StateGraph(State), "a", "z", ask=_ask("q")), ". a ask z ."))
    for config, command in ((ONE, Command(resume="yes")), (TWO, Command(resume="yes", update={"x": ["u"]}))):
        await t.invoke(graph, {"x": []}, config, interrupt_before=["ask"])
        await t.invoke(graph, command, config)


async def an_answer_at_a_nested_breakpoint(t: Trace) -> None:
    """The same inside a graph that is a node."""
    inner = edges(nodes(t, StateGraph(State), "a", ask=_ask("q")), ". a ask .")
    builder = nodes(t, StateGraph(State), "z").add_node("in", inner.compile(interrupt_before=["ask"]))
    graph = _saved(edges(builder, ". in z ."))
    await t.invoke(graph, {"x": []}, ONE)
    await t.invoke(graph, Command(resume="yes"), ONE)


@differs("an answer is used once")
async def answers_by_id_at_an_old_checkpoint(t: Trace) -> None:
    """Who goes back to where questions were asked may answer them by the ids that they had."""
    builder = nodes(t, StateGraph(State), p=_ask("p"), q=_ask("q"))
    graph = _saved(edges(builder, ". p .", ". q ."))
    await t.invoke(graph, {"x": []}, ONE, unordered=True)
    asked = await t.call(graph, "get_state", ONE)
    for word in ("first", "second"):
        answers = {id: f"{word} {question}" for question, id in _ids(asked).items()}
        await t.invoke(graph, Command(resume=answers), ONE if word == "first" else asked.config)


@differs("an edited question is asked")
async def an_answer_to_a_question_that_was_edited(t: Trace) -> None:
    """A node that asks another thing since the question was asked is given an answer to that one."""

    def before(state: State) -> Any:
        return {"x": [interrupt("old?")]}

    def after(state: State) -> Any:
        return {"x": [interrupt("new?")]}

    saver = InMemorySaver()
    edited = [edges(nodes(t, StateGraph(State), ask=node), ". ask .") for node in (before, after)]
    old, new = (builder.compile(checkpointer=saver) for builder in edited)
    await t.invoke(old, {"x": []}, ONE)
    await t.invoke(new, Command(resume="for the old one"), ONE)
    await t.invoke(new, Command(resume="for the new one"), ONE)
