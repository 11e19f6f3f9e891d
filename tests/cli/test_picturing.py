"""`flowfn graph` and `flowfn timeline`."""

import json
from pathlib import Path
from typing import Any


def test_the_way_that_a_run_took(flowfn: Any, shop: Path) -> None:
    """In characters, as Mermaid, as SVG, as JSON; to a file where one is named."""
    assert "| basket |" in flowfn("graph", "paid").out
    assert "basket --> charge" in flowfn("graph", "paid", "--as", "mermaid").out.replace(
        "-.->", "-->"
    ).replace("&nbsp;", "")
    assert flowfn("graph", "paid", "--as", "svg", "--out", "paid.svg").out == ""
    assert Path("paid.svg").read_text().startswith("<svg")
    names = [node["id"] for node in json.loads(flowfn("graph", "paid", "--json").out)["nodes"]]
    assert names == ["__start__", "basket", "charge", "__end__"]


def test_what_a_workflow_may_do(flowfn: Any, shop: Path) -> None:
    """Read from the script, which isn't run."""
    ran = flowfn("graph", "app.py:order", "--json")
    names = [node["id"] for node in json.loads(ran.out)["nodes"]]
    assert names == ["__start__", "basket", "interrupt", "charge", "__end__"]
    assert flowfn("graph", "nope.py:order").code == 2


def test_the_timeline(flowfn: Any, shop: Path) -> None:
    """A line for each call."""
    rows = [row.split("|")[0].strip() for row in flowfn("timeline", "paid").out.splitlines()]
    assert rows[1:] == ["basket(items=['ink'])", "price(item='ink')", "charge(total=3)"]
    assert flowfn("timeline", "paid", "--as", "mermaid").out.startswith("gantt\n")
    assert [line["label"] for line in json.loads(flowfn("timeline", "paid", "--json").out)["lines"]][-1] == (
        "charge(total=3)"
    )


def test_a_file_that_cannot_be_written(flowfn: Any, shop: Path) -> None:
    """A picture whose file can't be written ends the command with exit code 2."""
    assert flowfn("timeline", "paid", "--out", "no/such/folder.svg").code == 2
