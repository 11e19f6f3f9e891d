"""A thread goes into a file and comes out of it the same, on every saver; hostile files make no thread."""

from __future__ import annotations

import zlib
from typing import Any

import ormsgpack
import pytest
from hypothesis import given
from hypothesis import strategies as st

from checkpointers import (
    CheckpointSaver,
    EncryptedSaver,
    MemorySaver,
    SqliteSaver,
    export_thread,
    import_thread,
)
from checkpointers.conformance.housekeeping import fill, kept
from checkpointers.conformance.rows import THREAD, PlainSerde
from flowfn import Command, entrypoint, interrupt, task
from flowfn.encryption import KeyRing
from flowfn.errors import CorruptDataError, InvalidInput, NewerFormatError, UnknownThread

from ..postgres_database import Database


@pytest.fixture(params=["memory", "sqlite", "postgres", "encrypted"])
def saver(request: pytest.FixtureRequest) -> Any:
    """Each saver in turn."""
    if request.param == "postgres":
        database: Database = request.getfixturevalue("postgres_database")
        return database.saver()
    plain: CheckpointSaver = SqliteSaver(":memory:") if request.param == "sqlite" else MemorySaver()
    return EncryptedSaver(plain, KeyRing({"k": bytes(32)})) if request.param == "encrypted" else plain


def filled() -> bytes:
    with MemorySaver(serde=PlainSerde()) as saver:
        fill(saver)
        fill(saver, namespace="below")
        return export_thread(saver, THREAD)


DATA = filled()


def test_a_thread_comes_out_as_it_went_in(saver: CheckpointSaver) -> None:
    """Checkpoints, writes, values and their changes; into the same database only under another id."""
    assert import_thread(saver, DATA) == THREAD
    assert import_thread(saver, export_thread(saver, THREAD), thread_id="other") == "other"
    with MemorySaver() as memory:
        import_thread(memory, DATA)
        assert kept(saver) == kept(saver, "other") == kept(memory)
    with pytest.raises(InvalidInput, match="already"):
        import_thread(saver, DATA)


def test_a_run_goes_on_where_the_file_says(saver: CheckpointSaver) -> None:
    """A finished task doesn't run again, and the question waits."""
    ran: list[int] = []

    @task
    def double(n: int) -> int:
        ran.append(n)
        return 2 * n

    def flow(n: int) -> Any:
        return double(n).result(), interrupt("ok?")

    with MemorySaver() as first:
        entrypoint(checkpointer=first)(flow).invoke(7, thread_id="t")
        import_thread(saver, export_thread(first, "t"))
    assert entrypoint(checkpointer=saver)(flow).invoke(Command(resume="yes"), thread_id="t") == (14, "yes")
    assert ran == [7]


def test_there_has_to_be_one() -> None:
    """An unknown thread is named."""
    with MemorySaver() as saver, pytest.raises(UnknownThread, match="'nobody'"):
        export_thread(saver, "nobody")


CHANGED = st.tuples(st.integers(0, len(DATA) - 1), st.integers(0, 255)).map(
    lambda at: DATA[: at[0]] + bytes([at[1]]) + DATA[at[0] + 1 :]
)
CUT = st.integers(0, len(DATA) - 1).map(lambda end: DATA[:end])


@given(st.binary(max_size=64) | CHANGED | CUT)
def test_spoilt_bytes_make_no_thread_or_a_whole_one(data: bytes) -> None:
    """Cut off, changed or made up: each raises, and leaves nothing."""
    with MemorySaver(serde=PlainSerde()) as saver:
        try:
            id = import_thread(saver, data)
        except CorruptDataError:
            assert saver.threads() == []
        else:
            kept(saver, id)


CHECKPOINT = ["", "c1", None, 0, "loop", "2026", b"", b"", {"a": 1}, {"a": [1, b"x"]}]
ROW = ["t", "", "", "done", None, "2026", "2026"]


@pytest.mark.parametrize(
    "content",
    [
        [],
        [ROW],
        [ROW[:3], []],
        [["t", "", "", "dead", None, "", ""], []],
        [ROW, [CHECKPOINT[:5]]],
        [ROW, [[*CHECKPOINT[:9], {"a": ["1", b"x"]}]]],
        [ROW, [[*CHECKPOINT[:9], {"a": [1, "x"]}]]],
        [ROW, [["", "c1", [["t", 0, "a", "x", ""]]]]],
        [ROW, [["", 1, []]]],
        [ROW, [["", "c1", [["t", 1 << 63, "a", b"x", ""]]]]],
        [["", *ROW[1:]], []],
    ],
)
def test_a_wrong_shape_is_refused(content: Any) -> None:
    """Whatever has the right beginning and isn't one."""
    data = b"flowfn run 1\n" + zlib.compress(ormsgpack.packb(content))
    with MemorySaver() as saver, pytest.raises(CorruptDataError, match="spoilt"):
        import_thread(saver, data)


def test_two_files_in_one_are_refused() -> None:
    """Which of them is meant isn't guessed."""
    with MemorySaver() as saver, pytest.raises(CorruptDataError, match="something follows it"):
        import_thread(saver, DATA + DATA)


def test_a_later_format_is_told_from_a_spoilt_file() -> None:
    """The file is right, and this flowfn too old for it."""
    with MemorySaver() as saver, pytest.raises(NewerFormatError, match="has format 2, and this flowfn reads"):
        import_thread(saver, DATA.replace(b"run 1", b"run 2", 1))
