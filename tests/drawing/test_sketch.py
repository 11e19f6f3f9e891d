"""Section 3: the picture of an entrypoint, read from its source."""

import asyncio
import functools
from typing import Any

import pytest

import flowfn
from flowfn import entrypoint, gather, interrupt, task

from .shapes import arrows


@task
def fetch(url: str) -> str:
    return url


@task
def clean(text: str) -> str:
    return text


@task(name="ship it")
def publish(text: str) -> str:
    return clean(text).result()


@entrypoint
def child(text: str) -> str:
    return clean(text).result()


class Shop:
    """A workflow and a task that are methods; looking at it costs an error."""

    def __getattr__(self, name: str) -> Any:
        raise AssertionError(name)

    @task
    def price(self, item: str) -> int:
        return len(item)

    @entrypoint
    def order(self, item: str) -> int:
        return self.price(item).result()


def tidy(text: str) -> str:
    """A plain function of the project's."""
    if text:
        text = clean(text).result()
    return text


def drawn(function: Any, **options: Any) -> list[str]:
    return arrows(entrypoint(function).get_graph(**options))


def test_calls_follow_each_other() -> None:
    """Arguments are called before the call that they are for; tasks go by their names, workflows are nodes too."""

    def wf(x: str) -> str:
        text = publish(fetch(x).result()).result()
        return child(text)

    assert drawn(wf) == ["__start__ -> fetch", "fetch -> ship it", "ship it -> child", "child -> __end__"]


def test_a_branch_is_conditional() -> None:
    """Also one without an else, and one inside an expression."""

    def wf(x: str) -> Any:
        if x:
            fetch(x)
        return clean(x) if x else publish(x)

    assert drawn(wf) == [
        "__start__ -?> fetch",
        "fetch -?> clean",
        "__start__ -?> clean",
        "fetch -?> ship it",
        "__start__ -?> ship it",
        "clean -> __end__",
        "ship it -> __end__",
    ]


def test_a_guard_is_asked_before_its_case() -> None:
    """And where it says no, the next case is tried."""

    def wf(x: str) -> Any:
        match x:
            case "a" if fetch(x).result():
                return clean(x)
            case _:
                return publish(x)

    assert drawn(wf) == [
        "__start__ -?> fetch",
        "fetch -?> clean",
        "__start__ -?> ship it",
        "fetch -?> ship it",
        "__start__ -?> __end__",
        "fetch -?> __end__",
        "clean -> __end__",
        "ship it -> __end__",
    ]


def test_a_loop_leads_back() -> None:
    """It may be skipped; `while True` may not, and is left by `break`."""

    def wf(x: list[str]) -> None:
        for each in x:
            text = fetch(each).result()
            clean(text)
        while True:
            if publish(x).result():
                break

    assert drawn(wf) == [
        "__start__ -?> fetch",
        "fetch -> clean",
        "clean -?> fetch",
        "__start__ -?> ship it",
        "clean -?> ship it",
        "ship it -?> ship it",
        "ship it -?> __end__",
    ]


def test_what_is_called_for_each_of_many_leads_to_itself() -> None:
    """A comprehension, `task.map`, and a task handed to somebody who calls it."""
    loop = ["__start__ -?> fetch", "fetch -?> fetch", "__start__ -?> __end__", "fetch -?> __end__"]
    assert drawn(lambda x: gather(*[fetch(each) for each in x])) == loop
    assert drawn(lambda x: fetch.map(x)) == loop
    assert drawn(lambda x: list(map(fetch, x))) == loop


def test_a_question_is_a_node() -> None:
    """`interrupt`, by either of its names."""

    def wf(x: str) -> None:
        interrupt("sure?")
        flowfn.interrupt("really?")

    assert drawn(wf) == ["__start__ -> interrupt", "interrupt -> interrupt_2", "interrupt_2 -> __end__"]


def test_plain_functions_are_read_through() -> None:
    """What the project's own functions call stands where they are called; those of libraries aren't read."""

    def wf(x: str) -> str:
        fetch(x)
        functools.reduce(min, [1])
        return tidy(x)

    assert drawn(wf) == [
        "__start__ -> fetch",
        "fetch -?> clean",
        "clean -> __end__",
        "fetch -?> __end__",
    ]


def test_a_handler_is_reached_from_all_that_may_fail() -> None:
    """And from before: the first call may fail before it is made."""

    def wf(x: str) -> None:
        try:
            fetch(x).result()
        except OSError:
            clean(x)
            raise
        publish(x)

    assert drawn(wf) == [
        "__start__ -> fetch",
        "__start__ -?> clean",
        "fetch -?> clean",
        "fetch -> ship it",
        "ship it -> __end__",
    ]


def test_async_functions_are_read_alike() -> None:
    """G7: `await`, `async for` and `async with` change nothing."""

    async def wf(x: str) -> None:
        async with asyncio.timeout(1):
            await asyncio.gather(fetch(x), clean(x))

    assert drawn(wf) == ["__start__ -> fetch", "fetch -> clean", "clean -> __end__"]


def test_recursion_is_drawn_once() -> None:
    """A function that calls itself is read once, also round a corner."""

    def walk(x: int) -> None:
        fetch(str(x))
        turn(x - 1)

    def turn(x: int) -> None:
        walk(x)

    assert drawn(walk) == ["__start__ -> fetch", "fetch -> __end__"]


@pytest.mark.parametrize(
    "function", [len, lambda x: x, functools.partial(int, base=2), eval("lambda x: fetch(x)")]
)
def test_what_calls_nothing_known_is_one_node(function: Any) -> None:
    """As LangGraph draws any entrypoint; also where there is no source."""
    workflow = entrypoint(name="wf")(function)
    assert arrows(workflow.get_graph()) == ["__start__ -> wf", "wf -> __end__"]


def test_xray_draws_what_is_inside() -> None:
    """The calls of tasks and child workflows: so many levels of them, or all."""

    @entrypoint
    def inner(x: str) -> str:
        return publish(x).result()

    def wf(x: str) -> str:
        return inner(x)

    assert list(entrypoint(wf).get_graph(xray=1).nodes) == ["__start__", "__end__", "inner:ship it"]
    nodes = list(entrypoint(wf).get_graph(xray=True).nodes)
    assert nodes == ["__start__", "__end__", "inner:ship it:clean"]


def test_a_method_is_read_with_its_class() -> None:
    """`self.price` is the task of the class, found without an instance's code being run."""
    expected = ["__start__ -> price", "price -> __end__"]
    assert arrows(Shop().order.get_graph()) == arrows(Shop.order.get_graph()) == expected


async def test_a_workflow_shows_itself() -> None:
    """In a notebook, and to asyncio."""

    @entrypoint
    def wf(x: str) -> str:
        return fetch(x).result()

    assert arrows(await wf.aget_graph()) == arrows(wf.get_graph())
    assert wf._repr_mimebundle_()["text/plain"] == repr(wf)
    assert "fetch" in wf._repr_mimebundle_()["image/svg+xml"]
    assert wf.get_graph().nodes["fetch"].data is fetch
