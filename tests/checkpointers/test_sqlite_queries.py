"""No query of the hot paths may scan or sort: what a thread costs doesn't grow with its history."""

from __future__ import annotations

import sqlite3

from checkpointers import SqliteSaver
from checkpointers.conformance.rows import PlainSerde, checkpoint, claimed, put, write, writes
from flowfn.ports import Begin


def explained(saver: SqliteSaver, statements: list[str]) -> list[str]:
    connection = saver._database._connected().writer
    steps = []
    for statement in statements:
        if statement.split()[0] in ("SELECT", "INSERT", "UPDATE"):
            rows = connection.execute(f"EXPLAIN QUERY PLAN {statement}")
            steps += [row[3] for row in rows]
    return steps


def test_the_unfinished_runs_of_a_workflow_have_an_index() -> None:
    """They are found however many threads have ended, and only they are sorted."""
    saver = SqliteSaver(":memory:", serde=PlainSerde())
    statements: list[str] = []
    saver._database._connected().writer.set_trace_callback(statements.append)
    saver.unfinished("wf", limit=10)
    steps = explained(saver, statements)
    saver.close()
    assert any(step.startswith("SEARCH thread USING INDEX thread_unfinished") for step in steps)
    assert [step for step in steps if step.startswith("SCAN")] == []


def test_nothing_scans_or_sorts() -> None:
    """Claims, adoption, commits, the last checkpoint, one by id, and listings use an index each."""
    saver = SqliteSaver(":memory:", serde=PlainSerde())
    statements: list[str] = []
    connection: sqlite3.Connection = saver._database._connected().writer
    connection.set_trace_callback(statements.append)
    lease = claimed(saver, "t")
    put(saver, checkpoint("c1"), thread="t", lease=lease, begin=Begin("wf", "call"))
    put(saver, writes("c1", write("a"), write("b")), thread="t", lease=lease)
    put(saver, checkpoint("c2", "c1"), thread="t", lease=lease, status="failed", release=True)
    saver.adopt("wf", "call")
    saver.load("t")
    saver.load("t", "", "c1")
    list(saver.history("t", before="c2", limit=1))
    saver.threads(limit=10)
    connection.set_trace_callback(None)
    steps = explained(saver, statements)
    saver.close()
    allowed = ("SCAN CONSTANT ROW", "SCAN fence", "SCAN thread USING INDEX thread_touched")
    slow = [
        step for step in steps if "TEMP B-TREE" in step or (step.startswith("SCAN") and step not in allowed)
    ]
    assert len(steps) > 20
    assert slow == []
