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
from checkpointers.conformance.rows import (
    THREAD,
    PlainSerde,
    checkpoint,
    loaded,
    made,
    put,
    write,
    writes,
)
from checkpointers.packing import NOTHING, Other, packed, unpacked
from checkpointers.short_forms import long_id, long_time, short_id, short_time
from checkpointers.sqlite.channel_maps import Bases, ChannelMap, after, read
from flowfn import entrypoint
from flowfn.errors import CorruptDataError, SerializationError
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


@given(
    st.binary(max_size=5000),
    st.binary(min_size=96, max_size=4096),
    st.integers(0, 5000),
    st.sampled_from([96, 1024]),
)
def test_a_value_is_kept_beside_another(data: bytes, other: bytes, at: int, alone: int) -> None:
    """Whatever they have in common, it comes back."""
    data = data[:at] + other + data[at:]
    for beside in (NOTHING, Other(7, other)):
        kept, key = packed(data, beside, alone)
        assert unpacked(kept, key, other, None) == data


@given(st.binary(max_size=60), st.sampled_from([0, 7]))
def test_a_damaged_value_is_refused(damaged: bytes, beside: int) -> None:
    """Hostile bytes either give a value of a bounded length, or a SerializationError."""
    with suppress(SerializationError):
        assert len(unpacked(damaged, beside, b"other", None)) <= 4096


@given(st.lists(st.binary(max_size=200), max_size=120), st.randoms(use_true_random=False))
def test_values_come_back_whatever_shares_a_row(values: list[bytes], chance: random.Random) -> None:
    """Small ones and large ones, equal ones too, put at once, and some of them again."""
    first = {f"k{number}": Versioned(1, value) for number, value in enumerate(values)}
    again = {name: Versioned(2, held.value) for name, held in first.items() if chance.random() < 0.5}
    with SqliteSaver(":memory:", serde=PlainSerde()) as saver:
        put(saver, checkpoint("c1", versions=dict.fromkeys(first, 1), values=first))
        versions = {name: 2 if name in again else 1 for name in first}
        put(saver, checkpoint("c2", "c1", versions=versions, values=again))
        assert loaded(saver).checkpoint.values == {**first, **again}
        assert loaded(saver, "", "c1").checkpoint.values == first
        saver.forget(THREAD, [("", "c1")])
        assert loaded(saver).checkpoint.values == {**first, **again}


def test_small_values_of_a_checkpoint_share_a_row(savers: tuple[SqliteSaver, SqliteSaver]) -> None:
    """G6: 500 numbers that all change take a few hundred bytes each time, and their map next to none."""
    saver, _ = savers
    for turn in range(1, 101):
        values = {f"k{number:03}": Versioned(turn, b"%d" % (turn + number)) for number in range(500)}
        parent = f"c{turn - 1}" if turn > 1 else None
        put(saver, checkpoint(f"c{turn}", parent, versions=dict.fromkeys(values, turn), values=values))
    assert loaded(saver).checkpoint.values == values
    with closing(sqlite3.connect(saver.path)) as db:
        assert db.execute("SELECT count(*) FROM value").fetchone() == (100,)
        assert db.execute("SELECT sum(length(data)) < 100 * 1000 FROM value").fetchone() == (1,)
        assert db.execute("SELECT sum(length(channels)) < 2 * 10000 FROM checkpoint").fetchone() == (1,)


def test_a_value_that_is_put_again_goes_behind_those_that_share_a_row(
    savers: tuple[SqliteSaver, SqliteSaver],
) -> None:
    """A checkpoint may be put twice: neither what it had nor what it has is taken for another."""
    saver, other = savers
    for letter in (b"x", b"y"):
        values = {name: Versioned(1, letter + name.encode()) for name in "abc"}
        put(saver, checkpoint("c1", versions=dict.fromkeys("abc", 1), values=values))
        put(saver, checkpoint(f"on {letter!r}", "c1", versions=dict.fromkeys("abc", 1)))
    assert loaded(other).checkpoint.values == values
    first = loaded(other, "", "on b'x'").checkpoint.values
    assert first == {name: Versioned(1, b"x" + name.encode()) for name in "abc"}


