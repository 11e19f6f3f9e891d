"""Code that is edited between a crash and the resume: what is reused, what runs, and the report that says so.

Each version of the workflow stands for the file as it is when the process starts. A record belongs to a call
by its function and arguments, never by its place; so nothing gets another call's result, whatever was moved.

Output:
    arguments changed: ['page x', 'page y'], ran x y
      orphan: fetch(url='a') | orphan: fetch(url='b')
    calls swapped: ['page b', 'page a'], ran nothing
    a call in front: ['page new', 'page a', 'page b'], ran new
    a function renamed: ['page a', 'page b'], ran b
      orphan: fetch(url='b')
"""

from collections.abc import Callable

from checkpointers import MemorySaver
from flowfn import entrypoint, gather, task

ran: list[str] = []


@task
def fetch(url: str) -> str:
    ran.append(url)
    return f"page {url}"


download = task(name="download")(fetch.func)


def original() -> list[str]:
    gather(fetch("a"), fetch("b")).result()
    raise ConnectionError("the process dies here")


def arguments_changed() -> list[str]:
    return gather(fetch("x"), fetch("y")).result()


def calls_swapped() -> list[str]:
    return gather(fetch("b"), fetch("a")).result()


def a_call_in_front() -> list[str]:
    return gather(fetch("new"), fetch("a"), fetch("b")).result()


def a_function_renamed() -> list[str]:
    return gather(fetch("a"), download("b")).result()


def edited(after: Callable[[], list[str]]) -> None:
    """Run the original until it dies, then its edited version on the same thread."""
    saver = MemorySaver()
    try:
        entrypoint(checkpointer=saver, name="digest")(original).thread("t").invoke()
    except ConnectionError:
        ran.clear()

    thread = entrypoint(checkpointer=saver, name="digest")(after).thread("t")
    result = thread.resume()
    print(f"{after.__name__.replace('_', ' ')}: {result}, ran", *sorted(ran) or ["nothing"])
    orphans = sorted(f"orphan: {call.name}({call.arguments})" for call in thread.report.orphans)
    if orphans:
        print(" ", " | ".join(orphans))


if __name__ == "__main__":
    for version in (arguments_changed, calls_swapped, a_call_in_front, a_function_renamed):
        edited(version)
