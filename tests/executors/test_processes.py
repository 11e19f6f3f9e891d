"""`ProcessExecutor` by itself: an executor whose workers can die, or be killed, one at a time."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import CancelledError, wait
from pathlib import Path

import pytest

from flowfn import WorkerDied
from flowfn.executors import ProcessExecutor


@pytest.fixture
def one() -> Iterator[ProcessExecutor]:
    """An executor of one worker."""
    with ProcessExecutor(1) as executor:
        yield executor


def fork_and_return(child: int) -> int:
    """The worker's pid, twice; the worker waits for the child first, or not."""
    worker = os.getpid()
    if (pid := os.fork()) and child % 2:
        os.waitpid(pid, 0)
    return worker


def fork_and_die(pid: Path) -> None:
    """Leave a child behind that sleeps."""
    child = os.fork()
    if child:
        pid.write_text(str(child))
        os.kill(os.getpid(), signal.SIGKILL)
    time.sleep(600)


def test_results_and_errors(one: ProcessExecutor) -> None:
    """A function's value comes back, and so does its error; one worker does one after another."""
    assert list(one.map(lambda x: x + 1, range(3))) == [1, 2, 3]
    with pytest.raises(ZeroDivisionError):
        one.submit(lambda: 1 / 0).result()
    assert len({one.submit(os.getpid).result() for _ in range(3)}) == 1


def test_a_dead_worker_is_replaced(one: ProcessExecutor) -> None:
    """What it did is lost, and nothing else."""
    doomed, after = one.submit(os._exit, 7), one.submit(os.getpid)
    with pytest.raises(WorkerDied, match="exit code 7"):
        doomed.result()
    assert after.result() != os.getpid()


def test_a_call_that_forks_is_answered_once(one: ProcessExecutor) -> None:
    """A forked child that returns answers for nobody: not for its own call, and not for one after it."""
    pid = one.submit(os.getpid).result()
    calls = [one.submit(fork_and_return, child) for child in range(4)]
    assert [call.result() for call in calls] == [pid] * 4
    assert list(one.map(abs, range(4))) == [0, 1, 2, 3]


def test_a_forked_child_does_not_hide_that_its_worker_died(one: ProcessExecutor, tmp_path: Path) -> None:
    """The worker is killed while what it forked lives on: that is known at once."""
    pid = tmp_path / "pid"
    try:
        with pytest.raises(WorkerDied, match="exit code -9"):
            one.submit(fork_and_die, pid).result(timeout=20)
    finally:
        os.kill(int(pid.read_text()), signal.SIGKILL)


def test_the_exit_code_is_the_process_own(one: ProcessExecutor) -> None:
    """A function that ends its process says with what."""
    with pytest.raises(WorkerDied, match="exit code 3"):
        one.submit(sys.exit, 3).result()


def test_a_call_that_asks_its_terminal_hears_that_nobody_is_there(one: ProcessExecutor) -> None:
    """`input()`, and so a debugger, ends in a worker as in a process of `multiprocessing`, and waits for nobody."""
    with pytest.raises(EOFError):
        one.submit(input).result(timeout=60)


