"""`workflow.thread(id)`: a handle on one thread (section 3)."""

from operator import add
from typing import Annotated, Any, TypedDict

import pytest

from checkpointers import MemorySaver
from flowfn import (
    Command,
    Interrupted,
    InvalidInput,
    LeaseLost,
    NoCheckpointer,
    Thread,
    UnknownCheckpoint,
    UnknownThread,
    entrypoint,
    gather,
    interrupt,
)
from flowfn.history.reading import open_questions
from flowfn.ports import Commit, Lease, Saver, ThreadRow
from flowfn.saver_around import SaverAround
from graph_compat.graph import START, StateGraph

from ..worlds import World, asked, questions


def adding(world: World) -> Any:
    """A workflow that adds to what its thread has summed up."""

    @world.entrypoint
    async def wf(x: int, *, previous: int = 0) -> int:
        return previous + x

    return wf


def asking(world: World) -> Any:
    """A workflow of a task and a question."""

    @world.task
    async def note(x: int) -> int:
        world.ran.append(x)
        return x

    @world.entrypoint
    async def wf(x: int) -> list[Any]:
        return [await world.value(note(x)), interrupt("sure?", key="sure")]

    return wf


def test_a_handle_calls_its_thread(world: World) -> None:
    """Calls, invokes and streams of a handle share the thread's state."""
    thread = adding(world).thread("t")
    assert isinstance(thread, Thread)
    assert (thread.id, thread.config) == ("t", {"configurable": {"thread_id": "t"}})
    assert [world.call(thread, 1), world.do(thread, "invoke", 2), world.do(thread, "stream", 3)] == [
        1,
        3,
        [{"wf": 6}],
    ]
    assert thread.state.values == 6


def test_a_graph_is_not_called_like_a_function() -> None:
    """A handle on a graph's thread says what to write instead."""
    builder = StateGraph(int)
    builder.add_node("n", lambda state: state + 1)
    builder.add_edge(START, "n")
    thread = builder.compile(checkpointer=MemorySaver()).thread("t")
    with pytest.raises(TypeError, match=r"write thread\('t'\).invoke\(input\)"):
        thread(1)
    assert thread.invoke(1) == 2


def test_a_handle_resumes(world: World) -> None:
    """`resume(answer)` answers and goes on."""
    thread = asking(world).thread("t")
    assert asked(world.do(thread, "invoke", 1)) == ["sure?"]
    assert world.do(thread, "resume", "yes") == [1, "yes"]
    assert world.ran == [1]


def test_a_handle_answers_by_key(sync_world: World) -> None:
    """`send(key, answer)` answers the question that was asked under a key."""
    thread = asking(sync_world).thread("t")
    with pytest.raises(Interrupted):
        thread(1)
    assert thread.send("sure", {"free": "form"}) == [1, {"free": "form"}]


def test_a_call_goes_on_with_the_same_call(world: World) -> None:
    """Calling a handle again with the same arguments goes on; with others it starts anew."""
    thread = asking(world).thread("t")
    for x in (1, 1, 2):
        with pytest.raises(Interrupted) as raised:
            world.call(thread, x)
        assert raised.value.thread_id == "t"
    assert world.ran == [1, 2]


def test_a_handle_knows_its_status(world: World) -> None:
    """`status` is None, then interrupted, failed, cancelled or done."""

    @world.entrypoint
    async def wf(x: int) -> Any:
        if x < 0:
            raise ConnectionError("lost")
        return interrupt("sure?") if x else x

    thread = wf.thread("t")
    seen = [thread.status]
    world.do(thread, "invoke", 1)
    seen.append(thread.status)
    thread.cancel()
    seen.append(thread.status)
    with pytest.raises(ConnectionError):
        world.do(thread, "invoke", -1)
    seen.append(thread.status)
    world.do(thread, "invoke", 0)
    seen.append(thread.status)
    assert seen == [None, "interrupted", "cancelled", "failed", "done"]


