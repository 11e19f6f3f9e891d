"""An upgrade strands no run in Postgres either: what is in a database of an older format, this release finishes.

A file has the rows of a database as that format kept them, with the runs of `programs.py` that were killed or wait, and
a chat whose values are deltas to each other.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from importlib import resources
from pathlib import Path
from typing import Any

import pytest

from checkpointers import PostgresSaver
from checkpointers.packing import NOTHING, packed
from checkpointers.postgres.forms import said_bytes, write_bytes
from checkpointers.short_forms import short_time
from flowfn import delta, entrypoint
from flowfn.ports import CheckpointRow, Commit, Versioned, WriteRow
from flowfn.postgres.text import to_text

from ..postgres_database import Database, new_database
from . import record

FORMAT = 3
ROWS = Path(__file__).parent / "0.1.0-format3.postgres.sql"
YOUNGER = {"kinds_of_errors", "streams"}
"""The programs that there weren't when the file was made."""

GOLDEN = {name: golden for name, golden in record.programs().GOLDEN.items() if name not in YOUNGER}
TURNS = 5


def create_older(database: Database, number: int) -> None:
    """The tables of a format, as its release made them."""
    folder = resources.files("checkpointers.postgres") / "migrations"
    database.execute("CREATE SCHEMA flowfn")
    database.execute("CREATE TABLE flowfn.migration (number integer PRIMARY KEY, at timestamptz NOT NULL)")
    for script in sorted(file.name for file in folder.iterdir() if file.name.endswith(".sql"))[:number]:
        database.connection.execute((folder / script).read_text("utf-8").encode())
        database.execute("INSERT INTO flowfn.migration VALUES (%s, now())", int(script.partition("_")[0]))


@pytest.fixture
def saver(postgres_server: str) -> Iterator[PostgresSaver]:
    """A database of the older format, opened by this release."""
    with new_database(postgres_server) as database:
        create_older(database, FORMAT)
        database.connection.execute(ROWS.read_bytes())
        with PostgresSaver(database.url) as opened:
            yield opened


def test_runs_that_an_older_format_left_are_finished(saver: PostgresSaver) -> None:
    """G1, G2: to the right answer, and only what was under way or not begun runs."""
    ran = record.programs().ran
    for name, golden in GOLDEN.items():
        ran.clear()
        answer: Any = golden.resume(record.thread_of(name, saver))
        assert (name, answer, ran) == (name, golden.answer, golden.ran)


def test_what_an_older_format_left_can_be_looked_at(saver: PostgresSaver) -> None:
    """Listings, states and histories of all threads are read."""
    assert {row.id for row in saver.threads()} == {*GOLDEN, "a\\b\nc"}
    for name in GOLDEN:
        assert list(record.thread_of(name, saver).history())


def test_a_chat_of_an_older_format_goes_on(saver: PostgresSaver) -> None:
    """Its values, deltas and all, are what they were, at each of its checkpoints; and grow by deltas again."""

    @entrypoint(checkpointer=saver)
    def talk(message: str, *, previous: Any = None) -> list[str]:
        return [*(previous or []), message]

    said = [f"{number}: " + "what was said " * 20 for number in range(TURNS)]
    thread = talk.thread("a\\b\nc")
    assert thread.state.values == said
    states = [one.values for one in thread.history() if isinstance(one.values, list)]
    assert all(state == said[: len(state)] for state in states)
    assert {len(state) for state in states} >= set(range(1, TURNS + 1))
    assert thread.invoke("more") == [*said, "more"]
    assert thread.state.values == [*said, "more"]


def test_a_thread_of_an_older_format_can_be_forgotten(saver: PostgresSaver) -> None:
    """All but its last checkpoint, and then all: nothing of it stays, and nothing else goes."""
    name = "a\\b\nc"
    before = {row.id for row in saver.threads()}
    latest = saver.load(name)
    saver.prune([name])
    assert saver.load(name) == latest
    assert len(saver.places(name)) == 1
    saver.delete_thread(name)
    assert {row.id for row in saver.threads()} == before - {name}


def test_writes_of_an_older_format_keep_their_names(postgres_server: str) -> None:
    """Escapes, indexes and bytes are what they meant, in their order."""
    names = ["", "a\\b", "\0", "\\0", "\\\0\\", "a\nb", "é"]
    with new_database(postgres_server) as database:
        create_older(database, 5)
        database.execute("INSERT INTO flowfn.thread (id, created_at, updated_at) VALUES ('t', '', '')")
        database.execute(
            "INSERT INTO flowfn.checkpoint VALUES (5, 1, 0, 'c1', '', NULL, 'loop', '', '', '', '', '')"
        )
        for number, name in enumerate(names):
            database.execute(
                "INSERT INTO flowfn.write (checkpoint, task, idx, channel, data, path) VALUES (5, %s, %s, %s, %s, %s)",
                *(to_text(name), -number, to_text(name), b"\0" * number, to_text(name)),
            )
        with PostgresSaver(database.url) as saver:
            (found,) = saver.history("t")
    assert found.writes == [
        WriteRow(name, -number, name, b"\0" * number, name) for number, name in enumerate(names)
    ]


ID = uuid.UUID("01a20315-a9aa-7446-aa51-3502315a20f1")
AT = "2026-11-22T11:30:17.123456+00:00"
TEXT = b"so it goes " * 20
CHANGE = delta.make(b"old" * 99, b"old" * 99 + b"more") or b""
WRITE = WriteRow("task", 0, "channel", b"value")


