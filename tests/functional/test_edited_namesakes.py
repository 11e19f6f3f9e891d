"""Functions of one name, some of which were edited, went or came between two attempts (G2, section 4)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from checkpointers import MemorySaver
from flowfn import Entrypoint, entrypoint, task


class Version(NamedTuple):
    """What tells one function from the others: which of two codes it has, and what it captured."""

    code: str
    captured: int


ran: list[Version] = []


def one(captured: int) -> Callable[[int], Version]:
    def step(x: int) -> Version:
        ran.append(Version("one", captured))
        return ran[-1]

    return step


def other(captured: int) -> Callable[[int], Version]:
    def step(x: int) -> Version:
        ran.append(Version("other", captured))
        return ran[-1]

    return step


FACTORIES = {"one": one, "other": other}
VERSIONS = st.builds(Version, st.sampled_from(sorted(FACTORIES)), st.integers(1, 3))
LISTS = st.lists(VERSIONS, min_size=1, max_size=3)


def workflow(
    saver: MemorySaver, versions: Sequence[Version], *, apart: bool, dies: bool
) -> Entrypoint[[], list[Version]]:
    """A workflow that calls a task of each version, all of one name and with one argument; `apart`: a run is between
    the making of each two tasks."""
    tasks = []
    for version in versions:
        function = FACTORIES[version.code](version.captured)
        function.__qualname__ = "made.<locals>.step"
        tasks.append(task(function))
        if apart:
            entrypoint(lambda: None)()

    @entrypoint(checkpointer=saver, name="wf")
    def wf() -> list[Version]:
        found = [each(7).result() for each in tasks]
        if dies:
            raise ConnectionError("killed here")
        return found

    return wf


@given(before=LISTS, now=LISTS, apart=st.booleans())
def test_each_gets_a_record_that_can_only_be_its_own(
    before: list[Version], now: list[Version], apart: bool
) -> None:
    """G2: that of a function with its code and captured values; else that of the only one that has gone, which
    captured the same, or was alone; and nothing that is still there runs again."""
    saver = MemorySaver()
    with pytest.raises(ConnectionError):
        workflow(saver, before, apart=apart, dies=True).invoke(thread_id="t")
    ran.clear()
    found = workflow(saver, now, apart=apart, dies=False).invoke(None, thread_id="t")
    gone = set(before) - set(now)
    for version, of in zip(now, found, strict=True):
        alike = {each for each in gone if each.captured == version.captured}
        assert of == version or {of} in (alike, gone if len(set(before)) == 1 else None)
    assert Counter(ran) <= Counter(now) - Counter(before)
