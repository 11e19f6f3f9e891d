"""How the Postgres saver spells what it keeps: everything comes back, in fewer bytes."""

from __future__ import annotations

import random
import re
import string
from contextlib import suppress
from datetime import datetime
from typing import Any
from uuid import UUID

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from checkpointers import PostgresSaver
from checkpointers.conformance.rows import THREAD, checkpoint, claimed, loaded, made, put, write, writes
from checkpointers.postgres.forms import (
    id_bytes,
    id_of,
    own_word,
    places_of,
    row_of,
    said_bytes,
    said_of,
    shared_word,
    spelled,
    value_at,
    write_bytes,
    writes_of,
)
from checkpointers.postgres.looks import _BASE, _LAST, _LOOK
from checkpointers.postgres.reading import _PLACES_OF_THREAD, _query
from checkpointers.postgres.statements import ADD_WRITES_TO
from flowfn import entrypoint
from flowfn.errors import LeaseLost, SaverError, SerializationError
from flowfn.ports import Begin, CheckpointRow, Commit, Versioned, WriteRow
from flowfn.postgres.text import from_text, to_text

from ..postgres_database import Database, new_database
from ..postgres_server import private_server

texts = st.text(st.characters(exclude_categories=("Cs",)), max_size=20)


@given(st.uuids().map(str) | texts)
@example("sixteen letters!")
@example("fifteen letters\0")
@example("fifteen letters\\")
def test_an_id_comes_back(id: str) -> None:
    """A UUID or not, whatever its length."""
    assert id_of(id_bytes(id)) == id


@given(texts, texts)
@example("sixteen letters!", "sixteen letters!\0")
def test_no_two_ids_become_one(one: str, other: str) -> None:
    """Ids that differ are stored as bytes that differ, whatever is in them."""
    assert (id_bytes(one) == id_bytes(other)) == (one == other)


times = (st.datetimes() | st.datetimes(datetime(1969, 12, 31, 23), datetime(1970, 1, 1, 1))).map(
    lambda time: f"{time.isoformat()}+00:00"
) | texts
alike = st.binary(max_size=3).map(lambda end: str(UUID(bytes=bytes(16 - len(end)) + end)))
"""Ids that begin with the same bytes."""
checkpoints = st.builds(
    CheckpointRow,
    texts,
    texts | st.uuids().map(str) | alike,
    st.none() | texts | st.uuids().map(str) | alike,
    st.integers(-(1 << 31), (1 << 31) - 1),
    texts,
    times,
    st.binary(max_size=100),
    st.binary(max_size=20),
    st.dictionaries(texts, st.just(1), max_size=20),
    st.just({}),
)


@given(checkpoints)
@example(CheckpointRow("", "c", None, 1, "loop", "20260101", b"", b"", {"a" * 5000: 1}))
@example(CheckpointRow("", "c", "", 1, "", "1969-12-31T23:59:59.999999+00:00", b"__start__" * 9, b"", {}))
def test_what_a_checkpoint_says_comes_back(row: CheckpointRow) -> None:
    """Letter by letter; deflated, or longer than what is."""
    said = said_of(said_bytes(row))
    found = row_of(to_text(row.namespace), id_bytes(row.id), said, versions=dict.fromkeys(said.channels, 1))
    assert found == row
    assert list(found.versions) == list(row.versions)


@pytest.mark.parametrize(
    ("parent", "id"),
    [
        ("1f1e6681-78b8-6bd3-aa51-3502315a20f1", "1f1e6681-78bf-6933-8c14-91c2315a20f2"),
        ("01a20305-6da0-7446-aa51-3502315a20f1", "01a20305-6da3-7446-8c14-91c2315a20f2"),
    ],
    ids=["version 6", "version 7"],
)
def test_names_of_flowfn_s_take_little(parent: str, id: str) -> None:
    """An entrypoint's checkpoint says what it is in less than fifty bytes; a quarter of them are its parent's id."""
    body = b"\x01\x92\x81\xa4chat\x81\xa9__start__\xcd\x03!\x92\xa7__end__\xac__previous__"
    time, versions = "2026-11-22T11:30:17.123456+00:00", {"__end__": 802, "__previous__": 802}
    row = CheckpointRow("", id, parent, 800, "loop", time, body, b"", versions)
    assert len(said_bytes(row)) <= 48


