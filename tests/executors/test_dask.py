"""What a Dask cluster does with results whose worker dies: an attempt runs once, and is always answered for."""

import os
import signal
from pathlib import Path
from typing import Any

import pytest
from distributed import Client

from flowfn import WorkerDied
from flowfn.executors import DaskExecutor


class Fatal:
    """A result that kills the worker which sends it."""

    def __reduce__(self) -> Any:
        os.kill(os.getpid(), signal.SIGKILL)
        return Fatal, ()


def one(file: Path) -> int:
    with file.open("a") as out:
        out.write("ran\n")
    return os.getpid()


def lost(file: Path) -> Fatal:
    one(file)
    return Fatal()


def marks(dask_scheduler: Any) -> list[str]:
    return list(dask_scheduler.extensions["events"]._events)


def test_a_result_that_is_lost_on_its_way_is_a_dead_worker(dask: DaskExecutor, tmp_path: Path) -> None:
    """The function has ended, and its worker dies before the result is fetched: that attempt failed, and ran once."""
    ran = tmp_path / "ran"
    with pytest.raises(WorkerDied):
        dask.submit(lost, ran).result(60)
    assert ran.read_text() == "ran\n"


def test_a_fetched_result_is_not_computed_again(dask: DaskExecutor, tmp_path: Path) -> None:
    """A worker dies that has returned a result: Dask would compute what it still holds once more."""
    ran = tmp_path / "ran"
    os.kill(dask.submit(one, ran).result(60), signal.SIGKILL)
    for _ in range(3):
        dask.submit(one, tmp_path / "others").result(60)
    assert ran.read_text() == "ran\n"


def test_the_scheduler_keeps_nothing_of_an_executor_that_was_shut(dask_cluster: Any, tmp_path: Path) -> None:
    """The marks that say which attempts have begun are taken back."""
    with Client(dask_cluster.scheduler_address) as client:
        before = client.run_on_scheduler(marks)
        with DaskExecutor(dask_cluster.scheduler_address) as executor:
            executor.submit(one, tmp_path / "ran").result(60)
            assert len(client.run_on_scheduler(marks)) == len(before) + 1
        assert client.run_on_scheduler(marks) == before
