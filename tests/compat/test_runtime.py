"""The runtime that nodes are given, made and put together by hand as tests of nodes do."""

import pytest

from graph_compat.runtime import ExecutionInfo, RunControl, Runtime


def test_a_runtime_of_ones_own() -> None:
    """Every field has a default, and a writer that nobody hears."""
    runtime: Runtime[str] = Runtime(context="ann")
    runtime.stream_writer("unheard")
    runtime.heartbeat()
    assert (runtime.context, runtime.store, runtime.previous, runtime.attempt) == ("ann", None, None, 1)
    assert (runtime.thread_id, runtime.drain_requested, runtime.drain_reason) == (None, False, None)


def test_the_other_one_wins_where_it_has_something() -> None:
    """merge takes the other's values, but not its defaults."""
    merged = Runtime(context="ann", store=1).merge(Runtime(context="bob"))
    assert (merged.context, merged.store) == ("bob", 1)
    assert merged.override(store=2).store == 2


def test_the_execution_info_of_a_runtime() -> None:
    """It can be patched where there is one."""
    info = ExecutionInfo("c", "node:t", "t", thread_id="1")
    runtime = Runtime(execution_info=info).patch_execution_info(node_attempt=2)
    assert (runtime.thread_id, runtime.task_id, runtime.attempt) == ("1", "t", 2)
    with pytest.raises(RuntimeError, match="before it has been set"):
        Runtime().patch_execution_info(node_attempt=2)


def test_a_drain_is_seen() -> None:
    """The runtime tells that its run was asked to stop, and why."""
    control = RunControl()
    runtime = Runtime(control=control)
    control.request_drain("deploy")
    assert (runtime.drain_requested, runtime.drain_reason) == (True, "deploy")
