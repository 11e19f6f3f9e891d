"""Many runs over many processes: workers that share a database, and need nobody to hand out the work.

Every worker tries every order. A thread's lease lets one in at a time, the others go on to the next order; and whoever
comes later finds in `previous` that the order is done. One worker is killed in the middle of an order, and another
goes on with it where it stopped. Give it `DATABASE_URL=postgresql://…` and start it on several machines;
without one it uses an SQLite file.

Output:
    12 orders, each charged once: True
    the killed worker's order was finished by another: True
"""

import os
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory

from flowfn import ThreadBusy, entrypoint, task

ORDERS = [f"order-{number}" for number in range(12)]
WORKERS = 3


def note(line: str) -> None:
    """Stands for the effect on the outside world."""
    with open("effects", "a") as file:
        file.write(line + "\n")


@task
def charge(order: str) -> str:
    note(f"charged {order}")
    return f"receipt of {order}"


@task
def ship(order: str, receipt: str) -> int:
    if os.environ["WORKER"] == "0":
        note(f"died with {order}")
        os.kill(os.getpid(), signal.SIGKILL)
    note(f"shipped {order}")
    return os.getpid()


@entrypoint(checkpointer=os.environ.get("DATABASE_URL", "runs.db"), on_busy="reject")
def process(order: str, *, previous: int | None = None) -> int:
    if previous is not None:
        return previous  # another worker has finished it
    return ship(order, charge(order).result()).result()


def work() -> None:
    waiting = list(ORDERS)
    while waiting:
        order = waiting.pop(0)
        try:
            process.thread(order)(order)
        except ThreadBusy:
            waiting.append(order)


if __name__ == "__main__":
    if "WORKER" in os.environ:
        work()
    else:
        with TemporaryDirectory() as folder:
            command, here = [sys.executable, os.path.abspath(__file__)], {"cwd": folder}
            start = [dict(here, env={**os.environ, "WORKER": str(number)}) for number in range(WORKERS)]
            codes = [subprocess.run(command, **start[0]).returncode]  # alone, so that it surely gets an order
            workers = [subprocess.Popen(command, **each) for each in start[1:]]
            codes += [worker.wait() for worker in workers]
            effects = Counter(Path(folder, "effects").read_text().splitlines())
        assert codes == [-signal.SIGKILL, 0, 0]
        once = all(effects[f"{what} {order}"] == 1 for order in ORDERS for what in ("charged", "shipped"))
        (died,) = (line.removeprefix("died with ") for line in effects if line.startswith("died"))
        print(f"{len(ORDERS)} orders, each charged once: {once}")
        print("the killed worker's order was finished by another:", effects[f"shipped {died}"] == 1)
