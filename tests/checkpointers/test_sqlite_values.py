"""What a file costs, and that what a saver remembers of it is what is in it."""

from __future__ import annotations

import random
import sqlite3
import string
from collections.abc import Iterator
from contextlib import closing, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from checkpointers import SqliteSaver
from checkpointers.channel_maps import Bases, ChannelMap, read
from checkpointers.conformance.rows import THREAD, PlainSerde, checkpoint, loaded, made, put
from checkpointers.packing import NOTHING, Other, packed
from checkpointers.short_forms import long_id, long_time, short_id, short_time
from checkpointers.sqlite_values import Values
from flowfn import entrypoint
from flowfn.errors import SerializationError
from flowfn.ports import Versioned

RANDOM = random.Random(4)


def said(length: int) -> str:
    """A text that doesn't repeat itself."""
    return "".join(RANDOM.choices(string.ascii_letters + " ", k=length))


@pytest.fixture
def savers(tmp_path: Path) -> Iterator[tuple[SqliteSaver, SqliteSaver]]:
    """Two that have one file open, as two processes have."""
    file = tmp_path / "runs.db"
    with SqliteSaver(file, serde=PlainSerde()) as one, SqliteSaver(file, serde=PlainSerde()) as other:
        yield one, other


def add(saver: SqliteSaver, turn: int, old: bytes | None, new: bytes) -> None:
    """Checkpoint number `turn`, whose channel `a` has grown."""
    grown = Versioned(turn + 1, new) if old is None else Versioned(turn + 1, None, (made(old, new),))
    parent = None if old is None else f"c{turn - 1}"
    put(saver, checkpoint(f"c{turn}", parent, versions={"a": turn + 1}, values={"a": grown}))


def conversation(turns: int, start: str = "") -> list[bytes]:
    """What a channel holds after each turn."""
    entries = [start + said(120) for _ in range(turns)]
    return ["".join(entries[: turn + 1]).encode() for turn in range(turns)]


def value_of(saver: SqliteSaver, turn: int | None = None) -> bytes | None:
    where = () if turn is None else ("", f"c{turn}")
    return loaded(saver, *where).checkpoint.values["a"].whole()


# -- what is remembered -----------------------------------------------------------------------------