@given(st.binary(max_size=60))
@example(b"")
@example(b"\x97")
@example(b"\x03\x00")
def test_what_no_checkpoint_says_is_damage(data: bytes) -> None:
    """It is read, or refused by name."""
    with suppress(SerializationError):
        said_of(data)


def test_a_name_without_a_spelling_is_refused() -> None:
    """As a name, and not as bytes that msgpack can't make."""
    row = CheckpointRow("", "c", None, 1, "loop", "", b"", b"", {"\ud800": 1})
    with pytest.raises(UnicodeEncodeError):
        said_bytes(row)


@given(texts)
def test_a_name_comes_back(name: str) -> None:
    """With NULs and backslashes in it, too."""
    assert "\0" not in to_text(name)
    assert from_text(to_text(name)) == name


names = texts | st.just("\0")
rows = st.builds(
    WriteRow, names, st.integers(-(1 << 63), (1 << 63) - 1), names, st.binary(max_size=20), names
)


@given(st.lists(rows, max_size=5))
def test_writes_come_back(rows: list[WriteRow]) -> None:
    """In their order, whatever is in their names."""
    assert list(writes_of(write_bytes(rows))) == rows


@given(st.binary(max_size=40))
@example(b"\x94\xa1t\x00\xa1c\xc4\x00")
@example(b"\xcf")
def test_other_bytes_are_damage(data: bytes) -> None:
    """They are read as writes, or refused by name."""
    with suppress(SerializationError):
        list(writes_of(data))


NAMES = ["", "a\nb", "\n", "\\n", "a\\", "a:b.1 2", "\0", "%", "é"]


@pytest.mark.parametrize("names", [[], [""], NAMES])
def test_a_map_of_any_names_comes_back(postgres_database: Database, names: list[str]) -> None:
    """And a checkpoint shares by them what it doesn't put, with a value or without."""
    saver = postgres_database.saver()
    versions = {name: number for number, name in enumerate(names, 1)}
    values = {
        name: Versioned(number, None if number == 2 else b"%d" % number) for name, number in versions.items()
    }
    put(saver, checkpoint("c1", versions=versions, values=values))
    put(saver, checkpoint("c2", "c1", versions=versions))
    found = loaded(saver, "", "c2").checkpoint.values
    assert found == values
    assert list(found) == names


def test_a_map_is_words() -> None:
    """A version; how many keys ago its value's checkpoint was put; which one of its values it is, but for the first."""
    assert places_of(7, ["a", "b", "c", "d", "e"], "3 4:0.1 5:2  6:-3.2") == {
        "a": (3, None),
        "b": (4, (7 << 20) + 1),
        "c": (5, 5 << 20),
        "d": (5, 5 << 20),
        "e": (6, (3 << 20) + 2),
    }


@given(st.lists(st.sampled_from(["1", "2", "1:0", "2:-3"])))
def test_a_word_that_repeats_is_left_empty(words: list[str]) -> None:
    """And is the one before it when it's read."""
    text = spelled(words)
    assert text.count("2:-3") <= words.count("2:-3")
    found = places_of(7, [f"{nth}" for nth in range(len(words))], text)
    assert [*found.values()] == [(int(word[0]), value_at(7, word)) for word in words]


@given(st.integers(0, 1 << 40), st.integers(0, 1 << 40), st.integers(0, (1 << 20) - 1))
def test_a_place_says_which_value_it_is(key: int, put: int, nth: int) -> None:
    """Of the checkpoint itself, of another one, or of none."""
    assert value_at(key, own_word(3, nth)) == (key << 20) + nth
    assert value_at(key, shared_word(3, (put + 1 << 20) + nth)) == (put + 1 << 20) + nth
    assert value_at(key, shared_word(3, None)) is None


