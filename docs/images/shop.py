"""The program whose runs are in the pictures of the documents; `record.py` runs it."""

import os
import signal
import time
from pathlib import Path

from flowfn import Interrupted, RetryPolicy, current, entrypoint, interrupt, task


@task
def price(item: str) -> int:
    time.sleep(0.1)
    return len(item)


@task(retry_policy=RetryPolicy(initial_interval=0.6, jitter=False))
def reserve(item: str, pieces: int = 1) -> str:
    if item == "ink" and current().attempt == 1:
        raise ConnectionError("the warehouse doesn't answer")
    while item == "paper" and not Path("go").exists():
        time.sleep(0.01)
    return f"{pieces} {item}"


@task
def pack(parts: list[str]) -> str:
    if "DIE" in os.environ:
        os.kill(os.getpid(), signal.SIGKILL)
    return " and ".join(parts)


@entrypoint
def basket(items: list[str]) -> int:
    return sum(price(item).result() for item in items)


@entrypoint(checkpointer="runs.db", progress=True)
def order(items: list[str]) -> str:
    total = basket(items)
    reserved = [reserve(item) for item in items]
    parcel = pack([each.result() for each in reserved]).result()
    return f"sent {parcel}" if interrupt(f"pay {total}?") == "yes" else "left"


if __name__ == "__main__":
    try:
        print(order.thread(os.environ["THREAD"])(["ink", "paper"]))
    except Interrupted:
        print("an order waits for you")
