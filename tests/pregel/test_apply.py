"""Applying: what a superstep's writes change, rule by rule."""

from __future__ import annotations

import operator
from dataclasses import replace

import pytest

from flowfn.errors import InvalidUpdateError
from flowfn.pregel import (
    HIDDEN,
    AnyValue,
    Batch,
    EphemeralValue,
    LastValue,
    LastValueAfterFinish,
    NamedBarrier,
    Reducer,
    Topic,
    advance,
    amend,
    apply,
    begin,
    next_nodes,
    peek,
    plan,
    resumed,
    stops,
    view,
)
from flowfn.values import MISSING, Checkpoint, Send, Write

from .lowering import checkpoint, node, program, run

X = {"go": EphemeralValue(), "x": Reducer(operator.add, list), "sends": Topic()}


def finished(tasks, **writes):
    """The tasks with the writes of their nodes."""
    for task in tasks:
        task.writes = [Write(*pair) for pair in writes.get(task.name, ())]
    return tasks


def test_writes_are_applied_by_path_and_not_by_completion():
    """PULL tasks by name come before PUSH tasks in the order of their Sends, however they finished."""
    p = program([node(n, ["go"]) for n in ("zeta", "alpha", "mid")] + [node("w")], X, sends="sends")
    before = checkpoint(p, go=1, sends=[Send("w", 2), Send("w", 1)])
    tasks = plan(p, before)
    for task in tasks:
        task.writes = [Write("x", [task.input if task.name == "w" else task.name])]
    expected = ["alpha", "mid", "zeta", 2, 1]
    assert [apply(p, before, order).cells["x"] for order in (tasks, tasks[::-1])] == [expected, expected]


def test_many_sends_keep_their_order():
    """The tenth `Send` comes after the ninth, not after the first."""
    p = program([node("w")], X, sends="sends")
    before = checkpoint(p, sends=[Send("w", i) for i in range(12)])
    tasks = plan(p, before)
    for task in tasks:
        task.writes = [Write("x", [task.input])]
    assert apply(p, before, tasks).cells["x"] == list(range(12))


def test_everything_that_changes_gets_one_next_version():
    """The next version is one more than the clock, for every channel that changed; an emptied one has none."""
    p = program([node("a", ["go"])], X | {"y": LastValue()})
    before = replace(checkpoint(p, go=1), versions={"go": 7, "y": 3}, clock=7)
    after = advance(before, apply(p, before, finished(plan(p, before), a=[("x", [1]), ("y", 2)])))
    assert (after.versions, after.clock) == ({"x": 8, "y": 8}, 8)


def test_the_highest_version_counts_where_no_clock_is_known():
    """A checkpoint that another program wrote has versions alone."""
    p = program([], {"y": LastValue()})
    before = Checkpoint("c", versions={"y": 2, "z": 9})
    assert apply(p, before, [Batch("a", [Write("y", 1)])]).version == 10


def test_versions_grow_after_the_channel_of_the_highest_was_emptied():
    """A trigger that is written again is newer than whatever its node has seen."""
    p = program([node("a", ["go"], lambda state: [])], X)
    before = checkpoint(p, go=1)
    emptied = advance(before, apply(p, before, finished(plan(p, before), a=[])))
    again = advance(emptied, begin(p, emptied, [Write("go", 1)]))
    assert (emptied.versions, again.versions["go"] > before.versions["go"]) == ({}, True)


def test_what_nodes_saw_of_spent_triggers_is_forgotten():
    """Where every trigger is gone after its superstep, entries don't pile up with the nodes that ever ran."""
    p = program(
        [node("a", ["go"], lambda state: [("next", 1)]), node("b", ["next"])], X | {"next": EphemeralValue()}
    )
    first = checkpoint(p, go=1)
    second = advance(first, apply(p, first, finished(plan(p, first), a=[("next", 1)])))
    third = advance(second, apply(p, second, finished(plan(p, second), b=[])))
    assert (list(second.seen), list(third.seen)) == (["a"], ["b"])