def left_behind(saver: Saver, thread: str) -> None:
    """Leave a thread as a process does that is killed in the middle of a run."""
    lease = saver.claim(thread)
    assert isinstance(lease, Lease)
    assert saver.commit([Commit(thread, lease, status="running", release=True)]) == [None]


def test_a_workflow_knows_its_threads(world: World) -> None:
    """`threads` are those whose last run was of the workflow, the latest first; of one status, and so many, if that is
    said."""

    @world.entrypoint
    async def other() -> str:
        return interrupt("and?")

    wf = asking(world)
    for thread in ("asks", "ends", "asks too"):
        world.do(wf.thread(thread), "invoke", 1)
    world.do(other.thread("other's"), "invoke")
    world.do(wf.thread("ends"), "resume", "yes")

    def ids(**options: Any) -> list[str]:
        return [thread.id for thread in world.do(wf, "threads", **options)]

    assert ids() == ["ends", "asks too", "asks"]
    assert ids(status="interrupted") == ["asks too", "asks"]
    assert ids(status="done") == ["ends"]
    assert ids(status="killed") == []
    assert ids(limit=2) == ids(status=None, limit=2) == ["ends", "asks too"]
    assert ids(status="interrupted", limit=1) == ["asks too"]
    assert (ids(limit=0), ids(limit=10**20)) == ([], ids())
    with pytest.raises(InvalidInput, match="limit=-1 is not a count"):
        ids(limit=-1)
    with pytest.raises(InvalidInput, match=r"status='dead' is unknown: write one of 'running', .*'killed'"):
        ids(status="dead")


def test_those_that_were_left_are_found_without_a_look_at_all() -> None:
    """What a server goes on with when it starts costs no more for a million runs that have ended."""

    class Indexed(SaverAround):
        def threads(self, *, limit: int | None = None) -> list[ThreadRow]:
            raise AssertionError("it looked at every thread")

    @entrypoint(checkpointer=Indexed(MemorySaver()))
    def wf(x: int) -> int:
        if x == 2:
            raise ConnectionError("lost")
        return x

    wf.thread("done").invoke(1)
    with pytest.raises(ConnectionError):
        wf.thread("failed").invoke(2)
    assert [thread.id for thread in wf.threads(status="failed")] == ["failed"]
    assert wf.threads(status="killed") == []


def test_what_a_factory_made_knows_its_own_threads(world: World) -> None:
    """Workflows of one factory share a name, and methods of two objects do: none would resume another one's run."""

    def pipeline(tenant: str) -> Any:
        @world.entrypoint
        async def wf() -> str:
            return tenant

        return wf

    class Shop:
        def __init__(self, name: str) -> None:
            self.name = name

        @world.entrypoint
        async def opens(self) -> str:
            return self.name

    for own, other in ((pipeline("acme"), pipeline("globex")), (Shop("a").opens, Shop("b").opens)):
        world.do(own.thread("own"), "invoke")
        world.do(other.thread("other's"), "invoke")
        assert [thread.id for thread in world.do(own, "threads")] == ["own"]
        assert [thread.id for thread in world.do(other, "threads")] == ["other's"]


def test_what_was_killed_is_gone_on_with(world: World) -> None:
    """A program that starts finds the runs that were left behind, and resumes them."""
    wf = asking(world)
    world.do(wf.thread("t"), "invoke", 1)
    left_behind(world.saver, "t")
    assert wf.thread("t").status == "killed"
    for thread in world.do(wf, "threads", status="killed"):
        assert asked(world.do(thread, "resume")) == ["sure?"]
    assert (wf.thread("t").status, world.ran) == ("interrupted", [1])


class PowerCut(BaseException):
    """Stands for the death of the process."""


