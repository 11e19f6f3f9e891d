"""From what a user writes as `executor=` to an executor."""

from __future__ import annotations

from concurrent.futures import Executor
from typing import Any

from flowfn.errors import InvalidInput
from flowfn.opening import Opened
from flowfn.python.forking import after_fork

_opened: Opened[Executor] = Opened({})
after_fork(_opened.forget)  # a child has none of its parent's threads and connections

_EXPECTED = (
    'Pass a concurrent.futures.Executor, "threads", "processes", "dask://host:port" or "ray://host:port".'
)


def check_executor(executor: Any) -> Any:
    """What can be an executor; a name is opened at the first use.

    Raises:
        InvalidInput: it can't.
    """
    known = executor is None or isinstance(executor, Executor) or _is_name(executor)
    if not known:
        raise InvalidInput(f"executor={executor!r} is not an executor. {_EXPECTED}")
    return executor


def travelling(executor: Any) -> str | None:
    """An executor as another process can have it: its name. One that is an object stays where it was made."""
    return executor if isinstance(executor, str) else None


def open_executor(target: Any) -> Executor | None:
    """The executor that a target names, the same one each time in this process; None for "threads", the default.

    "processes" is a `ProcessExecutor` with a worker for each processor; "dask://host:port" a client of that scheduler;
    "ray://host:port" a client of that cluster, and "ray://" the cluster that Ray finds by itself, or starts.

    Raises:
        InvalidInput: it names none.
    """
    check_executor(target)
    if target is None or isinstance(target, Executor):
        return target
    if target == "threads":
        return None
    return _opened.get(target, _made)


def _is_name(target: Any) -> bool:
    if not isinstance(target, str):
        return False
    scheme, separator, rest = target.partition("://")
    if separator:
        return scheme == "ray" or (scheme == "dask" and bool(rest))
    return scheme in ("threads", "processes")


def _made(name: str) -> Executor:
    scheme, _, rest = name.partition("://")
    if scheme == "processes":
        from flowfn.executors.processes import ProcessExecutor

        return ProcessExecutor()
    if scheme == "dask":
        from flowfn.executors.dask import DaskExecutor

        return DaskExecutor(f"tcp://{rest}")
    from flowfn.executors.ray import RayExecutor

    return RayExecutor(name if rest else None)