def test_a_task_has_seen_the_versions_of_its_triggers():
    """The entry gains the versions that the task ran on, and keeps the others."""
    p = program([node("a", ["go", "y"])], X | {"y": LastValue()})
    before = replace(checkpoint(p, go=1), seen={"a": {"old": 1}, "b": {"go": 1}})
    after = advance(before, apply(p, before, plan(p, before)))
    assert after.seen == {"a": {"old": 1, "go": 1}, "b": {"go": 1}}


def test_a_push_task_leaves_an_empty_entry():
    """A `Send` shows that its node has run, at no channel's version."""
    p = program([node("w")], X, sends="sends")
    before = checkpoint(p, sends=[Send("w", 1)])
    assert apply(p, before, plan(p, before)).seen == {"w": {}}


def test_triggers_are_consumed_before_writes_arrive():
    """A barrier that has done its work starts over, and counts what is written in that very superstep."""
    p = program([node("d", ["join"])], {"join": NamedBarrier(frozenset({"a", "b"}))})
    before = checkpoint(p)
    before = advance(before, apply(p, before, [Batch("ab", [Write("join", "a"), Write("join", "b")])]))
    changes = apply(p, before, finished(plan(p, before), d=[("join", "a")]))
    assert (changes.cells, changes.updated) == ({"join": frozenset({"a"})}, ())


def test_ephemeral_channels_are_cleared_by_a_superstep():
    """What nobody wrote again is gone, at a new version, and is no update."""
    p = program([node("a", ["go"])], X | {"any": AnyValue()})
    before = checkpoint(p, go=1, any=1, sends=["junk"])
    changes = apply(p, before, plan(p, before))
    assert (changes.cells, changes.updated) == (dict.fromkeys(["any", "go", "sends"], MISSING), ())


def test_writes_of_no_superstep_clear_nothing():
    """A batch without triggers neither clears, nor finishes, nor marks anything seen."""
    p = program([node("a", ["go"]), node("d", ["late"])], X | {"late": LastValueAfterFinish()})
    before = checkpoint(p, go=1, late=1)
    changes = apply(p, before, [Batch("a", [Write("x", [1])])])
    assert (changes.cells, changes.seen) == ({"x": [1]}, {})


def test_finish_waits_until_nothing_else_is_triggered():
    """A deferred channel becomes available in the superstep whose updates trigger no node."""
    p = program([node("a", ["go"]), node("d", ["late"])], X | {"late": LastValueAfterFinish()})
    before = checkpoint(p, go=1)
    goes_on = apply(p, before, finished(plan(p, before), a=[("go", 1), ("late", 1)]))
    last = apply(p, before, finished(plan(p, before), a=[("late", 1)]))
    assert (goes_on.updated, last.updated, last.cells["late"]) == (("go",), ("late",), (1, True))


def test_sends_do_not_hold_a_deferred_node_back():
    """Only channels that trigger nodes do: a deferred node runs beside the Sends of its superstep."""
    p = program(
        [node("a", ["go"]), node("d", ["late"]), node("w")],
        X | {"late": LastValueAfterFinish()},
        sends="sends",
    )
    before = checkpoint(p, go=1)
    writes = [("late", 1), ("sends", Send("w", 1))]
    after = advance(before, apply(p, before, finished(plan(p, before), a=writes)))
    assert next_nodes(p, after) == ("w", "d")


def test_unknown_channels_are_ignored_and_reported():
    """A write that nobody takes is data for a warning; control keys are passed over in silence."""
    p = program([node("a", ["go"])], X)
    before = checkpoint(p, go=1)
    changes = apply(p, before, finished(plan(p, before), a=[("nope", 1), ("__return__", 1), ("x", [1])]))
    assert (changes.ignored, changes.updated) == ([("a", "nope")], ("x",))


def test_an_empty_update_is_no_update():
    """A written channel that has no value afterwards is changed, not updated."""
    p = program([node("a", ["go"])], X, sends="sends")
    before = checkpoint(p, go=1, sends=["junk"])
    changes = apply(p, before, finished(plan(p, before), a=[("sends", [])]))
    assert (changes.cells["sends"], changes.updated) == (MISSING, ())