def cut_off(world: World) -> Any:
    """The thread of a run that asked twice at once, and whose process died after the first answer."""
    seen: list[str | None] = []

    @world.task
    async def ask(key: str) -> bool:
        agreed: bool = interrupt(f"{key}?", key=key)
        return agreed

    @world.task
    async def charge() -> str:
        seen.append(wf.thread("t").status)
        if len(seen) == 1:
            raise PowerCut
        return "charged"

    @world.entrypoint
    async def wf(x: int) -> list[Any]:
        first, second = ask("first"), ask("second")
        await world.value(first)
        return [await world.value(charge()), await world.value(second)]

    thread = wf.thread("t")
    world.do(thread, "invoke", 1)
    with pytest.raises(PowerCut):
        world.do(thread, "resume", {"first": True})
    assert seen == ["running"]
    return thread


def test_a_run_that_was_answered_is_under_way(world: World) -> None:
    """A run that goes on after an answer is running, and was killed when its process dies."""
    thread = cut_off(world)
    assert thread.status == "killed"
    assert [each.id for each in world.do(thread.workflow, "threads", status="killed")] == ["t"]


def test_a_run_that_was_killed_may_be_answered_on(world: World) -> None:
    """What else a killed run had asked is still asked, and takes an answer."""
    thread = cut_off(world)
    (row,) = world.saver.threads()
    (question,) = open_questions(world.saver, row)  # type: ignore[misc]
    assert question.key == "second"
    assert world.do(thread, "resume", {"second": False}) == ["charged", False]
    assert thread.status == "done"


def test_a_failed_run_that_goes_on_was_killed(world: World) -> None:
    """A run that failed and was resumed was killed when its process dies after it has recorded more."""
    errors: list[BaseException] = [ConnectionError(), PowerCut()]

    @world.task
    async def step(number: int) -> int:
        if errors and (len(errors) == 2 or number):
            raise errors.pop(0)
        return number

    @world.entrypoint
    async def wf(x: int) -> int:
        return await world.value(step(0)) + await world.value(step(1))

    thread = wf.thread("t")
    with pytest.raises(ConnectionError):
        world.do(thread, "invoke", 1)
    assert thread.status == "failed"
    with pytest.raises(PowerCut):
        world.do(thread, "resume")
    assert thread.status == "killed"
    assert world.do(thread, "resume") == 1


def test_what_has_ended_stays_done() -> None:
    """A command that only changes the state of a graph that has ended leaves it so."""
    graph = StateGraph(Annotated[list[int], add])
    graph.add_node("one", lambda state: [1]).add_edge(START, "one")
    thread = graph.compile(checkpointer=MemorySaver()).thread("t")
    thread.invoke([0])
    thread.invoke(Command(update=[2]))
    assert thread.status == "done"
    assert thread.invoke(None) == [0, 1, 2]
    assert thread.status == "done"


def test_a_graph_knows_its_threads(world: World) -> None:
    """Those of the runs of its name, which a server that starts goes on with as with a workflow's."""

    def named(name: str) -> Any:
        graph: Any = StateGraph(dict).add_node("confirm", lambda state: {"said": interrupt("sure?")})
        return graph.add_edge(START, "confirm").compile(checkpointer=world.saver, name=name)

    own, other = named("own"), named("other")
    for graph, thread in ((own, "asks"), (other, "other's"), (own, "died")):
        world.do(graph.thread(thread), "invoke", {"x": 1})
    left_behind(world.saver, "died")
    assert [thread.id for thread in world.do(own, "threads")] == ["died", "asks"]
    (killed,) = world.do(own, "threads", status="killed")
    assert world.do(killed, "resume", "yes") == {"said": "yes"}
    assert world.do(own, "threads", status="killed") == []


def test_a_cancelled_thread_can_be_resumed(world: World) -> None:
    """`cancel()` keeps what was recorded: `resume()` goes on with it."""
    thread = asking(world).thread("t")
    world.do(thread, "invoke", 1)
    thread.cancel()
    assert world.do(thread, "resume", "yes") == [1, "yes"]
    assert world.ran == [1]


