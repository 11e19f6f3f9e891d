"""Threads that LangGraph kept in SQLite or Postgres become threads of flowfn.

Rule: a thread is taken over whole, in one commit, or not at all, and the database that it comes from is only
read. Checkpoints keep their ids, parents, steps, times, metadata and order, and their namespaces but for the ids
of tasks in them; channels keep names, values and versions. Of a step that had not ended, what `unfinished` finds an
owner for is taken over; the rest runs again, or is asked again, and `Imported` says how much of that there is.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from flowfn.described import numbered
from flowfn.errors import CorruptDataError, FlowError
from flowfn.ports import CheckpointRow, Commit, Saver, Status, Versioned
from graph_compat.checkpoint.serde.base import SerializerProtocol
from graph_compat.checkpoint.serde.encrypted import VARIABLE, EncryptedSerializer
from graph_compat.checkpoint.serde.jsonplus import InvalidModuleError, JsonPlusSerializer
from graph_compat.checkpoint.serde.trusted import Trusted
from graph_compat.checkpoint.serde.types import ERROR, RESUME, TASKS
from graph_compat.importing.kept import Kept, opened
from graph_compat.importing.unfinished import Taken, Unfinished, Wrote

_READ = (3, 4)
"""Formats of a checkpoint. Older ones name channels otherwise."""

_STARTS = ("branch:to:", "__start__", TASKS)


@dataclass(frozen=True)
class Imported:
    """What became of one thread: `checkpoints` taken over, or `problem`, which is why it wasn't.

    `waiting` questions of its last step can be answered. Other `questions` of it will be asked again, and `tasks` of it
    that had ended will run again.
    """

    thread: str
    checkpoints: int = 0
    waiting: int = 0
    questions: int = 0
    tasks: int = 0
    problem: str | None = None


class _Reading(JsonPlusSerializer):
    """Reads what a program wrote whose script ran as the main module."""

    def __init__(self, allowed: Any, script: str | None) -> None:
        super().__init__(allowed_msgpack_modules=allowed)
        self._trusted = Trusted(allowed, script)


def serializer(allowed: Any = None, script: str | None = None) -> SerializerProtocol:
    """What reads LangGraph's values; with `LANGGRAPH_AES_KEY` in the environment, encrypted ones too.

    `allowed` is `JsonPlusSerializer`'s `allowed_msgpack_modules`. langchain-core's messages are loaded where installed.
    `script` is the name of the module that has the classes which were stored as those of `__main__`.
    """
    if find_spec("langchain_core") is not None:
        for name in ("langchain_core.messages", "langchain_core.documents"):
            module = import_module(name)
            for lazy in module.__all__:
                getattr(module, lazy)
    plain = _Reading(allowed, script)
    return EncryptedSerializer.from_pycryptodome_aes(plain) if os.environ.get(VARIABLE) else plain


def import_threads(source: Path | str, target: Saver, serde: SerializerProtocol) -> Iterator[Imported]:
    """Take over every thread of a LangGraph database, a file or a Postgres URL; says what became of each, as it goes.

    A thread that `target` has already is left as it is.

    Raises:
        InvalidInput: `source` is no such database.
        CorruptDataError: its threads can't even be listed.
    """
    with closing(opened(source, serde)) as kept:
        for thread in _threads(kept):
            if target.thread(thread) is not None:
                yield Imported(thread, problem="there is a thread of this id already")
                continue
            try:
                commit, imported = _Thread(kept, thread, target.serde.dumps).read()
                (refusal,) = target.commit([commit])
                yield imported if refusal is None else Imported(thread, problem=str(refusal))
            except (FlowError, InvalidModuleError, NotImplementedError) as error:
                yield Imported(thread, problem=str(error))
            except Exception as error:  # rows that LangGraph never writes; a cipher's own errors
                yield Imported(thread, problem=f"it can't be read ({type(error).__name__}: {error})")


def _threads(kept: Kept) -> list[str]:
    try:
        return kept.threads()
    except Exception as error:  # whatever the driver of the database raises
        raise CorruptDataError(
            f"LangGraph's database has threads that can't be listed ({type(error).__name__}: {error}). Restore a copy"
        ) from error


class _Thread:
    """One thread on its way: what its checkpoints hold, and the versions that they say so of."""

    def __init__(self, kept: Kept, thread: str, dumps: Callable[[Any], bytes]) -> None:
        self._kept = kept
        self._thread = thread
        self._dumps = dumps
        self._written = kept.writes(thread)
        self._unfinished = Unfinished(thread, self._written, dumps)
        self._versions: dict[tuple[str, str], Mapping[str, Any]] = {}

    def read(self) -> tuple[Commit, Imported]:
        """The commit that makes the thread, and what comes along of its last step."""
        rows: list[CheckpointRow] = []
        heads: dict[str, str] = {}
        parents: dict[str, Mapping[str, Any]] = {}
        head: dict[str, Any] = {}
        for namespace, id, parent, checkpoint, found in self._kept.checkpoints(self._thread):
            metadata = {"source": "loop", "step": -2, **found}
            self._check_format(checkpoint, metadata, id)
            if checkpoint["v"] < 4 and parent:
                self._add_sends(checkpoint, namespace, parent)
            rows.append(self._row(namespace, parent, checkpoint, metadata))
            heads[namespace], parents[namespace] = id, metadata.get("parents") or {}
            if not namespace:
                head = checkpoint
        taken = self._unfinished.take(_of_root(heads, parents)) if head else Taken()
        left = [wrote for wrote in self._written if wrote.spot == ("", heads.get(""))]
        imported = Imported(self._thread, len(rows), taken.waiting, taken.questions, taken.tasks)
        status = "interrupted" if taken.waiting else _status(head, left)
        return Commit(self._thread, items=[*rows, *taken.items], status=status), imported

    def _check_format(self, checkpoint: Any, metadata: dict[str, Any], id: str) -> None:
        if not isinstance(checkpoint, dict) or checkpoint.get("v") not in _READ:
            version = checkpoint.get("v") if isinstance(checkpoint, dict) else None
            raise CorruptDataError(
                f"checkpoint {id!r} has format {version}, and formats {_READ} are read. "
                "Let a LangGraph of version 1 go on with the thread first"
            )
        if since := metadata.get("counters_since_delta_snapshot"):
            raise CorruptDataError(
                f"checkpoint {id!r} has of {', '.join(map(repr, since))} only what was written since a snapshot of a "
                "DeltaChannel, which is not read yet. Give what get_state() has there to update_state() here"
            )

    def _parents(self, metadata: dict[str, Any]) -> dict[str, Any]:
        """The checkpoints of the graphs around, by their namespaces."""
        around = metadata.get("parents") or {}
        return {self._unfinished.namespace(space): id for space, id in around.items()}

    def _add_sends(self, checkpoint: dict[str, Any], namespace: str, parent: str) -> None:
        """Before format 4, what a step had sent stayed among its writes."""
        spot = (namespace, parent)
        sends = [wrote.load() for wrote in self._written if (wrote.spot, wrote.channel) == (spot, TASKS)]
        if sends:
            checkpoint["channel_values"][TASKS] = sends
            checkpoint["channel_versions"][TASKS] = max(checkpoint["channel_versions"].values())

    def _row(
        self, namespace: str, parent: str | None, checkpoint: dict[str, Any], metadata: dict[str, Any]
    ) -> CheckpointRow:
        values, versions = checkpoint["channel_values"], checkpoint["channel_versions"]
        before = self._versions.get((namespace, parent or ""), {})
        self._versions[namespace, checkpoint["id"]] = versions
        changed = [channel for channel, version in versions.items() if before.get(channel) != version]
        seen = {node: numbered(of) for node, of in checkpoint["versions_seen"].items()}
        numbers = numbered(versions)
        return CheckpointRow(
            namespace=self._unfinished.namespace(namespace),
            id=checkpoint["id"],
            parent=parent,
            step=metadata["step"],
            source=metadata["source"],
            created_at=checkpoint["ts"],
            body=self._dumps({"seen": seen, "updated": checkpoint.get("updated_channels")}),
            metadata=self._dumps({**metadata, "parents": self._parents(metadata)}),
            versions=numbers,
            values={
                channel: Versioned(
                    numbers[channel], self._dumps(values[channel]) if channel in values else None
                )
                for channel in changed
            },
        )


def _of_root(heads: Mapping[str, str], parents: Mapping[str, Mapping[str, Any]]) -> dict[str, str]:
    """The last checkpoint of each namespace, where it is of the root's last step."""
    return {space: id for space, id in heads.items() if not space or parents[space].get("") == heads.get("")}


def _status(head: Mapping[str, Any], left: list[Wrote]) -> Status:
    """How the last run of a thread had ended, as far as its head tells.

    One whose question didn't come along counts as one that was killed: it goes on, and asks.
    """
    if any(wrote.channel == ERROR for wrote in left):
        return "failed"
    due = any(name.startswith(_STARTS) for name in head.get("channel_values", ()))
    return "running" if due or any(wrote.channel != RESUME for wrote in left) else "done"
