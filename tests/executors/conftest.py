"""Executors of real worker processes, one of each kind for the whole session."""

import os
import sys
from collections.abc import Iterator
from concurrent.futures import Executor, ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import pytest

from flowfn.executors import DaskExecutor, ProcessExecutor, RayExecutor

REPO = Path(__file__).resolve().parents[2]
KINDS = ("processes", "dask", "ray")
RAY = "FLOWFN_RAY"
"""Ray's tests run where this is 1: it is large, and CI installs it nowhere."""


@pytest.fixture(scope="session", autouse=True)
def importable() -> Iterator[None]:
    """Workers find the modules of these tests, as they find a script's: where their parent does."""
    sys.path.append(str(REPO))
    yield
    sys.path.remove(str(REPO))


@pytest.fixture(scope="session")
def processes() -> Iterator[ProcessExecutor]:
    with ProcessExecutor(2) as executor:
        yield executor


@pytest.fixture(scope="session")
def dask_cluster() -> Iterator[Any]:
    """A scheduler and two worker processes, which are started again when they die.

    Dask looks once, this long after a death, whether the worker is back, and otherwise drops it for good: also one
    that is on its way back from another death just then, as tests make them die.
    """
    import dask
    from distributed import LocalCluster

    with (
        dask.config.set({"distributed.deploy.lost-worker-timeout": "1 day"}),
        LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0", silence_logs=50
        ) as cluster,
    ):
        yield cluster


@pytest.fixture(scope="session")
def dask(dask_cluster: Any) -> Iterator[DaskExecutor]:
    executor = DaskExecutor(dask_cluster.scheduler_address)
    yield executor
    executor.shutdown()


@pytest.fixture(scope="session")
def ray() -> Iterator[RayExecutor]:
    if os.environ.get(RAY) != "1":
        pytest.skip(f"{RAY}=1 runs Ray's tests")
    import ray

    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, logging_level=50)
    yield RayExecutor()
    ray.shutdown()


@pytest.fixture(params=KINDS)
def cluster(request: pytest.FixtureRequest) -> Executor:
    """Each kind whose workers are processes that flowfn knows how to lose."""
    executor: Executor = request.getfixturevalue(request.param)
    return executor


@pytest.fixture(params=(*KINDS, "threads", "pool"))
def executor(request: pytest.FixtureRequest) -> Iterator[Executor]:
    """Each kind, and the standard library's."""
    if request.param == "threads":
        with ThreadPoolExecutor(2) as threads:
            yield threads
    elif request.param == "pool":
        with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
            yield pool
    else:
        yield request.getfixturevalue(request.param)
