"""G2, G9, section 4: the report says what differed from the record, and what probably caused it."""

from __future__ import annotations

import json
import logging
import sqlite3
import threading
from types import ModuleType
from typing import Any

import pytest

from checkpointers import MemorySaver
from flowfn import NonDeterminismError, entrypoint, task
from flowfn.report import CallSummary, Difference, Report

from .editing import HEAD, Edited, kinds, shown

ORDERS = """
import json
from pathlib import Path
for order in json.loads(Path(n).read_text()):
    fetch(order).result()
die()
"""


def edit_orders(edited: Edited, before: Any, after: Any) -> Report:
    """The report of a run whose calls have other arguments than recorded; the code is the same."""
    orders = edited.folder / "orders.json"
    orders.write_text(json.dumps(before))
    edited.record(ORDERS, str(orders))
    orders.write_text(json.dumps(after))
    return edited.resume(ORDERS).report


# -- an argument changed ----------------------------------------------------------------------------


def test_both_values_of_a_changed_argument(edited: Edited) -> None:
    """Section 4: the path into the argument, what was recorded there and what is there now."""
    line = {"sku": "ink", "count": 2}
    report = edit_orders(edited, [{"id": 7, "lines": [line]}], [{"id": 7, "lines": [{**line, "count": 3}]}])
    (difference,) = (each for each in report if each.kind == "new")
    assert difference.changes == (('url["lines"][0]["count"]', "2", "3"),)
    assert report.cause == 'an argument changed: url["lines"][0]["count"]: 2 → 3'
    assert report.edits == []


@pytest.mark.parametrize(
    ("before", "after", "change"),
    [
        ("a", "b", ("url", "'a'", "'b'")),
        ([1, 2], [1], ("url[1]", "2", "-")),
        ({"a": 1}, {"a": 1, "b": None}, ('url["b"]', "-", "None")),
        (1, True, ("url", "1", "True")),
        (1, 1.0, ("url", "1", "1.0")),
    ],
)
def test_what_changed_is_found_in_any_value(edited: Edited, before: Any, after: Any, change: Any) -> None:
    """Section 4: a leaf, an item that came or went, a value of another type."""
    report = edit_orders(edited, [before], [after])
    assert [each.changes for each in report if each.kind == "new"] == [(change,)]


def test_long_arguments_changed_somewhere(edited: Edited) -> None:
    """Arguments of more than 512 bytes aren't kept; that they changed is told all the same."""
    report = edit_orders(edited, ["x" * 1000], ["y" * 1000])
    assert [each.cause for each in report if each.kind == "new"] == ["its arguments changed"]


SCRIPT = """
from flowfn import entrypoint, task


@task
def fetch(url):
    return url


@entrypoint(checkpointer=saver)
def flow(dies):
    fetch("a").result()
    if dies:
        raise ConnectionError("killed here")
"""


def test_a_module_that_is_called_otherwise_is_the_cause() -> None:
    """Section 4: a script that is started by its path, and was one of a package, has other tasks; the report says so,
    and how they are the same ones again."""
    saver, named = MemorySaver(), {}
    for name in ("package.job", "job"):
        module = named[name] = ModuleType(name)
        vars(module)["saver"] = saver
        exec(SCRIPT, vars(module))
    with pytest.raises(ConnectionError):
        named["package.job"].flow.invoke(True, thread_id="t")
    thread = named["job"].flow.thread("t")
    with pytest.raises(ConnectionError):
        thread.resume()
    assert thread.report.cause == (
        "fetch was recorded as package.job.fetch, and is job.fetch now: start the program as before, "
        "or write @task(name='package.job.fetch')"
    )


# -- the code changed -------------------------------------------------------------------------------

TOTAL = """
total = fetch("a").result() + fetch("b").result()
die()
return total
"""

HELPED = HEAD.replace('return f"R({url})"', "return read(url)") + (
    '\n\ndef read(url):\n    """Read it."""\n    return f"R({url})"\n'
)


