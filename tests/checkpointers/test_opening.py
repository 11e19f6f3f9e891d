"""What may be written as `checkpointer=`, and what importing the package costs."""

from __future__ import annotations

import contextlib
import copy
import gc
import os
import re
import subprocess
import sys
import weakref
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import cloudpickle
import pytest

import checkpointers
from checkpointers import MemorySaver, PostgresSaver, SqliteSaver, open_saver
from checkpointers.conformance.rows import PlainSerde
from flowfn import entrypoint
from flowfn.errors import InvalidInput, UnknownThread
from graph_compat.graph import START, StateGraph


@pytest.fixture(autouse=True)
def in_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Relative paths end up in a folder of the test's own; values needn't be more than bytes."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("checkpointers.base.default_serde", PlainSerde)


@pytest.mark.parametrize("target", ["runs.db", Path("runs.db"), "sqlite:///runs.db", "sqlite:////{}/runs.db"])
def test_a_path_and_a_url_name_a_file(target: Any, tmp_path: Path) -> None:
    """Three slashes are relative, four absolute."""
    if isinstance(target, str):
        target = target.format(str(tmp_path).lstrip("/"))
    saver = open_saver(target)
    assert isinstance(saver, SqliteSaver)
    assert (tmp_path / "runs.db").exists()
    saver.close()


def test_a_saver_is_itself() -> None:
    """A saver is returned as it is, with nothing around it."""
    saver = MemorySaver()
    assert open_saver(saver) is saver


def test_memory_is_new_each_time() -> None:
    """Two workflows with `memory://` don't share threads."""
    assert isinstance(open_saver("memory://"), MemorySaver)
    assert open_saver("memory://") is not open_saver("memory://")
    with SqliteSaver(":memory:") as saver, open_saver("sqlite:///:memory:") as other:  # type: ignore[attr-defined]
        assert saver is not other


def test_a_file_that_is_open_is_the_same_saver(tmp_path: Path) -> None:
    """However it is spelled; once closed, a new one."""
    first = open_saver("runs.db")
    (tmp_path / "link.db").symlink_to(tmp_path / "runs.db")
    assert open_saver(tmp_path / "runs.db") is first
    assert open_saver("sqlite:///link.db") is first
    first.close()
    second = open_saver("runs.db")
    assert second is not first
    second.close()


def doubled(checkpointer: Any) -> Any:
    """A workflow that keeps its runs there, and adds to what was before."""

    @entrypoint(checkpointer=checkpointer)
    def flow(number: int, *, previous: int = 0) -> int:
        return 2 * number + previous

    return flow


