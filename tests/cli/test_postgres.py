"""The commands on a Postgres database."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from langgraph.checkpoint.postgres import PostgresSaver
from langgraph.func import entrypoint
from langgraph.types import interrupt

from checkpointers import PostgresSaver as OurSaver

from ..postgres_database import Database, new_database

APP = """
import os
from flowfn import entrypoint, interrupt, task

@task
def pay(n: int) -> int:
    if "decline" in os.environ:
        raise ValueError("card declined")
    return n

@entrypoint(checkpointer=os.environ["DATABASE_URL"])
def order(n: int) -> str:
    return f"paid {pay(n).result()}"

@entrypoint(checkpointer=os.environ["DATABASE_URL"])
def question(n: int) -> str:
    return interrupt("sure?")

if __name__ == "__main__":
    question.invoke(1, thread_id="asks")
    os.environ["decline"] = "yes"
    try:
        order.invoke(2, thread_id="broke")
    except ValueError:
        pass
"""

DIES = """
import os
from flowfn import entrypoint

@entrypoint(checkpointer=os.environ["DATABASE_URL"])
def long(n: int) -> int:
    if __name__ == "__main__":
        os.kill(os.getpid(), 9)
    return n

if __name__ == "__main__":
    long.invoke(1, thread_id="cut")
"""


@pytest.fixture
def url(
    postgres_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, run_python: Callable[..., Any]
) -> str:
    """A database with two threads, of which one asks and one failed."""
    (tmp_path / "app.py").write_text(APP)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DATABASE_URL", postgres_url)
    done = run_python("app.py")
    assert done.returncode == 0, done.stderr
    return postgres_url


@pytest.fixture
def empty(postgres_server: str) -> Iterator[Database]:
    """A database that nobody has used yet."""
    with new_database(postgres_server) as database:
        yield database


def test_threads_are_listed_and_shown(flowfn: Any, url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """With `--db URL`, or `FLOWFN_DB`."""
    found = json.loads(flowfn("ls", "--json", "--db", url).out)
    assert [(row["thread"], row["status"], row["questions"]) for row in found] == [
        ("broke", "failed", 0),
        ("asks", "interrupted", 1),
    ]
    monkeypatch.setenv("FLOWFN_DB", url)
    assert "card declined" in flowfn("show", "broke").out


def test_threads_go_on(flowfn: Any, url: str) -> None:
    """`resume` and `answer`, by processes beside the script's."""
    assert flowfn("resume", "broke", "app.py", "--db", url).out == "paid 2\n"
    assert flowfn("answer", "asks", '"yes"', "app.py", "--db", url).out == "yes\n"
    assert {row["status"] for row in json.loads(flowfn("ls", "--json", "--db", url).out)} == {"done"}


def test_killed_threads_go_on(flowfn: Any, url: str, run_python: Callable[..., Any]) -> None:
    """`recover`, once the server knows that the process has died."""
    (Path.cwd() / "dies.py").write_text(DIES)
    assert run_python("dies.py").returncode == -9
    assert flowfn("recover", "dies.py", "--db", url).out == "cut  done\n"


def test_reading_creates_no_schema(flowfn: Any, empty: Database) -> None:
    """An empty database is said to be empty, and stays so."""
    ran = flowfn("ls", "--db", empty.url)
    assert ran.code == 2
    assert "is empty: no workflow has written to it yet" in ran.err
    assert empty.execute("SELECT 1 FROM pg_namespace WHERE nspname = 'flowfn'") == []


def test_reading_migrates_nothing(flowfn: Any, url: str, empty: Database) -> None:
    """Programs of the flowfn that wrote it may still run."""
    empty.execute("CREATE SCHEMA flowfn; CREATE TABLE flowfn.migration (number integer, at timestamptz)")
    empty.execute("INSERT INTO flowfn.migration VALUES (-1, now())")
    ran = flowfn("ls", "--db", empty.url)
    assert (ran.code, "has format -1" in ran.err) == (2, True)


def test_nobody_answers(flowfn: Any) -> None:
    """One line says so, without the password."""
    ran = flowfn("ls", "--db", "postgresql://me:secret@localhost:1/runs")
    assert ran.code == 2
    assert "localhost:1" in ran.err
    assert "secret" not in ran.err


def test_langgraphs_threads_move_from_postgres_to_postgres(flowfn: Any, url: str, empty: Database) -> None:
    """Values that LangGraph keeps within checkpoints and beside them; a thread that waits is answered here."""
    config: Any = {"configurable": {"thread_id": "theirs"}}
    with PostgresSaver.from_conn_string(empty.url) as saver:
        saver.setup()
        flow = entrypoint(checkpointer=saver)(keep)
        flow.invoke({"big": [1, 2]}, config)
        flow.invoke(3, config)
        entrypoint(checkpointer=saver)(question).invoke(1, {"configurable": {"thread_id": "waits"}})
    ran = flowfn("import-langgraph", empty.url, "--to", url)
    assert ran.out == "theirs: 4 checkpoints\nwaits: 1 checkpoint; 1 question can be answered\n", ran.err
    again = flowfn("import-langgraph", empty.url, "--to", url)
    assert "there is a thread of this id already" in again.out
    with OurSaver(url) as saver:
        (last, *_, first) = saver.list({"configurable": {"thread_id": "theirs", "checkpoint_ns": ""}})
    assert last.checkpoint["channel_values"]["__end__"] == [3, {"big": [1, 2]}]
    assert first.checkpoint["channel_values"]["__start__"] == {"big": [1, 2]}


def keep(given: Any, *, previous: Any = None) -> Any:
    """A workflow of LangGraph's."""
    return entrypoint.final(value=[given, previous], save=given)


def question(given: Any) -> Any:
    """One that waits."""
    return interrupt("sure?")


def test_what_is_no_database_of_langgraphs(flowfn: Any, url: str, tmp_path: Path) -> None:
    """It is refused with the reason."""
    ran = flowfn("import-langgraph", url, "--to", str(tmp_path / "runs.db"))
    assert ran.code == 2
    assert "not a database of LangGraph's PostgresSaver" in ran.err
