"""`flowfn ls`: which threads there are, without touching the file that keeps them."""

import json
import os
import shutil
import subprocess
import sys
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from flowfn import entrypoint

GOLDEN = Path(__file__).resolve().parent.parent / "golden"


def contents(folder: Path) -> dict[str, str]:
    return {path.name: sha256(path.read_bytes()).hexdigest() for path in folder.iterdir() if path.is_file()}


def test_threads_are_listed_newest_first(flowfn: Any, shop: Path) -> None:
    """Each with workflow, status and open questions; a running one that nobody runs was killed."""
    found = json.loads(flowfn("ls", "--json").out)
    assert [(row["thread"], row["workflow"], row["status"], row["questions"]) for row in found] == [
        ("dead", "app.doomed", "killed", 0),
        ("broke", "app.buy", "failed", 0),
        ("paid", "app.buy", "done", 0),
        ("both", "app.committee", "interrupted", 2),
        ("asks-2", "app.order", "interrupted", 1),
        ("asks-1", "app.order", "interrupted", 1),
    ]


def test_the_table_says_the_same(flowfn: Any, shop: Path) -> None:
    """A line for each thread under a heading, in plain text where there is no terminal."""
    ran = flowfn("ls")
    lines = [line.split() for line in ran.out.splitlines()]
    assert lines[0] == ["THREAD", "WORKFLOW", "STATUS", "AGE", "QUESTIONS"]
    assert [line[:3] for line in lines[1:3]] == [
        ["dead", "app.doomed", "killed"],
        ["broke", "app.buy", "failed"],
    ]
    assert ran.out.replace("\n", "").isprintable()


def test_status_picks(flowfn: Any, shop: Path) -> None:
    """`--status` may be given several times; an unknown one is refused."""
    found = json.loads(flowfn("ls", "--json", "--status", "killed", "--status", "done").out)
    assert [row["thread"] for row in found] == ["dead", "paid"]
    refused = flowfn("ls", "--status", "dead")
    assert refused.code == 2
    assert "'dead' is none of running, interrupted" in refused.err


def test_no_limit_is_too_high(flowfn: Any, shop: Path) -> None:
    """Or it says which is."""
    assert len(flowfn("ls", "--limit", f"{sys.maxsize}").out.splitlines()) == 7
    ran = flowfn("ls", "--limit", f"{10**20}")
    assert (ran.code, f"{sys.maxsize}" in ran.err) == (2, True), ran.err


def test_reading_writes_nothing(flowfn: Any, shop: Path) -> None:
    """Neither the database nor its log is changed, also where a killed process left a log behind."""
    before = contents(shop)
    assert "runs.db-wal" in before
    assert [flowfn("ls").code, flowfn("show", "dead").code] == [0, 0]
    after = contents(shop)
    del before["runs.db-shm"], after["runs.db-shm"]  # an index of the log, in which readers mark their place
    assert after == before


def test_reading_a_closed_database_leaves_nothing_behind(flowfn: Any, tmp_path: Path) -> None:
    """Where nobody has the database open, reading it makes no log and no index."""
    from checkpointers import SqliteSaver

    saver = SqliteSaver(tmp_path / "runs.db")
    entrypoint(checkpointer=saver)(abs).invoke(-1, thread_id="one")
    saver.close()
    before = contents(tmp_path)
    assert len(json.loads(flowfn("ls", "--json", "--db", tmp_path / "runs.db").out)) == 1
    assert contents(tmp_path) == before == {"runs.db": before["runs.db"]}


def test_a_database_of_an_older_format_is_read_and_left_as_it_is(flowfn: Any, tmp_path: Path) -> None:
    """What a new flowfn would make of open runs is looked at before any of its workflows has opened the file."""
    shutil.copyfile(GOLDEN / "0.1.0-format3.sqlite", tmp_path / "old.db")
    before = contents(tmp_path)
    listed = [row["thread"] for row in json.loads(flowfn("ls", "--json", "--db", tmp_path / "old.db").out)]
    assert {"chat", "graph", "sequence"} <= set(listed)
    assert contents(tmp_path) == before


def test_a_missing_database_is_not_created(flowfn: Any, tmp_path: Path) -> None:
    """The error says what to pass."""
    missing = tmp_path / "none.db"
    ran = flowfn("ls", "--db", missing)
    assert (ran.code, ran.out, missing.exists()) == (2, "", False)
    assert "there is no database" in ran.err
    assert "--db PATH" in ran.err


def test_what_is_no_file_is_no_database_to_choose(flowfn: Any, shop: Path) -> None:
    """A pipe with such a name is passed over, and not waited for."""
    os.mkfifo(shop / "pipe.db")
    assert flowfn("ls").code == 0


@pytest.mark.parametrize("content", [b"", b"this is no database, and long enough to be looked at" * 9])
def test_another_file_is_refused(flowfn: Any, tmp_path: Path, content: bytes) -> None:
    """An empty file, and one of something else, are named in one line and left as they are."""
    path = tmp_path / "notes.db"
    path.write_bytes(content)
    ran = flowfn("ls", "--db", path)
    assert (ran.code, ran.err.count("\n"), path.read_bytes()) == (2, 1, content)
    assert f"{path}" in ran.err
    assert "file:" not in ran.err


