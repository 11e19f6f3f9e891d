"""Each channel's rule: how writes become a value, and when the value is there."""

from __future__ import annotations

import operator
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal, Required

import pytest

from flowfn.errors import InvalidUpdateError
from flowfn.pregel import (
    UNCHANGED,
    AnyValue,
    Channel,
    EphemeralValue,
    LastValue,
    LastValueAfterFinish,
    NamedBarrier,
    NamedBarrierAfterFinish,
    Reducer,
    Topic,
    UntrackedValue,
)
from flowfn.values import MISSING, Overwrite

AB = frozenset({"a", "b"})
EVERY = [
    LastValue(),
    LastValueAfterFinish(),
    AnyValue(),
    EphemeralValue(),
    UntrackedValue(),
    Topic(),
    Topic(accumulate=True),
    Reducer(operator.add),
    NamedBarrier(AB),
    NamedBarrierAfterFinish(AB),
]


def after(channel: Channel, *steps: list[Any]) -> Any:
    """The cell after one superstep of writes per list."""
    cell = channel.initial()
    for writes in steps:
        answer = channel.update("k", cell, writes) if writes else channel.clear(cell)
        cell = cell if answer is UNCHANGED else answer
    return cell


@pytest.mark.parametrize("channel", EVERY, ids=lambda value: type(value).__name__)
def test_an_unwritten_channel_is_unavailable(channel):
    """Nothing is read from a channel that nobody wrote to, and no event changes it."""
    events = [channel.clear(MISSING), channel.consume(MISSING), channel.finish(MISSING)]
    assert (channel.get(channel.initial()), events) == (MISSING, [UNCHANGED] * 3)


def test_last_value_keeps_what_was_written():
    """A `LastValue` holds its value over supersteps in which nobody writes."""
    assert after(LastValue(), [1], [2], []) == 2


@pytest.mark.parametrize("writes", [[1, 2], [1, 1]])
def test_last_value_refuses_two_writes(writes):
    """Two writes to a `LastValue` in one superstep are an error that names the key."""
    with pytest.raises(InvalidUpdateError) as caught:
        LastValue().update("k", MISSING, writes)
    assert str(caught.value) == (
        "At key 'k': Can receive only one value per step. Use an Annotated key to handle multiple values. "
        f"Received {writes}."
    )


def test_none_is_a_value():
    """None is written and read like any other value."""
    assert LastValue().get(after(LastValue(), [None])) is None


def test_after_finish_shows_its_last_value_only_once_finished():
    """A `LastValueAfterFinish` takes any number of writes and is available from `finish` on."""
    channel = LastValueAfterFinish()
    cell = after(channel, [1, 2])
    assert (channel.get(cell), channel.get(channel.finish(cell))) == (MISSING, 2)


def test_after_finish_is_emptied_when_consumed():
    """A finished value goes when its node has run; an unfinished one stays."""
    channel = LastValueAfterFinish()
    cell = after(channel, [1])
    assert (channel.consume(cell), channel.consume(channel.finish(cell))) == (UNCHANGED, MISSING)


def test_after_finish_starts_over_when_written_again():
    """A write after `finish` hides the value again, and finishing twice changes nothing."""
    channel = LastValueAfterFinish()
    finished = channel.finish(after(channel, [1]))
    again = channel.update("k", finished, [3])
    assert (channel.finish(finished), channel.get(again)) == (UNCHANGED, MISSING)


@pytest.mark.parametrize(
    "channel", [AnyValue(), EphemeralValue(guard=False)], ids=lambda value: type(value).__name__
)
def test_short_lived_values_keep_the_last_write_for_one_superstep(channel):
    """`AnyValue` and an unguarded `EphemeralValue` take several writes and are cleared by a step without."""
    assert (after(channel, [1, 2]), after(channel, [1, 2], [])) == (2, MISSING)


def test_untracked_value_outlives_a_superstep():
    """An `UntrackedValue` is not cleared by a superstep in which nobody writes."""
    assert after(UntrackedValue(guard=False), [1, 2], []) == 2


@pytest.mark.parametrize("kind", [EphemeralValue, UntrackedValue])
def test_a_guard_refuses_two_writes(kind):
    """A guarded channel names itself and the way out."""
    with pytest.raises(InvalidUpdateError) as caught:
        kind().update("k", MISSING, [1, 2])
    assert str(caught.value) == (
        f"At key 'k': {kind.__name__}(guard=True) can receive only one value per step. "
        "Use guard=False if you want to store any one of multiple values. Received [1, 2]."
    )


def test_untracked_value_is_never_stored():
    """What an `UntrackedValue` holds is gone after a resume."""
    assert UntrackedValue().stored(1) is MISSING


@pytest.mark.parametrize(
    ("accumulate", "steps", "expected"),
    [
        (False, [[1, [2, [3]]]], [1, 2, [3]]),
        (False, [[1], [2]], [2]),
        (False, [[1], []], MISSING),
        (False, [[1], [[]]], MISSING),
        (False, [[(1, 2)]], [(1, 2)]),
        (True, [[1], [2]], [1, 2]),
        (True, [[1], []], [1]),
        (True, [[1], [[]]], [1]),
    ],
)
def test_topic(accumulate, steps, expected):
    """A `Topic` flattens lists one level, and keeps one superstep's items unless it accumulates."""
    channel = Topic(accumulate)
    assert channel.get(after(channel, *steps)) == expected


