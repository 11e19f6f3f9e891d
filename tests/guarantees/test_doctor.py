"""Before a deploy: what an edited program would make of its open runs, with no task executed."""

from __future__ import annotations

import asyncio
import sqlite3
import sys
from typing import Any

import pytest

from checkpointers import MemorySaver
from flowfn.doctor import Checkup, examine
from flowfn.errors import InvalidInput
from flowfn.invocation import Setup
from flowfn.ports import ThreadRow

from .editing import HEAD, Edited, kinds, shown, source

TWO = """
x = fetch("a").result()
y = fetch("b").result()
die()
return fetch(x + y).result()
"""


def checkup(edited: Edited, body: str, **options: Any) -> Checkup:
    """What a version would make of the only thread; nothing runs, and nothing is written."""
    before = dump(edited)
    edited._versions += 1
    app = edited._load(source(body, **options))
    setup = app.flow._self_setup
    (found,) = asyncio.run(examine(edited.saver, lambda row: setup))
    assert (app.RAN, dump(edited)) == ([], before)
    return found


def dump(edited: Edited) -> list[str]:
    """The whole database as text."""
    db = sqlite3.connect(edited.folder / "runs.db")
    try:
        return list(db.iterdump())
    finally:
        db.close()


def names(calls: Any) -> list[str]:
    return [shown(call) for call in calls]


def test_the_same_code_continues(edited: Edited) -> None:
    """A killed run goes on where it stopped; the call that it would run next is told."""
    edited.record(TWO)
    found = checkup(edited, TWO)
    assert (found.verdict, names(found.next), found.left) == ("continues", ["fetch(url='R(a)R(b)')"], ())
    assert (found.report.reused, found.why) == (2, "fetch runs next")


def test_an_edit_behind_the_record_continues(edited: Edited) -> None:
    """What the run hasn't reached yet may change."""
    edited.record(TWO)
    found = checkup(edited, TWO.replace("return fetch(x + y)", "return store(y)"))
    assert (found.verdict, names(found.next)) == ("continues", ["store(item='R(b)')"])


def test_a_changed_argument_runs_anew(edited: Edited) -> None:
    """The call that would run stands beside the record that it replaces, with the diff of the code."""
    edited.record(TWO)
    found = checkup(edited, TWO.replace('fetch("b")', 'fetch("c")'))
    assert (found.verdict, names(found.next), kinds(found.report)) == ("anew", ["fetch(url='c')"], ["new"])
    (difference,) = found.report
    assert difference.changes == (("url", "'b'", "'c'"),)
    assert [edit.name for edit in found.report.edits] == ["flow"]


def test_changed_calls_stand_beside_those_of_their_place(edited: Edited) -> None:
    """Each of several changed calls stands beside the recorded one that was made as early, whichever ended first."""
    body = """
x, y = fetch("a"), fetch("b")
y.result(), x.result()
die()
return x.result()
"""
    edited.record(body)
    found = checkup(edited, body.replace('"a"', '"c"').replace('"b"', '"d"'))
    assert [change for difference in found.report for change in difference.changes] == [
        ("url", "'a'", "'c'"),
        ("url", "'b'", "'d'"),
    ]


def test_a_call_inserted_in_front_is_told(edited: Edited) -> None:
    """How the run goes on after a new call nobody knows before it runs; what is recorded behind it is told."""
    edited.record(TWO)
    found = checkup(edited, 'w = store("new").result()\n' + TWO)
    assert (found.verdict, names(found.next)) == ("anew", ["store(item='new')"])
    assert names(found.left) == ["fetch(url='a')", "fetch(url='b')"]
    assert found.why == "store runs next; recorded calls of fetch (2) are not asked for before that"
    assert "+    w = store('new').result()" in found.report.edits[0].diff