def test_writes_that_clash_are_refused():
    """Two tasks that write one `LastValue` fail the superstep."""
    p = program([node("a", ["go"]), node("b", ["go"])], X | {"y": LastValue()})
    before = checkpoint(p, go=1)
    tasks = finished(plan(p, before), a=[("y", 1)], b=[("y", 2)])
    with pytest.raises(InvalidUpdateError, match="At key 'y'"):
        apply(p, before, tasks)


def test_arguments_are_left_as_they_were():
    """Applying and advancing change neither the checkpoint nor its dicts."""
    p = program([node("a", ["go"])], X)
    before = checkpoint(p, go=1, x=[0])
    copied = replace(before, values=dict(before.values), versions=dict(before.versions), seen={})
    advance(before, apply(p, before, finished(plan(p, before), a=[("x", [1])])))
    assert before == copied


def test_new_input_gives_up_what_was_due():
    """Tasks that never ran count as seen, their triggers and Sends go, and the input is applied."""
    p = program(
        [node("a", ["go"]), node("b", ["other"]), node("w")], X | {"other": EphemeralValue()}, sends="sends"
    )
    before = checkpoint(p, other=1, sends=[Send("w", 1)])
    after = advance(before, begin(p, before, [Write("go", 2)]))
    assert (next_nodes(p, after), after.values) == (("a",), {"go": 2})
    assert after.seen == {"b": {"other": 1}, "w": {}}


def test_giving_up_runs_no_code_of_the_nodes():
    """A node whose input can't be read any more doesn't stand in the way of new input."""
    broken = replace(node("a", ["go"]), read=lambda state: 1 / 0)
    p = program([broken], X)
    before = checkpoint(p, go=1)
    assert begin(p, before, [Write("x", [1])]).updated == ("x",)


def test_amending_leaves_what_is_due():
    """A command's writes join the last update, so that interrupted nodes and new targets both run."""
    p = program([node("a", ["go"]), node("b", ["other"])], X | {"other": EphemeralValue()})
    before = checkpoint(p, go=1)
    after = advance(before, amend(p, before, [Write("x", [1]), Write("other", 1)]))
    assert (next_nodes(p, after), after.updated) == (("a", "b"), ("go", "other", "x"))


def test_versions_go_on_after_amending_a_channel_that_stays_unavailable():
    """A half-filled barrier counts for the next version, or two of its values would share one."""
    p = program([node("a", ["go"])], X | {"join": NamedBarrier(frozenset({"a", "b"}))})
    before = checkpoint(p, go=1)
    amended = advance(before, amend(p, before, [Write("join", "a")]))
    assert apply(p, amended, finished(plan(p, amended), a=[("join", "b")])).version == 3


def test_a_task_can_peek_at_its_own_writes():
    """A router sees the state after its node's writes, and the checkpoint doesn't."""
    p = program([node("a", ["go"])], X)
    before = checkpoint(p, go=1, x=[0])
    assert (peek(p, before, [Write("x", [1])])["x"], before.values["x"]) == ([0, 1], [0])


@pytest.mark.parametrize("writes", [[], [Write("x", [1])], [Write("jump", 2)]], ids=str)
def test_a_task_that_peeks_sees_what_the_next_one_would(writes: list[Write]):
    """What lasted for its own superstep is gone, unless it wrote that itself."""
    p = program([node("a", ["go"])], X | {"jump": EphemeralValue(), "news": Topic(), "old": Topic(True)})
    before = checkpoint(p, go=1, x=[0], jump=1, news=["n"], old=["o"])
    after = advance(before, apply(p, before, finished(plan(p, before), a=writes)))
    assert dict(peek(p, before, writes)) == dict(view(p, after))


def test_what_a_task_has_peeked_at_is_merged_once():
    """However often it looks; and what it writes elsewhere afterwards, as its branches do, changes nothing of that."""
    merged = []

    def add(value: list[int], write: list[int]) -> list[int]:
        merged.append(write)
        return value + write

    p = program([node("a", ["go"])], X | {"x": Reducer(add, list)})
    before = checkpoint(p, go=1)
    (task,) = plan(p, before)
    task.writes = [Write("x", [1]), Write("x", [2])]
    for _ in range(2):
        peek(p, before, task.writes, {}, task.name, task.path)
    task.writes += [Write("go", 2)]
    assert (apply(p, before, [task]).cells, merged) == ({"x": [1, 2], "go": 2}, [[1], [2]])