def test_the_database_may_be_left_out(flowfn: Any, shop: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`FLOWFN_DB`, else the only database of flowfn's in the directory; several are an error."""
    (shop / "other.db").write_bytes(b"")
    assert flowfn("ls").code == 0
    (shop / "copy.db").write_bytes((shop / "runs.db").read_bytes())
    (shop / "copy.db-wal").write_bytes((shop / "runs.db-wal").read_bytes())
    ran = flowfn("ls")
    assert ran.code == 2
    assert "copy.db, runs.db" in ran.err
    monkeypatch.setenv("FLOWFN_DB", "copy.db")
    assert flowfn("ls").code == 0


@pytest.mark.parametrize("named", ["runs.db", "file:runs.db", "file:runs.db?mode=ro", "sqlite:///runs.db"])
def test_a_database_is_named_as_a_saver_names_it(flowfn: Any, shop: Path, named: str) -> None:
    """A path, SQLite's own URI, or a URL."""
    listed = [row["thread"] for row in json.loads(flowfn("ls", "--json", "--db", named).out)]
    assert listed == [row["thread"] for row in json.loads(flowfn("ls", "--json").out)] != []


def test_no_database_at_all(flowfn: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In a directory without one, the error says what to pass."""
    monkeypatch.chdir(tmp_path)
    ran = flowfn("ls")
    assert ran.code == 2
    assert (
        "no database of flowfn's in this directory: pass --db PATH or --db URL, or set FLOWFN_DB" in ran.err
    )


LIVE = """
from flowfn import entrypoint, task

@task
def wait() -> str:
    print("waiting", flush=True)
    return input()

@entrypoint(checkpointer="live.db")
def patient(name: str) -> str:
    return wait().result()

if __name__ == "__main__":
    patient.invoke("ann", thread_id="live")
"""


def test_a_live_run_can_be_looked_at(flowfn: Any, tmp_path: Path, installed: Path) -> None:
    """G4: its database is listed and shown while it runs; to resume it is refused."""
    (tmp_path / "app.py").write_text(LIVE)
    live = subprocess.Popen(
        [sys.executable, "app.py"],
        cwd=tmp_path,
        env={"PYTHONPATH": str(installed)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    db = tmp_path / "live.db"
    with live:
        assert live.stdout is not None
        assert live.stdout.readline() == "waiting\n"
        (row,) = json.loads(flowfn("ls", "--json", "--db", db).out)
        shown = flowfn("show", "live", "--db", db)
        refused = flowfn("resume", "live", tmp_path / "app.py", "--db", db)
        live.communicate("done\n")
    assert (row["status"], row["owner"] is not None, shown.code) == ("running", True, 0)
    assert refused.code == 2
    assert "held by a live run" in refused.err
    (row,) = json.loads(flowfn("ls", "--json", "--db", db).out)
    assert row["status"] == "done"


def test_records_cannot_steer_the_terminal(flowfn: Any, tmp_path: Path) -> None:
    """Control characters in what is recorded are spelled out."""
    from checkpointers import SqliteSaver

    saver = SqliteSaver(tmp_path / "runs.db")
    entrypoint(checkpointer=saver)(abs).invoke(-1, thread_id="a\x1b[2Jb")
    saver.close()
    ran = flowfn("ls", "--db", tmp_path / "runs.db")
    assert r"a\x1b[2Jb" in ran.out


@pytest.mark.parametrize("place", ["sqlite", "postgres"])
def test_a_run_that_died_before_it_recorded_anything_is_told_beside_the_one_before(
    flowfn: Any,
    request: pytest.FixtureRequest,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    run_python: Any,
    place: str,
) -> None:
    """The thread's row is of that one, and all that is known of the other is who died with the thread."""
    db = "runs.db" if place == "sqlite" else request.getfixturevalue("postgres_url")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "dies.py").write_text(DIES)
    assert run_python("dies.py", db, "lives").returncode == 0
    before = flowfn("ls", "--db", db).out
    assert run_python("dies.py", db, "dies").returncode == -9
    assert (" done " in before, "killed" in before) == (True, False)
    assert " done, then killed " in flowfn("ls", "--db", db).out
    (row,) = json.loads(flowfn("ls", "--json", "--db", db).out)
    assert (row["status"], row["died"].startswith("process ")) == ("done", True)
    assert f"{row['died']} died in a later run" in flowfn("show", "t", "--db", db).out
    assert run_python("dies.py", db, "lives").returncode == 0
    assert "killed" not in flowfn("ls", "--db", db).out


DIES = """
import os, sys
from flowfn import entrypoint

@entrypoint(checkpointer=sys.argv[1], durability="exit")
def flow(n: int) -> int:
    if sys.argv[2] == "dies":
        os.kill(os.getpid(), 9)
    return n

flow.invoke(1, thread_id="t")
"""
