"""LangGraph's shapes and the port's rows, each turned into the other.

Rule: a row's `body` is `dumps({"seen", "updated"})` and its `metadata` is `dumps({**metadata, "source",
"step"})`; how the engine writes them is read as well (`flowfn/described.py`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from checkpointers.rules import now
from flowfn.described import body_of, metadata_of
from flowfn.errors import InvalidInput
from flowfn.instance_ids import task_uuid
from flowfn.ports import CheckpointRow, Loaded, Serializer, Versioned, WriteRow
from flowfn.python.unicode import is_unicode
from flowfn.row_channels import ANSWER, CODE, ERROR, QUESTION, RUN_TASK, TIMED, TOLD
from flowfn.values import Interrupt

FORMAT = 4
"""The `v` of a checkpoint dict: LangGraph's format that these shapes follow."""

SPECIAL = {ERROR: -1, "__scheduled__": -2, QUESTION: -3, ANSWER: -4}
"""Channels of which a task has one write, the last; every other write's index is its position."""

_UNSHOWN = (TIMED, CODE, TOLD)
"""The channels of when a task ran, of which code, and what it streamed: LangGraph's tools would show them."""

_WAITING, _ASKED = "__waiting__", "__asked__"
"""How the list of what a run waits for is shown, and what a call asked, be it answered or not: who looks for questions
finds those that wait, each with the node's task that waits for it."""

_UNRECORDED = {
    *("thread_id", "checkpoint_id", "checkpoint_ns", "checkpoint_map"),
    *("langgraph_step", "langgraph_node", "langgraph_triggers", "langgraph_path", "langgraph_checkpoint_ns"),
}
"""What of a config says where a checkpoint is, and so is no metadata of it."""

Config = Mapping[str, Any]


class CheckpointTuple(NamedTuple):
    """A checkpoint with what surrounds it. The shape is LangGraph's.

    `pending_writes` are (task id, channel, value) triples.
    """

    config: dict[str, Any]
    checkpoint: dict[str, Any]
    metadata: dict[str, Any]
    parent_config: dict[str, Any] | None = None
    pending_writes: list[tuple[str, str, Any]] | None = None


class Address(NamedTuple):
    """What a config points at; None where it doesn't say."""

    thread: str
    namespace: str | None
    checkpoint: str | None


def address(config: Config) -> Address:
    """Where a config points.

    A `thread_id` that isn't a string counts as its `str()`, and an empty `checkpoint_id` names none.
    """
    configurable = config.get("configurable") or {}
    if "thread_id" not in configurable:
        raise InvalidInput(
            f"The config names no thread: {dict(config)!r}."
            ' Pass {"configurable": {"thread_id": "order-42"}}.'
        )
    where = Address(
        str(configurable["thread_id"]),
        configurable.get("checkpoint_ns"),
        configurable.get("checkpoint_id") or None,
    )
    check_names(*filter(None, where))
    return where


def checkpoint_of(config: Config) -> str | None:
    """The checkpoint that a config names, whether or not it names the thread too."""
    named: str | None = (config.get("configurable") or {}).get("checkpoint_id") or None
    check_names(*filter(None, [named]))
    return named


def config_of(thread: str, namespace: str, checkpoint: str) -> dict[str, Any]:
    """The config that points at a checkpoint."""
    return {"configurable": {"thread_id": thread, "checkpoint_ns": namespace, "checkpoint_id": checkpoint}}


def to_tuple(loaded: Loaded, serde: Serializer) -> CheckpointTuple:
    """A stored checkpoint, LangGraph's way."""
    row, loads = loaded.checkpoint, serde.loads
    body = body_of(row, serde)
    checkpoint = {
        "v": FORMAT if body.format is None else body.format,
        "id": row.id,
        "ts": row.created_at,
        "channel_values": {
            channel: loads(data) for channel, held in row.values.items() if (data := held.whole()) is not None
        },
        "channel_versions": dict(row.versions),
        "versions_seen": body.seen,
        "updated_channels": None if body.updated is None else list(body.updated),
    }
    return CheckpointTuple(
        config=config_of(loaded.thread, row.namespace, row.id),
        checkpoint=checkpoint,
        metadata=metadata_of(row, serde),
        parent_config=None if row.parent is None else config_of(loaded.thread, row.namespace, row.parent),
        pending_writes=_shown_writes(loaded, serde),
    )


def _shown_writes(loaded: Loaded, serde: Serializer) -> list[tuple[str, str, Any]]:
    """What was written under a checkpoint, LangGraph's way."""
    rows = [row for row in loaded.writes if not _is_unshown(row)]
    settled = {row.task for row in rows if row.channel == ANSWER}
    if any(row.channel == QUESTION and row.task == RUN_TASK for row in rows):
        settled.update(row.task for row in rows)
    found = []
    for row in rows:
        found.append(_shown(row, serde, row.task in settled))
        if found[-1][1] == _WAITING:
            at = loaded.checkpoint
            found += waiting_tasks(loaded.thread, at.namespace, at.id, found[-1][2])
    return found


