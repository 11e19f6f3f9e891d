"""Random programs: the core agrees with a slow interpreter, forgets nothing and changes no argument."""

from __future__ import annotations

import copy
import operator
from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from flowfn.pregel import (
    INPUT,
    AnyValue,
    Batch,
    EphemeralValue,
    LastValueAfterFinish,
    NamedBarrier,
    NamedBarrierAfterFinish,
    Reducer,
    Topic,
    UntrackedValue,
    advance,
    amend,
    apply,
    begin,
    due,
    plan,
    values,
)
from flowfn.values import MISSING, Checkpoint, Overwrite, Send, Write

from . import slow
from .lowering import node, program

NAMES = frozenset({"a", "b"})
CHANNELS = {
    "sends": (Topic(), lambda: slow.Topics(False)),
    "log": (Topic(accumulate=True), lambda: slow.Topics(True)),
    "any": (AnyValue(), slow.Ephemeral),
    "eph": (EphemeralValue(False), slow.Ephemeral),
    "last": (UntrackedValue(False), slow.Last),
    "late": (LastValueAfterFinish(), slow.Deferred),
    "sum": (Reducer(operator.add, tuple), slow.Sum),
    "join": (NamedBarrier(NAMES), lambda: slow.Barrier(NAMES, False)),
    "joinlate": (NamedBarrierAfterFinish(NAMES), lambda: slow.Barrier(NAMES, True)),
}
SPECS = {name: spec for name, (spec, _) in CHANNELS.items()}
NODES = ("n3", "n1", "n2", "n0")

numbers = st.integers(0, 3)
name = st.sampled_from(sorted(NAMES))
send = st.builds(Send, st.sampled_from([*NODES, "nobody"]), numbers)
write = st.one_of(
    st.tuples(st.just("sends"), st.one_of(send, numbers, st.lists(send, max_size=2))),
    st.tuples(st.just("log"), st.one_of(numbers, st.lists(numbers, max_size=2))),
    st.tuples(st.sampled_from(["any", "eph", "last", "late"]), numbers),
    st.tuples(st.just("sum"), st.builds(lambda n: (n,), numbers)),
    st.tuples(st.sampled_from(["join", "joinlate"]), name),
)
triggers = st.lists(st.sampled_from([*SPECS][1:]), max_size=3, unique=True)
wiring = st.fixed_dictionaries(dict.fromkeys(NODES, triggers))
script = st.lists(st.lists(st.lists(write, max_size=3), min_size=6, max_size=6), min_size=1, max_size=6)


def lowered(wired):
    """The program in which each node of `wired` has its triggers."""
    return program([node(n, t) for n, t in wired.items()], SPECS, sends="sends")


def assigned(paths, step):
    """What each task writes in a superstep of the script; at most one writes an `Overwrite`."""
    writes = {path: step[i % len(step)] for i, path in enumerate(sorted(paths))}
    if len(writes) > 2:
        writes[min(writes)] = [*writes[min(writes)], ("sum", Overwrite((9,)))]
    return writes


def settle(tasks, writes):
    """The tasks with their writes."""
    for task in tasks:
        task.writes = [Write(*pair) for pair in writes[task.path]]
    return tasks


def played(wired, steps):
    """The checkpoint before each superstep of the script, with its settled tasks."""
    p = lowered(wired)
    now = Checkpoint("c")
    for step in steps:
        writes = [Write(*pair) for pair in step[0]]
        now = advance(now, begin(p, now, writes) if not plan(p, now) else amend(p, now, writes))
        tasks = plan(p, now)
        yield p, now, settle(tasks, assigned([t.path for t in tasks], step))
        now = advance(now, apply(p, now, tasks))


@settings(max_examples=400)
@given(wiring, script)
def test_the_core_agrees_with_the_slow_interpreter(wired, steps):
    """Sections 2.4 and 2.5: the same tasks, values, versions, entries and updates, superstep by superstep."""
    p, now = lowered(wired), Checkpoint("c")
    other = slow.Interpreter(wired, {name: make() for name, (_, make) in CHANNELS.items()})
    for step in steps:
        if not plan(p, now):
            now = advance(now, begin(p, now, [Write(*pair) for pair in step[0]]))
            other.apply([((), "__input__", ())], {(): step[0]})
        tasks, expected = plan(p, now), other.plan()
        assert [(t.path, t.name, t.triggers) for t in tasks] == expected
        writes = assigned([t.path for t in tasks], step)
        now = advance(now, apply(p, now, settle(tasks, writes)))
        other.apply(expected, writes)
        assert values(p, now, SPECS) == other.values()
        assert (now.versions, now.seen, now.updated) == (
            other.versions,
            other.seen,
            tuple(sorted(other.updated)),
        )


@settings(max_examples=150)
@given(wiring, script, st.lists(write, max_size=3))
def test_input_gives_up_tasks_as_if_they_had_written_nothing(wired, steps, fresh):
    """Section 2.14: beginning is one superstep of the tasks that were due, without their writes."""
    written = [Write(*pair) for pair in fresh]
    for p, now, tasks in played(wired, steps):
        given_up = [replace(task, writes=None) for task in tasks]
        assert begin(p, now, written) == apply(p, now, [*given_up, Batch(INPUT, written)])


@settings(max_examples=150)
@given(wiring, script, st.randoms(use_true_random=False))
def test_completion_order_does_not_matter(wired, steps, random):
    """Section 2.5, step 1: any order of the tasks changes the same."""
    for p, now, tasks in played(wired, steps):
        shuffled = random.sample(tasks, len(tasks))
        assert apply(p, now, shuffled) == apply(p, now, tasks)


@settings(max_examples=100)
@given(wiring, script)
def test_arguments_are_never_changed(wired, steps):
    """Planning, applying, beginning and amending leave checkpoint and tasks as they were."""
    for p, now, tasks in played(wired, steps):
        copied = copy.deepcopy((now, [(t.path, t.input, t.writes) for t in tasks]))
        writes = [Write("sum", (1,)), Write("log", [1])]
        advance(now, begin(p, now, writes))
        advance(now, amend(p, now, writes))
        advance(now, apply(p, now, tasks))
        assert (now, [(t.path, t.input, t.writes) for t in tasks]) == copied


@settings(max_examples=100)
@given(wiring, script)
def test_versions_only_grow(wired, steps):
    """Section 2.7: what changes is newer than everything before it, after amending too."""
    for p, now, tasks in played(wired, steps):
        assert apply(p, now, tasks).version == now.latest + 1 > max(now.versions.values(), default=0)


@settings(max_examples=100)
@given(wiring, script)
def test_what_is_stored_comes_back(wired, steps):
    """Every cell that a run meets survives being stored, but for untracked ones, which aren't stored."""
    for _, now, _ in played(wired, steps):
        stored = {name: SPECS[name].stored(cell) for name, cell in now.values.items()}
        back = {name: SPECS[name].restored(data) for name, data in stored.items() if data is not MISSING}
        assert back == {name: cell for name, cell in now.values.items() if name != "last"}


@settings(max_examples=100)
@given(wiring, script)
def test_what_is_due_is_what_is_planned(wired, steps):
    """`due` lists the tasks that `plan` makes."""
    for p, now, tasks in played(wired, steps):
        assert due(p, now) == [(t.name, t.path, t.triggers) for t in tasks]