def test_two_processes_write_a_thread_in_turns(savers: tuple[SqliteSaver, SqliteSaver]) -> None:
    """Each reads on from what it read before, and what the other added."""
    values = conversation(12)
    for turn, value in enumerate(values):
        writer, reader = savers if turn % 3 else savers[::-1]
        add(writer, turn, values[turn - 1] if turn else None, value)
        assert value_of(reader) == value
        assert value_of(reader, turn // 2) == values[turn // 2]


@pytest.mark.parametrize("others", [0, 1])
def test_a_thread_that_was_made_anew_elsewhere_is_read_as_it_is(
    savers: tuple[SqliteSaver, SqliteSaver], others: int
) -> None:
    """The same deltas of another value, while another thread is there or none: no key stands for two values."""
    reader, writer = savers
    for number in range(others):
        put(writer, checkpoint("c1"), thread=f"another {number}")
    for letter in (b"x", b"y", b"z"):
        values = [300 * letter + end for end in (b"", b"!", b"!!")]
        writer.delete_thread(THREAD)
        for turn, value in enumerate(values):
            add(writer, turn, values[turn - 1] if turn else None, value)
        assert value_of(reader) == values[-1]


def test_what_was_forgotten_and_made_anew_is_read_as_it_is(savers: tuple[SqliteSaver, SqliteSaver]) -> None:
    """After the last checkpoint was forgotten, the next one isn't taken for it."""
    reader, writer = savers
    for letter in (b"x", b"y"):
        add(writer, 0, None, 300 * letter)
        add(writer, 1, 300 * letter, 300 * letter + b"!")
        assert value_of(reader) == 300 * letter + b"!"
        writer.forget(THREAD, [("", "c1"), ("", "c0")])


def test_branches_are_read_apart(savers: tuple[SqliteSaver, SqliteSaver]) -> None:
    """What grows out of one checkpoint twice is two values."""
    reader, writer = savers
    values = conversation(4)
    for turn, value in enumerate(values):
        add(writer, turn, values[turn - 1] if turn else None, value)
    assert value_of(reader) == values[3]
    for name in ("left", "right"):
        grown = {"a": Versioned(5, None, (made(values[2], values[2] + name.encode()),))}
        put(writer, checkpoint(name, "c2", versions={"a": 5}, values=grown))
        assert value_of(reader) == values[2] + name.encode()
        assert value_of(reader, 3) == values[3]


def test_what_others_are_kept_beside_outlives_its_checkpoint(
    savers: tuple[SqliteSaver, SqliteSaver],
) -> None:
    """A forgotten checkpoint's values stay as long as one that is kept is read with them."""
    reader, writer = savers
    text = said(400).encode()
    put(writer, checkpoint("c1", versions={"in": 1}, values={"in": Versioned(1, text)}))
    kept = {"out": Versioned(2, b"heard: " + text)}
    put(writer, checkpoint("c2", "c1", versions={"out": 2}, values=kept))
    writer.forget(THREAD, [("", "c1")])
    found = loaded(reader).checkpoint
    assert (found.values, found.parent) == (kept, "c1")
    writer.forget(THREAD, [("", "c2")])
    with closing(sqlite3.connect(writer.path)) as db:
        assert db.execute("SELECT count(*) FROM value").fetchone() == (0,)


# -- what is kept -----------------------------------------------------------------------------------


def test_a_conversation_takes_what_was_said(tmp_path: Path) -> None:
    """G6: 400 turns that append 200 bytes to `previous` take no more than 0.3 MB, inputs and all."""
    with SqliteSaver(tmp_path / "runs.db") as saver:

        @entrypoint(checkpointer=saver)
        def chat(text: str, *, previous: Any = None) -> list[str]:
            return [*(previous or []), text]

        for _ in range(400):
            chat.invoke(said(200), thread_id="a long conversation")
    assert sum(file.stat().st_size for file in tmp_path.iterdir()) <= 300_000


@given(st.binary(max_size=5000), st.binary(min_size=96, max_size=4096), st.integers(0, 5000))
def test_a_value_is_kept_beside_another(data: bytes, other: bytes, at: int) -> None:
    """Whatever they have in common, it comes back."""
    data = data[:at] + other + data[at:]
    for beside in (NOTHING, Other(7, other)):
        assert through_a_row(*packed(data, beside), other) == data


def through_a_row(data: bytes, beside: int | None, other: bytes) -> bytes:
    """A value read from a table with another one in it."""
    with closing(sqlite3.connect(":memory:")) as db:
        db.execute("CREATE TABLE value (key INTEGER PRIMARY KEY, data BLOB, onto INTEGER, beside INTEGER)")
        db.executemany("INSERT INTO value VALUES (?, ?, NULL, ?)", [(7, other, None), (8, data, beside)])
        return Values().read(db.cursor(), 8)[0]


@given(st.binary(max_size=60), st.sampled_from([0, 7, 9]))
def test_a_damaged_value_is_refused(damaged: bytes, beside: int) -> None:
    """Hostile bytes either give a value of a bounded length, or a SerializationError."""
    with suppress(SerializationError):
        assert len(through_a_row(damaged, beside, b"other")) <= 4096


def test_a_value_whose_other_is_gone_is_refused() -> None:
    """The message says what happened to the database."""
    text = said(300).encode()
    with pytest.raises(SerializationError, match="rows of the database are missing or were changed"):
        through_a_row(*packed(b"heard: " + text, Other(9, text)), text)


names = st.text(st.characters(exclude_categories=()), max_size=8)
places = st.one_of(
    st.tuples(st.integers(0, 1 << 40)).map(list),
    st.tuples(st.integers(0, 1 << 40), st.integers(1 << 32, 1 << 50)).map(list),
)


@given(st.dictionaries(names, places), st.dictionaries(names, places | st.none()), st.integers(1, 1 << 20))
def test_a_map_comes_back(whole: dict[str, Any], changes: dict[str, Any], key: int) -> None:
    """Whole, and as what differs from an earlier one; with any names at all."""
    first, _ = ChannelMap(whole).as_bytes(key)
    base = Bases().read(key, first)
    made = ChannelMap(changes, base)
    stored, onto = made.as_bytes(key + 3)
    assert read(key, first, None).whole() == whole
    assert read(key + 3, stored, None if onto is None else base).whole() == made.whole()
    assert read(key + 3, made.difference(key + 3), base).whole() == made.whole()


@given(st.uuids().map(str) | st.text(max_size=40) | st.uuids().map(lambda id: str(id).upper()))
def test_an_id_comes_back(id: str) -> None:
    """In its own spelling, a UUID or not."""
    assert long_id(short_id(id)) == id


def test_a_uuid_takes_sixteen_bytes() -> None:
    """In its usual spelling."""
    assert len(short_id(str(UUID(int=5)))) == 16


@given(st.datetimes(timezones=st.just(UTC)).map(datetime.isoformat) | st.text(max_size=30))
def test_a_time_comes_back(time: str) -> None:
    """Letter by letter, a time or not."""
    assert long_time(short_time(time)) == time


@pytest.mark.parametrize(
    "time", ["2026-01-01T00:00:00Z", "2026-01-01", "2026-01-01T00:00:00+02:00", "20260101"]
)
def test_a_time_in_another_spelling_comes_back(time: str) -> None:
    """LangGraph's users write them as they like."""
    assert long_time(short_time(time)) == time
