"""Where a run was before it made one of its calls: the checkpoint, and what was recorded under it by then.

Rule: what may have come of the call is left out: the call itself, those around it and under it, and each that was
made after its outcome was known. What ran beside it had nothing of it, and is kept.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from flowfn.engine.records.ledger import Ledger
from flowfn.engine.records.record import Record
from flowfn.errors import UnknownCall
from flowfn.ports import Loaded, Saver, WriteRow

__all__ = ["rewound"]


def rewound(saver: Saver, head: Loaded, call: str) -> tuple[Loaded, Sequence[WriteRow]]:
    """The checkpoint that the superstep of a call began from, and the rows to keep.

    Args:
        head: the last checkpoint to look at.
        call: its id, or how that begins; its name; or `name#2` for the second of that name in the order of making.

    Raises:
        UnknownCall: the run has made no such call, or several.
    """
    found = [(loaded, record) for loaded in _supersteps(saver, head) for record in _calls(loaded, saver)]
    loaded, record = _meant(found, call, head.thread)
    return loaded, _kept(loaded.writes, Ledger(loaded.writes, saver.serde), record)


def _supersteps(saver: Saver, head: Loaded) -> Iterator[Loaded]:
    """The checkpoints of the last run, the first one first."""
    run: list[Loaded] = []
    at: Loaded | None = head
    while at is not None:
        run.insert(0, at)
        parent = at.checkpoint.parent
        if parent is None or at.checkpoint.source in ("input", "fork"):
            break
        at = saver.load(head.thread, head.checkpoint.namespace, parent)
    return iter(run)


def _calls(loaded: Loaded, saver: Saver) -> list[Record]:
    """The calls recorded under a checkpoint, in the order in which they were made."""
    records = [record for record in Ledger(loaded.writes, saver.serde).records.values() if record.info]
    made = sorted(records, key=lambda record: (record.info.born, record.info.at) if record.info else (0, 0.0))
    placed: dict[tuple[str, str], list[Record]] = {}
    for record in made:
        placed.setdefault(_kind(record), []).append(record)
    for alike in placed.values():  # several at once are recorded as they begin to run
        alike.sort(key=lambda record: record.info.position if record.info else 0)
    following = {kind: iter(alike) for kind, alike in placed.items()}
    return [next(following[_kind(record)]) for record in made]


def _kind(record: Record) -> tuple[str, str]:
    return (record.info.scope, record.info.qualified) if record.info else ("", "")


def _meant(found: list[tuple[Loaded, Record]], call: str, thread: str) -> tuple[Loaded, Record]:
    name, mark, number = call.rpartition("#")
    named = [each for each in found if each[1].info and each[1].info.name == (name if mark else call)]
    if mark and number.isdecimal() and 0 < int(number) <= len(named):
        return named[int(number) - 1]
    meant = named if not mark else []
    if not meant:
        meant = [each for each in found if len(call) >= 4 and each[1].task.startswith(call)]
    if len(meant) == 1:
        return meant[0]
    if not meant:
        names = ", ".join(dict.fromkeys(record.info.name for _, record in found if record.info))
        raise UnknownCall(
            f"the last run of thread {thread!r} made no call {call!r} of its own: it called {names or 'nothing'}."
            " Before a node of a graph, fork from a checkpoint of the thread's history"
        )
    listed = "; ".join(f"{call}#{place}: {record.info}" for place, (_, record) in enumerate(meant[:5], 1))
    more = "; …" if len(meant) > 5 else ""
    raise UnknownCall(f"thread {thread!r} made {len(meant)} calls {call!r}: write which one ({listed}{more})")


def _kept(rows: Sequence[WriteRow], ledger: Ledger, call: Record) -> list[WriteRow]:
    around, scope = set(), call.info.scope if call.info else ""
    while (caller := ledger.records.get(scope)) is not None:
        around.add(scope)
        scope = caller.info.scope if caller.info else ""
    around.add(scope)  # the node's task that all this is part of
    gone = {call.task} | {task for task, record in ledger.records.items() if _came_after(record, call)}
    under = {task for task, record in ledger.records.items() if ledger.is_under(record, gone)}
    return [row for row in rows if row.task not in around | gone | under]


def _came_after(record: Record, call: Record) -> bool:
    """Whether a call was made when the outcome of `call` was known."""
    return record.info is not None and call.finished and record.info.born >= call.index