@pytest.mark.parametrize("count", [1, 16, 17, 40])
def test_who_holds_a_thread_shares_what_it_has_read_or_put(postgres_database: Database, count: int) -> None:
    """Under one lease, after another; however many values there are, the same ones among them, and deltas to them."""
    saver = postgres_database.saver()
    names = [f"n{number}" for number in range(count)]
    first = {name: Versioned(1, b"%d" % (number % 3) * 50) for number, name in enumerate(names)}
    lease = claimed(saver)
    put(saver, checkpoint("c1", versions=dict.fromkeys(names, 1), values=first), lease=lease)
    expected = dict(first)
    for number in range(2, 8):
        if number % 3 == 0:
            saver.release(lease)
            lease = claimed(saver)
            assert loaded(saver).checkpoint.id == f"c{number - 1}"
        changed = {names[number % count]: Versioned(number, b"value %d" % number * 10)}
        if number % 2:
            grown = names[0]
            held = expected[grown].value or b""
            delta = made(held, held + b"more")
            changed[grown] = Versioned(number, None, (delta,))
            expected[grown] = Versioned(number, held + b"more")
        expected |= {name: value for name, value in changed.items() if value.value is not None}
        versions = {name: value.version for name, value in expected.items()}
        row = checkpoint(f"c{number}", f"c{number - 1}", versions=versions, values=changed)
        put(saver, row, lease=lease)
        with PostgresSaver(postgres_database.url, serde=saver.serde) as other:
            found = loaded(other).checkpoint.values
        assert {name: value.whole() for name, value in found.items()} == {
            name: value.value for name, value in expected.items()
        }
    saver.release(lease)


def test_a_checkpoint_put_again_leaves_values_to_others(postgres_database: Database) -> None:
    """What a later one shares with it stays what it was."""
    saver = postgres_database.saver()
    put(saver, checkpoint("c1", versions={"a": 1}, values={"a": Versioned(1, b"first")}))
    put(saver, checkpoint("c2", "c1", versions={"a": 1}))
    put(saver, checkpoint("c1", versions={"a": 1}, values={"a": Versioned(1, b"second")}))
    read = [row.checkpoint.values["a"].value for row in saver.history(None, None)]
    assert read == [b"first", b"second"]


HELD = """
    SELECT (SELECT count(*) FROM flowfn.value) + (SELECT count(*) FROM flowfn.checkpoint WHERE data IS NOT NULL)"""
"""How many values there are."""


def test_a_small_value_that_the_parent_holds_is_not_kept_again(postgres_database: Database) -> None:
    """Whatever channel holds it and in whatever version; another process reads it, and it outlives the parent."""
    saver = postgres_database.saver()
    lease = claimed(saver)
    for number, value in enumerate([b"\xc0", b"\xc0", b"other", b"other", b"longer than eight", b"\xc0"], 1):
        name = f"to:{number}"
        held = {"count": Versioned(number, b"%d" % number), name: Versioned(number, value)}
        put(
            saver,
            checkpoint(f"c{number}", f"c{number - 1}", versions=dict.fromkeys(held, number), values=held),
            lease=lease,
        )
        with PostgresSaver(postgres_database.url, serde=saver.serde) as other:
            assert loaded(other).checkpoint.values == held
    assert postgres_database.execute(HELD) == [(6 + 4,)]
    saver.release(lease)
    saver.forget(THREAD, [("", f"c{number}") for number in (1, 3)])
    assert loaded(saver, "", "c2").checkpoint.values["to:2"] == Versioned(2, b"\xc0")
    assert loaded(saver, "", "c4").checkpoint.values["to:4"] == Versioned(4, b"other")


