"""`flowfn gc`, `flowfn export` and `flowfn import`."""

import json
import os
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from checkpointers import SqliteSaver
from flowfn.cli.housekeeping import collect
from flowfn.encryption import KeyRing
from flowfn.ports import Lease

GOLDEN = Path(__file__).resolve().parent.parent / "golden" / "0.1.0-format4.sqlite"


def statuses(flowfn: Any, *where: str) -> dict[str, str]:
    return {row["thread"]: row["status"] for row in json.loads(flowfn("ls", "--json", *where).out)}


def age_all(shop: Path) -> None:
    """Have all threads been written to long ago."""
    import sqlite3

    db = sqlite3.connect(shop / "runs.db")
    db.execute("UPDATE thread SET updated_at = '2020-01-01T00:00:00+00:00'")
    db.commit()
    db.close()


def test_old_finished_threads_go(flowfn: Any, shop: Path) -> None:
    """Those that wait, failed or were killed stay: they may be gone on with."""
    assert flowfn("gc", "--older-than", "30d").out == "0 threads and 0 checkpoints of others gone; 0 in use\n"
    age_all(shop)
    dry = flowfn("gc", "--older-than", "30d", "--dry-run")
    assert dry.out == "1 thread and 0 checkpoints of others would go; 0 in use\n"
    assert "paid" in statuses(flowfn)
    assert flowfn("gc", "--older-than", "30d").out == "1 thread and 0 checkpoints of others gone; 0 in use\n"
    assert set(statuses(flowfn)) == {"dead", "broke", "both", "asks-1", "asks-2"}


def test_a_thread_that_is_used_again_stays(shop: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A run may begin, and end, between the listing and the deleting."""
    age_all(shop)
    listed = SqliteSaver.threads

    def then_used(saver: SqliteSaver) -> Any:
        rows = listed(saver)
        lease = saver.claim("paid")
        assert isinstance(lease, Lease)
        saver.release(lease)
        return rows

    monkeypatch.setattr(SqliteSaver, "threads", then_used)
    done = collect(Path("runs.db"), datetime.now(UTC), None, timedelta(days=30), dry=False)
    assert done.threads == 0
    with SqliteSaver("runs.db") as saver:
        assert saver.thread("paid") is not None


def test_old_checkpoints_go(flowfn: Any, shop: Path) -> None:
    """And every thread goes on as before; one that a live run holds is left alone."""
    with SqliteSaver("runs.db") as saver:
        lease = saver.claim("broke")
        before = len(saver.places("broke"))
        gone = sum(len(saver.beyond(row.id, 1)) for row in saver.threads() if row.id != "broke")
        assert gone > 0
        would = flowfn("gc", "--keep", "1", "--dry-run")
        assert would.out == f"0 threads and {gone} checkpoints of others would go; 1 in use\n"
        assert flowfn("gc", "--keep", "1").out == would.out.replace("would go", "gone")
        assert len(saver.places("broke")) == before
        saver.release(lease)  # type: ignore[arg-type]
    assert flowfn("answer", "asks-1", "true", "app.py").out == "charged 6\n"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((), "pass --older-than AGE"),
        (("--older-than", "soon"), "'soon' is no age"),
        (("--keep", "0"), "Invalid value for '--keep'"),
        (("--keep", "1", "--db", "nobody.db"), "there is no database"),
    ],
)
def test_gc_says_what_to_write(flowfn: Any, shop: Path, arguments: tuple[str, ...], said: str) -> None:
    """Exit code 2, and nothing goes."""
    ran = flowfn("gc", *arguments)
    assert (ran.code, said in ran.err) == (2, True), ran.err
    assert len(statuses(flowfn)) == 6


def test_a_dry_run_changes_nothing(flowfn: Any, tmp_path: Path) -> None:
    """A database of an older format stays as it is: older programs go on with it."""
    old = tmp_path / "old.db"
    old.write_bytes(GOLDEN.read_bytes())
    ran = flowfn("gc", "--older-than", "1d", "--keep", "1", "--dry-run", "--db", str(old))
    assert (ran.code, "would go" in ran.out) == (0, True), ran.err
    assert old.read_bytes() == GOLDEN.read_bytes()
    assert flowfn("gc", "--older-than", "1d", "--db", str(old)).code == 0
    assert old.read_bytes() != GOLDEN.read_bytes()


def test_no_age_is_too_great(flowfn: Any, shop: Path) -> None:
    """An age from before all time is taken as well: nothing is so old."""
    ran = flowfn("gc", "--older-than", "999999w")
    assert (ran.code, ran.out.startswith("0 threads and 0 checkpoints")) == (0, True), ran.err


def test_a_file_that_cannot_be_written_is_named(flowfn: Any, shop: Path) -> None:
    """As one that can't be read is."""
    ran = flowfn("export", "paid", "-o", "nowhere/run.flow")
    assert (ran.code, ran.err) == (
        2,
        "flowfn: --output 'nowhere/run.flow' can't be written: No such file or directory\n",
    )


def test_a_thread_travels(flowfn: Any, shop: Path) -> None:
    """Into another database, and goes on there; under its own id, or another."""
    assert flowfn("export", "asks-1", "-o", "run.flow").code == 0
    assert flowfn("import", "run.flow", "--db", "new.db").out == "asks-1\n"
    assert flowfn("import", "run.flow", "--db", "new.db", "--as", "again").out == "again\n"
    assert statuses(flowfn, "--db", "new.db") == {"asks-1": "interrupted", "again": "interrupted"}
    assert flowfn("answer", "again", "true", "app.py", "--db", "new.db").out == "charged 6\n"
    twice = flowfn("import", "run.flow", "--db", "new.db")
    assert (twice.code, "There is a thread 'asks-1' already" in twice.err) == (2, True)


def test_a_run_goes_to_the_standard_output(flowfn: Any, shop: Path) -> None:
    """Without a file to write to, the bytes go to standard output, for `>`."""
    done = subprocess.run(
        [sys.executable, "-m", "flowfn", "export", "paid", "--db", "runs.db"],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        check=True,
    )
    Path("run.flow").write_bytes(done.stdout)
    assert flowfn("import", "run.flow", "--db", "new.db").out == "paid\n"


def test_what_cannot_be_imported(flowfn: Any, shop: Path) -> None:
    """No file, and another one."""
    assert "there is no file 'nobody.flow'" in flowfn("import", "nobody.flow").err
    assert "no file that `flowfn export` wrote" in flowfn("import", "app.py").err
    assert "no thread's id is 'nobody'" in flowfn("export", "nobody", "-o", "x").err


def test_encrypted_threads_travel_in_the_clear(
    flowfn: Any, shop: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A key isn't part of a bug report; where one is set, what comes in is encrypted."""
    assert flowfn("export", "paid", "-o", "run.flow").code == 0
    monkeypatch.setenv("FLOWFN_KEY", f"k:{KeyRing.new_key()}")
    assert flowfn("import", "run.flow", "--db", "secret.db").code == 0
    assert b"Receipt" not in Path("secret.db").read_bytes()
    assert flowfn("export", "paid", "--db", "secret.db", "-o", "back.flow").code == 0
    monkeypatch.delenv("FLOWFN_KEY")
    assert flowfn("import", "back.flow", "--db", "plain.db").code == 0
    assert "charge(total=3)  done" in flowfn("show", "paid", "--db", "plain.db").out