def test_checkpoints_of_format_7_are_what_they_were(postgres_server: str) -> None:
    """Ids and times in short and at length, any names of channels; values shared, changed, and beside others."""
    names = ["", "a\nb", "\n", "\\n", "a\\", "\0", "%", "é", "last"]
    lines = [name.replace("\\", "\\\\").replace("\0", "\\0").replace("\n", "\\n") for name in names]
    channels = "".join(f"{line}\n" for line in lines)
    kept, beside = packed(TEXT, NOTHING, 96)
    time = short_time(AT)
    assert isinstance(time, int)
    own, shared = ["1:0"] * 8, ["1:2"] * 8
    checkpoints: list[tuple[Any, ...]] = [
        (
            5,
            1,
            0,
            ID.bytes,
            "",
            None,
            "input",
            time.to_bytes(8),
            b"body",
            b"",
            channels,
            " ".join([*own, "1:0.1"]),
        ),
        (
            7,
            1,
            1,
            b"c2",
            "",
            ID.bytes,
            "a\\\\b",
            b"20260101\0",
            b"",
            b"m",
            channels,
            " ".join([*shared, "2:-7"]),
        ),
        (8, 1, 2, b"sixteen letters!\0", "sub", b"c2", "loop", b"1999", b"b", b"", "", ""),
        (9, 1, None, b"named", "", None, None, None, None, None, None, None),
    ]
    values = [
        (5 << 20, None, beside, kept),
        ((5 << 20) + 1, None, None, b"old" * 99),
        (7 << 20, (5 << 20) + 1, None, CHANGE),
    ]
    with new_database(postgres_server) as database:
        create_older(database, 7)
        database.execute("INSERT INTO flowfn.thread (id, created_at, updated_at) VALUES ('t', '', '')")
        for row in checkpoints:
            database.execute(f"INSERT INTO flowfn.checkpoint VALUES ({', '.join(['%s'] * 12)})", *row)
        for value in values:
            database.execute("INSERT INTO flowfn.value VALUES (%s, %s, %s, %s)", *value)
        database.execute("INSERT INTO flowfn.write (checkpoint, data) VALUES (9, %s)", write_bytes([WRITE]))
        with PostgresSaver(database.url) as saver:
            last, middle, first = (found.checkpoint for found in saver.history("t", None))
            saver.commit([Commit("t", items=[middle._replace(id="named", parent="c2", values={})])])
            named = saver.load("t", "", "named")
    versions = dict.fromkeys(names, 1)
    held = {**dict.fromkeys(names, Versioned(1, TEXT)), "last": Versioned(1, b"old" * 99)}
    assert first == CheckpointRow("", str(ID), None, 0, "input", AT, b"body", b"", versions, held)
    assert list(first.versions) == names
    changed = {**held, "last": Versioned(2, b"old" * 99, (CHANGE,))}
    versions["last"] = 2
    assert middle == CheckpointRow("", "c2", str(ID), 1, "a\\b", "20260101", b"", b"m", versions, changed)
    assert last == CheckpointRow("sub", "sixteen letters!", "c2", 2, "loop", "1999", b"b", b"", {}, {})
    assert named is not None
    assert (named.checkpoint.values, named.writes) == (changed, [WRITE])


def test_an_unfinished_run_of_format_8_is_adopted(postgres_server: str) -> None:
    """By its call, however it ended; and no finished one."""
    statuses = ["running", "interrupted", "failed", "cancelled", "done"]
    with new_database(postgres_server) as database:
        create_older(database, 8)
        for status in statuses:
            database.execute(
                "INSERT INTO flowfn.thread (id, workflow, call, status, created_at, updated_at)"
                " VALUES (%s, 'shop', %s, %s, '', '')",
                *(status, f"call {status}", status),
            )
        with PostgresSaver(database.url) as saver:
            leases = [saver.adopt("shop", f"call {status}") for status in statuses]
    assert [lease and lease.thread for lease in leases] == [*statuses[:3], None, None]


def test_checkpoints_of_format_9_are_found(postgres_server: str) -> None:
    """By their ids, whether those ascend or not; forgotten ones and such as writes alone have named among them."""
    put = ["c1", "c2", "c1", "c0", "c3"]
    rows = [("a", id, True) for id in put[:2]] + [("b", id, True) for id in put[2:]]
    rows += [("c", "c1", True), ("c", "\0left", False), ("c", "c2", True), ("c", "named", False)]
    with new_database(postgres_server) as database:
        create_older(database, 9)
        database.execute("INSERT INTO flowfn.thread (id, created_at, updated_at) VALUES ('t', '', '')")
        for namespace, id, is_put in rows:
            said = said_bytes(CheckpointRow(namespace, id, None, 0, "loop", "", b"", b"", {}))
            database.execute(
                "INSERT INTO flowfn.checkpoint (thread, id, namespace, said, places) VALUES (1, %s, %s, %s, '')",
                *(id.encode(), namespace, said if is_put else None),
            )
        with PostgresSaver(database.url) as saver:
            for namespace, id, is_put in rows:
                assert (saver.load("t", namespace, id) is not None) == is_put
            for namespace in "abc":
                for id in ("c0", "c9", "named"):
                    row = CheckpointRow(namespace, id, None, 1, "loop", "", b"", b"", {})
                    saver.commit([Commit("t", items=[row])])
                    found = saver.load("t", namespace, id)
                    assert found is not None
                    assert found.checkpoint.step == 1
                    assert saver.places("t").count((namespace, id)) == 1
        ordered = database.execute(
            "SELECT namespace, id FROM flowfn.checkpoint WHERE ordered ORDER BY namespace, id"
        )
    assert ordered == [("a", b"c1"), ("a", b"c2"), ("b", b"c1"), ("c", b"c1")]
