"""The picture of a run, drawn from its journal."""

from typing import Any

import pytest

from checkpointers import MemorySaver
from flowfn import Thread, UnknownThread, entrypoint, interrupt, task
from flowfn.drawing.journey import journey
from flowfn.drawing.waits import critical
from flowfn.history.reading import CallView, ThreadView
from flowfn.ports import ThreadRow

from .shapes import arrows


@task
def weigh(item: str) -> int:
    return len(item)


@task
def price(item: str) -> int:
    return 2 * weigh(item).result()


@task
def charge(total: int) -> str:
    if total > 10:
        raise ValueError("too much")
    return "paid"


@entrypoint(checkpointer=MemorySaver())
def order(items: list[str], ask: bool = False) -> str:
    total = sum(price(item).result() for item in items)
    if ask:
        interrupt("sure?")
    return charge(total).result()


def told(thread: Thread[Any, Any], **options: Any) -> dict[str, Any]:
    """Each node's status and number of calls."""
    nodes = thread.get_graph(**options).nodes.values()
    return {node.id: (node.metadata["status"], node.metadata["calls"]) for node in nodes if node.metadata}


def test_calls_of_one_place_are_one_node() -> None:
    """With their number and status; a run that is done leads to the end."""
    thread = order.thread("done")
    thread.invoke({"items": ["a", "bb"]})
    assert arrows(thread.get_graph()) == ["__start__ -> price", "price -?> charge", "charge -> __end__"]
    assert told(thread) == {"price": ("done", 2), "charge": ("done", 1)}
    site = thread.get_graph().nodes["charge"].metadata
    assert site is not None
    assert "test_journey.py:" in site["site"]


def test_a_waiting_run_ends_at_its_question() -> None:
    """And goes on from there once it is answered."""
    thread = order.thread("asks")
    thread.invoke({"items": ["a"], "ask": True})
    assert arrows(thread.get_graph()) == ["__start__ -> price", "price -?> interrupt"]
    assert told(thread)["interrupt"] == ("asked", 1)
    thread.resume(True)
    assert told(thread)["interrupt"] == ("answered", 1)
    assert arrows(thread.get_graph())[-1] == "charge -> __end__"


def test_a_failed_run_ends_where_it_failed() -> None:
    """There is no end in its picture."""
    thread = order.thread("fails")
    with pytest.raises(ValueError, match="too much"):
        thread.invoke({"items": ["abcdef"]})
    assert arrows(thread.get_graph()) == ["__start__ -> price", "price -> charge"]
    assert told(thread)["charge"] == ("failed", 1)


def test_xray_draws_what_calls_called() -> None:
    """In a box with the call itself."""
    thread = order.thread("xray")
    thread.invoke({"items": ["a", "bb"]})
    assert arrows(thread.get_graph(xray=True)) == [
        "__start__ -> price:price",
        "price:weigh -?> charge",
        "charge -> __end__",
        "price:price -> price:weigh",
    ]
    assert told(thread, xray=True)["price:weigh"] == ("done", 2)


def test_one_task_called_from_two_places_is_two_nodes() -> None:
    """The place in the code is what counts; a call back and forth is a loop."""

    @entrypoint(checkpointer=MemorySaver())
    def twice(x: str) -> None:
        for each in "ab":
            weigh(each).result()
            weigh(each + x).result()

    twice.invoke("c", thread_id="t")
    assert arrows(twice.thread("t").get_graph()) == [
        "__start__ -> weigh",
        "weigh -?> weigh_2",
        "weigh_2 -?> weigh",
        "weigh_2 -> __end__",
    ]


def test_a_value_that_is_used_is_a_solid_edge() -> None:
    """A call that only waited for another has a dashed one; what is known through another has none."""

    @task
    def fetch(url: str) -> str:
        return f"page of {url}"

    @task
    def clean(page: str) -> str:
        return page.removeprefix("page of ")

    @task
    def log() -> None:
        pass

    @entrypoint(checkpointer=MemorySaver())
    def digest(urls: list[str]) -> None:
        for page in [page.result() for page in fetch.map(urls)]:
            clean(page).result()
        log().result()

    digest.invoke(["ink", "pencil"], thread_id="t")
    assert arrows(digest.thread("t").get_graph()) == [
        "__start__ -> fetch",
        "fetch -> clean",
        "clean -?> log",
        "log -> __end__",
    ]


def test_many_calls_side_by_side_are_two_nodes() -> None:
    """Two thousand calls that two thousand others waited for are one edge."""

    @entrypoint(checkpointer=MemorySaver())
    def wide(n: int) -> None:
        first = [weigh("a" * x) for x in range(n)]
        for x in [each.result() for each in first]:
            weigh(f"b{x}")

    wide.invoke(2000, thread_id="t")
    assert arrows(wide.thread("t").get_graph())[:2] == ["__start__ -> weigh", "weigh -?> weigh_2"]


def call(name: str, start: float, seconds: float, known: int, place: int, *under: CallView) -> CallView:
    return CallView(
        name,
        "",
        name,
        "done",
        None,
        under,
        id=name,
        started=start,
        seconds=seconds,
        known=(0, known),
        place=(0, place),
    )


def test_the_critical_path() -> None:
    """The chain of waits that ended last, and within it what ended last of each call's own calls."""
    slow = call("slow", 0, 5, 0, 4, call("inner", 0, 4, 0, 3), call("short", 0, 1, 0, 2))
    calls = (call("quick", 0, 1, 0, 1), slow, call("after quick", 1, 1, 1, 5), call("last", 5, 1, 5, 6))
    assert [each.name for each in critical(calls)] == ["slow", "last"]
    row = ThreadRow("t", "w", "", "done", None, "", "")
    nodes = journey(ThreadView(row, calls), xray=True).nodes.values()
    assert [node.name for node in nodes if node.metadata and node.metadata.get("critical")] == [
        "last",
        "slow",
        "inner",
    ]


def test_a_thread_shows_itself() -> None:
    """One that nobody has used has no picture."""
    thread = order.thread("shown")
    with pytest.raises(UnknownThread, match="check the thread_id"):
        thread.get_graph()
    assert thread._repr_mimebundle_() == {"text/plain": repr(thread)}
    thread.invoke({"items": []})
    assert "charge" in thread._repr_mimebundle_()["image/svg+xml"]


def test_pictures_load_when_they_are_asked_for(run_python: Any) -> None:
    """Section 7: `import flowfn`, and a run, load nothing of them."""
    code = "from flowfn import entrypoint\nentrypoint(abs)(-1)\nimport sys\n"
    done = run_python("-c", code + "print(*[name for name in sys.modules if 'drawing' in name], 'looked')")
    assert done.stdout.split() == ["looked"]
