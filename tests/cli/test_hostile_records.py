"""Whatever a database holds, no command lets it steer the terminal, or look like more than it is."""

from __future__ import annotations

import json
import logging
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from checkpointers import SqliteSaver
from flowfn import entrypoint, interrupt, task
from flowfn.cli.terminal import errors, output
from flowfn.ports import Commit

EVIL = "evil\nrow  app.order  done\t\x1b[2J\x1b]0;owned\x07\r\x9b31m\u202e"
SPELLED = r"evil\nrow  app.order  done\t\x1b[2J\x1b]0;owned\x07\r\x9b31m\u202e"

APP = """
from flowfn import entrypoint, interrupt, task

@task(name={evil!r})
def label(text: str) -> str:
    return text

@entrypoint(checkpointer="evil.db", name={evil!r})
def flow(text: str) -> str:
    label(text).result()
    return interrupt(text, key=text)
"""

COMMANDS = (
    ("ls",),
    ("show", "evil"),
    ("tail", "evil"),
    ("state", "evil"),
    ("state", "evil", "--checkpoint", "none"),
    ("history", "evil"),
    ("graph", "evil"),
    ("graph", "evil", "--as", "mermaid"),
    ("graph", "evil", "--as", "svg"),
    ("timeline", "evil"),
    ("timeline", "evil", "--as", "mermaid"),
    ("diff", "evil"),
    ("doctor", "app.py"),
    ("resume", "evil", "app.py"),
    ("answer", "evil", "yes", "app.py", "--id", "none"),
    ("answer", "evil", "yes", "app.py", "--traceback", "--key", EVIL, "--by", EVIL),
    ("show", "evil"),
    ("fork", "evil", "--to", f"{EVIL}2"),
    ("ls",),
    ("show", "evi"),
    ("cancel", EVIL),
    ("gc", "--keep", "1"),
)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current directory: `evil.db` has a run whose names, texts and ids are all the same, and `app.py` made it."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "app.py").write_text(APP.format(evil=EVIL))
    saver = SqliteSaver("evil.db")

    @task(name=EVIL)
    def label(text: str) -> str:
        return text

    @entrypoint(checkpointer=saver, name=EVIL)
    def flow(text: str) -> str:
        label(text).result()
        answer: str = interrupt(text, key=text)
        return answer

    flow.invoke(EVIL, thread_id=EVIL)
    saver.close()
    return tmp_path


def steers(text: str) -> list[str]:
    """The characters of a text that a terminal may act upon, but for the ends of its lines."""
    return [mark for mark in text.replace("\n", "") if not mark.isprintable()]


def test_no_command_prints_a_record_raw(flowfn: Any, folder: Path) -> None:
    """What is recorded is spelled out, in what was asked for and in what went wrong."""
    for words in COMMANDS:
        ran = flowfn(*words, "--db", "evil.db")
        assert (words, steers(ran.out + ran.err)) == (words, [])


def test_a_thread_is_a_line_of_the_listing(flowfn: Any, folder: Path) -> None:
    """An id with line breaks doesn't look like several threads."""
    heading, line = flowfn("ls").out.splitlines()
    assert heading.split()[0] == "THREAD"
    assert line.startswith(SPELLED)


def test_what_somebody_wrote_into_the_tables_is_spelled_out_too(flowfn: Any, folder: Path) -> None:
    """Statuses, times and owners are texts in a file like others."""
    with closing(sqlite3.connect("evil.db")) as db:
        db.execute("UPDATE thread SET status = 'done' || char(27) || '[2J'")
        db.commit()
    for words in (("ls",), ("show", "evil"), ("tail", "evil"), ("history", "evil")):
        ran = flowfn(*words)
        assert (words, steers(ran.out + ran.err)) == (words, [])


def test_no_text_that_is_printed_steers_the_terminal(capsys: Any) -> None:
    """Not even one that a command forgot to spell out; colours and line breaks are the console's own."""
    output().print("a\x1b[2J\nb", style="red")
    errors().print("c\x9bd\u202e")
    assert capsys.readouterr() == ("a\\x1b[2J\nb\n", "c\\x9bd\\u202e\n")


def test_warnings_of_a_run_are_spelled_out(flowfn: Any, folder: Path) -> None:
    """One line each, unless the script has handlers of its own; outside a command they are logging's again."""
    before = logging.lastResort
    (folder / "app.py").write_text(
        APP.format(evil=EVIL) + f"import logging\nlogging.getLogger('app').warning({EVIL!r})\n"
    )
    logging.getLogger("app").propagate = False
    try:
        ran = flowfn("doctor", "app.py", "--db", "evil.db")
    finally:
        logging.getLogger("app").propagate = True
    assert SPELLED in ran.err.splitlines()
    assert logging.lastResort is before


def test_json_is_what_every_reader_takes(flowfn: Any, tmp_path: Path) -> None:
    """Numbers that JSON doesn't have are texts in it, as Python shows them."""
    numbers = {"nan": float("nan"), "list": [float("inf"), (-float("inf"), 1.5)]}
    with SqliteSaver(tmp_path / "runs.db") as saver:
        entrypoint(checkpointer=saver, name="numbers")(lambda n: numbers).invoke(1, thread_id="t")
    shown = {"nan": "nan", "list": ["inf", ["-inf", 1.5]]}
    ran = flowfn("show", "t", "--json", "--db", tmp_path / "runs.db")
    assert json.loads(ran.out, parse_constant=pytest.fail)["result"] == shown


def test_a_thread_without_a_run_is_spelled_out(flowfn: Any, tmp_path: Path) -> None:
    """An outsider's commit names a thread as well."""
    with SqliteSaver(tmp_path / "evil.db") as saver:
        assert saver.commit([Commit(EVIL, status="done")]) == [None]
    for words in (("show", "evil"), ("state", "evil"), ("ls",)):
        ran = flowfn(*words, "--db", tmp_path / "evil.db")
        assert (words, steers(ran.out + ran.err)) == (words, [])
