"""A process that is forked in the code of a run is no part of that run, and doesn't disturb it."""

import os
from typing import Any

import pytest

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="processes can't fork here")

SCRIPT = """
import os, sys
from multiprocessing import get_context
from flowfn import LeaseLost, entrypoint, task

@task
def double(x):
    return 2 * x

def of_double(x):
    return double(x).result()

def in_a_pool():
    with get_context("fork").Pool(1) as pool:
        return pool.map(of_double, [1, 2])

@task
def pooled():
    return in_a_pool()

@entrypoint(checkpointer="runs.db")
def inner(x):
    return double(x).result()

@entrypoint(checkpointer="runs.db")
def body():
    return [in_a_pool(), double(3).result()]

@entrypoint(checkpointer="runs.db")
def of_tasks():
    return [pooled().result(), double(3).result()]

@entrypoint(checkpointer="runs.db")
def of_workflows():
    with get_context("fork").Pool(1) as pool:
        return [pool.map(begun, [1, 2]), double(3).result()]

def begun(x):
    return inner(x)

@entrypoint(checkpointer="runs.db")
def returning():
    child = os.fork()
    if child:
        os.waitpid(child, 0)
    return double(child > 0).result()

if __name__ == "__main__":
    parent = os.getpid()
    try:
        print(globals()[sys.argv[1]](), flush=True)
    except LeaseLost as error:
        print("forked from" in str(error), os.getpid() != parent, flush=True)
"""


@pytest.mark.parametrize(
    ("workflow", "printed"),
    [
        ("body", ["[[2, 4], 6]"]),
        ("of_tasks", ["[[2, 4], 6]"]),
        ("of_workflows", ["[[2, 4], 6]"]),
        ("returning", ["True True", "2"]),
    ],
)
def test_a_forked_child_is_outside_and_the_run_goes_on(
    run_python: Any, workflow: str, printed: list[str]
) -> None:
    """What a child calls runs as outside any run; one that goes on as if it were the run is told that it isn't."""
    done = run_python("-c", SCRIPT, workflow)
    assert (done.stdout.splitlines(), done.returncode) == (printed, 0), done.stderr


def test_a_forked_child_warns_of_what_isnt_recorded(run_python: Any) -> None:
    """Once per task and process, at the call."""
    done = run_python("-c", SCRIPT, "body")
    assert (
        done.stderr.count("UserWarning: task 'double' was called in a process that was forked in 'body'") == 1
    )


FIRST = """
import os, sys, threading
from flowfn import entrypoint, task
from flowfn.executors import ProcessExecutor

@task
def double(x):
    return 2 * x

@entrypoint(checkpointer="runs.db")
def of_a_file(x):
    return double(x).result()

@entrypoint(checkpointer="memory://")
def of_memory(x):
    return double(x).result()

@task(executor=ProcessExecutor(1))
def elsewhere(x):
    return x * 2
"""


@pytest.mark.parametrize("called", ["of_a_file(21)", "of_memory(21)", "elsewhere(21).result()"])
def test_a_child_can_call_what_its_parent_calls_for_the_first_time(run_python: Any, called: str) -> None:
    """Threads that were in the middle of that are not there in the child, which has to open and import by itself."""
    script = f"""
threads = [threading.Thread(target=lambda: {called}) for _ in range(2)]
for thread in threads:
    thread.start()
child = os.fork()
if child == 0:
    print({called}, flush=True)
    os._exit(0)
os.waitpid(child, 0)
for thread in threads:
    thread.join()
"""
    done = run_python("-W", "ignore", "-c", FIRST + script)
    assert (done.returncode, done.stdout) == (0, "42\n"), done.stderr


def test_an_executor_of_processes_starts_new_ones_in_a_child(run_python: Any) -> None:
    """Nobody looks after those of the parent there."""
    script = """
print(elsewhere(20).result(), flush=True)
child = os.fork()
if child == 0:
    print(elsewhere(21).result(), flush=True)
    os._exit(0)
os.waitpid(child, 0)
print(elsewhere(22).result(), flush=True)
"""
    done = run_python("-W", "ignore", "-c", FIRST + script)
    assert (done.returncode, done.stdout) == (0, "40\n42\n44\n"), done.stderr