def test_a_removed_call_is_an_orphan(edited: Edited) -> None:
    """A run that would end at once is replayed to its end."""
    edited.record(TWO)
    found = checkup(edited, 'x = fetch("a").result()\nreturn x')
    assert (found.verdict, found.next, kinds(found.report)) == ("anew", (), ["orphan"])


@pytest.mark.parametrize(
    ("option", "verdict", "kind"),
    [("reuse", "continues", "code"), ("rerun", "anew", "rerun"), ("error", "decide", "code")],
)
def test_on_code_change_decides(edited: Edited, option: str, verdict: str, kind: str) -> None:
    """G9: reused, run again, or refused, as the task says; the diff is there in each case."""
    head = HEAD.replace("@task\ndef fetch", f"@task(on_code_change={option!r})\ndef fetch")
    edited.record(TWO, head=head)
    found = checkup(edited, TWO, head=head.replace('f"R(', 'f"fixed R('))
    assert (found.verdict, kinds(found.report)[0]) == (verdict, kind)
    assert [edit.name for edit in found.report.edits] == ["fetch"]


def test_version_stands_for_the_code(edited: Edited) -> None:
    """G9: with the same `version=` an edit is no change."""
    head = HEAD.replace("@task\ndef fetch", "@task(version='1', on_code_change='error')\ndef fetch")
    edited.record(TWO, head=head)
    found = checkup(edited, TWO, head=head.replace('f"R(', 'f"fixed R('))
    assert (found.verdict, list(found.report)) == ("continues", [])


def test_a_doubt_needs_a_decision(edited: Edited) -> None:
    """Rule 3: what `resume` would refuse is told before, with what to write."""
    body = "x = stamp('a', secrets.token_hex(16)).result()\ndie()\nreturn x"
    edited.record(body)
    found = checkup(edited, body)
    assert (found.verdict, kinds(found.report)) == ("decide", ["doubt"])
    assert "flowfn.uuid4()" in found.why


@pytest.mark.parametrize(
    ("line", "error"), [("y = {}['gone']", "KeyError: 'gone'"), ("raise SystemExit(0)", "SystemExit: 0")]
)
def test_code_that_fails_needs_a_decision(edited: Edited, line: str, error: str) -> None:
    """A run that would fail before it runs anything is told, with its error; so is one that would leave the process."""
    edited.record(TWO)
    found = checkup(edited, TWO.replace('y = fetch("b").result()', line))
    assert (found.verdict, found.why) == ("decide", f"it fails before it runs anything: {error}")


def test_a_workflow_that_is_gone_needs_a_decision(edited: Edited) -> None:
    """A run of a workflow that the program no longer has can't go on."""
    edited.record(TWO)

    def gone(row: ThreadRow) -> Setup:
        raise InvalidInput(f"no {row.workflow}")

    (found,) = asyncio.run(examine(edited.saver, gone))
    assert (found.verdict, found.why) == ("decide", "no app.flow")


ASKS = "answer = interrupt('sure?')\nreturn fetch(answer).result()"


def test_a_question_waits(edited: Edited) -> None:
    """A run that waits for a human goes on waiting; an edited question is asked anew."""
    edited.run(ASKS, 0)
    same, other = checkup(edited, ASKS), checkup(edited, ASKS.replace("sure?", "really?"))
    assert (same.verdict, same.why, same.left) == ("continues", "it waits for an answer", ())
    assert (other.verdict, names(other.left)) == ("anew", ["interrupt(value='sure?')"])


def test_a_question_in_a_task_waits(edited: Edited) -> None:
    """A task that asks isn't called to ask again."""
    head = HEAD + "\n\n@task\ndef approve():\n    RAN.append('approve')\n    return interrupt('sure?')\n"
    body = "return approve().result()"
    edited.run(body, 0, head=head)
    found = checkup(edited, body, head=head)
    assert (found.verdict, found.why, found.left) == ("continues", "it waits for an answer", ())


NESTED = (
    HEAD
    + """

@entrypoint
def child(n):
    first = fetch(f"c{n}").result()
    die()
    return first + fetch("d").result()
"""
)