@pytest.mark.parametrize("target", ["runs.db", "sqlite:///runs.db", "file:runs.db"])
def test_what_a_workflow_names_stays_open_while_the_workflow_lives(
    target: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A call costs no opening of the file, and once the workflow is gone nothing holds it open."""
    flow, opened = doubled(target), list[weakref.ref[SqliteSaver]]()

    class Watched(SqliteSaver):
        def __init__(self, path: str) -> None:
            super().__init__(path)
            opened.append(weakref.ref(self))

    monkeypatch.setattr("checkpointers.sqlite.SqliteSaver", Watched)
    for number in range(3):
        flow.invoke(number, thread_id="t")
        gc.collect()
    assert [bool(each()) for each in opened] == [True]
    del flow
    gc.collect()
    assert opened[0]() is None


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda graph: cloudpickle.loads(cloudpickle.dumps(graph))])
@pytest.mark.parametrize("target", ["runs.db", "memory://"])
def test_a_graph_that_has_run_can_be_copied(target: str, copied: Callable[[Any], Any]) -> None:
    """What it opened stays its own: a copy opens what it names for itself."""
    builder = StateGraph(dict)
    builder.add_node("add", lambda state: {"n": state["n"] + 1})
    builder.add_edge(START, "add")
    graph = builder.compile(checkpointer=target)
    config = {"configurable": {"thread_id": "t"}}
    graph.invoke({"n": 1}, config)
    other = copied(graph)
    assert other.invoke({"n": 1}, config) == {"n": 2}
    runs = [len(list(each.get_state_history(config))) for each in (graph, other)]
    assert runs == ([6, 6] if target == "runs.db" else [3, 3])


def test_a_relative_path_starts_where_the_process_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A relative path leads, at each call, from the folder that the process is in."""
    flow = doubled("runs.db")
    for folder in ("a", "b", "a"):
        (tmp_path / folder).mkdir(exist_ok=True)
        monkeypatch.chdir(tmp_path / folder)
        flow.invoke(1, thread_id="t")
    assert flow.thread("t").state.values == 4
    monkeypatch.chdir(tmp_path / "b")
    assert flow.thread("t").state.values == 2


def test_a_thread_that_is_in_another_file_is_missed_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who resumes it from another folder is told which file was looked in."""
    thread = doubled("runs.db").thread("t")
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
    monkeypatch.chdir(tmp_path / "a")
    thread.invoke(1)
    monkeypatch.chdir(tmp_path / "b")
    for ask in (thread.resume, thread.cancel):
        with pytest.raises(UnknownThread, match=re.escape(f"database is {tmp_path / 'b' / 'runs.db'}")):
            ask()


@pytest.mark.parametrize("target", ["sqlite:///:memory:", ":memory:", "file::memory:", "memory://"])
def test_what_is_in_memory_lives_as_long_as_its_workflow(
    target: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A database in memory stays the workflow's, wherever the process goes."""
    flow = doubled(target)
    flow.invoke(1, thread_id="t")
    (tmp_path / "other").mkdir()
    monkeypatch.chdir(tmp_path / "other")
    assert flow.invoke(1, thread_id="t") == 4


@pytest.mark.parametrize(
    "target",
    [
        *(None, "", 42, MemorySaver, SimpleNamespace()),
        *("redis://x", "sqlite://", "memory://x", "sqlite:runs.db", "postgresql:runs", "memory"),
    ],
)
def test_anything_else_is_refused(target: Any) -> None:
    """`InvalidInput`, a `TypeError`, that shows the value and what to pass."""
    with pytest.raises(InvalidInput, match=r"is not a checkpointer\. Pass a saver, a path") as caught:
        open_saver(target)
    assert repr(target) in str(caught.value)


@pytest.mark.parametrize("scheme", ["postgresql", "postgres"])
def test_a_postgres_url_names_a_database(postgres_url: str, scheme: str) -> None:
    """While it is open it is the same saver; once closed, a new one."""
    url = postgres_url.replace("postgresql", scheme)
    first = open_saver(url)
    assert isinstance(first, PostgresSaver)
    assert open_saver(url) is first
    first.close()
    second = open_saver(url)
    assert second is not first
    second.close()


def test_postgres_without_its_driver_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    """`ImportError` says what to install."""
    for name in [
        name for name in sys.modules if name.startswith(("checkpointers.postgres", "flowfn.postgres"))
    ]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(ImportError, match=r"pip install 'flowfn-durable\[postgres\]'"):
        open_saver("postgresql://localhost/runs")


def test_importing_loads_no_driver() -> None:
    """The memory saver doesn't either."""
    script = (
        "import sys, checkpointers; from checkpointers import MemorySaver, open_saver;"
        "print([name for name in ('sqlite3', 'psycopg', 'ormsgpack', 'pydantic') if name in sys.modules])"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    done = subprocess.run(
        [sys.executable, "-c", script],
        capture_output=True,
        text=True,
        check=True,
        env=environment,
        cwd=Path(checkpointers.__file__).parent.parent,
    )
    assert done.stdout == "[]\n"


def test_the_package_lists_its_names() -> None:
    """For completion; a wrong name is an ordinary AttributeError."""
    assert set(checkpointers.__all__) <= set(dir(checkpointers))
    with pytest.raises(AttributeError, match="NoSaver"):
        _ = checkpointers.NoSaver


@pytest.mark.parametrize("target", ["runs.db", "sqlite:///runs.db", "file:runs.db"])
def test_a_relative_path_in_a_folder_that_was_deleted_is_refused(target: str, tmp_path: Path) -> None:
    """The error names the path and what to do; a workflow's is the same."""
    (gone := tmp_path / "gone").mkdir()

    @entrypoint(checkpointer=target)
    def flow() -> None: ...

    with contextlib.chdir(tmp_path):
        os.chdir(gone)
        gone.rmdir()
        for call in (flow, lambda: open_saver(target)):
            with pytest.raises(InvalidInput, match=r"'.*runs.db' leads nowhere.*os\.chdir"):
                call()
