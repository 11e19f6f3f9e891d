"""Each workflow of the cookbook may die before and after any write, and nothing shows."""

from __future__ import annotations

import importlib.util
import sqlite3
import sys
from collections.abc import Callable
from contextlib import ExitStack, closing
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
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
    "21_a_module_and_a_class": ("room", (lambda module: [module.Wall("red"), module.Wall("blue")],), None),
    "22_third_party_library": ("equations", ([[2.0, 1.0], [1.0, 3.0]], [5.0, 10.0]), None),
    "23_nightly_job": ("night", ("mon",), None),
    "25_pandas_pipeline": ("pipeline", (Path("source/sales.csv"),), None),
    "26_saga": ("trip", (["flight", "hotel"],), None),
    "27_rate_limited_fan_out": ("fan_out", (4,), None),
    "28_agent_with_langchain": ("agent", ({"messages": [("user", "Is it warm in Rome?")]},), None),
    "30_asyncio": ("report", (["north", "south"],), None),
    "31_workflows_of_workflows": ("book", (1,), None),
    "32_streaming": ("reply", (3,), None),
    "33_forms_and_deadlines": ("order", (4000,), {"approved": True, "cents": 3500}),
    "34_agent_tools": ("agent", (["Oslo", "Rome"],), "yes"),
}
"""By script: its workflow, the arguments, and what a human says."""

SAME: dict[str, Callable[[Any, Any], bool]] = {
    "18_exactly_once": lambda one, other: len(one) == len(other),
    "22_third_party_library": lambda one, other: bool((one == other).all()),
    "25_pandas_pipeline": lambda one, other: bool(one.equals(other)),
    "28_agent_with_langchain": lambda one, other: (
        [m.content for m in one["messages"]] == [m.content for m in other["messages"]]
    ),
}
"""How answers are compared that `==` doesn't tell, or that hold ids of their own."""

REPAIRS: dict[str, Callable[[Any], Any]] = {
    "21_a_module_and_a_class": lambda module: module.brushes.append("flat"),
    "22_third_party_library": lambda module: module.network.update(up=True),
    "25_pandas_pipeline": lambda module: setattr(module, "column", "total"),
    "28_agent_with_langchain": lambda module: setattr(module, "limited", False),
    "30_asyncio": lambda module: module.state.update(mail=True),
}
"""What is done about the outages that some scripts show."""

LEFT_OUT = {
    "17_cached_reuse": "keeps no journal: what it shows is tried in tests/caching",
    "19_tasks_over_a_cluster": "runs on other processes, and is tried in tests/executors",
    "20_runs_over_processes": "is many processes itself",
    "29_edit_before_resume": "dies of its own accord, and is another program afterwards",
}
"""Scripts that crashes in this process say nothing of, and why."""


def test_every_script_of_the_cookbook_is_tried(repo: Path) -> None:
    """A new script has a row, or a reason."""
    scripts = {path.stem for path in (repo / "cookbook").glob("*.py")}
    assert scripts == CALLS.keys() | LEFT_OUT.keys() | {"24_web_crawl"}


class Site(BaseHTTPRequestHandler):
    """Two pages that link to each other."""

    def do_GET(self) -> None:
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b'<a href="/b">' if self.path == "/" else b'<a href="/">')

    def log_message(self, *_: object) -> None:
        pass


def test_a_web_crawl_may_die_anywhere(repo: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """G1: with a real server, whose pages are asked for as often as without a crash."""
    module = loaded("24_web_crawl", repo, monkeypatch)
    with ThreadingHTTPServer(("127.0.0.1", 0), Site) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        report = crash_everywhere(module.crawl, f"http://127.0.0.1:{server.server_port}")
        server.shutdown()
    module.folder.cleanup()
    assert report.points >= 8


def loaded(script: str, repo: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A script as a module, with what it shows as broken repaired."""
    spec = importlib.util.spec_from_file_location(f"cookbook_{script}", repo / "cookbook" / f"{script}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, spec.name, module)
    spec.loader.exec_module(module)
    if script in REPAIRS:
        REPAIRS[script](module)
    return module


@pytest.mark.filterwarnings("ignore::graph_compat.warnings.LangGraphDeprecatedSinceV10")
@pytest.mark.parametrize("script", CALLS)
def test_a_workflow_of_the_cookbook_may_die_anywhere(
    script: str, repo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """G1: the same answer, each call as often as without a crash, and the same calls when it goes on."""
    monkeypatch.chdir(tmp_path)
    for folder in ("source", "target"):
        (tmp_path / folder).mkdir()
    (tmp_path / "source" / "data.csv").write_text("1843\n")
    (tmp_path / "source" / "sales.csv").write_text("region,item,amount\nnorth,tea,4\nsouth,bread,8\n")
    with closing(sqlite3.connect("shop.db")) as shop:
        shop.execute("CREATE TABLE ledger (id INTEGER PRIMARY KEY, customer TEXT, cents INTEGER)")
    workflow, args, answer = CALLS[script]
    module = loaded(script, repo, monkeypatch)
    same = SAME.get(script)
    with ExitStack() as cleaning:
        for name, method in (("folder", "cleanup"), ("memory", "close")):  # what a script leaves to its end
            if hasattr(module, name):
                cleaning.callback(getattr(getattr(module, name), method))
        given = tuple(each(module) if callable(each) else each for each in args)
        report = crash_everywhere(getattr(module, workflow), *given, answers=answer, same=same)
    assert report.points >= 8
    if script == "18_exactly_once":
        with closing(sqlite3.connect("shop.db")) as shop:
            ((booked,),) = shop.execute("SELECT count(*) FROM ledger")
            ((done,),) = shop.execute("SELECT count(*) FROM flowfn_done")
        assert booked == done