def test_a_workflow_within_is_replayed_too(edited: Edited) -> None:
    """A child workflow that was under way is gone into; a new one isn't begun."""
    body = "return child(1)"
    edited.record(body, head=NESTED)
    same = checkup(edited, body, head=NESTED)
    assert (same.verdict, names(same.next), same.report.reused) == ("continues", ["fetch(url='d')"], 1)
    inside = checkup(edited, body, head=NESTED.replace('f"c{n}"', 'f"x{n}"'))
    assert (inside.verdict, names(inside.next)) == ("anew", ["fetch(url='x1')"])
    another = checkup(edited, "return child(2)", head=NESTED)
    assert (another.verdict, names(another.next)) == ("anew", ["child(n=2)"])


ASYNC = """
async def chain(name):
    return await step(await step(name))
found = await asyncio.gather(chain("a"), chain("b"), flowfn.sleep(10))
die()
return await step("end")
"""


def test_asyncio_branches_are_replayed(edited: Edited) -> None:
    """G7: every branch goes as far as it can without running anything, or waiting."""
    body = ASYNC.replace(", flowfn.sleep(10)", "")
    edited.record(body)
    same = checkup(edited, body)
    assert (same.verdict, names(same.next)) == ("continues", ["step(name='end')"])
    other = checkup(edited, body.replace('chain("a")', 'chain("c")'))
    assert (other.verdict, names(other.next)) == ("anew", ["step(name='c')"])


@pytest.mark.timeout(20)
def test_nothing_is_waited_for(edited: Edited) -> None:
    """A replay that would sleep, or that would start a run on another thread, stops there."""
    sleeps = 'x = fetch("a").result()\nkill() if DIES else flowfn.sleep(1000)\nreturn x'
    edited.record(sleeps)
    assert checkup(edited, sleeps).why == "it sleeps"
    other = sleeps.replace("flowfn.sleep(1000)", "flow.invoke(1, thread_id='other')")
    assert checkup(edited, other).why == "it runs app.flow on a thread of its own"
    assert [row.id for row in edited.saver.threads()] == ["job"]


def graph(ran: list[str], saver: Any, last: str = "b") -> Any:
    """A graph of two nodes, the second of which asks."""
    from graph_compat.graph import END, START, StateGraph
    from graph_compat.types import interrupt

    def first(x: int) -> int:
        ran.append("first")
        return x + 1

    def asks(x: int) -> int:
        ran.append("asks")
        return int(interrupt("how many?"))

    builder = StateGraph(int)
    builder.add_node("a", first)
    builder.add_node(last, asks)
    builder.add_edge(START, "a")
    builder.add_edge("a", last)
    builder.add_edge(last, END)
    return builder.compile(checkpointer=saver)


@pytest.mark.parametrize(
    ("last", "verdict", "why"),
    [
        ("b", "continues", "it waits for an answer"),
        ("renamed", "decide", "thread 't' stopped before node 'b'"),
    ],
)
def test_nodes_of_a_graph_are_not_called(last: str, verdict: str, why: str) -> None:
    """A graph's nodes are its tasks; a run whose node is gone would be refused."""
    saver, ran = MemorySaver(), []
    graph(ran, saver).invoke(1, {"configurable": {"thread_id": "t"}})
    ran.clear()
    setup = graph(ran, saver, last)._self_setup
    (found,) = asyncio.run(examine(saver, lambda row: setup))
    assert (found.verdict, found.why.startswith(why), ran) == (verdict, True, [])


def test_a_live_run_is_left_alone(edited: Edited) -> None:
    """A run that some process has is told, and not looked into."""
    edited.record(TWO)
    lease = edited.saver.claim("job")
    app = sys.modules["app"]
    found = asyncio.run(examine(edited.saver, lambda row: app.flow._self_setup))
    assert [each.verdict for each in found] == ["live"]
    edited.saver.release(lease)
