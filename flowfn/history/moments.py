"""The checkpoints of a thread as moments: what it held then, read without the program that wrote it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from itertools import count
from typing import Any

from flowfn.described import metadata_of
from flowfn.engine.records.ledger import Ledger
from flowfn.history.reading import CHANNELS, is_shown, or_unreadable, value_of
from flowfn.ports import Loaded, Saver, Serializer

__all__ = ["Moment", "moment", "moments"]


@dataclass(frozen=True)
class Moment:
    """A checkpoint: what the thread held when it was made.

    `values` is by channel; of an entrypoint `input`, `result` and `previous`. `changed` names the channels whose
    values its superstep changed, `calls` counts what was recorded on the way from it to the next.
    """

    id: str
    parent: str | None
    namespace: str
    step: int
    source: str
    created_at: str
    metadata: Any
    values: dict[str, Any]
    changed: tuple[str, ...]
    calls: int


def moment(saver: Saver, thread: str, namespace: str = "") -> Moment | None:
    """The last checkpoint of a thread; None where there is none."""
    return next(moments(saver, thread, namespace, 1), None)


def moments(saver: Saver, thread: str, namespace: str = "", limit: int | None = None) -> Iterator[Moment]:
    """The checkpoints of a thread, the last committed first."""
    older = iter(saver.history(thread, namespace, limit=None if limit is None else limit + 1))
    found = next(older, None)
    for _ in range(limit) if limit is not None else count():
        if found is None:
            return
        before = next(older, None)
        yield _moment(saver.serde, found, before)
        found = before


def _moment(serde: Serializer, loaded: Loaded, before: Loaded | None) -> Moment:
    row = loaded.checkpoint
    then = {} if before is None else before.checkpoint.versions
    names = {name: CHANNELS.get(name, name) for name in row.versions if is_shown(name)}
    values = {
        shown: value_of(serde, row.values[name])
        for name, shown in names.items()
        if name in row.values and row.values[name].value is not None
    }
    changed = (shown for name, shown in names.items() if row.versions[name] != then.get(name))
    calls = sum(1 for record in Ledger(loaded.writes, serde).records.values() if record.info is not None)
    metadata = or_unreadable(partial(metadata_of, row, serde))
    return Moment(
        row.id,
        row.parent,
        row.namespace,
        row.step,
        row.source,
        row.created_at,
        metadata,
        values,
        tuple(changed),
        calls,
    )
