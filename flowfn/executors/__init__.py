"""Where tasks run that are not to run on this process's threads: worker processes, or a cluster.

`executor=` takes one of these, any `concurrent.futures.Executor`, or a name (`open_executor`). Retries, timeouts
and records stay with the process that has the run; a worker is given one attempt at a time.
"""

from typing import TYPE_CHECKING

from flowfn.python.lazy import lend

if TYPE_CHECKING:
    from flowfn.executors.dask import DaskExecutor
    from flowfn.executors.opening import open_executor
    from flowfn.executors.processes import ProcessExecutor
    from flowfn.executors.ray import RayExecutor

__all__ = ["DaskExecutor", "ProcessExecutor", "RayExecutor", "open_executor"]

_HOMES = {
    "DaskExecutor": ".dask",
    "ProcessExecutor": ".processes",
    "RayExecutor": ".ray",
    "open_executor": ".opening",
}

lend(__name__, _HOMES)