def test_cancelling_an_unknown_thread(world: World) -> None:
    """Nobody's thread can't be cancelled, and asking doesn't make it known."""
    thread = adding(world).thread("t")
    with pytest.raises(UnknownThread, match="'t' is unknown"):
        thread.cancel()
    assert thread.status is None


def test_cancelling_a_run_stops_it_at_its_next_task(sync_world: World) -> None:
    """A run that is cancelled meanwhile writes no more: its next recorded step stops it, with an error that says so."""
    world = sync_world

    @world.task
    def note(x: int) -> int:
        world.ran.append(x)
        return x

    @world.entrypoint
    def wf() -> int:
        note(1).result()
        wf.thread("t").cancel()
        return note(2).result() + note(3).result()

    with pytest.raises(LeaseLost, match="somebody cancelled or deleted it"):
        world.invoke(wf, thread_id="t")
    assert 3 not in world.ran
    assert wf.thread("t").status == "cancelled"


def test_history_is_the_threads(world: World) -> None:
    """`history()` lists the thread's checkpoints, newest first, as `get_state_history` does."""
    wf = adding(world)
    thread = wf.thread("t")
    for x in (1, 2):
        world.do(thread, "invoke", x)
    assert list(thread.history()) == world.history(wf, "t")
    assert [state.values for state in thread.history()] == [3, 1, 1, None]


def test_update_changes_what_the_next_call_sees(world: World) -> None:
    """`update(value)` is `update_state`: result and `previous` become the value."""
    thread = adding(world).thread("t")
    world.do(thread, "invoke", 1)
    thread.update(10)
    assert thread.state.values == 10
    assert world.do(thread, "invoke", 1) == 11


def test_a_fork_goes_its_own_way(world: World) -> None:
    """A fork starts with a copy of the head; neither thread sees what happens on the other."""
    thread = adding(world).thread("t")
    world.do(thread, "invoke", 1)
    fork = thread.fork()
    assert fork.id != "t"
    assert [world.do(fork, "invoke", 10), world.do(thread, "invoke", 2)] == [11, 3]
    assert (fork.state.values, thread.state.values) == (11, 3)


def test_a_fork_of_an_unfinished_run_goes_on(world: World) -> None:
    """What was recorded is copied with the checkpoint: the fork repeats nothing, and asks for itself."""
    thread = asking(world).thread("t")
    world.do(thread, "invoke", 1)
    fork = thread.fork(thread_id="fork")
    assert asked(world.do(fork, "resume")) == ["sure?"]
    assert world.do(fork, "resume", "fork says yes") == [1, "fork says yes"]
    assert world.do(thread, "resume", "yes") == [1, "yes"]
    assert world.ran == [1]


def test_a_fork_of_a_waiting_run_waits_for_the_same(world: World) -> None:
    """The fork shows the question under an id of its own, and takes an answer at once; the thread waits on."""
    thread = asking(world).thread("t")
    (question,) = questions(world.do(thread, "invoke", 1))
    fork = thread.fork(thread_id="fork")
    (asked_there,) = fork.state.interrupts
    assert (fork.status, asked_there.value, asked_there.id != question.id) == ("interrupted", "sure?", True)
    assert world.do(fork, "resume", {asked_there.id: "no"}) == [1, "no"]
    assert world.do(thread.fork(), "resume", "perhaps") == [1, "perhaps"]
    assert world.do(thread, "resume", {question.id: "yes"}) == [1, "yes"]
    assert world.ran == [1]


def nesting(world: World, *names: str, fails: bool = False) -> Any:
    """A workflow of some that run inside it side by side, each a task and then a question, or an error at first."""
    tried: list[str] = []

    @world.task
    async def note(name: str) -> str:
        world.ran.append(name)
        return name

    @world.entrypoint(name="inner")
    async def inner(name: str) -> list[Any]:
        noted = await world.value(note(name))
        tried.append(name)
        if fails and len(tried) == 1:
            raise ConnectionError(name)
        return [noted, interrupt(f"{name}?")]

    @world.task
    async def consult(name: str) -> list[Any]:
        return (await inner(name)) if world.is_async else inner(name)

    @world.entrypoint
    async def wf() -> list[Any]:
        return await world.value(gather([consult(name) for name in names]))

    return wf


