"""The picture of a run, drawn from its journal."""

from typing import Any

import pytest

from checkpointers import MemorySaver
from flowfn import Thread, UnknownThread, entrypoint, interrupt, task

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
    assert arrows(thread.get_graph()) == ["__start__ -> price", "price -> charge", "charge -> __end__"]
    assert told(thread) == {"price": ("done", 2), "charge": ("done", 1)}
    site = thread.get_graph().nodes["charge"].metadata
    assert site is not None
    assert "test_journey.py:" in site["site"]


def test_a_waiting_run_ends_at_its_question() -> None:
    """And goes on from there once it is answered."""
    thread = order.thread("asks")
    thread.invoke({"items": ["a"], "ask": True})
    assert arrows(thread.get_graph()) == ["__start__ -> price", "price -> interrupt"]
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
        "price:weigh -> charge",
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
        "weigh -> weigh_2",
        "weigh_2 -> weigh",
        "weigh_2 -> __end__",
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