def test_a_forgotten_checkpoint_stays_as_long_as_its_values_are_needed(postgres_database: Database) -> None:
    """Its row is gone when those are."""
    saver = postgres_database.saver()
    put(
        saver,
        checkpoint(
            "c1", versions={"a": 1, "b": 1}, values={"a": Versioned(1, b"a"), "b": Versioned(1, b"b")}
        ),
    )
    put(saver, checkpoint("c2", "c1", versions={"a": 1, "b": 2}, values={"b": Versioned(2, b"c")}))
    put(
        saver,
        checkpoint("c3", "c2", versions={"a": 1, "b": 3}, values={"b": Versioned(3, None, (b"delta",))}),
    )
    (thread,) = {row.thread for row in saver.history(None)}
    whole = saver.load(thread)
    saver.forget(thread, [("", "c1"), ("", "c2")])
    assert saver.load(thread) == whole
    assert saver.load(thread, "", "c1") is None
    assert [id for _, id in saver.places(thread)] == ["c3"]
    assert postgres_database.execute(HELD) == [(3,)]
    put(saver, checkpoint("c1", "c3", versions={}))
    saver.forget(thread, [("", "c3")])
    assert postgres_database.execute(HELD) == [(0,)]
    assert postgres_database.execute("SELECT count(*) FROM flowfn.checkpoint") == [(1,)]
    saver.delete_thread(thread)
    assert postgres_database.execute("SELECT count(*) FROM flowfn.checkpoint") == [(0,)]


def test_writes_follow_the_checkpoint_that_they_have_named(postgres_database: Database) -> None:
    """Put after another, it comes after it, with what was written under it before."""
    saver = postgres_database.saver()
    put(saver, writes("c2", write("task")))
    put(saver, checkpoint("c1"))
    put(saver, checkpoint("c2", "c1"))
    assert [(row.checkpoint.id, len(row.writes)) for row in saver.history(None)] == [("c2", 1), ("c1", 0)]


def test_what_is_added_under_one_checkpoint_at_once_is_one_row(postgres_database: Database) -> None:
    """In as many as hold a megabyte each, where there is more."""
    saver = postgres_database.saver()
    put(saver, checkpoint("c1"))
    given = [write(f"{number}", value=b"x" * (1 << 18)) for number in range(6)]
    put(saver, writes("c1", *given))
    assert list(loaded(saver).writes) == given
    assert postgres_database.execute("SELECT count(*) FROM flowfn.write") == [(2,)]


def test_writes_find_a_checkpoint_that_is_put_between_them(postgres_database: Database) -> None:
    """Under one lease, alone and in one commit: named by writes first, then put, with its key known and not."""
    saver = postgres_database.saver()
    lease = claimed(saver)
    put(saver, writes("c1", write("before")), lease=lease)
    put(saver, writes("c1", write("again")), lease=lease)
    put(saver, checkpoint("c0"), lease=lease)
    put(saver, checkpoint("c1"), writes("c1", write("with")), lease=lease)
    put(saver, writes("c1", write("after")), lease=lease)
    put(saver, writes("c1", write("last")), lease=lease)
    saver.release(lease)
    assert [row.task for row in loaded(saver).writes] == ["before", "again", "with", "after", "last"]
    assert postgres_database.execute("SELECT count(*) FROM flowfn.checkpoint") == [(2,)]


def test_a_commit_is_whole_whatever_was_named_before(postgres_database: Database) -> None:
    """G1: a checkpoint, the writes before it and what becomes of the run; alone, and beside another thread's commit."""
    saver = postgres_database.saver()
    first, second = claimed(saver, "first"), claimed(saver, "second")
    put(saver, checkpoint("c1"), thread="first", lease=first)
    put(saver, writes("c2", write("early")), thread="first", lease=first)
    both = [
        Commit("first", first, items=[writes("c1", write("task")), checkpoint("c2", "c1")]),
        Commit("second", second, items=[checkpoint("c1")], status="interrupted"),
    ]
    assert saver.commit(both) == [None, None]
    items = [writes("c2", write("late")), checkpoint("c3", "c2")]
    put(saver, *items, thread="first", lease=first, status="done", release=True)
    found = {row.checkpoint.id: [one.task for one in row.writes] for row in saver.history("first")}
    assert found == {"c3": [], "c2": ["early", "late"], "c1": ["task"]}
    assert {row.id: (row.status, row.owner is None) for row in saver.threads()} == {
        "first": ("done", True),
        "second": ("interrupted", False),
    }
    saver.release(second)


