"""Values that can't be stored: an error that names the task and the path, and nothing half-written."""

import sqlite3
import threading
from typing import Any

import pytest

from flowfn import RetryPolicy, SerializationError, entrypoint, gather, interrupt

from ..worlds import World

CALLED = r"the result of task 'load' \(called at .*test_unstorable\.py:\d+\)"

UNSTORABLE = {
    "a lock": (lambda: {"rows": [1, {"lock": threading.Lock()}]}, r'\["rows"\]\[1\]\["lock"\]'),
    "a thread": (lambda: [threading.current_thread()], r"\[0\]"),
    "a generator": (lambda: (x for x in ()), ""),
}


@pytest.mark.parametrize("name", UNSTORABLE)
def test_a_result_that_cannot_be_stored(world: World, name: str) -> None:
    """The error names the task, its call and the path in the value; nothing is half-written, and the run can go on."""
    make, path = UNSTORABLE[name]
    good = []

    @world.task
    async def load() -> Any:
        return "stored" if good else make()

    @world.entrypoint
    async def wf() -> Any:
        return await world.value(load())

    with pytest.raises(SerializationError, match=rf"{CALLED}(?s:.)*{path}"):
        world.invoke(wf, thread_id="t")
    good.append(True)
    assert world.invoke(wf, None, thread_id="t") == "stored"


def test_a_final_result_that_cannot_be_stored(world: World) -> None:
    """An entrypoint's own result is checked alike; the thread stays as it was before the end."""
    good = []

    @world.entrypoint
    async def wf() -> Any:
        return "stored" if good else {"lock": threading.Lock()}

    with pytest.raises(SerializationError, match="wf") as raised:
        world.invoke(wf, thread_id="t")
    assert "lock" in raised.value.path
    assert world.state(wf, "t").next == ("wf",)
    good.append(True)
    assert world.invoke(wf, None, thread_id="t") == "stored"


def test_an_input_that_cannot_be_stored(world: World) -> None:
    """An input that can't be stored is refused before anything runs or is recorded."""

    @world.entrypoint
    async def wf(x: Any) -> None:
        world.ran.append(x)

    with pytest.raises(
        SerializationError, match=r"^argument 'x' of 'wf': value is of type _thread.lock and cannot be stored"
    ):
        world.invoke(wf, threading.Lock(), thread_id="t")
    assert world.ran == []
    assert world.saver.thread("t") is None


def test_the_argument_that_cannot_be_stored_is_named(world: World) -> None:
    """Of several which it is, and where inside it; `path` begins with its name."""

    @world.entrypoint
    async def wf(name: str, rows: Any) -> None:
        world.ran.append(name)

    told = r"""^argument 'rows' of 'wf': value\[1\]\["lock"\] is of type _thread.lock"""
    with pytest.raises(SerializationError, match=told) as raised:
        world.invoke(wf, {"name": "ann", "rows": [1, {"lock": threading.Lock()}]}, thread_id="t")
    assert raised.value.path == '["rows"][1]["lock"]'
    assert world.ran == []


def test_what_an_annotation_says_cannot_be_stored_is_refused_first(world: World) -> None:
    """Checked before the work, where the return annotation already tells."""

    @world.task
    async def connect() -> sqlite3.Connection:
        world.ran.append("connected")
        return sqlite3.connect(":memory:")

    @world.entrypoint
    async def wf() -> None:
        await world.value(connect())

    with pytest.raises(SerializationError, match="connect"):
        world.invoke(wf, thread_id="t")
    assert world.ran == []


def test_a_storage_error_is_not_retried(world: World) -> None:
    """A result that can't be stored fails once: trying again would only do the work again."""

    @world.task(retry_policy=RetryPolicy(initial_interval=0, jitter=False, retry_on=Exception))
    async def load() -> Any:
        world.ran.append("load")
        return threading.Lock()

    @world.entrypoint
    async def wf() -> Any:
        return await world.value(load())

    with pytest.raises(SerializationError):
        world.invoke(wf, thread_id="t")
    assert world.ran == ["load"]


def test_a_question_that_cannot_be_stored(world: World) -> None:
    """A payload that can't be stored is an error that names interrupt() and the path; nothing is left half-written."""

    @world.entrypoint
    async def wf() -> Any:
        return interrupt({"lock": object()})

    with pytest.raises(
        SerializationError, match=r"of interrupt\(\): value\[\"lock\"\] is of type object"
    ) as raised:
        world.invoke(wf, thread_id="t")
    assert raised.value.path == '["lock"]'
    assert world.state(wf, "t").interrupts == ()


@pytest.mark.parametrize(
    ("returned", "told"),
    [
        (lambda work: gather(work(1)), r"it stands for values\. Store those: its \.result\(\)"),
        (
            lambda work: [work],
            r"value\[0\] is of type .*Task .* no result\. Call it, and store what that comes to",
        ),
        (
            lambda work: entrypoint(len),
            r"value is of type .*Entrypoint .* no result\. Call it, and store what it returns",
        ),
    ],
    ids=["gathered", "task", "workflow"],
)
def test_what_stands_for_a_result_is_none(world: World, returned: Any, told: str) -> None:
    """Who forgets to wait, or to call, is told what to write."""

    @world.task
    async def work(x: int) -> int:
        return x

    @world.entrypoint
    async def wf() -> Any:
        return returned(work)

    with pytest.raises(SerializationError, match=told):
        world.invoke(wf)