def test_a_fork_waits_for_what_nested_runs_ask(world: World) -> None:
    """It shows their questions under ids of its own, takes answers at once, and repeats nothing that they had done."""
    thread = nesting(world, "ann", "bob").thread("t")
    asked_first = {question.value: question.id for question in questions(world.do(thread, "invoke"))}
    fork = thread.fork()
    own = {question.value: question.id for question in fork.state.interrupts}
    assert sorted(own) == ["ann?", "bob?"]
    assert not {*own.values()} & {*asked_first.values()}
    assert asked(world.do(fork, "resume", {own["bob?"]: "no"})) == ["ann?"]
    again = fork.fork()
    assert world.do(again, "resume", "maybe") == [["ann", "maybe"], ["bob", "no"]]
    assert world.do(fork, "resume", "perhaps") == [["ann", "perhaps"], ["bob", "no"]]
    answers = {asked_first["ann?"]: "yes", asked_first["bob?"]: "yes"}
    assert world.do(thread, "resume", answers) == [["ann", "yes"], ["bob", "yes"]]
    assert sorted(world.ran) == ["ann", "bob"]


def test_a_fork_of_a_failed_nested_run_goes_on(world: World) -> None:
    """What nested runs had done before an error is copied as well."""
    thread = nesting(world, "ann", fails=True).thread("t")
    with pytest.raises(ConnectionError):
        world.do(thread, "invoke")
    fork = thread.fork()
    assert asked(world.do(fork, "resume")) == ["ann?"]
    assert world.do(fork, "resume", "yes") == [["ann", "yes"]]
    assert world.ran == ["ann"]


def test_a_fork_of_a_graph_waits_for_what_its_subgraphs_ask() -> None:
    """It takes the answer at once, and runs no finished node of a nested graph again."""
    ran: list[str] = []

    def note(state: str) -> str:
        ran.append("note")
        return state

    inner = StateGraph(str).add_node("note", note).add_node("ask", lambda state: interrupt("sure?"))
    subgraph = inner.add_edge(START, "note").add_edge("note", "ask").compile()
    outer = StateGraph(str).add_node("sub", subgraph).add_edge(START, "sub")
    thread = outer.compile(checkpointer=MemorySaver()).thread("t")
    thread.invoke("x")
    fork = thread.fork()
    assert fork.resume("no") == "no"
    assert (thread.resume("yes"), ran) == ("yes", ["note"])


def test_a_fork_from_an_older_checkpoint(world: World) -> None:
    """`fork(checkpoint_id)` starts from a checkpoint of the history."""
    thread = adding(world).thread("t")
    for x in (1, 2, 3):
        world.do(thread, "invoke", x)
    after_first = next(state for state in thread.history() if state.values == 1 and not state.next)
    fork = thread.fork(after_first.config["configurable"]["checkpoint_id"])
    assert world.do(fork, "invoke", 10) == 11
    assert thread.state.values == 6


class Sums(TypedDict):
    """The state of what sums up, and of who asks it to."""

    total: Annotated[int, add]
    x: int


def remembering(world: World) -> Any:
    """A graph that calls another two times, which sums up each of the two over the thread, and asks about 3."""

    def note(state: Sums) -> Any:
        world.ran.append(state["x"])
        return {"total": interrupt("how many?") if state["x"] == 3 else state["x"]}

    adding = StateGraph(Sums).add_node("note", note).add_edge(START, "note").compile()
    memory = StateGraph(Sums).add_node(
        "add", lambda state: {"total": adding.invoke({"x": state["x"]})["total"]}
    )
    sums = memory.add_edge(START, "add").compile(checkpointer=True)

    def call(state: Sums) -> Any:
        first, second = (sums.invoke({"x": x})["total"] for x in (state["x"], state["x"] * 10))
        return {"total": first * 1000 + second}

    outer = StateGraph(Sums).add_node("call", call).add_edge(START, "call")
    return outer.compile(checkpointer=world.saver)