def test_a_value_of_a_few_bytes_takes_no_row(savers: tuple[SqliteSaver, SqliteSaver]) -> None:
    """G6: a number or a word is in the map of the checkpoints that have it, and outlives the one that put it."""
    saver, other = savers
    for turn in range(1, 4):
        parent = f"c{turn - 1}" if turn > 1 else None
        values = {"a": Versioned(turn, b"%d" % turn), **({"b": Versioned(1, b"")} if turn == 1 else {})}
        put(saver, checkpoint(f"c{turn}", parent, versions={"a": turn, "b": 1}, values=values))
    saver.forget(THREAD, [("", "c1")])
    assert loaded(other).checkpoint.values == {"a": Versioned(3, b"3"), "b": Versioned(1, b"")}
    with closing(sqlite3.connect(saver.path)) as db:
        assert db.execute("SELECT count(*) FROM value").fetchone() == (0,)


def test_a_value_of_a_few_bytes_may_change(savers: tuple[SqliteSaver, SqliteSaver]) -> None:
    """What is put as a change of a value that has no row is a change of that one, in two channels too."""
    saver, other = savers
    old, grown = b"some words", b"some words and more"
    put(saver, checkpoint("c1", versions={"a": 1, "b": 1}, values=dict.fromkeys("ab", Versioned(1, old))))
    change = Versioned(2, None, (made(old, grown),))
    put(saver, checkpoint("c2", "c1", versions={"a": 2, "b": 2}, values=dict.fromkeys("ab", change)))
    saver.forget(THREAD, [("", "c1")])
    for found in (loaded(saver), loaded(other)):
        assert found.checkpoint.values == dict.fromkeys("ab", Versioned(2, old, change.deltas))


def test_a_small_value_may_change(savers: tuple[SqliteSaver, SqliteSaver]) -> None:
    """What is put as a change of a value that shares a row is a change of that one."""
    saver, other = savers
    old = {name: Versioned(1, name.encode() * 40) for name in "abc"}
    put(saver, checkpoint("c1", versions=dict.fromkeys("abc", 1), values=old))
    grown = b"b" * 40 + b"!"
    change = {"b": Versioned(2, None, (made(b"b" * 40, grown),))}
    put(saver, checkpoint("c2", "c1", versions={"a": 1, "b": 2, "c": 1}, values=change))
    for found in (loaded(saver), loaded(other)):
        assert found.checkpoint.values["b"].whole() == grown
    saver.forget(THREAD, [("", "c1")])
    assert {name: held.whole() for name, held in loaded(other).checkpoint.values.items()} == {
        "a": old["a"].value,
        "b": grown,
        "c": old["c"].value,
    }


# -- what rots --------------------------------------------------------------------------------------


def rotten(path: Path) -> Iterator[tuple[str, bytes]]:
    """Copies of a file, with each byte of what a row holds changed in turn."""
    data = path.read_bytes()
    with closing(sqlite3.connect(path)) as db:
        kept = [
            (table, piece)
            for table, columns in (
                ("value", "data"),
                ('"write"', "data"),
                ("checkpoint", "id, body, metadata, channels"),
            )
            for row in db.execute(f"SELECT {columns} FROM {table}")
            for piece in row
        ]
    for table, piece in kept:
        held = piece.encode() if isinstance(piece, str) else piece
        at = data.find(held)
        if data.count(held) == 1:
            for place in range(at, at + len(held)):
                yield table, data[:place] + bytes([data[place] ^ 1 << place % 8]) + data[place + 1 :]


