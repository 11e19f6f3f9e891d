"""Planning: which tasks a superstep runs, in which order, with which input."""

from __future__ import annotations

import operator
from dataclasses import replace

import pytest

from flowfn.pregel import (
    EphemeralValue,
    LastValue,
    Program,
    Reducer,
    Topic,
    due,
    next_nodes,
    plan,
    unknown_sends,
    values,
    view,
)
from flowfn.values import MISSING, Checkpoint, Send

from .lowering import checkpoint, node, program, superstep

TWO = {"in": LastValue(), "other": LastValue()}


def test_a_node_runs_when_a_trigger_is_new():
    """A written trigger makes its subscribers due; once they have run, they are not due again."""
    p = program([node("a", ["in"]), node("b", ["other"])], TWO)
    before = checkpoint(p, **{"in": 1})
    _, after = superstep(p, before)
    assert (next_nodes(p, before), next_nodes(p, after)) == (("a",), ())


def test_a_node_runs_again_on_a_newer_version():
    """The same value written again is news."""
    p = program([node("a", ["in"], lambda state: [("in", 1)])], TWO)
    _, after = superstep(p, checkpoint(p, **{"in": 1}))
    assert next_nodes(p, after) == ("a",)


def test_an_unavailable_trigger_does_not_fire():
    """A version alone is not enough: the channel must hold a value."""
    p = program([node("a", ["in"])], TWO)
    assert next_nodes(p, Checkpoint("c", versions={"in": 3}, updated=("in",))) == ()


def test_candidates_of_a_known_update_come_sorted_by_name():
    """Where the updated channels are known, their subscribers are planned by name."""
    p = program([node(n, ["in"]) for n in ("zeta", "alpha")], TWO)
    assert next_nodes(p, checkpoint(p, **{"in": 1})) == ("alpha", "zeta")


@pytest.mark.parametrize("updated", [None, ()])
def test_all_nodes_are_candidates_where_no_update_is_known(updated):
    """Otherwise every node is looked at, in the order of the program."""
    p = program([node(n, ["in"]) for n in ("zeta", "alpha")], TWO)
    before = replace(checkpoint(p, **{"in": 1}), updated=updated)
    assert next_nodes(p, before) == ("zeta", "alpha")


def test_a_node_that_never_ran_is_triggered_by_an_initial_value():
    """An unwritten reducer has a value but no version: it triggers only nodes that have seen nothing."""
    p = program([node("a", ["sum"])], {"sum": Reducer(operator.add, int)})
    fresh, seen = Checkpoint("c"), Checkpoint("c", seen={"a": {}})
    assert (next_nodes(p, fresh), next_nodes(p, seen)) == (("a",), ())


def test_a_pull_task_carries_all_triggers_of_its_node():
    """The path names the node, and the triggers are all that it has, sorted, not only those that fired."""
    p = program([node("a", ["other", "in"], timeout=5)], TWO)
    (task,) = plan(p, checkpoint(p, **{"in": 1}))
    assert (task.path, task.triggers, task.timeout, task.writes) == (("pull", "a"), ("in", "other"), 5, None)


def test_a_node_reads_what_is_available():
    """Channels without a value are absent from the state, and managed values are beside it."""
    p = program([node("a", ["in"])], TWO | {"sum": Reducer(operator.add, int)})
    (task,) = plan(p, checkpoint(p, **{"in": 1}), {"remaining": 4})
    assert task.input == {"in": 1, "sum": 0, "remaining": 4}


def test_a_node_whose_input_is_missing_is_skipped():
    """`read` may answer `MISSING`: no task, though the trigger fired."""
    skipping = replace(node("a", ["in"]), read=lambda state: state.get("other", MISSING))
    p = program([skipping], TWO)
    before = checkpoint(p, **{"in": 1})
    assert (plan(p, before), [d[0] for d in due(p, before)]) == ([], ["a"])


