"""Forty calls of a service that allows three at a time, and ten in each window of time.

`max_concurrency` in the config bounds how many tasks of a run execute at once, however many were started.
The rate is a loop: ten calls, then `flowfn.sleep`, whose time of waking is recorded, so that a run that dies
in a pause waits for the rest of it only. What was answered before a failure isn't asked again.

Output:
    stopped: 429 Too Many Requests
    answers on record: 29
    sum 780 of 40 answers
    asked twice: [25]
    at most 3 at once: True
"""

import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from flowfn import entrypoint, gather, sleep, task

folder = TemporaryDirectory()
WINDOW = 0.05  # seconds; a minute, in earnest
BATCH = 10

asked: Counter[int] = Counter()
lock = threading.Lock()
inside, most = 0, 0


@contextmanager
def counted() -> Iterator[None]:
    """How many are inside at once."""
    global inside, most
    with lock:
        inside += 1
        most = max(most, inside)
    try:
        yield
    finally:
        with lock:
            inside -= 1


@task
def ask(item: int) -> int:
    with counted():
        asked[item] += 1
        if item == 25 and asked[item] == 1:
            raise ConnectionError("429 Too Many Requests")
        return item


@entrypoint(checkpointer=Path(folder.name) / "runs.db")
def fan_out(count: int) -> list[int]:
    answers: list[int] = []
    for start in range(0, count, BATCH):
        answers += gather(ask.map(range(start, min(start + BATCH, count)))).result()
        sleep(WINDOW)
    return answers


if __name__ == "__main__":
    limited = {"configurable": {"thread_id": "survey"}, "max_concurrency": 3}
    try:
        fan_out.invoke(40, limited)
    except ConnectionError as error:
        print("stopped:", error)
    print("answers on record:", sum(asked.values()) - 1)

    answers = fan_out.invoke(None, limited)
    print("sum", sum(answers), "of", len(answers), "answers")
    print("asked twice:", [item for item, times in asked.items() if times > 1])
    print("at most 3 at once:", most <= 3)
