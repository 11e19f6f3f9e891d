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


_LOOKING_ON = """
import asyncio, sys, threading
from typing import TypedDict
from flowfn import entrypoint
from graph_compat.graph import START, StateGraph

LARGE = ("flowfn.engine.", "flowfn.functional.", "langchain_core.", "langsmith.")

class Looking:
    found = []
    def find_spec(self, name, path=None, target=None):
        if threading.current_thread() is threading.main_thread():
            self.found.append(name)

@entrypoint()
async def flow(n: int) -> int:
    return n

builder = StateGraph(TypedDict("State", {"n": int}))
builder.add_node("a", lambda state: {"n": state["n"] + 1})
builder.add_edge(START, "a")
graph = builder.compile()

async def streamed(stream):
    return [chunk async for chunk in stream][-1]

async def main():
    sys.meta_path.insert(0, Looking())
    return await CALL

print(asyncio.run(main()))
print(*sorted({name for name in Looking.found if name.startswith(LARGE)}))
"""


@pytest.mark.parametrize(
    "where", ["checkpointers import PostgresSaver", "flowfn.stores import PostgresStore"]
)
def test_a_driver_that_is_not_installed_is_named_with_its_extra(run_python: Any, where: str) -> None:
    """Whoever imports the class gets to know what to install, as whoever names a URL does."""
    code = f"""
import sys
sys.modules["psycopg"] = None
try:
    from {where}
except ModuleNotFoundError as error:
    print(error.name, error)
"""
    said = "psycopg savers and stores in Postgres need psycopg: pip install 'flowfn-durable[postgres]'\n"
    assert run_python("-c", code).stdout == said


@pytest.mark.parametrize(
    ("call", "result"),
    [
        ("flow.ainvoke(1)", "1"),
        ("streamed(flow.astream(1))", "{'flow': 1}"),
        ("graph.ainvoke({'n': 1})", "{'n': 2}"),
        ("streamed(graph.astream({'n': 1}))", "{'a': {'n': 2}}"),
        ("asyncio.gather(graph.ainvoke({'n': 1}), graph.ainvoke({'n': 2}))", "[{'n': 2}, {'n': 3}]"),
    ],
)
@pytest.mark.parametrize(
    "first", ["", "import langchain_core.runnables.config\n"], ids=["alone", "langchain"]
)
def test_an_event_loop_goes_on_while_the_engine_loads(
    run_python: Any, first: str, call: str, result: str
) -> None:
    """The first call of a server imports nothing large on the loop's own thread."""
    done = run_python("-c", first + _LOOKING_ON.replace("CALL", call))
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [result, ""]


def test_calls_that_wait_for_the_engine_begin_in_their_order(run_python: Any) -> None:
    """They wait for one import, and one that is cancelled meanwhile takes none along."""
    code = """
import asyncio, threading
from flowfn import entrypoint

begun = []

@entrypoint()
async def flow(n: int) -> int:
    begun.append(n)
    return n

async def main():
    calls = [asyncio.ensure_future(flow.ainvoke(n)) for n in range(50)]
    await asyncio.sleep(0)
    calls[7].cancel()
    importing = [thread.name for thread in threading.enumerate() if thread.name == "flowfn-imports"]
    found = await asyncio.gather(*calls, return_exceptions=True)
    print(importing, begun == [n for n in range(50) if n != 7], type(found[7]).__name__)

asyncio.run(main())
"""
    done = run_python("-c", code)
    assert done.stdout == "['flowfn-imports'] True CancelledError\n", done.stderr


def test_the_probe_sees_what_is_loaded(run_python: Any) -> None:
    """The test above can fail: the probe names a library that was imported."""
    assert loaded(run_python, "import sqlite3") == ["sqlite3"]