def test_writes_under_a_checkpoint_that_is_known_need_the_lease_too(postgres_database: Database) -> None:
    """G4: whoever was taken over adds nothing to what it has put itself."""
    saver = postgres_database.saver()
    lease = claimed(saver)
    put(saver, checkpoint("c1"), lease=lease)
    put(saver, writes("c1", write("mine")), lease=lease)
    saver.release(claimed(saver, force=True))
    (refusal,) = saver.commit([Commit(THREAD, lease, items=[writes("c1", write("late"))])])
    assert isinstance(refusal, LeaseLost)
    assert [row.task for row in loaded(saver).writes] == ["mine"]


def said(length: int) -> str:
    """A message that doesn't compress into nothing."""
    return "".join(random.choices(string.ascii_letters + " ", k=length))


BESIDE = "SELECT count(*) FROM flowfn.checkpoint WHERE beside > 0"


def test_a_value_is_kept_beside_what_the_parent_was_put_with(postgres_database: Database) -> None:
    """Under one lease; and another process reads it, and keeps its own beside nothing that it doesn't know."""
    saver = postgres_database.saver()
    lease = claimed(saver)
    text = said(400).encode()
    values = {"out": Versioned(2, b"heard: " + text)}
    put(saver, checkpoint("c1", versions={"in": 1}, values={"in": Versioned(1, text)}), lease=lease)
    put(saver, checkpoint("c2", "c1", versions={"out": 2}, values=values), lease=lease)
    assert postgres_database.execute(BESIDE) == [(1,)]
    with PostgresSaver(postgres_database.url, serde=saver.serde) as other:
        assert loaded(other).checkpoint.values == values
        put(
            other, checkpoint("c3", "c2", versions={"out": 3}, values={"out": Versioned(3, b"said: " + text)})
        )
        assert loaded(other).checkpoint.values["out"].value == b"said: " + text
    assert postgres_database.execute(BESIDE) == [(1,)]
    saver.release(lease)
    saver.forget(THREAD, [("", "c1"), ("", "c3")])
    assert loaded(saver).checkpoint.values == values


def test_what_a_value_would_be_beside_is_gone(postgres_database: Database) -> None:
    """The commit is refused, where it would leave what nobody can read: the server lost what it said it had kept."""
    saver = postgres_database.saver()
    lease = claimed(saver)
    text = said(400).encode()
    put(saver, checkpoint("c1", versions={"in": 1}, values={"in": Versioned(1, text)}), lease=lease)
    postgres_database.execute("UPDATE flowfn.checkpoint SET data = NULL, beside = NULL")
    row = checkpoint("c2", "c1", versions={"out": 2}, values={"out": Versioned(2, b"heard: " + text)})
    (refusal,) = saver.commit([Commit(THREAD, lease, items=[row])])
    assert isinstance(refusal, SaverError)


def test_a_holder_that_seemed_dead_may_not_go_on_from_what_was_forgotten(postgres_database: Database) -> None:
    """Its next commit is refused; and the thread is free, though it lives."""
    saver = postgres_database.saver()
    with PostgresSaver(postgres_database.url, serde=saver.serde) as late:
        lease = claimed(late)
        put(late, checkpoint("c1", versions={"a": 1}, values={"a": Versioned(1, b"a")}), lease=lease)
        elsewhere = "1@0@000000000000@elsewhere@elsewhere"
        postgres_database.execute("UPDATE flowfn.thread SET owner = %s, expires = now()", elsewhere)
        saver.forget(THREAD, [("", "c1")])
        assert postgres_database.execute("SELECT owner FROM flowfn.thread") == [(None,)]
        (refusal,) = late.commit([Commit(THREAD, lease, items=[checkpoint("c2", "c1")])])
        assert isinstance(refusal, LeaseLost)