def totals(world: World, thread: Any, x: int) -> tuple[int, int]:
    """What the two calls of an invocation came to."""
    before = (thread.state.values or {}).get("total", 0)
    return divmod(world.do(thread, "invoke", {"x": x})["total"] - before, 1000)


def test_a_fork_has_what_nested_runs_remember(world: World) -> None:
    """As it was at the checkpoint that was copied; what either thread adds is its own."""
    thread = remembering(world).thread("t")
    assert [totals(world, thread, x) for x in (1, 2)] == [(1, 10), (3, 30)]
    old = next(state for state in thread.history() if state.values["total"] == 1010 and not state.next)
    then, fork = thread.fork(old.config["configurable"]["checkpoint_id"]), thread.fork()
    assert [totals(world, each, 4) for each in (fork, thread, then)] == [(7, 70), (7, 70), (5, 50)]
    assert totals(world, fork.fork(), 0) == (7, 70)


def test_a_fork_waits_for_what_a_run_that_remembers_asks(world: World) -> None:
    """It answers for itself, and takes up the very call that waits; what that had done isn't run again."""
    thread = remembering(world).thread("t")
    totals(world, thread, 1)
    thread_waits = world.do(thread, "invoke", {"x": 3})
    fork = thread.fork()
    (question,) = fork.state.interrupts
    assert (fork.status, question.value) == ("interrupted", "how many?")
    assert question.id != thread_waits["__interrupt__"][0].id
    assert world.do(fork, "resume", 7)["total"] == 1010 + 8040
    assert world.do(thread, "resume", 8)["total"] == 1010 + 9040


def test_a_fork_of_a_thread_that_runs_goes_on_when_it_is_told_to(world: World) -> None:
    """Nobody runs it, and nothing has failed; one of what had ended by then is done."""
    forks = []

    @world.task
    async def first(x: int) -> int:
        world.ran.append(x)
        return x

    @world.entrypoint
    async def wf(x: int) -> int:
        found: int = await world.value(first(x))
        if x == 2 and len(forks) == 0:
            forks.append(thread.fork())
            forks.append(
                thread.fork(
                    next(iter(thread.history(limit=2))).parent_config["configurable"]["checkpoint_id"]
                )
            )
        return found

    thread = wf.thread("t")
    world.do(thread, "invoke", 1)
    world.do(thread, "invoke", 2)
    assert [fork.status for fork in forks] == ["cancelled", "done"]
    assert world.do(forks[0], "resume") == 2
    assert world.ran == [1, 2]


def test_forks_that_cannot_be(world: World) -> None:
    """An unknown checkpoint, an unknown thread and the thread itself are refused."""
    thread = adding(world).thread("t")
    with pytest.raises(UnknownCheckpoint):
        thread.fork()
    world.do(thread, "invoke", 1)
    with pytest.raises(UnknownCheckpoint, match="'nowhere'"):
        thread.fork("nowhere")
    with pytest.raises(InvalidInput, match="exists already"):
        thread.fork(thread_id="t")


def test_a_handle_needs_a_checkpointer(world: World) -> None:
    """A workflow that keeps nothing has no threads to look at."""

    @world.entrypoint(checkpointer=None)
    async def wf(x: int) -> int:
        return x

    with pytest.raises(NoCheckpointer, match="keeps no past"):
        _ = wf.thread("t").state


def test_the_report_tells_what_was_reused(world: World) -> None:
    """`thread.report` is the last resumed run's: how many calls were reused and ran, without differences."""
    thread = asking(world).thread("t")
    world.do(thread, "invoke", 1)
    world.do(thread, "resume", "yes")
    report = thread.report
    assert (report.resumed, list(report), bool(report)) == (True, [], False)
    assert report.reused >= 1


