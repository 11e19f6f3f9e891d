"""How the Postgres saver spells what it keeps: everything comes back, in fewer bytes."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from checkpointers.conformance.rows import checkpoint, loaded, put, write, writes
from checkpointers.postgres_forms import id_bytes, id_of, places_of, time_bytes, time_of
from flowfn.ports import Versioned
from flowfn.postgres.text import from_text, to_line

from ..postgres_database import Database

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
    """Whatever is in them."""
    assert (id_bytes(one) == id_bytes(other)) == (one == other)


@given(st.datetimes().map(lambda time: f"{time.isoformat()}+00:00") | texts)
@example("20260101")
@example("1969-12-31T23:59:59.999999+00:00")
def test_a_time_comes_back(time: str) -> None:
    """Letter by letter, a time or not."""
    assert time_of(time_bytes(time)) == time


@given(texts)
def test_a_name_is_one_line(name: str) -> None:
    """With newlines and backslashes in it, too."""
    assert "\n" not in to_line(name)
    assert from_text(to_line(name)) == name


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
    assert list(places_of(7, "a\nb\nc\n", "3 4:0.1 5:2")) == [
        ("a", 3, None),
        ("b", 4, (7 << 20) + 1),
        ("c", 5, 5 << 20),
    ]


def test_a_checkpoint_put_again_leaves_values_to_others(postgres_database: Database) -> None:
    """What a later one shares with it stays what it was."""
    saver = postgres_database.saver()
    put(saver, checkpoint("c1", versions={"a": 1}, values={"a": Versioned(1, b"first")}))
    put(saver, checkpoint("c2", "c1", versions={"a": 1}))
    put(saver, checkpoint("c1", versions={"a": 1}, values={"a": Versioned(1, b"second")}))
    read = [row.checkpoint.values["a"].value for row in saver.history(None, None)]
    assert read == [b"first", b"second"]


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
    assert postgres_database.execute("SELECT count(*) FROM flowfn.value") == [(3,)]
    put(saver, checkpoint("c1", "c3", versions={}))
    saver.forget(thread, [("", "c3")])
    assert postgres_database.execute("SELECT count(*) FROM flowfn.value") == [(0,)]
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