def test_a_put_is_planned_once_for_values_that_lean_on_others_and_once_for_the_rest(
    postgres_database: Database,
) -> None:
    """Whether they are whole or deflated, and beside another or a delta."""
    saver = postgres_database.saver()
    lease = claimed(saver)
    text = said(400).encode()
    alone, whole = Versioned(1, b"short"), Versioned(1, text)
    beside, delta = Versioned(1, b"heard: " + text), Versioned(1, None, (made(text, text + b"more"),))
    number = 0

    def planned_after(kinds: list[Versioned]) -> int:
        nonlocal number
        for kind in kinds:
            number += 1
            values = {"a": kind._replace(version=number)}
            put(
                saver,
                checkpoint(f"c{number}", f"c{number - 1}", versions={"a": number}, values=values),
                lease=lease,
            )
        with saver._database.lock:
            query = "SELECT count(*) FROM pg_prepared_statements"
            return int(saver._database.commit(lambda db: db.execute(query).fetchall())[0][0])

    first = planned_after([alone, whole, beside] * 4)
    assert planned_after([delta, alone, beside, whole] * 4) == first
    saver.release(lease)


def test_a_checkpoint_of_an_id_is_not_walked_to(postgres_server: str) -> None:
    """Statements that are planned while the tables are empty look its key up, and the last one by the order of keys."""
    with new_database(postgres_server) as database, PostgresSaver(database.url) as saver:

        def planned(query: str, *parameters: Any) -> str:
            with saver._database.lock:
                lines = saver._database.commit(
                    lambda db: db.execute(f"EXPLAIN {query}", parameters).fetchall()
                )
            return "\n".join(line for (line,) in lines).partition("CTE part")[0]

        by_id = {
            planned(_query(("thread", "namespace", "id")), 1, "t", "", b"id", []),
            planned(_LOOK, "t", 1, "", b"id"),
            planned(_BASE, 1, "", b"id"),
            planned(ADD_WRITES_TO, "t", 1, "", b"id", b""),
            planned(_PLACES_OF_THREAD, "", b"id", "t"),
        }
        for plan in by_id:
            assert re.search(r"Index Cond: .*thread = .*namespace = .*key = ", plan), plan
        for plan in (planned(_query(("thread", "namespace")), 1, "t", "", []), planned(_LAST, 1, "")):
            assert "Backward using checkpoint_pkey" in plan


ROWS_IN_ORDER = """
    INSERT INTO flowfn.checkpoint (thread, namespace, id, ordered, said)
    SELECT 1, '', int8send(n), true, '' FROM generate_series(1, {}) AS counted (n)"""
ROWS_OUT_OF_ORDER = """
    INSERT INTO flowfn.checkpoint (thread, namespace, id, said)
    SELECT 1, '', int8send(n), '' FROM generate_series({0} * 2, {0} + 1, -1) AS counted (n)"""
PAGES = "EXPLAIN (ANALYZE, BUFFERS, SUMMARY OFF, TIMING OFF, FORMAT JSON) SELECT {}"