def test_a_worker_imports_nothing_from_the_current_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file there that has the name of a module is none to this process either: it may be anybody's."""
    for name in ("random", "queue", "flowfn"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit('it was run')")
    monkeypatch.chdir(tmp_path)
    with ProcessExecutor(1) as executor:
        assert executor.submit(abs, -1).result() == 1


def test_a_worker_that_died_idle_costs_nobody_an_attempt(one: ProcessExecutor) -> None:
    """A worker that is killed while it has nothing to do is replaced before the next function."""
    pid = one.submit(os.getpid).result()
    os.kill(pid, signal.SIGKILL)
    os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
    assert one.submit(os.getpid).result() != pid


def test_time_is_up(one: ProcessExecutor) -> None:
    """The process is killed, and what waits behind it gets another."""
    late, after = one.submit_within(0.1, time.sleep, 600), one.submit_within(60, os.getpid)
    with pytest.raises(TimeoutError):
        late.result()
    assert after.result() != os.getpid()


def test_stopping_before_the_process_is_up(one: ProcessExecutor) -> None:
    """A function can be stopped from the moment that a worker has it, also while the process starts."""
    future = one.submit(time.sleep, 600)
    while not future.running():
        time.sleep(0)
    while not one.stop(future):
        time.sleep(0)
    with pytest.raises(WorkerDied):
        future.result()
    assert one.submit(int, "3").result() == 3


def test_what_waits_can_be_cancelled(one: ProcessExecutor) -> None:
    """A function that no worker has is cancelled, and never runs."""
    running, waiting = one.submit(time.sleep, 600), one.submit(os._exit, 1)
    assert waiting.cancel()
    while not one.stop(running):
        time.sleep(0)
    with pytest.raises(CancelledError):
        waiting.result()
    assert one.submit(int, "3").result() == 3


def test_after_shutdown() -> None:
    """What was submitted is done, and nothing more is taken; the processes are gone."""
    executor = ProcessExecutor(2)
    futures = [executor.submit(os.getpid) for _ in range(8)]
    executor.shutdown()
    for pid in {future.result() for future in futures}:
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)
    with pytest.raises(RuntimeError, match="shut down"):
        executor.submit(os.getpid)


def test_whoever_waits_hears_of_a_shutdown(one: ProcessExecutor) -> None:
    """What `shutdown(cancel_futures=True)` cancels is over for `concurrent.futures.wait` too."""
    waiting = [one.submit(time.sleep, 0.05) for _ in range(8)]
    one.shutdown(wait=False, cancel_futures=True)
    assert not wait(waiting, timeout=20).not_done
    assert waiting[-1].cancelled()


def test_workers_die_with_their_parent(tmp_path: Path, installed: Path) -> None:
    """The parent is killed: its worker ends in the middle of what it does."""
    (tmp_path / "parent.py").write_text(
        "import os, time\n"
        "from flowfn.executors import ProcessExecutor\n"
        "def work():\n"
        "    print(os.getpid(), flush=True)\n"
        "    time.sleep(600)\n"
        "ProcessExecutor(1).submit(work).result()\n"
    )
    parent = subprocess.Popen(
        [sys.executable, "parent.py"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(installed)},
        stdout=subprocess.PIPE,
        text=True,
    )
    assert parent.stdout is not None
    parent.stdout.readline()
    parent.kill()
    assert parent.communicate()[0] == ""  # the pipe ends when the worker has ended too


SPAWNING = """
import multiprocessing, sys
from dataclasses import dataclass
from flowfn import entrypoint, task
from flowfn.executors import ProcessExecutor

@dataclass
class Square:
    of: int
    size: int

def squared(number):
    return number * number

@task
def square(number: int) -> Square:
    return Square(number, squared(number))

@entrypoint
def squares(numbers):
    return [each.result() for each in square.map(numbers)]

def run(_):
    with ProcessExecutor(1) as executor:
        found = squares.with_executor(executor)([2, 3])
        return [type(each) is Square for each in found], found[1].size, executor.submit(squared, 4).result()

if __name__ == "__main__":
    with multiprocessing.get_context(sys.argv[1]).Pool(1) as pool:
        print(pool.map(run, [None]))
"""


@pytest.mark.parametrize("method", ["spawn", "forkserver", "fork"])
def test_a_script_s_tasks_travel_from_a_process_that_it_began(
    tmp_path: Path, installed: Path, method: str
) -> None:
    """In a spawned one the script is `__mp_main__`, and of that name the worker has another module."""
    (tmp_path / "shapes.py").write_text(SPAWNING)
    done = subprocess.run(
        [sys.executable, "shapes.py", method],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(installed)},
        capture_output=True,
        text=True,
    )
    assert (done.stdout, done.stderr) == ("[([True, True], 9, 16)]\n", "")


@pytest.mark.parametrize("count", [0, -1])
def test_no_workers(count: int) -> None:
    """An executor without workers would never do anything."""
    with pytest.raises(ValueError, match="at least 1"):
        ProcessExecutor(count)
