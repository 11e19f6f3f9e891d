"""Which joins of an edited program nodes have run past: such a join would wait for them for ever.

Rule: a checkpoint tells its program's joins from others. Where they were edited, the turn is gone through again from
one checkpoint to the next, as if it had had them all the time; who should wait at one by now, and doesn't, ran before
it was there. Where not every checkpoint of the turn is kept, nobody can tell, and whoever hasn't arrived counts.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set
from typing import TYPE_CHECKING

from flowfn.described import Body, body_of
from flowfn.pregel import ways
from flowfn.pregel.plan import due
from flowfn.values import MISSING

if TYPE_CHECKING:
    from flowfn.engine.runs.run import Run
    from flowfn.ports import Loaded


async def missed_joins(run: Run, loaded: Loaded) -> Mapping[str, Sequence[str]]:
    """The nodes that have run past a join, by its channel; `loaded` is the checkpoint that the run stands at."""
    program, journal = run.program, run.journal
    assert journal is not None
    body = body_of(loaded.checkpoint, journal.serde)
    if not program.joins or body.joins == program.joint or not body.due:
        return {}
    turn = await _turn(run, loaded)
    now = {*_named(body)}
    found: dict[str, Set[str]] = {}
    for name, join in program.joins.items():
        here = join.arrived(run.checkpoint.values.get(name, MISSING))
        expected = join.names - now if turn is None else _waiting(join.names, ways.end(name), turn, now)
        found[name] = (expected - here) | _passing(run, name, join.names)
    return {name: sorted(nodes) for name, nodes in found.items() if nodes}


async def _turn(run: Run, loaded: Loaded) -> list[Set[str]] | None:
    """The nodes of each superstep since the last input, the first one first; None where not all of them are known."""
    journal, row = run.journal, loaded.checkpoint
    assert journal is not None
    turn: list[Set[str]] = []
    while row.source != "input":
        before = None if row.parent is None else await journal.load(run.host, run.namespace, row.parent)
        if before is None or (row.source == "loop" and before.checkpoint.step != row.step - 1):
            return None
        if row.source == "loop":
            turn.append({*_named(body_of(before.checkpoint, journal.serde))})
        row = before.checkpoint
    return turn[::-1]


def _named(body: Body) -> Iterator[str]:
    yield from (each if isinstance(each, str) else each[0] for each in body.due or ())


def _waiting(names: Set[str], node: str | None, turn: Sequence[Set[str]], now: Set[str]) -> Set[str]:
    """Who would wait at a join after these supersteps, and once more when those of `now` run.

    Where all have arrived and its node runs, nobody waits any more.
    """
    arrived: Set[str] = frozenset()
    for ran in turn:
        if arrived == names and node in ran:
            arrived = frozenset()
        arrived = arrived | (names & ran)
    return frozenset() if arrived == names and node in now else arrived


def _passing(run: Run, join: str, names: Set[str]) -> Set[str]:
    """Who has finished in the superstep under way, and didn't write to a join."""
    done = [
        (name, run.ledger.writes_at(path))
        for name, path, _ in due(run.program, run.checkpoint)
        if name in names
    ]
    return {
        name for name, writes in done if writes is not None and all(channel != join for channel, _ in writes)
    }