def test_each_byte_that_rots_is_noticed(tmp_path: Path) -> None:
    """G2: of values, what changed in them, writes and checkpoints; the error says where, and what to do."""
    path, copy = tmp_path / "runs.db", tmp_path / "copy.db"
    values = conversation(3)
    with SqliteSaver(path, serde=PlainSerde()) as saver:
        small = {name: Versioned(1, name.encode() * 5) for name in "xyz"}
        start = {**small, "a": Versioned(1, values[0])}
        put(saver, checkpoint("the first one", versions=dict.fromkeys("axyz", 1), values=start))
        put(saver, writes("the first one", write("some task", 0, b"what it wrote", "a channel")))
        grown = {"a": Versioned(2, None, (made(values[0], values[1]),))}
        put(saver, checkpoint("the second one", "the first one", versions={"a": 2, "x": 1}, values=grown))
        original = [*saver.history(THREAD)]
    noticed = set()
    for table, data in rotten(path):
        copy.write_bytes(data)
        with (
            SqliteSaver(copy, serde=PlainSerde()) as saver,
            pytest.raises(
                CorruptDataError,
                match=f"copy.db: .*thread '{THREAD}', checkpoint .* changed since.*restore a copy",
            ),
        ):
            assert [*saver.history(THREAD)] == original
        noticed.add(table)
    assert noticed == {"value", '"write"', "checkpoint"}


@pytest.mark.parametrize("table", ["value", '"write"'])
def test_a_row_in_anothers_place_is_noticed(tmp_path: Path, table: str) -> None:
    """G2: such as of another page, whose own bytes are as they were written."""
    with SqliteSaver(tmp_path / "runs.db", serde=PlainSerde()) as saver:
        for thread in ("one", "two"):
            value = {"a": Versioned(1, thread.encode() * 10)}
            put(
                saver,
                checkpoint("c", versions={"a": 1}, values=value),
                writes("c", write("t")),
                thread=thread,
            )
        with saver._database.writing() as db:
            first, second = (key for (key,) in db.execute(f"SELECT key FROM {table}"))
            for key, place in ((first, -1), (second, first), (-1, second)):
                db.execute(f"UPDATE {table} SET key = ? WHERE key = ?", (place, key))
        with pytest.raises(CorruptDataError, match=r"thread 'one', checkpoint 'c': .*changed since"):
            saver.load("one")


def test_writes_that_are_missing_between_others_are_noticed(savers: tuple[SqliteSaver, SqliteSaver]) -> None:
    """G2: a recorded outcome isn't passed over."""
    saver, _ = savers
    put(saver, checkpoint("c1"))
    for task in ("a", "b", "c"):
        put(saver, writes("c1", write(task)))
    with saver._database.writing() as db:
        db.execute('DELETE FROM "write" WHERE key = (SELECT min(key) + 1 FROM "write")')
    with pytest.raises(CorruptDataError, match="checkpoint 'c1': what its tasks wrote: rows are missing"):
        loaded(saver)


def test_a_value_that_is_missing_is_noticed(savers: tuple[SqliteSaver, SqliteSaver]) -> None:
    """G2: none is taken for its neighbour; nor is one read without the one that it stands beside, or changes."""
    saver, _ = savers
    text = said(400).encode()
    put(saver, checkpoint("c1", versions={"in": 1}, values={"in": Versioned(1, text)}))
    kept = {"out": Versioned(2, b"heard: " + text), "x": Versioned(2, b"x"), "y": Versioned(2, b"y")}
    put(saver, checkpoint("c2", "c1", versions={"out": 2, "x": 2, "y": 2}, values=kept))
    with saver._database.writing() as db:
        db.execute("DELETE FROM value WHERE key = (SELECT min(key) FROM value)")
    with pytest.raises(CorruptDataError, match="channel 'out': the row beside its own is missing"):
        loaded(saver)
    with saver._database.writing() as db:
        db.execute("DELETE FROM value WHERE key = (SELECT max(key) FROM value)")
    with pytest.raises(CorruptDataError, match="channel 'out': its row is missing"):
        loaded(saver)