def test_the_diff_of_a_task_that_was_edited(edited: Edited) -> None:
    """Section 4: the recorded source, which the journal kept, against that of now."""
    edited.record(TOTAL)
    after = edited.resume(TOTAL, head=HEAD.replace('return f"R({url})"', 'return f"fixed R({url})"'))
    (edit,) = after.report.edits
    assert edit.name == "fetch"
    assert edit.recorded != edit.current
    lines = edit.diff.splitlines()
    assert lines[:2] == ["--- fetch (recorded)", "+++ fetch (now)"]
    assert [line for line in lines[2:] if line[0] in "+-"] == [
        "-    return f'R({url})'",
        "+    return f'fixed R({url})'",
    ]
    assert kinds(after.report) == ["code", "code"]
    assert {call.code for row in after.report for call in (row.recorded,) if call} == {edit.recorded}


def test_the_diff_of_a_helper_that_was_edited(edited: Edited) -> None:
    """Section 4: a fingerprint covers the project's functions that a task names, and so does the diff."""
    edited.record(TOTAL, head=HELPED)
    after = edited.resume(TOTAL, head=HELPED.replace('return f"R({url})"', "return url.upper()"))
    (edit,) = after.report.edits
    assert [
        line for line in edit.diff.splitlines() if line[:3] not in ("---", "+++") and line[0] in "+-"
    ] == [
        "-    return f'R({url})'",
        "+    return url.upper()",
    ]
    assert "read (recorded)" in edit.diff


def test_the_diff_of_the_calling_function(edited: Edited) -> None:
    """Section 4: where calls came or went, the diff of the function that makes them is the cause."""
    edited.record(TOTAL)
    after = edited.resume(TOTAL.replace('fetch("b")', 'store("c")'))
    (edit,) = after.report.edits
    assert edit.name == "flow"
    assert "+    total = fetch('a').result() + store('c').result()" in edit.diff.splitlines()
    assert [(each.kind, shown(each.recorded), each.cause) for each in after.report] == [
        ("orphan", "fetch(url='b')", "the code of flow changed")
    ]
    assert after.report.cause.startswith("the code of flow changed (")


def test_a_version_that_was_given_has_its_source_too(edited: Edited) -> None:
    """Section 4: `version=` stands for the code, and what that was is known by name and version."""
    first, second = (HEAD.replace("@task\ndef fetch", f"@task(version={v!r})\ndef fetch") for v in "12")
    edited.record(TOTAL, head=first)
    after = edited.resume(TOTAL, head=second.replace('f"R(', 'f"fixed R('))
    (edit,) = after.report.edits
    assert (edit.recorded, edit.current) == ("version 1", "version 2")
    assert "+    return f'fixed R({url})'" in edit.diff.splitlines()


def test_each_source_is_kept_once(edited: Edited) -> None:
    """Section 4: however many calls and runs there are, a function's text is one row."""
    for _ in range(3):
        edited.record("found = [fetch(str(i)).result() for i in range(20)]\ndie()\nreturn found")
        edited.resume("found = [fetch(str(i)).result() for i in range(20)]\ndie()\nreturn found")
    with sqlite3.connect(edited.folder / "runs.db") as db:
        texts = [data for (data,) in db.execute("SELECT data FROM source")]
    db.close()
    assert sorted(text.split(b"\n")[0] for text in texts if not text.startswith(b"[")) == [
        b"def die():",
        b"def fetch(url):",
        b"def flow(n):",
    ]
    assert (
        len(texts) == 5
    )  # and, for each, of the two that are tasks or workflows, which texts its version is made of


def test_nothing_is_lost_where_no_source_is_known(edited: Edited) -> None:
    """A record of a version whose source was never kept has no diff; that the code changed is told."""
    edited.record(TOTAL)
    with sqlite3.connect(edited.folder / "runs.db") as db:
        db.execute("DELETE FROM source")
    db.close()
    after = edited.resume(TOTAL, head=HEAD.replace('f"R(', 'f"fixed R('))
    assert [(edit.name, edit.diff) for edit in after.report.edits] == [("fetch", "")]


# -- the order changed ------------------------------------------------------------------------------


def test_another_order_is_counted_and_is_no_difference(edited: Edited) -> None:
    """Rule 1: order is no part of what a call is; how many calls came earlier than recorded is told."""
    report = edit_orders(edited, ["a", "b", "c"], ["c", "a", "b"])
    assert (list(report), report.reordered) == ([], 2)


