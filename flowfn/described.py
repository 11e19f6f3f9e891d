"""What a checkpoint's row has in its two opaque parts: `body`, for the engine, and `metadata`, for people.

Rule: neither says what follows from the rest of the row. A body is `[seen, updated]`, with the clock where that isn't
the latest of the versions, with the nodes that are due where there are any to be seen, with what tells the program's
joins from others where it has any, and with the call of a nested run that remembers; `updated` is True where it is the
channels of the latest version. Metadata leave out `source` and `step`, and are no bytes at all where they say only that
there are no parents. Both are dicts where somebody put the checkpoint under LangGraph's names, or an older flowfn did.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from flowfn.ports import CheckpointRow, Choice, Deserializer, Loaded

PLAIN: Mapping[str, Any] = {"parents": {}}
"""The metadata of a checkpoint that has nothing to say."""


RECORD = "__flowfn__"
"""The channel of what only flowfn reads of a checkpoint that was put through LangGraph's methods."""


class Body(NamedTuple):
    """Which versions each node has seen, the channels that the last superstep updated, and the clock.

    `clock` None stands for the latest of the versions; `due` are the nodes that run next, for those who look on without
    the program: by name, and what a `Send` asked for with its place; `joins` is `Program.joint`; `call` is
    `Checkpoint.call`; `format` is LangGraph's, None for its present one.
    """

    seen: dict[str, dict[str, int]]
    updated: Sequence[str] | None
    clock: int | None = None
    due: Sequence[str | tuple[str, int]] | None = None
    joins: int | None = None
    call: str | None = None
    format: Any = None


def to_body(body: Body, versions: Mapping[str, int], changed: Mapping[str, int]) -> list[Any]:
    """What is stored of a body, beside the versions; `changed` are those of them that are new.

    What was given the latest version was given it at once: where one of them is new, so are all, and none else counts.
    """
    of_latest = changed if body.clock in changed.values() else versions
    latest = max(of_latest.values(), default=0)
    updated = (
        None if body.updated is None else _follows(body.updated, of_latest, latest) or list(body.updated)
    )
    clock = None if body.clock == latest else body.clock
    said = [body.seen, updated, clock, body.due or None, body.joins, body.call]
    while said[-1] is None and len(said) > 2:
        said.pop()
    return said


def body_of(row: CheckpointRow, serde: Deserializer) -> Body:
    """The body of a checkpoint."""
    stored = serde.loads(row.body)
    if isinstance(stored, dict):
        return Body(stored["seen"], stored["updated"], stored.get("clock"), format=stored.get("v"))
    seen, updated, *more = stored
    return Body(seen, _of_latest(row.versions) if updated is True else updated, *more)


def _follows(updated: Sequence[str], versions: Mapping[str, int], latest: int) -> bool:
    """Whether it's the channels of the latest version that were updated."""
    number = len(updated)
    return (
        number > 0
        and [*versions.values()].count(latest) == number
        and [*map(versions.get, updated)].count(latest) == number
    )


def _of_latest(versions: Mapping[str, int]) -> list[str]:
    latest = max(versions.values())
    return sorted([name for name, version in versions.items() if version == latest])


def to_metadata(metadata: Mapping[str, Any]) -> dict[str, Any] | None:
    """What is stored of metadata, beside the row; None for nothing."""
    said = {name: value for name, value in metadata.items() if name not in ("source", "step")}
    return None if said == PLAIN else said


def metadata_of(row: CheckpointRow, serde: Deserializer) -> dict[str, Any]:
    """The metadata of a checkpoint, with what its row says; in LangGraph's order, as who prints them sees it."""
    said = serde.loads(row.metadata) if row.metadata else {"parents": {}}
    own = {"source": row.source, "step": row.step}
    if "parents" in said:
        own["parents"] = said["parents"]
    return {**own, **said, **own}


def choice(serde: Deserializer, id: str | None, filter: Mapping[str, Any] | None) -> Choice | None:
    """What chooses the checkpoint of this id, and those whose metadata have these values; None where all are wanted."""
    if not id and not filter:
        return None

    def wanted(head: Loaded) -> bool:
        if id and head.checkpoint.id != id:
            return False
        said = metadata_of(head.checkpoint, serde) if filter else {}
        return all(said.get(name) == value for name, value in (filter or {}).items())

    return wanted


def numbered(versions: Mapping[str, Any]) -> dict[str, int]:
    """Versions as numbers; LangGraph's are texts such as `0002.0.5602`, of which the first part counts."""
    return {channel: int(str(version).partition(".")[0]) for channel, version in versions.items()}
