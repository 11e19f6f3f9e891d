"""Threads of which little is kept go on as if all were."""

from __future__ import annotations

import operator
from pathlib import Path
from typing import Annotated, Any, TypedDict

import pytest

from checkpointers import CheckpointSaver, MemorySaver, PostgresSaver, SqliteSaver
from flowfn import Command, entrypoint, interrupt, task
from flowfn.errors import DatabaseLocked, InvalidInput
from graph_compat.graph import START, StateGraph
from graph_compat.types import Command as GraphCommand
from graph_compat.types import interrupt as graph_interrupt

ONE: Any = {"configurable": {"thread_id": "1"}}


@pytest.fixture(params=["memory", "sqlite", "postgres"])
def saver(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    """Each, keeping one checkpoint of each namespace."""
    if request.param == "memory":
        made: CheckpointSaver = MemorySaver(retention=1)
    elif request.param == "sqlite":
        made = SqliteSaver(tmp_path / "runs.db", retention=1)
    else:
        made = PostgresSaver(request.getfixturevalue("postgres_url"), retention=1)
    with made:
        yield made


def test_a_workflow_answers_and_remembers(saver: CheckpointSaver) -> None:
    """G1: with one checkpoint left each time that it stops."""
    ran: list[int] = []

    @task
    def double(n: int) -> int:
        ran.append(n)
        return 2 * n

    @entrypoint(checkpointer=saver)
    def flow(n: int, *, previous: Any = ()) -> Any:
        answer = (double(n).result(), interrupt("ok?"))
        return entrypoint.final(value=(previous, answer), save=(*previous, answer))

    for n in range(3):
        flow.invoke(n, thread_id="1")
        assert len(saver.places("1")) == 1
        said = flow.invoke(Command(resume=str(n)), thread_id="1")
    assert said == (((0, "0"), (2, "1")), (4, "2"))
    assert ran == [0, 1, 2]


def test_a_graph_in_a_graph_goes_on(saver: CheckpointSaver) -> None:
    """The last checkpoint of each of them is kept; nodes that have finished don't run again."""

    class State(TypedDict):
        xs: Annotated[list[Any], operator.add]

    ran: list[str] = []
    below = StateGraph(State)
    below.add_node("before", lambda state: ran.append("before") or {"xs": ["before"]})
    below.add_node("ask", lambda state: {"xs": [graph_interrupt("?")]})
    below.add_edge(START, "before").add_edge("before", "ask")
    graph: Any = StateGraph(State).add_node("below", below.compile()).add_edge(START, "below")
    app = graph.compile(checkpointer=saver)
    app.invoke({"xs": []}, ONE)
    assert len(saver.places("1")) == 2
    assert app.invoke(GraphCommand(resume="yes"), ONE)["xs"] == ["before", "yes"]
    assert ran == ["before"]


def test_what_is_kept_does_not_grow_with_the_turns(tmp_path: Path) -> None:
    """G6: of a value that only changes, about as much is kept after 200 turns as after 40."""
    with SqliteSaver(tmp_path / "runs.db", retention=1) as saver:

        @entrypoint(checkpointer=saver)
        def chat(turn: int, *, previous: list[str] | None = None) -> list[str]:
            return [*(previous or ["x" * 50] * 100)[:-1], f"turn {turn}"]

        sizes = []
        for turn in range(200):
            chat.invoke(turn, thread_id="1")
            if turn in (39, 199):
                with saver._database.reading() as db:
                    sizes.append(db.execute("SELECT sum(length(data)) FROM value").fetchone()[0])
    assert sizes[1] < 1.5 * sizes[0]


@pytest.mark.parametrize("kind", [MemorySaver, lambda **more: SqliteSaver(":memory:", **more)])
def test_retention_keeps_something(kind: Any) -> None:
    """`retention=` keeps one checkpoint at least, and less is refused by that name."""
    with pytest.raises(
        InvalidInput, match="retention=0 is no number of checkpoints to keep: pass 1 or more, or None"
    ):
        kind(retention=0)
    with pytest.raises(InvalidInput, match=r"^count=0 is no number of checkpoints to keep: pass 1 or more$"):
        kind().keep_last("ann", 0)


def test_a_run_does_not_fail_for_what_could_not_be_forgotten(caplog: pytest.LogCaptureFixture) -> None:
    """G1: its outcome is durable; the log says what is left over."""

    class Stuck(MemorySaver):
        def forget(self, thread: str, places: Any) -> None:
            raise DatabaseLocked("locked")

    saver = Stuck(retention=1)
    flow = entrypoint(checkpointer=saver)(lambda n: n)
    assert flow.invoke(1, thread_id="1") == 1
    assert len(saver.places("1")) == 2
    assert [record.levelname for record in caplog.records] == ["WARNING"]