def test_a_key_is_found_by_few_looks(postgres_database: Database) -> None:
    """Of an id in the order or out of it, and of none; and whether an id follows: however long the history is."""
    postgres_database.saver()

    def read(call: str) -> int:
        ((found,),) = postgres_database.execute(PAGES.format(call))
        return int(found[0]["Plan"]["Shared Hit Blocks"])

    def most(count: int) -> tuple[int, int]:
        postgres_database.empty()
        postgres_database.execute(ROWS_IN_ORDER.format(count))
        follows = read(f"flowfn.follows(1, '', int8send({count + 1}))")
        postgres_database.execute(ROWS_OUT_OF_ORDER.format(count))
        keys = [read(f"flowfn.key_of(1, '', int8send({n}))") for n in range(0, 2 * count + 2, count // 10)]
        return follows, max(keys)

    most(10)
    follows, found = most(4000)
    assert follows <= 10
    assert found <= 100


def test_ids_in_order_are_in_no_index_of_ids(postgres_database: Database) -> None:
    """From the first one on that isn't greater than the one before it, or that writes have named, they are."""
    saver = postgres_database.saver()
    for id in ("c1", "c2", "c3"):
        put(saver, checkpoint(id), thread="early")
    for id in ("c1", "c0", "c3"):
        put(saver, checkpoint(id), thread="back")
    put(saver, checkpoint("c1"), thread="named")
    put(saver, writes("c2", write("task")), thread="named")
    put(saver, checkpoint("c3"), thread="named")
    put(saver, checkpoint("c2"), thread="named")
    put(saver, checkpoint("c1", namespace="sub"), thread="named")
    of = "thread = (SELECT key FROM flowfn.thread WHERE id = %s)"
    rows = f"SELECT id, ordered FROM flowfn.checkpoint WHERE {of} ORDER BY key"
    held = {name: postgres_database.execute(rows, name) for name in ("early", "back", "named")}
    assert held == {
        "early": [(b"c1", True), (b"c2", True), (b"c3", True)],
        "back": [(b"c1", True), (b"c0", False), (b"c3", False)],
        "named": [(b"c1", True), (b"c3", False), (b"c2", False), (b"c1", True)],
    }


names_of_rows = st.sampled_from([f"c{number}" for number in range(9)])


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(st.tuples(st.sampled_from(["put", "put", "put", "write", "forget"]), names_of_rows), max_size=25)
)
def test_each_checkpoint_is_found_by_its_id(
    postgres_database: Database, steps: list[tuple[str, str]]
) -> None:
    """Put in any order and again, named by writes, or forgotten while others need its values; and no other is."""
    saver = postgres_database.saver()
    held: dict[str, bytes] = {}
    lease = claimed(saver)
    for number, (kind, id) in enumerate(steps):
        if kind == "put" and id not in held:
            values = {} if held else {"a": Versioned(1, b"first")}
            row = checkpoint(id, next(reversed(held), None), versions={"a": 1}, values=values)
            put(saver, row, lease=lease)
            held[id] = b"first"
        elif kind == "write":
            put(saver, writes(id, write(f"{number}")), lease=lease)
        elif kind == "forget" and len(held) > 1 and id in held:
            saver.release(lease)
            saver.forget(THREAD, [("", id)])
            lease = claimed(saver)
            del held[id]
    for id in (f"c{number}" for number in range(9)):
        found = saver.load(THREAD, "", id)
        assert (found and found.checkpoint.values["a"].value) == held.get(id)
    order = [id for _, id in saver.places(THREAD)]
    assert order == [*reversed(held)]
    for nth, id in enumerate(order, 1):
        assert [one.checkpoint.id for one in saver.history(THREAD, None, before=id)] == order[nth:]
    saver.release(lease)


def test_a_conversation_changes_no_index_of_threads(postgres_database: Database) -> None:
    """But for its first runs: what an index is of stays what it was, so that the row's forms share a page."""
    saver = postgres_database.saver()
    indexed = set()
    for number in range(40):
        lease = claimed(saver)
        put(saver, lease=lease, begin=Begin("chat", f"call {number}"))
        indexed |= {
            (number, *row) for row in postgres_database.execute("SELECT id, sought FROM flowfn.thread")
        }
        put(saver, lease=lease, status="done", release=True)
        indexed |= {
            (number, *row) for row in postgres_database.execute("SELECT id, sought FROM flowfn.thread")
        }
    assert len({row[1:] for row in indexed if row[0] >= 16}) == 1
    indexes = "SELECT pg_get_indexdef(indexrelid) FROM pg_index WHERE indrelid = 'flowfn.thread'::regclass"
    assert {index.partition(" btree ")[2] for (index,) in postgres_database.execute(indexes)} == {
        "(id)",
        "(sought) WHERE (sought IS NOT NULL)",
    }


SIZE = "SELECT sum(pg_total_relation_size(relid)) FROM pg_stat_user_tables"


@pytest.mark.usefixtures("postgres_server")
def test_a_conversation_takes_little_more_than_what_was_said() -> None:
    """G6: 400 turns that append 200 bytes to `previous` add no more than 0.3 MB, indexes and all, with no vacuum.

    The server is its own: a transaction that somebody has open keeps others from cleaning up.
    """
    with (
        private_server() as server,
        new_database(server.url()) as database,
        PostgresSaver(database.url) as saver,
    ):

        @entrypoint(checkpointer=saver)
        def chat(text: str, *, previous: Any = None) -> list[str]:
            return [*(previous or []), text]

        empty = int(database.execute(SIZE)[0][0])
        for _ in range(400):
            chat.invoke(said(200), thread_id="a long conversation")
        assert int(database.execute(SIZE)[0][0]) - empty <= 300_000
