"""Each workflow of the cookbook may die before and after any write, and nothing shows."""

from __future__ import annotations

import importlib.util
import sqlite3
import sys
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

import pytest

from flowfn.testing import crash_everywhere

CALLS: dict[str, tuple[str, tuple[Any, ...], Any]] = {
    "01_hello": ("hello", (["Ada", "Grace"],), None),
    "02_decorate_existing_functions": ("backup", (Path("source"), ["data.csv"], Path("target")), None),
    "03_durable_script": ("charge_all", (["ada", "joe"],), None),
    "04_human_in_the_loop": ("purchase", (["paper", "chairs", "laptops"],), True),
    "05_chat_with_previous": ("chat", ("My name is Ada",), None),
    "06_long_term_memory": ("chat", ("ada", "I have a dog"), None),
    "07_agent": ("agent", ("What is the weather in Rome and Oslo? Tell ada.",), "yes"),
    "08_react_agent": ("agent", ({"messages": "I owe bob 7 euros. Have I got them? Then pay."},), "yes"),
    "09_map_reduce_with_send": ("graph", ({"pages": ["sun", "moon"]},), None),
    "10_supervisor_hand_off": ("graph", ({"said": []},), None),
    "11_approval_in_a_graph": ("graph", ({"item": "chairs"},), "yes"),
    "12_breakpoints": ("graph", ({"to": "Ada"},), None),
    "13_private_state": ("graph", ({"question": "the tides"},), None),
    "14_join": ("graph", ({"done": []},), None),
    "15_subgraph_with_memory": ("graph", ({"report": {}},), None),
    "16_time_travel": ("graph", ({},), None),
    "18_exactly_once": ("pay", (["ada", "eve"],), None),
    "23_nightly_job": ("night", ("mon",), None),
    "26_saga": ("trip", (["flight", "hotel"],), None),
    "27_rate_limited_fan_out": ("fan_out", (4,), None),
    "31_workflows_of_workflows": ("book", (1,), None),
    "32_streaming": ("reply", (3,), None),
    "33_forms_and_deadlines": ("order", (4000,), {"approved": True, "cents": 3500}),
}
"""By script: its workflow, the arguments, and what a human says."""


@pytest.mark.parametrize("script", CALLS)
def test_a_workflow_of_the_cookbook_may_die_anywhere(
    script: str, repo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """G1: the same answer, each call as often as without a crash, and the same calls when it goes on."""
    monkeypatch.chdir(tmp_path)
    for folder in ("source", "target"):
        (tmp_path / folder).mkdir()
    (tmp_path / "source" / "data.csv").write_text("1843\n")
    with closing(sqlite3.connect("shop.db")) as shop:
        shop.execute("CREATE TABLE ledger (id INTEGER PRIMARY KEY, customer TEXT, cents INTEGER)")
    workflow, args, answer = CALLS[script]
    spec = importlib.util.spec_from_file_location(f"cookbook_{script}", repo / "cookbook" / f"{script}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, spec.name, module)
    spec.loader.exec_module(module)

    same = None if script != "18_exactly_once" else lambda one, other: len(one) == len(other)
    with ExitStack() as cleaning:
        for name, method in (("folder", "cleanup"), ("memory", "close")):  # what a script leaves to its end
            if hasattr(module, name):
                cleaning.callback(getattr(getattr(module, name), method))
        report = crash_everywhere(getattr(module, workflow), *args, answers=answer, same=same)
    assert report.points >= 8
    if script == "18_exactly_once":
        with closing(sqlite3.connect("shop.db")) as shop:
            ((booked,),) = shop.execute("SELECT count(*) FROM ledger")
            ((done,),) = shop.execute("SELECT count(*) FROM flowfn_done")
        assert booked == done
