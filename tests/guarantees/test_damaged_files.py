"""G2: a SQLite file that was damaged gives the right answer or a typed error, never another answer or a foreign error.

Pages are swapped, cut off and overwritten, and bits flipped, at places drawn anew for each of some dozen copies.
What single rows hold is tried byte by byte in `tests/checkpointers/test_sqlite_values.py`.
"""

from __future__ import annotations

import random
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from checkpointers import SqliteSaver
from checkpointers.conformance.rows import checkpoint, put
from flowfn import CorruptDataError, FlowError, NotADatabase, Workflow, entrypoint, task
from flowfn.ports import Commit

COPIES = 40
PAGE = 4096
WHOLE = [f"value {item}" for item in range(6)]


class Killed(BaseException): ...


def listing(saver: SqliteSaver, dies_at: int | None = None) -> Workflow[Any, Any]:
    @task
    def step(item: int) -> str:
        return f"value {item}"

    @entrypoint(checkpointer=saver)
    def flow(n: int) -> list[str]:
        found = []
        for item in range(n):
            if item == dies_at:
                raise Killed
            found.append(step(item).result())
        return found

    return flow


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A database of some finished threads, and one whose process died half way."""
    found = tmp_path_factory.mktemp("damaged") / "runs.db"
    with SqliteSaver(found) as saver:
        for number in range(8):
            listing(saver).invoke(6, thread_id=f"done {number}")
        with pytest.raises(Killed):
            listing(saver, dies_at=3).invoke(6, thread_id="one")
    return found


def swap_pages(data: bytearray, choose: random.Random) -> None:
    one, other = (place * PAGE for place in choose.sample(range(len(data) // PAGE), 2))
    data[one : one + PAGE], data[other : other + PAGE] = data[other : other + PAGE], data[one : one + PAGE]


def cut(data: bytearray, choose: random.Random) -> None:
    del data[choose.randrange(len(data)) :]


def overwrite_schema(data: bytearray, choose: random.Random) -> None:
    for _ in range(5):
        data[choose.randrange(100, PAGE)] = choose.randrange(256)


def flip_bits(data: bytearray, choose: random.Random) -> None:
    for _ in range(40):
        data[choose.randrange(PAGE, len(data))] ^= 1 << choose.randrange(8)


@pytest.mark.parametrize("damage", [swap_pages, cut, overwrite_schema, flip_bits])
def test_a_damaged_file_gives_no_other_answer(
    file: Path, tmp_path: Path, damage: Callable[[bytearray, random.Random], None]
) -> None:
    """G2: resuming, looking and listing are right, or end in an error of flowfn's."""
    choose, told = random.Random(0), []
    for number in range(COPIES):
        copy = tmp_path / f"{number}.db"
        shutil.copy(file, copy)
        data = bytearray(copy.read_bytes())
        damage(data, choose)
        copy.write_bytes(data)
        try:
            with SqliteSaver(copy) as saver:
                flow = listing(saver)
                assert list(saver.threads()) is not None
                assert flow.get_state(thread_id="done 0").values in (WHOLE, None)
                assert flow.invoke(None, thread_id="one") == WHOLE
        except FlowError as error:
            told.append(error)
    assert told


def test_a_file_that_ends_within_a_page_is_refused(file: Path, tmp_path: Path) -> None:
    """SQLite alone would read zeros for what is gone, and hand them out as a recorded result (G2)."""
    copy = tmp_path / "copy.db"
    copy.write_bytes(file.read_bytes()[:-1])
    with pytest.raises(NotADatabase, match=r"copy\.db: the file ends within a page .* Restore a copy"):
        SqliteSaver(copy)


def test_a_file_that_is_no_database_is_told_as_such(tmp_path: Path) -> None:
    """Whatever its size: it was not cut."""
    text = tmp_path / "notes.db"
    text.write_text("dear diary, " * 100)
    with pytest.raises(NotADatabase, match=r"notes\.db: file is not a database"):
        SqliteSaver(text)


def test_a_commit_that_meets_such_a_row_is_told_so(tmp_path: Path) -> None:
    """As who reads is; its cause is kept as well."""
    path = tmp_path / "runs.db"
    with SqliteSaver(path) as saver:
        put(saver, checkpoint("c1"), thread="t")
        saver._database._connected().writer.execute(
            "UPDATE checkpoint SET channels = zeroblob(length(channels))"
        )
    with SqliteSaver(path) as saver:
        (refusal,) = saver.commit([Commit("t", items=[checkpoint("c2")._replace(parent="c1")])])
        assert type(refusal) is CorruptDataError
        assert "runs.db: a row is not what flowfn writes (where its values are makes no sense" in str(refusal)
        assert refusal.__cause__ is not None


def test_rows_that_make_no_sense_are_told_as_damage(file: Path, tmp_path: Path) -> None:
    """The error names the file and what to do, and keeps what was stumbled over as its cause."""
    copy = tmp_path / "copy.db"
    shutil.copy(file, copy)
    with SqliteSaver(copy) as saver:
        saver._database._connected().writer.execute("DELETE FROM value")
        with pytest.raises(CorruptDataError, match=r"copy\.db: a row is not .* integrity_check") as caught:
            listing(saver).get_state(thread_id="done 0")
    assert caught.value.__cause__ is not None
