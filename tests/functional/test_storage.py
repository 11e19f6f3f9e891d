"""Storage grows with what changed, and what is read back is what was put (G6)."""

import contextlib
import operator
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any, TypedDict

import pytest

from checkpointers import MemorySaver
from flowfn import entrypoint
from flowfn.errors import SaverError
from flowfn.ports import CheckpointRow, Writes
from graph_compat.func import entrypoint as langgraphs_entrypoint
from graph_compat.graph import END, START, StateGraph

from ..worlds import World

TEXT = "so it goes " * 20


class Put:
    """How many bytes of channels' values and of writes a saver was given, and how many values of each form."""

    def __init__(self) -> None:
        self.bytes = 0
        self.forms: list[str] = []

    def count(self, row: CheckpointRow | Writes) -> None:
        if isinstance(row, Writes):
            self.bytes += sum(len(write.value) for write in row.rows if write.path)
            return
        for held in row.values.values():
            for part in (held.value, *held.deltas):
                self.bytes += len(part or b"")
            self.forms.append("delta" if held.deltas else "whole")


@contextmanager
def counted(world: World, monkeypatch: pytest.MonkeyPatch) -> Iterator[Put]:
    """Counts what is put meanwhile."""
    put, commit = Put(), world.saver.commit

    def counting(commits: Any, **options: Any) -> Any:
        for one in commits:
            for item in one.items:
                put.count(item)
        return commit(commits, **options)

    with monkeypatch.context() as patched:
        patched.setattr(world.saver, "commit", counting)
        yield put


def chat(world: World, **options: Any) -> Any:
    """A conversation that is its own `previous`."""

    @world.entrypoint(**options)
    async def wf(text: str, *, previous: Any = None) -> list[str]:
        return [*(previous or []), text]

    return wf


