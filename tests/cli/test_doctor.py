"""`flowfn doctor`: what an edited script would make of the open runs of a database."""

import json
from pathlib import Path
from typing import Any

from .test_diff import edit


def verdicts(flowfn: Any, code: int) -> dict[str, str]:
    ran = flowfn("doctor", "app.py", "--json")
    assert ran.code == code
    return {each["thread"]: each["verdict"] for each in json.loads(ran.out)}


OPEN = ("asks-1", "asks-2", "both", "broke", "dead")


def test_nothing_has_changed(flowfn: Any, shop: Path) -> None:
    """Every open run continues as it is; finished ones aren't looked at."""
    assert verdicts(flowfn, 0) == dict.fromkeys(OPEN, "continues")


def test_runs_that_fare_alike_are_one_line(flowfn: Any, shop: Path) -> None:
    """How many, of which workflow, why, and the id of one of them; then the code that was edited."""
    edit(shop, "basket(items)\n    answer", "basket(items[:1] + ['x'])\n    answer")
    ran = flowfn("doctor", "app.py")
    lines = ran.out.splitlines()
    assert ran.code == 0
    assert [line.split()[:3] for line in lines if line.startswith(("anew", "continues"))] == [
        ["anew", "2", "app.order"],
        ["continues", "1", "app.doomed"],
        ["continues", "1", "app.buy"],
        ["continues", "1", "app.committee"],
    ]
    assert "+    total = basket(items[:1] + ['x'])" in lines


def test_a_workflow_that_is_gone(flowfn: Any, shop: Path) -> None:
    """Exit code 1 where somebody has to decide before the deploy."""
    edit(shop, "def doomed", "def renamed")
    assert verdicts(flowfn, 1) == {**dict.fromkeys(OPEN, "continues"), "dead": "decide"}
    assert flowfn("doctor", "app.py").out.splitlines()[1].startswith("decide")


def test_the_database_is_not_written_to(flowfn: Any, shop: Path) -> None:
    """Not even where a file of it can't be written."""
    before = (shop / "runs.db").read_bytes()
    flowfn("doctor", "app.py")
    assert (shop / "runs.db").read_bytes() == before
    assert "main ran" not in flowfn("doctor", "app.py").out
