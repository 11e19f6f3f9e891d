"""A workflow that calls a workflow: one run, one record.

An entrypoint called inside a run is a child of it, and is recorded under it, whole and in parts; called by itself
it is a workflow of its own. A task may call tasks in the same way. A run that goes on takes a finished child as it
is, and goes into the one that had not finished.

Output:
    write 1.1, write 1.2, write 2.1
    stopped: no ink for 2.2
    write 2.2
    1.1 1.2 / 2.1 2.2
    book: done
      chapter(number=1, sections=2): done
      chapter(number=2, sections=2): done
    a chapter alone: 3.1
"""

from pathlib import Path
from tempfile import TemporaryDirectory

from flowfn import entrypoint, gather, task

folder = TemporaryDirectory()
written: list[str] = []
ink = {"2.2": 0}


@task
def write(name: str) -> str:
    if not ink.get(name, 1):
        raise OSError(f"no ink for {name}")
    written.append(name)
    return name


@entrypoint
def chapter(number: int, sections: int) -> str:
    names = [f"{number}.{section}" for section in range(1, sections + 1)]
    return " ".join(gather(write.map(names)).result())


@entrypoint(checkpointer=Path(folder.name) / "runs.db")
def book(chapters: int) -> str:
    return " / ".join(chapter(number, 2) for number in range(1, chapters + 1))


if __name__ == "__main__":
    thread = book.thread("first edition")
    try:
        thread(2)
    except OSError as error:
        print(", ".join(f"write {name}" for name in sorted(written)))
        print("stopped:", error)

    written.clear()
    ink.clear()
    result = thread(2)
    print(", ".join(f"write {name}" for name in written))
    print(result)

    *_, start = thread.history()
    print("book:", thread.status)
    for call in start.tasks[0].calls:
        print(f"  {call.name}({call.arguments}): {call.status}")
    print("a chapter alone:", chapter(3, 1))