names = st.text(
    st.characters(exclude_categories=("Cs",)), max_size=8
)  # a program refuses what no database keeps
places = st.one_of(
    st.tuples(st.integers(0, 1 << 40)),
    st.tuples(st.integers(0, 1 << 40), st.integers(1 << 32, 1 << 50)),
    st.tuples(st.integers(0, 1 << 40), st.binary(max_size=12)),
)


@given(st.dictionaries(names, places), st.dictionaries(names, places | st.none()), st.integers(1, 1 << 20))
def test_a_map_comes_back(whole: dict[str, Any], changes: dict[str, Any], key: int) -> None:
    """Whole, and as what differs from an earlier one; with any names at all."""
    first, _ = ChannelMap(whole).as_bytes(key)
    base = Bases().read(key, first)
    assert Bases().keep(key, first, dict(sorted(whole.items()))) == base
    made = ChannelMap(changes, base)
    stored, kept = made.as_bytes(key + 3)
    assert read(key, first, None).whole() == whole
    assert read(key + 3, stored, kept.base).whole() == made.whole() == kept.whole()
    assert read(key + 3, made.difference(key + 3), base).whole() == made.whole()


channels = st.sampled_from("abcdefgh")


@given(
    st.dictionaries(channels, st.integers(1, 3)),
    st.lists(st.tuples(st.dictionaries(channels, st.integers(4, 6)), st.frozensets(channels)), max_size=8),
)
def test_a_map_is_the_same_however_it_came_about(
    first: dict[str, int], steps: list[tuple[dict[str, int], frozenset[str]]]
) -> None:
    """Channels come, change and go: what is told of a step is the map that all its versions make."""
    whole: dict[str, Any] = {name: (version, key_of_value(1, name)) for name, version in first.items()}
    data, stored = ChannelMap(whole).as_bytes(1)
    parent = Bases().keep(1, data, stored.changes).map()
    for key, (fresh, gone) in enumerate(steps, 2):
        own: dict[str, Any] = {name: (version, key_of_value(key, name)) for name, version in fresh.items()}
        whole = {name: place for name, place in {**whole, **own}.items() if name in fresh or name not in gone}
        versions = {name: place[0] for name, place in whole.items()}
        values = {name: Versioned(version, b"") for name, version in fresh.items()}
        row = checkpoint(f"c{key}", versions=versions, values=values)
        parent = after(parent, row, own)
        assert parent.whole() == whole


def key_of_value(checkpoint: int, channel: str) -> int:
    return (checkpoint << 32) + ord(channel)


ids, times = st.uuids().map(str), st.datetimes(timezones=st.just(UTC)).map(datetime.isoformat)
letters = st.sampled_from("0159-:.+T aZ٣") | st.characters()


def misspelled(texts: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    """Such texts, a letter of which is another one."""
    return st.tuples(texts, st.integers(0, 35), letters).map(lambda t: t[0][: t[1]] + t[2] + t[0][t[1] + 1 :])


@given(ids | misspelled(ids) | st.text(max_size=40) | ids.map(str.upper))
def test_an_id_comes_back(id: str) -> None:
    """In its own spelling, a UUID or not."""
    assert long_id(short_id(id)) == id


def test_a_uuid_takes_sixteen_bytes() -> None:
    """A UUID in its usual spelling is stored as its bytes."""
    assert len(short_id(str(UUID(int=5)))) == 16


@given(times | misspelled(times) | st.text(max_size=30))
def test_a_time_comes_back(time: str) -> None:
    """Letter by letter, a time or not."""
    assert long_time(short_time(time)) == time


@pytest.mark.parametrize(
    "time",
    [
        *("2026-01-01T00:00:00Z", "2026-01-01", "2026-01-01T00:00:00+02:00", "20260101"),
        *("2026-01-01T00:00:00.000000+00:00", "2026-01-01T00:00:60.000001+00:00"),
    ],
)
def test_a_time_in_another_spelling_comes_back(time: str) -> None:
    """LangGraph's users write them as they like."""
    assert long_time(short_time(time)) == time