@pytest.mark.parametrize("durability", ["sync", "async", "exit"])
def test_a_conversation_costs_its_turns(
    world: World, durability: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """25 turns of 220 characters cost not much more than these, and are all there."""
    wf = chat(world)
    turns = [f"{turn}: {TEXT}" for turn in range(25)]
    with counted(world, monkeypatch) as put:
        for turn in turns:
            result = world.invoke(wf, turn, thread_id="t", durability=durability)
    assert result == turns
    assert world.state(wf, "t").values == turns
    assert put.bytes < 5 * len("".join(turns))


@pytest.mark.parametrize("of", ["flowfn", "langgraph"])
def test_the_last_result_is_decoded_by_who_reads_it_and_by_no_next_call(
    of: str, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A call replaces it unread; what it needs of the one before is what that saved."""

    async def talk(text: str, *, previous: Any = None) -> list[str]:
        return [*(previous or []), text]

    langgraphs = langgraphs_entrypoint(checkpointer=world.saver)
    wf = world.entrypoint(talk) if of == "flowfn" else langgraphs(world.colour(talk))
    config = {"configurable": {"thread_id": "t"}}
    world.invoke(wf, TEXT, config)
    serde = world.saver.serde
    loads, decoded = serde.loads, list[bytes]()
    monkeypatch.setattr(serde, "loads", lambda data: (decoded.append(data), loads(data))[1])
    assert world.invoke(wf, "more", config) == [TEXT, "more"]
    assert len([data for data in decoded if TEXT.encode() in data]) == 1
    assert world.do(wf, "get_state", config).values == [TEXT, "more"]


def test_an_entrypoint_of_langgraphs_costs_its_turns(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """What it came to is stored as what the next checkpoint holds, not as its task's writes as well."""

    async def talk(text: str, *, previous: Any = None) -> list[str]:
        return [*(previous or []), text]

    wf = langgraphs_entrypoint(checkpointer=world.saver)(world.colour(talk))
    turns = [f"{turn}: {TEXT}" for turn in range(25)]
    with counted(world, monkeypatch) as put:
        for turn in turns:
            result = world.invoke(wf, turn, {"configurable": {"thread_id": "t"}})
    assert result == turns
    assert put.bytes < 5 * len("".join(turns))


def test_the_past_tells_what_each_call_came_to(world: World) -> None:
    """A snapshot of an input has the result that it led to, though that is kept with the next one alone."""
    wf = chat(world)
    for turn in ("a", "b"):
        world.invoke(wf, turn, thread_id="t")
    results = [task.result for state in world.history(wf, "t") for task in state.tasks]
    assert results == [["a", "b"], ["a"]]


def test_conversations_of_one_name_in_two_databases_stay_apart() -> None:
    """What a process remembers of a thread is told by what it is made of, not by the thread's id."""

    @entrypoint
    def chat(text: str, *, previous: Any = None) -> list[str]:
        return [*(previous or []), text]

    with MemorySaver() as one, MemorySaver() as other:
        for turn in range(8):
            for letter, saver in (("a", one), ("b", other)):
                said = chat.with_checkpointer(saver).thread("t")(letter if turn == 0 else TEXT)
                assert said == [letter, *turn * [TEXT]]


def test_every_checkpoint_of_a_conversation_can_be_read(world: World) -> None:
    """What is made of parts is what it was at each turn."""
    wf = chat(world)
    turns = [f"{turn}: {TEXT}" for turn in range(12)]
    for turn in turns:
        world.invoke(wf, turn, thread_id="t")
    ended = [one.values for one in world.history(wf, "t") if isinstance(one.values, list) and not one.next]
    lengths = [len(values) for values in ended]
    assert lengths == sorted(lengths, reverse=True)
    assert set(lengths) >= set(range(1, 13))
    assert all(values == turns[: len(values)] for values in ended)


def test_a_value_changed_in_place_is_stored_as_it_is(world: World) -> None:
    """What `previous` is handed is the caller's to change: the next result holds what it is then."""

    @world.entrypoint
    async def wf(text: str, *, previous: Any = None) -> Any:
        seen = previous or {"first": TEXT, "log": []}
        seen["log"].append(text)
        seen["first"] = seen["first"].replace("goes", text, 1)
        return seen

    expected: dict[str, Any] = {"first": TEXT, "log": []}
    for turn in range(8):
        expected["log"].append(str(turn))
        expected["first"] = expected["first"].replace("goes", str(turn), 1)
        world.invoke(wf, str(turn), thread_id="t")
        assert world.state(wf, "t").values == expected


def test_a_fork_builds_on_what_it_forked_from(world: World) -> None:
    """Branches of one conversation share its beginning, and nothing else."""
    wf = chat(world)
    for turn in range(4):
        world.invoke(wf, f"{turn}: {TEXT}", thread_id="t")
    middle = next(
        one
        for one in world.history(wf, "t")
        if isinstance(one.values, list) and len(one.values) == 2 and not one.next
    )
    for branch in ("left", "right"):
        given = {"configurable": middle.config["configurable"]}
        result = world.invoke(wf, f"{branch}: {TEXT}", config=given)
        assert [text.split(":")[0] for text in result] == ["0", "1", branch]
        assert world.state(wf, "t").values == result


class State(TypedDict):
    messages: Annotated[list[str], operator.add]
    other: int


def test_a_reducer_costs_what_it_adds(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """A StateGraph whose list grows by one on each step stores the new entries."""

    async def talk(state: State) -> dict[str, Any]:
        return {"messages": [f"{len(state['messages'])}: {TEXT}"]}

    graph = StateGraph(State)
    graph.add_node("talk", world.colour(talk))
    graph.add_edge(START, "talk")
    graph.add_conditional_edges("talk", lambda state: END if len(state["messages"]) == 25 else "talk")
    compiled = graph.compile(checkpointer=world.saver)
    with counted(world, monkeypatch) as put:
        result = world.invoke(
            compiled,
            {"messages": ["first"], "other": 1},
            {"configurable": {"thread_id": "t"}, "recursion_limit": 100},
        )
    whole = len("".join(result["messages"]))
    assert put.bytes < 5 * whole
    state = world.do(compiled, "get_state", {"configurable": {"thread_id": "t"}})
    assert state.values == result


def test_what_follows_a_failed_commit_is_stored_whole(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """A delta is only made to what is known to be stored."""
    wf = chat(world)
    world.invoke(wf, TEXT, thread_id="t")
    commit = world.saver.commit

    def failing(commits: Any, **options: Any) -> Any:
        if any(isinstance(item, CheckpointRow) and item.values for one in commits for item in one.items):
            return [SaverError("the disk is full")] * len(commits)
        return commit(commits, **options)

    monkeypatch.setattr(world.saver, "commit", failing)
    with pytest.raises(SaverError):
        world.invoke(wf, TEXT, thread_id="t")
    monkeypatch.setattr(world.saver, "commit", commit)
    assert world.invoke(wf, TEXT, thread_id="t") == [TEXT] * 2
    assert world.state(wf, "t").values == [TEXT] * 2


def test_a_reader_needs_no_more_than_twice_what_there_is(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Reading stays bounded: a value that was changed often is stored whole again."""

    @world.entrypoint
    async def wf(turn: int, *, previous: Any = None) -> list[int]:
        counts = previous or [0] * 500
        counts[turn % 500] = turn
        return counts

    for turn in range(30):
        world.invoke(wf, turn, thread_id="t")
    loaded = world.saver.load("t")
    assert loaded is not None
    for held in loaded.checkpoint.values.values():
        whole = len(held.whole() or b"")
        assert sum(map(len, held.deltas)) + 256 * len(held.deltas) <= 2 * whole


def test_a_relative_path_is_one_file_while_a_run_is_under_way(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A task may change the folder of the process for a while: what begins meanwhile is kept where the others are."""
    monkeypatch.chdir(tmp_path)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()

    @entrypoint(checkpointer="runs.db")
    def wf(moves: bool) -> str:
        if moves:
            with contextlib.chdir(elsewhere):
                beside = threading.Thread(target=wf.invoke, args=(False,), kwargs={"thread_id": "beside"})
                beside.start()
                beside.join()
        return "done"

    wf.invoke(True, thread_id="moves")
    assert {row.id for row in wf.threads()} == {"moves", "beside"}
    assert not list(elsewhere.iterdir())
