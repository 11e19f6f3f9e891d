"""Times of a test that freezes them, with freezegun, which puts classes of its own in the place of `datetime`'s."""

import datetime
from collections.abc import Iterator

import pytest

from checkpointers import MemorySaver, SqliteSaver
from flowfn import Command, entrypoint, interrupt, task
from flowfn.ports import Saver

freezegun = pytest.importorskip("freezegun")


@pytest.fixture(params=[MemorySaver, lambda: SqliteSaver(":memory:")], ids=["memory", "sqlite"])
def saver(request: pytest.FixtureRequest) -> Iterator[Saver]:
    opened = request.param()
    yield opened
    opened.close()


def test_frozen_times_are_stored_as_times(saver: Saver) -> None:
    """Section 4.5: the class is the test's affair, and is not there when they are read."""
    now = datetime.datetime(2024, 1, 2, 3, 4, 5)
    zoned = now.replace(tzinfo=datetime.timezone(datetime.timedelta(hours=2)))
    with freezegun.freeze_time(now):
        times = [datetime.datetime.now(), datetime.datetime.now(datetime.UTC), datetime.date.today()]
        stored = saver.serde.dumps([*times, datetime.datetime(2024, 1, 2, 3, 4, 5, tzinfo=zoned.tzinfo)])
    read = saver.serde.loads(stored)
    assert read == [now, now.replace(tzinfo=datetime.UTC), now.date(), zoned]
    assert [type(each) for each in read] == [
        datetime.datetime,
        datetime.datetime,
        datetime.date,
        datetime.datetime,
    ]


def test_a_run_in_frozen_time_is_answered(saver: Saver) -> None:
    """G8: what is noted of the answer is a time as well."""

    @task
    def stamp() -> datetime.datetime:
        return datetime.datetime.now()

    @entrypoint(checkpointer=saver)
    def wf() -> tuple[datetime.datetime, str]:
        return stamp().result(), interrupt("ok?")

    with freezegun.freeze_time("2024-01-02"):
        wf.invoke(thread_id="t")
        found = wf.invoke(Command(resume="yes"), thread_id="t")
    assert found == (datetime.datetime(2024, 1, 2), "yes")