def test_a_call_on_a_handle_takes_a_config(world: World) -> None:
    """Section 3: tags, metadata and the user's own keys reach the run and its checkpoints, on the handle's thread."""
    seen: list[Any] = []

    @world.entrypoint
    async def wf(x: int, *, config: Any) -> int:
        seen.append((config["tags"], config["metadata"]["by"], config["configurable"]["user"]))
        return x

    thread = wf.thread("t")
    given = {"tags": ["slow"], "metadata": {"by": "ann"}, "configurable": {"user": "u1"}}
    assert world.do(thread, "invoke", 3, given) == 3
    assert world.do(thread, "stream", 4, config=given, stream_mode="values") == [4]
    assert seen == [(["slow"], "ann", "u1")] * 2
    assert given["configurable"] == {"user": "u1"}
    assert (world.state(wf, "t").metadata or {})["by"] == "ann"


def test_an_answer_on_a_handle_takes_a_config(world: World) -> None:
    """What goes on with a run does so as it is told to: here in no more supersteps than it may take."""
    thread = asking(world).thread("t")
    world.do(thread, "invoke", 1, {"max_concurrency": 1})
    with pytest.raises(InvalidInput, match="max_concurrency must be at least 1, got 0"):
        world.do(thread, "resume", "yes", config={"max_concurrency": 0})
    assert world.do(thread, "resume", "yes", config={"max_concurrency": 1}) == [1, "yes"]


def test_a_config_may_name_the_handles_thread(world: World) -> None:
    """As one that was made for another call does; ids are texts."""
    thread = adding(world).thread("7")
    assert world.do(thread, "invoke", 3, thread.config) == 3
    assert world.do(thread, "invoke", 4, {"configurable": {"thread_id": 7}}) == 7


@pytest.mark.parametrize("method", ["invoke", "stream", "resume"])
def test_a_config_names_no_other_thread(world: World, method: str) -> None:
    """Neither of the two ids is known to be meant, so that nothing runs."""
    wf = adding(world)
    with pytest.raises(InvalidInput, match=r"thread_id'\] is 'other', and this is thread 't': leave it out"):
        world.do(wf.thread("t"), method, 3, config={"configurable": {"thread_id": "other"}})
    assert (wf.thread("t").status, wf.thread("other").status) == (None, None)


def test_a_config_that_is_none_is_refused(world: World) -> None:
    """A thread's id in its place is somebody's slip."""
    with pytest.raises(
        InvalidInput, match=r"config is 'other', which is no mapping: .* invoke\({'name': value"
    ):
        world.do(adding(world).thread("t"), "invoke", 3, "other")


@pytest.mark.parametrize("key", ["configurable", "metadata"])
def test_a_part_of_a_config_that_is_no_mapping_is_refused(world: World, key: str) -> None:
    """The error shows the key, and how its value is written."""
    with pytest.raises(
        InvalidInput, match=rf"config\['{key}'\] is 't', which is no mapping: pass {{'{key}': {{"
    ):
        world.do(adding(world).thread("t"), "invoke", 3, {key: "t"})


@pytest.mark.parametrize("key", ["configurable", "metadata"])
def test_a_name_in_a_config_that_is_no_text_is_refused(world: World, key: str) -> None:
    """The error shows the name, and how it is written."""
    with pytest.raises(InvalidInput, match=rf"config\['{key}'\] has the key 7, .* write {{'{key}': {{'7': "):
        world.do(adding(world).thread("t"), "invoke", 3, {key: {7: "t"}})


def test_tags_that_are_no_list_are_refused(world: World) -> None:
    """The error shows the value as an item of one."""
    with pytest.raises(InvalidInput, match=r"config\['tags'\] is 5, .*: pass {'tags': \['5'\]}"):
        world.do(adding(world).thread("t"), "invoke", 3, {"tags": 5})