@pytest.mark.parametrize("change", ["other", "more", "writer", "beside"])
def test_what_a_task_has_peeked_at_is_its_own_writes_alone(change):
    """Others, more, another task's or those of one beside it are merged anew."""
    p = program([node("a", ["go"]), node("b", ["go"])], X)
    before = checkpoint(p, go=1, x=[0])
    a, b = plan(p, before)
    a.writes, b.writes = [Write("x", [1])], []
    peek(p, before, a.writes, {}, a.name, a.path)
    expected = {"other": [0, 3], "more": [0, 1, 3], "writer": [0, 1, 3], "beside": [0, 1, 3]}
    if change == "other":
        a.writes = [Write("x", [3])]
    elif change == "more":
        a.writes.append(Write("x", [3]))
    else:
        b.writes = [Write("x", [3])] if change == "beside" else [*a.writes, Write("x", [3])]
    tasks = {"writer": [b], "beside": [a, b]}.get(change, [a])
    assert apply(p, before, tasks).cells["x"] == expected[change]


@pytest.mark.parametrize(
    ("merge", "typ", "write", "change"),
    [
        (operator.add, list, [1], lambda value: value.append("seen")),
        (operator.or_, dict, {"k": 1}, lambda value: value.update(seen=True)),
        (operator.or_, set, {1}, lambda value: value.add("seen")),
        (lambda old, new: old + [{**item} for item in new], list, [{"k": 1}], lambda value: value[0].clear()),
    ],
    ids=["list", "dict", "set", "made"],
)
def test_what_a_router_does_to_its_state_stays_with_it(merge, typ, write, change):
    """It may change what it is shown, which is merged for it alone."""
    p = program([node("a", ["go"])], X | {"x": Reducer(merge, typ)})
    before = checkpoint(p, go=1)
    (task,) = plan(p, before)
    task.writes = [Write("x", write)]
    for _ in range(2):
        change(peek(p, before, task.writes, {}, task.name, task.path)["x"])
    assert apply(p, before, [task]).cells["x"] == write


@pytest.mark.parametrize(
    ("names", "expected"), [(("b",), ["b"]), ("*", ["a", "b"]), ((), []), (("nope",), [])]
)
def test_static_interrupts_stop_at_the_named_nodes(names, expected):
    """A list names nodes; `"*"` all but the hidden ones."""
    hidden = replace(node("h", ["go"]), tags=(HIDDEN,))
    p = program([node("a", ["go"]), node("b", ["go"]), hidden], X)
    before = checkpoint(p, go=1)
    assert [task.name for task in stops(before, plan(p, before), names)] == expected


def test_a_breakpoint_is_passed_once():
    """After a resume the same breakpoint lets the run by, until something changes again."""
    p = program([node("a", ["go"], lambda state: [("go", 1)])], X)
    before = checkpoint(p, go=1)
    passed = advance(before, resumed(before))
    tasks = finished(plan(p, passed), a=[("go", 1)])
    after = advance(passed, apply(p, passed, tasks))
    assert [bool(stops(c, tasks, "*")) for c in (before, passed, after)] == [True, False, True]


def test_an_entrypoint_is_one_node_and_three_channels():
    """One superstep per call: the input goes, result and `previous` stay, and the next call starts anew."""
    channels = {"__start__": EphemeralValue(), "__end__": LastValue(), "__previous__": LastValue()}
    body = node(
        "f",
        ["__start__"],
        lambda s: [(k, s["__start__"] + s.get("__previous__", 0)) for k in ("__end__", "__previous__")],
    )
    p = program([body], channels, input_channels=("__start__",), output_channels=("__end__",))
    trace, first = run(p, checkpoint(p, __start__=1))
    _, second = run(p, advance(first, begin(p, first, [Write("__start__", 2)])))
    assert (trace, first.values, second.values) == (
        [["f"]],
        {"__end__": 1, "__previous__": 1},
        {"__end__": 3, "__previous__": 3},
    )
