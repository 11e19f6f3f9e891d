"""Section 7: importing flowfn costs what its own files cost. Judged by what it loads, never by time."""

from typing import Any

import pytest

HEAVY = (
    "asyncio",
    "cloudpickle",
    "diskcache",
    "importlib.metadata",
    "langchain_core",
    "langgraph",
    "numpy",
    "psycopg",
    "pydantic",
    "rich",
    "sqlite3",
    "tenacity",
    "typer",
)


def loaded(run_python: Any, statement: str) -> list[str]:
    """The heavy libraries that a fresh Python has loaded after `statement`."""
    code = f"{statement}\nimport sys\nprint(*[name for name in {HEAVY!r} if name in sys.modules])"
    done = run_python("-c", code)
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


def test_importing_flowfn_loads_no_heavy_library(run_python: Any) -> None:
    """`import flowfn` loads no validator, driver or terminal library: who uses one pays."""
    assert loaded(run_python, "import flowfn") == []


def test_importing_the_savers_loads_no_driver(run_python: Any) -> None:
    """A driver is loaded when its saver is named, and not before."""
    assert loaded(run_python, "import checkpointers\nfrom checkpointers import MemorySaver, open_saver") == []


@pytest.mark.parametrize(
    ("saver", "arguments", "driver"), [("MemorySaver", "", []), ("SqliteSaver", "'runs.db'", ["sqlite3"])]
)
def test_a_blocking_run_loads_no_event_loop(
    run_python: Any, saver: str, arguments: str, driver: list[str]
) -> None:
    """A blocking run on a saver of flowfn's loads that saver's driver alone."""
    code = (
        f"from checkpointers import {saver}\nfrom flowfn import entrypoint, task\n"
        "@task\ndef double(n: int) -> int:\n    return 2 * n\n"
        f"@entrypoint(checkpointer={saver}({arguments}))\ndef flow(n: int) -> int:\n    return double(n).result()\n"
        "assert flow.invoke(2) == 4"
    )
    assert loaded(run_python, code) == driver


def test_importing_graphs_loads_no_heavy_library(run_python: Any) -> None:
    """What a graph's messages, callbacks or savers need is loaded when one is met."""
    assert loaded(run_python, "from graph_compat.graph import END, START, StateGraph") == []


def test_the_engine_loads_with_the_first_run(run_python: Any) -> None:
    """A program that only decorates functions doesn't wait for the engine, the serializer or a saver."""
    code = "from flowfn import entrypoint, task\ntask(len)\nentrypoint(len)\nimport sys\n"
    done = run_python("-c", code + "print(*sorted(m for m in sys.modules if m.startswith('flowfn.engine.')))")

    assert done.stdout.split() == ["flowfn.engine.drive"]


def test_the_probe_sees_what_is_loaded(run_python: Any) -> None:
    """The test above can fail: the probe names a library that was imported."""
    assert loaded(run_python, "import sqlite3") == ["sqlite3"]