SENDING = {"in": LastValue(), "sends": Topic()}


def test_sends_become_push_tasks_before_the_pull_tasks():
    """Each `Send` is a task of its own, in order, with its argument as the whole input."""
    p = program([node("a", ["in"]), node("w")], SENDING, sends="sends")
    before = checkpoint(p, sends=[Send("w", 2), Send("w", 1)], **{"in": 0})
    tasks = plan(p, before)
    assert [(t.path, t.triggers, t.input) for t in tasks[:2]] == [
        (("push", 0), ("__pregel_push",), 2),
        (("push", 1), ("__pregel_push",), 1),
    ]
    assert next_nodes(p, before) == ("w", "w", "a")


def test_a_send_may_bring_a_timeout():
    """A `Send`'s timeout replaces the node's; without one the node's counts."""
    p = program([node("w", timeout=5)], SENDING, sends="sends")
    tasks = plan(p, checkpoint(p, sends=[Send("w", 1), Send("w", 1, timeout=2)]))
    assert [task.timeout for task in tasks] == [5, 2]


def test_packets_for_nobody_are_passed_over_and_reported():
    """An unknown target, or what is no `Send`, runs nothing, keeps its position, and can be asked for."""
    p = program([node("w")], SENDING, sends="sends")
    before = checkpoint(p, sends=[Send("nobody", 1), "junk", Send("w", 1)])
    assert [task.path for task in plan(p, before)] == [("push", 2)]
    assert unknown_sends(p, before) == [Send("nobody", 1), "junk"]


def test_values_are_the_available_ones_of_those_asked_for():
    """A snapshot leaves out what has no value and what nobody asked for."""
    p = program([node("a", ["in"])], TWO | {"sum": Reducer(operator.add, int)})
    assert values(p, checkpoint(p, **{"in": None}), ["sum", "other", "in"]) == {"sum": 0, "in": None}


def test_a_view_is_a_mapping_of_what_is_available():
    """Reading an unavailable channel is a `KeyError`, as for any mapping."""
    p = program([node("a", ["in"])], TWO)
    state = view(p, checkpoint(p, **{"in": 1}), {"managed": 2})
    assert (dict(state), len(state), "other" in state) == ({"in": 1, "managed": 2}, 2, False)
    with pytest.raises(KeyError, match="other"):
        state["other"]


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: program([node("a", ["nope"])], TWO), "Subscribed channel 'nope' not in known channels"),
        (lambda: program([node("__error__")], TWO), "Node name '__error__' is reserved"),
        (lambda: program([], {"__input__": LastValue()}), "Channel name '__input__' is reserved"),
        (lambda: program([node("\udce9")], TWO), r"Node name '\\udce9' has a lone surrogate"),
        (lambda: program([], {"\udce9": LastValue()}), r"Channel name '\\udce9' has a lone surrogate"),
        (lambda: program([], TWO, output_channels=("nope",)), "Output channel 'nope' not in known channels"),
        (lambda: program([], TWO, input_channels=("in",)), "None of the input channels"),
        (lambda: program([], TWO, sends="in"), "Sends channel 'in' must be a Topic"),
        (lambda: program([], TWO, interrupt_before=("nope",)), "Node nope not in nodes"),
        (lambda: Program({"b": node("a")}, TWO, list, dict), "Node 'a' is filed under 'b'"),
    ],
)
def test_a_program_that_cannot_work_is_refused_when_defined(build, message):
    """Unknown names, reserved ones and such as no database keeps are errors of the definition, not of a run."""
    with pytest.raises(ValueError, match=message):
        build()


def test_the_indexes_hold_only_channels_that_react():
    """A superstep visits no channel that would answer nothing."""
    p = program([], TWO | {"e": EphemeralValue(), "t": Topic()})
    assert (p.fleeting, p.clearing, p.consuming, p.finishing) == ({"e"}, {"e", "t"}, set(), set())
