"""An upgrade strands no run: what each release has left unfinished, this one finishes; `record.py` writes the files."""

from __future__ import annotations

import re
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

import flowfn
from checkpointers import SqliteSaver
from flowfn.engine.records.ledger import Ledger
from flowfn.engine.records.record import CallInfo
from flowfn.ports import WriteRow
from flowfn.row_channels import CALL
from flowfn.serde import DEFAULT

from . import record

FILES = sorted(record.FOLDER.glob("*.sqlite"))
GOLDEN = record.programs().GOLDEN


def runs_in(file: Path) -> list[str]:
    """The runs that a file has: a program that is younger than the file has none."""
    with closing(sqlite3.connect(f"file:{file}?mode=ro&immutable=1", uri=True)) as connection:
        return [id for (id,) in connection.execute("SELECT id FROM thread ORDER BY key")]


RUNS = [pytest.param(file, name, id=f"{file.stem}-{name}") for file in FILES for name in runs_in(file)]


@pytest.fixture
def saver(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[SqliteSaver]:
    """A copy of a release's file, opened by this one."""
    copy = tmp_path / "runs.db"
    shutil.copyfile(request.getfixturevalue("file"), copy)
    with SqliteSaver(copy) as opened:
        yield opened


@pytest.mark.parametrize(("file", "name"), RUNS)
def test_a_run_that_a_release_left_is_finished(saver: SqliteSaver, file: Path, name: str) -> None:
    """G1, G2: to the right answer, and only what was under way or not begun runs."""
    golden, ran = GOLDEN[name], record.programs().ran
    ran.clear()
    answer: Any = golden.resume(record.thread_of(name, saver))
    assert (answer, ran) == (golden.answer, golden.ran)


@pytest.mark.parametrize(("file", "name"), RUNS)
def test_a_run_that_a_release_left_differs_from_nothing(saver: SqliteSaver, file: Path, name: str) -> None:
    """The same code makes the same calls: nothing is new, and nothing is left over."""
    thread = record.thread_of(name, saver)
    GOLDEN[name].resume(thread)
    assert [str(d) for d in thread.report if d.kind not in ("in_doubt", "clock")] == []


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_what_a_release_left_can_be_looked_at(saver: SqliteSaver, file: Path) -> None:
    """Listings, states and histories of all threads are read without their programs being run."""
    listed = [row.id for row in saver.threads()]
    assert sorted(listed) == sorted(runs_in(file))
    for name in listed:
        thread = record.thread_of(name, saver)
        assert thread.status in ("killed", "interrupted", "failed")
        assert thread.state.next
        assert list(thread.history())


def test_each_release_left_its_runs() -> None:
    """Every released version, and this one, has a file; this one's has all programs."""
    assert {file.stem for file in FILES} >= {*record.released(), flowfn.__version__}
    assert runs_in(record.FOLDER / f"{flowfn.__version__}.sqlite") == list(GOLDEN)


def test_no_file_tells_of_a_machine() -> None:
    """No path, host or process of who recorded it."""
    for file in FILES:
        assert re.findall(rb"/(?:home|root|Users|tmp|work)/[\w./]*", file.read_bytes()) == []
        with closing(sqlite3.connect(f"file:{file}?mode=ro&immutable=1", uri=True)) as connection:
            owners = {owner for (owner,) in connection.execute("SELECT owner FROM thread") if owner}
        assert owners == {"1@0@000000000000@golden@golden"}


def test_what_a_later_release_says_of_a_call_is_left_out() -> None:
    """While a fleet is upgraded, one that isn't yet may meet a record with a field more than it knows."""
    info = CallInfo("f", "f", "scope", None, [], False, 0, 0, 0.0, "", "", "", "")
    rows = [WriteRow("id", 0, CALL, DEFAULT.dumps([*info, "later"]))]
    assert [record.info for record in Ledger(rows, DEFAULT).unclaimed()] == [info]