def waiting_tasks(
    thread: str, namespace: str, checkpoint: str, asked: Any
) -> list[tuple[str, str, list[Interrupt]]]:
    """The node's tasks that wait at a checkpoint, each with its questions, out of the run's list of what was asked."""
    found: dict[str, list[Interrupt]] = {}
    for interrupt, _, _, _, under, *more in asked:
        if under and not (more and more[0]):
            task = task_uuid(thread, namespace, checkpoint, under[0][1])
            found.setdefault(task, []).append(interrupt)
    return [(task, QUESTION, questions) for task, questions in found.items()]


def _is_unshown(write: WriteRow) -> bool:
    """Whether LangGraph has nothing of the kind: its programs would take what a run ended by for a task's error."""
    return write.channel in _UNSHOWN or (write.channel == ERROR and write.task == RUN_TASK)


def _shown(write: WriteRow, serde: Serializer, settled: bool) -> tuple[str, str, Any]:
    """A write, LangGraph's way: a question is one of a list, and of a node's error there is the text."""
    value = serde.loads(write.value)
    channel = write.channel
    if channel == QUESTION and write.task == RUN_TASK:
        channel = _WAITING
    elif channel == QUESTION and isinstance(value, Interrupt):
        channel, value = (_ASKED if settled else channel), [value]
    elif channel == ERROR and write.path and type(value) is tuple:
        value = value[-1]
    return write.task, channel, value


def to_row(
    config: Config,
    checkpoint: Mapping[str, Any],
    metadata: Mapping[str, Any],
    changed: Iterable[str],
    serde: Serializer,
) -> CheckpointRow:
    """The row of a checkpoint whose `changed` channels differ from its parent's."""
    where = address(config)
    known = {"source": "input", "step": -2, **described(config, metadata)}
    values, versions = checkpoint["channel_values"], checkpoint["channel_versions"]
    body = {"seen": checkpoint.get("versions_seen", {}), "updated": checkpoint.get("updated_channels")}
    if checkpoint.get("v", FORMAT) != FORMAT:
        body["v"] = checkpoint["v"]
    return CheckpointRow(
        namespace=where.namespace or "",
        id=checkpoint["id"],
        parent=where.checkpoint,
        step=known["step"],
        source=known["source"],
        created_at=checkpoint.get("ts") or now(),
        body=serde.dumps(body),
        metadata=serde.dumps(known),
        versions=dict(versions),
        values={
            channel: Versioned(versions[channel], serde.dumps(values[channel]) if channel in values else None)
            for channel in changed
            if channel in versions
        },
    )


def to_writes(
    task: str, writes: Sequence[tuple[str, Any]], path: str, serde: Serializer
) -> Iterator[WriteRow]:
    """The rows of a task's writes, numbered LangGraph's way; those of a thread that is copied, as they were."""
    for position, (shown, value) in enumerate(writes):
        channel = QUESTION if shown in (_WAITING, _ASKED) else shown
        if (
            channel == QUESTION
            and type(value) is list
            and len(value) == 1
            and isinstance(value[0], Interrupt)
        ):
            (value,) = value
        yield WriteRow(task, SPECIAL.get(channel, position), channel, serde.dumps(value), path)


def check_versions(versions: Mapping[str, Any], kinds: tuple[type, ...]) -> None:
    """Refuse versions that a saver doesn't take.

    Raises:
        InvalidInput: one is of none of the kinds.
    """
    for channel, version in versions.items():
        if not isinstance(version, kinds):
            raise InvalidInput(
                f"Channel {channel!r} has version {version!r}; versions are ints here."
                " Make the next one with `saver.get_next_version(current, None)`."
            )


def check_names(*names: str) -> None:
    """Refuse names that no database keeps.

    Raises:
        InvalidInput: one has a lone surrogate.
    """
    for name in names:
        if not is_unicode(name):
            raise InvalidInput(f"{name!r} has a lone surrogate, which no database keeps. Name it otherwise.")


def described(config: Config, metadata: Mapping[str, Any]) -> dict[str, Any]:
    """The metadata, and the scalars of the config by which users filter a history."""
    given = [*(config.get("metadata") or {}).items(), *config["configurable"].items()]
    extra = {
        name: value
        for name, value in reversed(given)
        if isinstance(value, str | int | float | bool)
        and name not in _UNRECORDED
        and not name.startswith("__")
    }
    return {**extra, **metadata}
