"""Questions in parallel, in nested workflows and in loops, all at once (G8)."""

import random
import time
from operator import add
from typing import Annotated, Any, TypedDict

import pytest

from flowfn import Command, gather, interrupt
from graph_compat.graph import START, StateGraph
from graph_compat.types import Send

from ..worlds import World, questions


def committees(world: World, **options: Any) -> Any:
    """Two rounds; in each, two tasks in parallel let a workflow ask, which asks in a loop, in a task and itself."""

    @world.task
    async def signature(who: str) -> Any:
        try:
            return interrupt({"sign": who}, **options)
        except Exception:
            return "swallowed"

    @world.entrypoint(name="member")
    async def member(name: str) -> list[Any]:
        votes = []
        while len(votes) < 2:
            votes.append(interrupt("vote?", **options))
        return [*votes, await world.value(signature(name))]

    @world.task
    async def consult(name: str, round: int) -> Any:
        said = await member(name) if world.is_async else member(name)
        world.ran.append((name, round))
        return [name, round, said]

    @world.entrypoint
    async def wf() -> list[Any]:
        found = []
        for round in range(2):
            found += await world.value(gather(consult(name, round) for name in ("ann", "bob")))
        return found

    return wf


@pytest.mark.parametrize("seed", range(4))
def test_every_question_is_asked_once_and_keeps_its_answer(world: World, seed: int) -> None:
    """G8: answered by id in any order, some at once: each answer goes to its question, and none is asked again."""
    choose = random.Random(seed)
    wf = committees(world)
    result = world.invoke(wf, thread_id="t")
    answers: dict[str, int] = {}
    while isinstance(result, dict):
        waiting = questions(result)
        assert 1 <= len(waiting) <= 2
        assert [q.id for q in waiting if q.id in answers] == []
        assert {q.id for q in world.state(wf, "t").interrupts} == {q.id for q in waiting}
        chosen = choose.sample(waiting, choose.randint(1, len(waiting)))
        given = {question.id: len(answers) + place for place, question in enumerate(chosen)}
        answers |= given
        result = world.resume(wf, given, "t")
    said = [answer for _, _, each in result for answer in each]
    assert [(name, round) for name, round, _ in result] == [("ann", 0), ("bob", 0), ("ann", 1), ("bob", 1)]
    assert sorted(said) == sorted(answers.values()) == list(range(12))
    assert all(each == sorted(each) for _, _, each in result)  # a workflow's questions come one after another
    assert sorted(world.ran) == [("ann", 0), ("ann", 1), ("bob", 0), ("bob", 1)]


def test_going_on_without_an_answer_asks_the_same(world: World) -> None:
    """G8: however often a run is taken up, its questions are the same, with the same ids."""
    wf = committees(world)
    first = {question.id for question in questions(world.invoke(wf, thread_id="t"))}
    for _ in range(3):
        assert {question.id for question in questions(world.invoke(wf, None, thread_id="t"))} == first


def test_all_deadlines_pass(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each question has its deadline from when it was asked: a run taken up late enough, often enough, ends."""
    now = [time.time()]
    monkeypatch.setattr(time, "time", lambda: now[0])
    wf = committees(world, timeout=10, default="no")
    result = world.invoke(wf, thread_id="t")
    rounds = 0
    while isinstance(result, dict):
        now[0] += 11
        result = world.invoke(wf, None, thread_id="t")
        rounds += 1
    assert ([said for _, _, said in result], rounds) == ([["no"] * 3] * 4, 6)


class Noted(TypedDict):
    """The state of graphs that ask, and of the one that calls them."""

    word: str
    notes: Annotated[list[Any], add]


@pytest.mark.parametrize(
    "kinds",
    [(True,), (True, None), (True, True)],
    ids=["memory", "graph in a memory", "memory in a memory"],
)
def test_calls_that_share_a_memory_are_each_asked_and_answered(world: World, kinds: Any) -> None:
    """G8: their questions are all shown from the first on, and each answer goes to its call alone."""

    def ask(state: Noted) -> Any:
        return {"notes": [(state["word"], interrupt(state["word"]))]}

    for kind in reversed(kinds):
        nested = StateGraph(Noted).add_node("ask", ask).add_edge(START, "ask").compile(checkpointer=kind)

        def ask(state: Noted, nested: Any = nested) -> Any:
            return {"notes": nested.invoke({"word": state["word"]})["notes"][-1:]}

    outer = StateGraph(Noted).add_node("ask", ask)
    outer.add_conditional_edges(START, lambda state: [Send("ask", {"word": word}) for word in "abc"])
    thread = outer.compile(checkpointer=world.saver).thread("t")
    world.do(thread, "invoke", {"word": "", "notes": []})
    for nth in range(3):
        waiting = {question.value: question.id for question in thread.state.interrupts}
        assert sorted(waiting) == ["a", "b", "c"][nth:]
        world.do(thread, "resume", {waiting["abc"[nth]]: nth})
    assert thread.state.values["notes"] == [("a", 0), ("b", 1), ("c", 2)]


@pytest.mark.parametrize("kinds", [(None, True), (True, None), (True, True), (None, None)], ids=str)
def test_an_answer_is_kept_before_the_run_goes_on(world: World, kinds: tuple[Any, Any]) -> None:
    """G8: who answers and leaves at once isn't asked again, however deep it was asked, and by whom it is remembered."""

    class Notes(TypedDict):
        notes: Annotated[list[Any], add]

    def ask(state: Notes) -> Any:
        return {"notes": [interrupt("amount?"), interrupt("sure?")]}

    graph: Any = ask
    for kind in (*kinds, world.saver):
        builder: Any = StateGraph(Notes).add_node("ask", graph).add_edge(START, "ask")
        graph = builder.compile(checkpointer=kind)
    thread = graph.thread("t")
    world.do(thread, "invoke", {"notes": []})
    (amount,) = thread.state.interrupts
    world.first(graph, Command(resume={amount.id: 100}), thread_id="t", stream_mode="values")
    if not thread.state.interrupts:
        world.do(thread, "resume")
    assert [question.value for question in thread.state.interrupts] == ["sure?"]
    world.do(thread, "resume", True)
    assert thread.state.values["notes"] == [100, True]