@pytest.mark.parametrize(
    ("cell", "accumulate"), [(MISSING, False), (MISSING, True), ([1], True)], ids=["empty", "none", "some"]
)
def test_a_topic_that_gains_nothing_is_unchanged(cell, accumulate):
    """An empty list written to a `Topic` that holds nothing, or accumulates, bumps no version."""
    assert Topic(accumulate).update("k", cell, [[]]) is UNCHANGED


def test_a_reader_of_a_topic_gets_a_list_of_its_own():
    """A node that changes the list that it read changes no channel."""
    channel = Topic()
    cell = after(channel, [1])
    channel.get(cell).append(2)
    assert cell == [1]


@pytest.mark.parametrize(
    ("typ", "expected"),
    [
        (list, []),
        (list[int], []),
        (Annotated[Required[int], "total"], 0),
        (Sequence[str], []),
        (Mapping, {}),
        (set, set()),
        (int | None, MISSING),
        (Literal["a"], MISSING),
        (Any, MISSING),
        (lambda: 1 / 0, MISSING),
    ],
)
def test_a_reducer_starts_with_an_empty_value_of_its_type(typ, expected):
    """A type that can be called without arguments gives the initial value; any other starts empty."""
    assert Reducer(operator.add, typ).initial() == expected


def test_initial_values_are_not_shared():
    """Each reader of an unwritten reducer gets a value of its own."""
    channel = Reducer(operator.add, list)
    channel.initial().append(1)
    assert channel.initial() == []


def test_a_reducer_folds_from_its_value_or_from_the_first_write():
    """Writes are folded left to right; where there is no value, the first is taken as it is."""
    channel = Reducer(lambda a, b: f"({a}{b})")
    assert (after(channel, ["a"]), after(channel, ["a", "b"], ["c"])) == ("a", "((ab)c)")


OVERWRITES = [Overwrite([0]), {"__overwrite__": [0]}, {"type": "__overwrite__", "value": [0]}]


@pytest.mark.parametrize("overwrite", OVERWRITES, ids=lambda value: type(value).__name__)
@pytest.mark.parametrize("typ", [list, Any])
def test_overwrite_wins_in_any_position(overwrite, typ):
    """An `Overwrite`, in each of its forms, replaces what is there and what others write, even from empty."""
    channel = Reducer(operator.add, typ)
    steps = [[[1], overwrite, [2]], [overwrite, [1], [2]], [overwrite]]
    assert [after(channel, writes) for writes in steps] == [[0], [0], [0]]


def test_two_overwrites_in_one_superstep_are_refused():
    """Which of two `Overwrite`s should win is not guessed."""
    with pytest.raises(InvalidUpdateError, match=r"^Can receive only one Overwrite value per super-step\."):
        Reducer(operator.add, list).update("k", [], [Overwrite([1]), {"__overwrite__": [1]}])


@pytest.mark.parametrize(
    "write", [{"__overwrite__": 1, "b": 2}, {"type": "__overwrite__"}], ids=lambda value: type(value).__name__
)
def test_a_dict_that_only_resembles_an_overwrite_is_folded(write):
    """Only the two exact dict forms replace a value."""
    assert after(Reducer(operator.or_, dict), [write]) == write


def test_a_barrier_opens_when_every_name_was_written():
    """A `NamedBarrier` collects names over supersteps, and its value is None."""
    channel = NamedBarrier(AB)
    assert [channel.get(after(channel, *steps)) for steps in ([["a"]], [["a"], ["b"]])] == [MISSING, None]


def test_a_barrier_is_unchanged_by_a_name_that_it_has():
    """Writing a name twice bumps no version."""
    assert NamedBarrier(AB).update("k", frozenset({"a"}), ["a"]) is UNCHANGED


def test_a_barrier_closes_when_consumed():
    """An open barrier starts over once its node has run; one that waits goes on waiting."""
    channel = NamedBarrier(AB)
    assert (channel.consume(AB), channel.consume(frozenset({"a"}))) == (MISSING, UNCHANGED)


@pytest.mark.parametrize("kind", [NamedBarrier, NamedBarrierAfterFinish])
def test_a_barrier_refuses_unknown_names(kind):
    """A name that nobody waits for is an error."""
    with pytest.raises(InvalidUpdateError) as caught:
        kind(AB).update("k", MISSING, ["c"])
    assert str(caught.value) == "At key 'k': Value c not in {'a', 'b'}"


def test_a_deferred_barrier_also_waits_for_finish():
    """A `NamedBarrierAfterFinish` is available once complete and finished, and starts over when consumed."""
    channel = NamedBarrierAfterFinish(AB)
    waiting, complete = after(channel, ["a"]), after(channel, ["a", "b"])
    finished = channel.finish(complete)
    read = [channel.get(cell) for cell in (waiting, complete, finished)]
    assert (read, channel.finish(waiting), channel.consume(complete), channel.consume(finished)) == (
        [MISSING, MISSING, None],
        UNCHANGED,
        UNCHANGED,
        MISSING,
    )


@pytest.mark.parametrize(
    ("channel", "writes", "stored"),
    [
        (LastValue(), [1], 1),
        (LastValueAfterFinish(), [1], (1, False)),
        (EphemeralValue(), [1], 1),
        (Topic(), [1], [1]),
        (NamedBarrier(AB), ["b", "a"], ["a", "b"]),
        (NamedBarrierAfterFinish(AB), ["b"], (["b"], False)),
    ],
    ids=lambda value: type(value).__name__,
)
def test_what_is_stored_comes_back(channel, writes, stored):
    """A stored cell is plain data with one rendering, and restoring it gives the cell again."""
    cell = after(channel, writes)
    assert (channel.stored(cell), channel.restored(channel.stored(cell))) == (stored, cell)