def test_order_is_the_cause_where_nothing_else_is(edited: Edited) -> None:
    """Section 4: a call is missing, no code and no argument of another changed, and the rest was shuffled."""
    report = edit_orders(edited, ["a", "b", "c"], ["c", "a"])
    assert [shown(call) for call in report.orphans] == ["fetch(url='b')"]
    assert report.cause == "calls came in another order (1 of them earlier than recorded)"


# -- where it is seen -------------------------------------------------------------------------------


def test_the_log_has_one_line(edited: Edited, caplog: pytest.LogCaptureFixture) -> None:
    """Section 4: how much differed, the first difference, and the probable cause."""
    edited.record(TOTAL)
    with caplog.at_level(logging.WARNING, "flowfn"):
        after = edited.resume(TOTAL.replace('fetch("b")', 'store("c")'))
    (line,) = (record.getMessage() for record in caplog.records)
    assert line == f"thread job differs from its record: {after.report.line}"
    assert line.startswith(
        "thread job differs from its record: 1 orphan; 1 call reused, 1 run; first: orphan:"
    )
    assert "\n" not in line


def test_a_call_that_is_told_apart_by_too_little_is_no_difference(caplog: pytest.LogCaptureFixture) -> None:
    """A first run has no record to differ from: its log says what is weak, and why once; its error says nothing."""

    @task
    def save(lock: Any) -> None:
        raise ValueError("full")

    @entrypoint(checkpointer=MemorySaver())
    def backup() -> None:
        save(threading.Lock()).result()

    with caplog.at_level(logging.WARNING, "flowfn"), pytest.raises(ValueError, match="full") as failed:
        backup.thread("job")()
    (line,) = (record.getMessage() for record in caplog.records)
    assert line.startswith(
        "thread job has calls that are told apart by too little: 1 weak; 0 calls reused, 0 run; "
    )
    assert line.count("counts by its type") == 1
    assert [note for note in failed.value.__notes__ if "record" in note] == []


def test_a_refusal_carries_the_report(edited: Edited) -> None:
    """Rule 3: the message of `NonDeterminismError` ends with the diff up to there, and its cause."""
    body = "x = stamp('a', secrets.token_hex(16)).result()\ndie()\nreturn x"
    edited.record(body)
    edited.resume(body)
    assert isinstance(edited.error, NonDeterminismError)
    report = edited.error.report
    (difference,) = report
    ((path, then, now),) = difference.changes
    assert (difference.kind, path) == ("doubt", "when")
    assert then != now
    assert str(edited.error).endswith(str(report))
    assert f"probable cause: an argument changed: when: {then} → {now}" in str(edited.error)


def test_a_refusal_for_changed_code_shows_the_diff(edited: Edited) -> None:
    """G9: `on_code_change="error"` says which lines changed."""
    refuse = ("@task\ndef fetch", "@task(on_code_change='error')\ndef fetch")
    edited.record(TOTAL, head=HEAD.replace(*refuse))
    edited.resume(TOTAL, head=HEAD.replace(*refuse).replace('f"R(', 'f"fixed R('))
    assert "+    return f'fixed R({url})'" in str(edited.error).splitlines()


def test_a_report_is_data(edited: Edited) -> None:
    """Section 4: what is stored, and printed as JSON, comes back equal."""
    edited.record(TOTAL)
    report = edited.resume(TOTAL.replace('fetch("b")', 'fetch("c")'), head=HELPED).report
    assert report.edits
    assert Report.from_data(report.to_data()) == report


def test_a_call_that_is_the_same_on_both_sides_is_told_once() -> None:
    """One that had started and not finished differs from its record in nothing."""
    call, other = CallSummary("f", "x=1", "a.py:3"), CallSummary("f", "x=2", "a.py:3")
    assert (
        str(Difference("in_doubt", call, call, "it runs again"))
        == "in_doubt: f(x=1) at a.py:3 (it runs again)"
    )
    assert str(Difference("clock", call, other)) == "clock: f(x=1) at a.py:3 | f(x=2) at a.py:3"


def test_a_report_of_an_earlier_version_is_read() -> None:
    """A database outlives the flowfn that wrote it."""
    old = {
        "resumed": True,
        "reused": 1,
        "ran": 2,
        "differences": [["orphan", ["f", "x=1", "a.py:3"], None, ""]],
    }
    report = Report.from_data(old)
    assert (report.reused, report.edits, [str(call) for call in report.orphans]) == (
        1,
        [],
        ["f(x=1) at a.py:3"],
    )
