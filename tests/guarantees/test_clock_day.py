"""G2, section 4, rule 2: a day may be that of the call or name an item, and midnight comes between crash and resume."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from datetime import UTC, date, datetime, timedelta
from typing import Any

import pytest

from checkpointers import MemorySaver
from flowfn import NonDeterminismError, entrypoint, interrupt, task
from flowfn.functional.task import Task
from flowfn.hosts import clock
from flowfn.report import Report
from flowfn.testing import VirtualClock

TODAY, TOMORROW = "2026-11-23", "2026-11-24"


class Killed(BaseException):
    """Where the process dies."""


class Nights:
    """A thread that is killed before midnight and resumed after it."""

    def __init__(self, clock: VirtualClock) -> None:
        self.clock = clock
        self._dies = True
        self._saver = MemorySaver()
        self.ran: list[str] = []
        self.report: Report | None = None

    def last(self, days: int) -> list[date]:
        """So many days, today's first."""
        today = self.clock.time.date()
        return [today - timedelta(days=number) for number in range(days)]

    def process(self, day: Any) -> str:
        """Process a day."""
        self.ran.append(str(day))
        return f"sales of {day}"

    def dies(self) -> None:
        """Die, once."""
        if self._dies:
            self._dies = False
            raise Killed

    def spend(
        self, flow: Callable[..., Any], meanwhile: Callable[[], None] = lambda: None, **options: Any
    ) -> Any:
        """Run until it dies, and go on an hour later, after what happens `meanwhile`."""
        thread = entrypoint(checkpointer=self._saver, name="nightly", **options)(flow).thread("t")
        with pytest.raises(Killed):
            thread.invoke()
        self.clock.advance(3600)
        meanwhile()
        self.ran.clear()
        result = thread.resume()
        self.report = thread.report
        return result


def processing(nights: Nights) -> Task[[Any], str]:
    """A task that processes a day."""

    @task
    def process(day: Any) -> str:
        return nights.process(day)

    return process


@pytest.fixture
def nights() -> Iterator[Nights]:
    with VirtualClock(datetime(2026, 11, 23, 23, 50, tzinfo=UTC)) as clock:
        yield Nights(clock)


@pytest.mark.parametrize("spelled", [lambda day: day, "sales-{}.csv".format, lambda day: f"{day:%Y%m%d}"])
def test_parallel_calls_for_days_keep_their_results(nights: Nights, spelled: Callable[[date], Any]) -> None:
    """G2: the newest of some days is another one after midnight, and what was yesterday's is still asked for."""
    process = processing(nights)

    def flow() -> list[bool]:
        days = [spelled(day) for day in nights.last(3)]
        results = [future.result() for future in [process(day) for day in days]]
        nights.dies()
        return [result == f"sales of {day}" for day, result in zip(days, results, strict=True)]

    assert nights.spend(flow) == [True] * 3
    assert nights.ran == [str(spelled(date(2026, 11, 24)))]


def test_gathered_calls_for_days_keep_their_results(nights: Nights) -> None:
    """G2, G7: the same in asyncio, where a call for a new day waits for its siblings as well."""

    @task
    async def process(day: date) -> str:
        return nights.process(day)

    @entrypoint(checkpointer=MemorySaver())
    async def flow() -> list[str]:
        results = await asyncio.gather(*(process(day) for day in nights.last(3)))
        nights.dies()
        return results

    thread = flow.thread("t")
    with pytest.raises(Killed):
        asyncio.run(thread.ainvoke())
    nights.clock.advance(3600)
    nights.ran.clear()
    assert asyncio.run(thread.aresume()) == [f"sales of 2026-11-{day}" for day in (24, 23, 22)]
    assert nights.ran == [TOMORROW]


def one_after_another(nights: Nights, killed_after: int) -> Callable[[], list[str]]:
    """A flow that waits for each day before it calls for the next."""
    process = processing(nights)

    def flow() -> list[str]:
        results = []
        for day in nights.last(3):
            results.append(process(day).result())
            if len(results) == killed_after:
                nights.dies()
        return results

    return flow


def test_a_day_beside_other_days_is_in_doubt(nights: Nights) -> None:
    """Rule 3: recorded calls name other days, and so this one isn't known to be that of the call."""
    with pytest.raises(NonDeterminismError, match="recorded calls beside it name other days"):
        nights.spend(one_after_another(nights, 3))
    assert nights.ran == []


def test_a_day_whose_record_went_to_another_is_refused(nights: Nights) -> None:
    """G2: that the first day was an item shows with the second, before anything has run on a wrong result's account."""
    with pytest.raises(NonDeterminismError, match=r"went to process.* they differ only in the day"):
        nights.spend(one_after_another(nights, 1))
    assert nights.ran == []


@pytest.mark.parametrize("killed_after", [1, 3])
def test_who_says_rerun_gets_each_day_its_own_result(nights: Nights, killed_after: int) -> None:
    """`on_divergence="rerun"` tells that a day is an item: there is a way out of both refusals."""
    found = nights.spend(one_after_another(nights, killed_after), on_divergence="rerun")
    assert found == [f"sales of 2026-11-{day}" for day in (24, 23, 22)]
    assert TODAY not in nights.ran


def test_a_day_that_stands_alone_is_the_clocks(nights: Nights) -> None:
    """Rule 2: a report of the day goes on after midnight as what it was begun as, and says so."""
    process = processing(nights)

    def flow() -> str:
        result = process(nights.last(1)[0]).result()
        nights.dies()
        return result

    assert nights.spend(flow) == f"sales of {TODAY}"
    assert nights.ran == []
    assert nights.report is not None
    assert [each.kind for each in nights.report] == ["clock"]


def test_a_question_that_names_its_day_keeps_its_answer(nights: Nights) -> None:
    """Rule 2: who answers after midnight has answered."""

    @entrypoint(checkpointer=MemorySaver())
    def flow() -> Any:
        return interrupt(f"publish the report of {nights.last(1)[0]}?")

    thread = flow.thread("t")
    thread.invoke()
    nights.clock.advance(3600)
    assert thread.resume("yes") == "yes"


def test_a_file_that_came_before_the_run_is_an_item(nights: Nights) -> None:
    """Rule 4: a time in its name is not that of the call, however shortly before the run it came."""
    process = processing(nights)
    inbox = [f"upload-{nights.clock.time:%Y%m%dT%H%M%S}.csv"]

    def flow() -> list[str]:
        results = [process(name).result() for name in list(inbox)]
        nights.dies()
        return results

    later = nights.clock.time + timedelta(seconds=3600 + 5)
    nights.clock.advance(5)

    def arrives() -> None:
        inbox[:] = [f"upload-{later:%Y%m%dT%H%M%S}.csv"]
        nights.clock.advance(10)

    assert nights.spend(flow, meanwhile=arrives) == [f"sales of upload-{later:%Y%m%dT%H%M%S}.csv"]


@pytest.mark.parametrize(("age", "since"), [(5, -5), (50, -50), (70, 0), (-5, 0)])
def test_a_time_from_before_the_process_was_not_read_for_the_run(
    monkeypatch: pytest.MonkeyPatch, age: float, since: float
) -> None:
    """What a script reads off the clock at its top counts, unless that was long ago or the clock was set back."""
    monkeypatch.setattr(clock, "BEGAN", 1000.0 - age)
    monkeypatch.setattr(clock.time, "time", lambda: 1000.0)
    monkeypatch.setattr(clock.time, "monotonic", lambda: 300.0)
    assert clock.SYSTEM.since() == (1000.0 + since, 300.0 + since)
