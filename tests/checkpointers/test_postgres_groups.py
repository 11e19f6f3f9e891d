"""Commits of several threads at once, in Postgres: a statement for each kind of them, an answer for each (G1, G4)."""

from __future__ import annotations

import asyncio
from typing import Any

import psycopg
import pytest

from checkpointers.conformance.rows import checkpoint, claimed, made, put, write, writes
from flowfn import entrypoint, task
from flowfn.errors import LeaseLost, SaverError
from flowfn.ports import Begin, Commit, Versioned

from ..postgres_database import Database

NAMES = [f"thread {number}" for number in range(6)]


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The statements that go to the server."""
    found: list[str] = []
    execute = psycopg.RawCursor.execute

    def noted(self: Any, query: str, *args: Any, **kwargs: Any) -> Any:
        found.append(query)
        return execute(self, query, *args, **kwargs)

    monkeypatch.setattr(psycopg.RawCursor, "execute", noted)
    return found


def test_each_commit_has_its_own_rows_and_answer(postgres_database: Database, sent: list[str]) -> None:
    """Whole values, changes of them, shared ones and none; one of a lost lease leaves nothing, and the others stay."""
    saver = postgres_database.saver()
    leases = {name: claimed(saver, name) for name in NAMES}
    lost = claimed(saver, NAMES[2], force=True)
    texts = {name: f"what {name} holds ".encode() * 9 for name in NAMES}
    rows = {
        name: checkpoint("c1", versions={"a": 1}, values={"a": Versioned(1, texts[name])}) for name in NAMES
    }
    sent.clear()
    begun = [Commit(name, leases[name], [rows[name]], begin=Begin("wf", name)) for name in NAMES]
    told = [type(refusal) for refusal in saver.commit(begun)]
    assert told == [type(None)] * 2 + [LeaseLost] + [type(None)] * 3
    assert len(sent) == 1

    sent.clear()
    added = [Commit(name, leases[name], [writes("c1", write(name, value=name.encode()))]) for name in NAMES]
    assert [type(refusal) for refusal in saver.commit(added)] == [type(None)] * 2 + [LeaseLost] + [
        type(None)
    ] * 3
    assert len(sent) == 4  # BEGIN, one for those that are known to be put, one for the one that isn't, COMMIT

    leases[NAMES[2]] = lost
    put(saver, rows[NAMES[2]], thread=NAMES[2], lease=lost)
    sent.clear()
    ends = []
    for number, name in enumerate(NAMES):
        change = Versioned(2, None, (made(texts[name], texts[name] + b"more"),))
        values = [{"a": change}, {}, {"a": Versioned(2, None)}][number % 3]
        last = checkpoint("c2", "c1", versions={"a": 2 if values else 1}, values=values)
        ends.append(Commit(name, leases[name], [last], status="done", release=number != 5))
    assert saver.commit(ends) == [None] * 6
    assert len(sent) == 4  # BEGIN, those with a value, those without, COMMIT

    for number, name in enumerate(NAMES):
        loaded = saver.load(name)
        before = saver.load(name, "", "c1")
        assert loaded is not None
        assert before is not None
        whole = [texts[name] + b"more", texts[name], None][number % 3]
        assert loaded.checkpoint.values["a"].whole() == whole
        assert [row.value for row in before.writes] == ([] if number == 2 else [name.encode()])
        listed = saver.thread(name)
        assert listed is not None
        assert (listed.status, listed.owner is None) == ("done", number != 5)
        assert listed.call == ("" if number == 2 else name)
    saver.release(leases[NAMES[5]])


def test_one_that_was_named_before_is_no_hindrance(postgres_database: Database) -> None:
    """Each is tried by itself then, and one that can't be stored fails alone."""
    saver = postgres_database.saver()
    leases = {name: claimed(saver, name) for name in NAMES}
    put(saver, writes("c1", write("early")), thread=NAMES[1])
    commits = [Commit(name, leases[name], [checkpoint("c1")]) for name in NAMES]
    commits[3].items = [checkpoint("c1", namespace="\ud800")]
    refused = [isinstance(refusal, SaverError) for refusal in saver.commit(commits)]
    assert refused == [False, False, False, True, False, False]
    assert saver.load(NAMES[3]) is None
    assert [len(found.writes) for name in NAMES if (found := saver.load(name))] == [0, 1, 0, 0, 0]
    for lease in leases.values():
        saver.release(lease)


def test_two_commits_of_one_thread_keep_their_order(postgres_database: Database) -> None:
    """Beside another thread's, which is no reason to put the second one first."""
    saver = postgres_database.saver()
    one, other = claimed(saver, "one"), claimed(saver, "other")
    commits = [
        Commit("one", one, [checkpoint("c1")], status="running"),
        Commit("other", other, [checkpoint("c1")]),
        Commit("one", one, [checkpoint("c2", "c1")]),
        Commit("one", one, [writes("c2", write("task"))], status="done", release=True),
    ]
    assert saver.commit(commits) == [None] * 4
    assert [found.checkpoint.id for found in saver.history("one")] == ["c2", "c1"]
    listed = saver.thread("one")
    assert listed is not None
    assert listed.status == "done"
    saver.release(other)


def test_runs_at_once_share_their_statements(postgres_database: Database, sent: list[str]) -> None:
    """A hundred workflows of three tasks on an event loop take no more statements than a few dozen."""

    @task
    async def add(number: int) -> int:
        return number + 1

    @entrypoint(checkpointer=postgres_database.saver())
    async def three(number: int) -> int:
        for _ in range(3):
            number = await add(number)
        return number

    async def together() -> list[int]:
        await three.ainvoke(0, thread_id="first")
        sent.clear()
        return await asyncio.gather(*(three.ainvoke(n, thread_id=f"{n}") for n in range(100)))

    assert asyncio.run(together()) == [number + 3 for number in range(100)]
    assert len(sent) <= 60
