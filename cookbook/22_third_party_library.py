"""Functions of libraries that others wrote, in C or in Python, as durable steps: no wrapper functions.

`task(f)` takes whatever can be called: NumPy's compiled functions, a constructor, a bound method, a partial.
Arrays are stored and come back as arrays, exactly. What no one can store, such as a lock or an open file, is
refused with a sentence that says where it is, before anything is kept.

Output:
    solve is numpy's own: True
    [1. 3.] after a crash, the same: True
    reused 2, ran 1
    refused: the result of task 'open_log' (...): value is of type _io.TextIOWrapper and cannot be stored: ...
"""

import os
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from flowfn import SerializationError, entrypoint, task

folder = TemporaryDirectory()

build = task(name="build")(partial(np.array, dtype="float64"))
solve = task(name="solve")(np.linalg.solve)
norm = task(name="norm")(np.linalg.norm)
network = {"up": False}


@task
def publish(solution: np.ndarray, length: float) -> np.ndarray:
    if not network["up"]:
        raise ConnectionError("no network")
    return solution


@entrypoint(checkpointer=Path(folder.name) / "runs.db")
def equations(rows: list[list[float]], right: list[float]) -> np.ndarray:
    solution = solve(build(rows).result(), np.array(right)).result()
    return publish(solution, float(solution.sum())).result()


@task
def open_log() -> object:
    return open(os.devnull)


@entrypoint(checkpointer=Path(folder.name) / "runs.db")
def careless() -> object:
    return open_log().result()


if __name__ == "__main__":
    print("solve is numpy's own:", solve.func is np.linalg.solve)

    rows, right = [[2.0, 1.0], [1.0, 3.0]], [5.0, 10.0]
    thread = equations.thread("monday")
    try:
        thread(rows, right)
    except ConnectionError:
        network["up"] = True
    solution = thread(rows, right)
    print(solution, "after a crash, the same:", np.array_equal(solution, np.linalg.solve(rows, right)))
    print(f"reused {thread.report.reused}, ran {thread.report.ran}")

    try:
        careless()
    except SerializationError as error:
        print("refused:", str(error).splitlines()[0])
