"""`flowfn diff`: how the last resumed run of a thread differed from its record."""

import json
from pathlib import Path
from typing import Any

import pytest

from flowfn.report import Report


def edit(folder: Path, before: str, after: str) -> None:
    """Edit the script that its threads were recorded by."""
    script = folder / "app.py"
    text = script.read_text()
    assert before in text
    script.write_text(text.replace(before, after))


@pytest.fixture
def survives(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing kills the run again."""
    monkeypatch.setenv("survive", "yes")


def test_the_two_sides_and_the_cause(flowfn: Any, shop: Path, survives: None) -> None:
    """Section 4: recorded calls left, this run's right, with file:line and code; the source diff."""
    edit(shop, "found = price(item).result()", "found = price(item + '!').result()")
    assert flowfn("resume", "dead", "app.py").out == "4\n"
    ran = flowfn("diff", "dead")
    assert ran.code == 0
    assert ran.out.splitlines()[:2] == ["dead  app.doomed", "0 calls reused, 2 run"]
    row = next(line for line in ran.out.splitlines() if line.startswith("new"))
    assert "price(item='ink')" in row.partition("price(item='ink!')")[0]
    assert "item: 'ink' → 'ink!'" in row
    below = ran.out.splitlines()[ran.out.splitlines().index(row) + 1]
    assert below.count("app.py:") == below.count("code ") == 2
    assert "first difference: new: price(item='ink')" in ran.out
    assert "-    found = price(item).result()" in ran.out.splitlines()
    assert "+    found = price(item + '!').result()" in ran.out.splitlines()
    assert "probable cause: the code of doomed changed" in ran.out


def test_the_report_as_json(flowfn: Any, shop: Path, survives: None) -> None:
    """The same data as `thread.report`."""
    edit(shop, "return len(item)", "return 10 * len(item)")
    flowfn("resume", "dead", "app.py")
    report = Report.from_data(json.loads(flowfn("diff", "dead", "--json").out))
    assert [each.kind for each in report][:1] == ["code"]
    assert [each.name for each in report.edits] == ["price"]


def test_a_run_that_just_went_on(flowfn: Any, shop: Path, survives: None) -> None:
    """There is nothing to show of a run that wasn't resumed, or did as recorded."""
    assert flowfn("diff", "paid").out.splitlines()[1:] == ["nothing to compare: the last run was not resumed"]
    flowfn("answer", "asks-1", "true", "app.py")
    assert flowfn("diff", "asks-1").out.splitlines()[1:] == ["no differences: 2 calls reused, 1 run"]


def test_a_refused_run(flowfn: Any, shop: Path, survives: None) -> None:
    """Rule 3: `resume` says in one line what can't be told; `diff` shows both calls."""
    edit(shop, "found = price(item)", "found = price.with_options(on_divergence='error')(item + '!')")
    ran = flowfn("resume", "dead", "app.py")
    assert (ran.code, ran.err.count("\n")) == (1, 1)
    assert ran.err.endswith("`flowfn diff` shows more.\n")
    assert "forbidden" in flowfn("diff", "dead").out
