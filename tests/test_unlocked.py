"""A future without a lock is the standard library's in all but its cost, whoever comes first."""

import threading
from collections.abc import Callable
from concurrent.futures import FIRST_COMPLETED, CancelledError, Future, InvalidStateError, as_completed, wait
from contextlib import nullcontext
from typing import Any

import pytest

from flowfn.python.unlocked import UnlockedFuture

ROUNDS = 300


def test_it_has_what_the_base_class_makes() -> None:
    """A version of Python whose futures have another field is found here."""
    assert vars(Future()).keys() <= vars(UnlockedFuture).keys()
    assert {name: getattr(UnlockedFuture(), name) for name in ("_state", "_result", "_exception")} == {
        name: getattr(Future(), name) for name in ("_state", "_result", "_exception")
    }


def settled(future: Future[int], how: str) -> Future[int]:
    if how == "value":
        future.set_result(1)
    elif how == "error":
        future.set_exception(KeyError("gone"))
    elif how == "cancelled":
        future.cancel()
        future.set_running_or_notify_cancel()
    return future


@pytest.mark.parametrize("how", ["pending", "value", "error", "cancelled"])
def test_what_it_says_of_itself(how: str) -> None:
    """`done`, `running`, `cancelled` and the outcome are those of a standard future that was settled so."""

    def said(future: Future[int]) -> list[Any]:
        answers: list[Any] = [future.done(), future.running(), future.cancelled()]
        for ask in (future.exception, future.result):
            try:
                answers.append(repr(ask(0)))
            except (CancelledError, TimeoutError, KeyError) as error:
                answers.append(type(error))
        return answers

    assert said(settled(UnlockedFuture(), how)) == said(settled(Future(), how))


@pytest.mark.parametrize("how", ["value", "error", "cancelled"])
def test_it_is_settled_once(how: str) -> None:
    """A second result is refused."""
    with pytest.raises(InvalidStateError):
        settled(UnlockedFuture(), how).set_result(2)


def test_a_callback_comes_after_the_result() -> None:
    """Whether it was added before or after, and once."""
    future: UnlockedFuture[int] = UnlockedFuture()
    heard: list[int] = []
    future.add_done_callback(lambda done: heard.append(done.result()))
    future.set_result(1)
    future.add_done_callback(lambda done: heard.append(done.result()))
    assert heard == [1, 1]


@pytest.mark.parametrize("raised", [KeyError, KeyboardInterrupt])
def test_a_callback_that_raises_keeps_no_other_from_being_told(raised: type[BaseException]) -> None:
    """Those after it are called. What is no error, such as Ctrl-C, is raised once they were."""
    future: UnlockedFuture[int] = UnlockedFuture()
    heard: list[int] = []

    def refuse(_: object) -> None:
        raise raised

    future.add_done_callback(refuse)
    future.add_done_callback(lambda done: heard.append(done.result()))
    with nullcontext() if issubclass(raised, Exception) else pytest.raises(raised):
        future.set_result(1)
    assert heard == [1]


def by_result(future: Future[int]) -> int:
    return future.result(10)


def by_callback(future: Future[int]) -> int:
    told = threading.Event()
    future.add_done_callback(lambda _: told.set())
    assert told.wait(10)
    return future.result(0)


def by_wait(future: Future[int]) -> int:
    other: UnlockedFuture[int] = UnlockedFuture()
    done, left = wait([other, future], 10, return_when=FIRST_COMPLETED)
    assert (done, left) == ({future}, {other})
    return future.result(0)


def by_as_completed(future: Future[int]) -> int:
    (found,) = as_completed([future], 10)
    return found.result(0)


@pytest.mark.parametrize("waits", [by_result, by_callback, by_wait, by_as_completed])
def test_nobody_waits_in_vain(waits: Callable[[Future[int]], int]) -> None:
    """One thread settles while another begins to wait."""
    futures: list[UnlockedFuture[int]] = [UnlockedFuture() for _ in range(ROUNDS)]
    together = threading.Barrier(2)

    def settle() -> None:
        for number, future in enumerate(futures):
            together.wait(10)
            future.set_result(number)

    settler = threading.Thread(target=settle)
    settler.start()
    found = []
    for future in futures:
        together.wait(10)
        found.append(waits(future))
    settler.join()
    assert found == list(range(ROUNDS))


def test_who_comes_while_it_is_settled_waits_for_that() -> None:
    """A future whose slot is taken and whose result isn't there yet: it is about to be done."""
    future: UnlockedFuture[int] = UnlockedFuture()
    writing = threading.Lock()
    writing.acquire()
    future.__dict__["slot"] = writing
    found: list[int] = []
    waiter = threading.Thread(target=lambda: found.append(future.result(10)))
    waiter.start()
    future._result, future._state = 1, "FINISHED"
    writing.release()
    waiter.join()
    assert found == [1]


@pytest.mark.parametrize("how", ["value", "error", "cancelled"])
def test_who_made_it_is_told_of_its_end_without_a_lock(how: str) -> None:
    """Once, whatever came of it, and before those who came later."""
    future: UnlockedFuture[int] = UnlockedFuture()
    heard: list[str] = []
    future.when_done(lambda done: heard.append(f"maker {done.done()}"))
    assert not future.watched
    if how != "value":
        future.add_done_callback(lambda done: heard.append("other"))
    settled(future, how)
    assert heard == (["maker True"] if how == "value" else ["maker True", "other"])


def test_who_comes_after_its_end_is_told_at_once() -> None:
    """As with the standard library's callbacks."""
    heard: list[int] = []
    future: UnlockedFuture[int] = UnlockedFuture()
    future.set_result(1)
    future.when_done(lambda done: heard.append(done.result()))
    assert heard == [1]


def test_one_that_starts_done_is_done_for_everybody() -> None:
    """It has its value, is settled for good, and tells who comes later."""
    future: UnlockedFuture[int] = UnlockedFuture()
    future.start_done(1)
    with pytest.raises(InvalidStateError):
        future.set_result(2)
    heard: list[int] = []
    future.add_done_callback(lambda done: heard.append(done.result()))
    assert (future.result(0), future.cancel(), heard) == (1, False, [1])
    assert wait([future]).done == {future}
    with pytest.raises(InvalidStateError):
        future.set_result(2)
