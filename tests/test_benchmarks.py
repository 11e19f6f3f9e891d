"""The benchmarks run and are right. How fast anything is, no test says."""

import gc
import importlib
import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from .postgres_database import new_database
from .postgres_server import GIVEN


@pytest.fixture(autouse=True)
def on_path(monkeypatch: pytest.MonkeyPatch, repo: Path) -> None:
    """The checkout comes last, so that only what isn't installed, the benchmarks, is imported from it."""
    monkeypatch.setattr(sys, "path", [*sys.path, str(repo)])


@pytest.fixture(scope="module")
def own_database(request: pytest.FixtureRequest) -> Iterator[None]:
    """What is measured on Postgres has a database of this worker's; it needn't survive power loss here."""
    if os.environ.get("FLOWFN_NO_POSTGRES") == "1":
        yield
        return
    with (
        new_database(request.getfixturevalue("postgres_server")) as database,
        pytest.MonkeyPatch.context() as patch,
    ):
        patch.setenv(GIVEN, database.url)
        yield


FLOORS = {
    "sequential": {"W1 sequential tasks"},
    "parallel": {"W2 parallel tasks, blocking", "W2 parallel tasks, asyncio"},
    "resume": {"W3 resume, all calls recorded", "W3 resume, ten times as many"},
    "cached": {"W4 cached calls"},
    "graphs": {
        "W5 sequential nodes",
        "W6 sequential nodes, 1000 keys",
        "W7 fan-out to subgraphs",
        "W13 sequential nodes, 500 keys",
        "W14 fan-out of Sends",
        "W15 sequential nodes, streamed",
    },
    "agents": {"W8 agent of 20 rounds, asyncio", "W8 agent of 20 rounds, blocking"},
    "chat": {"W9 chat, turn 10", "W9 chat, turn 200", "W9 chat, bytes after it"},
    "many": {"W10 workflows of 3 tasks at once"},
    "stores": {"W16 store, put", "W16 store, get"},
    "imports": {"W11 import"},
    "memory": {"W12 growth over a run"},
}
"""By family, the workloads of which the floor has a figure."""


@pytest.mark.filterwarnings("ignore")  # the peers' own
@pytest.mark.timeout(600)
@pytest.mark.usefixtures("own_database")
@pytest.mark.parametrize("family", FLOORS)
def test_every_subject_that_is_installed_gives_a_figure(
    family: str, installed: Path, repo: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each workload checks its own result, and one that raises or is wrong is reported as failed: none is."""
    from benchmarks import postgres
    from benchmarks.harness import measure

    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(installed), str(repo)]))  # of what are processes
    postgres.server.cache_clear()  # a database of another module's time has gone
    cases = list(importlib.import_module(f"benchmarks.{family}").cases())
    results = measure(cases, 50, 1, lambda text: None, warm_up=False)
    gc.collect()  # what the peers leave open warns while it may
    assert [(result.case, result.error) for result in results if result.error] == []
    assert {
        result.case.workload
        for result in results
        if result.case.subject == "floor" and result.figure is not None
    } == FLOORS[family]


def test_every_family_is_tried() -> None:
    """A new one has a row above."""
    from benchmarks import __main__ as main

    assert [family.__name__.rpartition(".")[2] for family in main.FAMILIES] == [*FLOORS]


def test_the_command_writes_what_it_measured(
    run_python: Any, installed: Path, repo: Path, tmp_path: Path
) -> None:
    """Only what was asked for, with few tasks if they are to be few."""
    path = os.pathsep.join([str(installed), str(repo)])
    done = run_python(
        "-m", "benchmarks", "--quick", "--only", "W11", "--json", "figures.json", PYTHONPATH=path
    )
    assert done.returncode == 0, done.stderr
    run = json.loads((tmp_path / "figures.json").read_text())
    assert (run["size"], run["rounds"]) == (50, 1)
    assert {result["workload"] for result in run["results"]} == {"W11 import"}
    assert "W11 import, ms" in done.stdout


RUN: dict[str, Any] = {
    "machine": {"python": "3.11"},
    "size": 1000,
    "rounds": 5,
    "results": [
        {"unit": "µs/task", "survives": survives, "error": "", "samples": [], **which, "figure": figure}
        for which, survives, figure in [
            ({"workload": "W1 sequential tasks", "storage": "SQLite, process", "subject": name}, kept, number)
            for name, kept, number in [
                ("floor", "process death", 20.0),
                ("flowfn", "process death", 80.0),
                ("LangGraph", "all but the last few tasks", 770.0),
            ]
        ]
    ],
}


def test_a_target_is_held_against_the_same_run() -> None:
    """A tenth of LangGraph's figure is asked for: 77 holds, 80 doesn't, and without LangGraph nothing is said."""

    from benchmarks.targets import verdicts

    def said(**figures: float) -> list[bool | None]:
        rows = [row | {"figure": figures.get(row["subject"])} for row in RUN["results"]]
        return [holds for _, holds in verdicts(rows).of("W1 sequential tasks", "SQLite, process", "flowfn")]

    assert said(flowfn=77.0, LangGraph=770.0) == [True]
    assert said(flowfn=80.0, LangGraph=770.0) == [False]
    assert said(flowfn=80.0) == [None]


def test_every_target_is_of_a_workload_that_is_measured() -> None:
    """The table of targets and the families name the same workloads and storages."""
    from benchmarks import __main__ as main
    from benchmarks import installs
    from benchmarks.targets import TARGETS

    families = (*main.FAMILIES, installs)
    assert set(TARGETS) <= {(case.workload, case.storage) for family in families for case in family.cases()}


def test_the_table_of_a_page_is_made_of_a_runs_data(tmp_path: Path) -> None:
    """It stands between two marks, and what is around them stays."""
    from benchmarks import report

    page = tmp_path / "page.md"
    page.write_text(f"before\n{report.BEGIN}\nold\n{report.END}\nafter\n")
    report.rewrite(page, RUN)
    assert page.read_text() == (
        "before\n<!-- figures: begin -->\n\n"
        "1000 tasks, 5 rounds · python 3.11\n\n"
        "| workload | unit | floor | flowfn | graph_compat | LangGraph | DBOS | others | of LangGraph | target |  "
        "| survives |\n"
        "| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |\n"
        "| W1 sequential tasks (SQLite, process) | µs/task | 20 | 80 |  | 770 |  |  | 0.104 | ≤ 1/10 of LangGraph "
        "| **no** | process death (LangGraph: all but the last few tasks) |\n"
        "\n<!-- figures: end -->\nafter\n"
    )


def test_a_page_without_marks_is_left_alone(tmp_path: Path) -> None:
    """Where a table has no place, it isn't guessed."""
    from benchmarks import report

    page = tmp_path / "page.md"
    page.write_text("before\n")
    with pytest.raises(ValueError, match="has no lines"):
        report.rewrite(page, RUN)
    assert page.read_text() == "before\n"
