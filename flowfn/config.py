"""The configuration of one call: LangGraph's `RunnableConfig` keys, read once into fields.

Known keys: `configurable` (with `thread_id`, `checkpoint_id`, `checkpoint_ns`, and the user's own),
`recursion_limit`, `max_concurrency`, `executor`, `tags`, `metadata`, `run_id`, `progress`. Unknown top-level keys
belong to others (callbacks, run_name) and are handed on untouched; flowfn's own workflows refuse a misspelling of
a known one, which would do nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple

from flowfn.errors import InvalidInput
from flowfn.executors.opening import check_executor
from flowfn.options import nearly
from flowfn.python.unicode import is_unicode

if TYPE_CHECKING:
    from uuid import UUID

Config = Mapping[str, Any]
"""A configuration as callers give it: LangGraph's `RunnableConfig`."""

Durability = Literal["sync", "async", "exit"]
"""When an outcome is committed: before anybody sees it, in the background, or when the run stops."""

OnBusy = Literal["wait", "reject", "cancel"]
"""What a second caller on a busy thread does: wait, raise `ThreadBusy`, or take the thread over."""

RECURSION_LIMIT = 10_007
"""Supersteps that a run may take unless `recursion_limit` says otherwise; LangGraph's default."""

GIVEN_THREAD: Final = "__thread_id"
"""The `configurable` with the thread's id that running code is shown where that isn't its thread's own: the caller gave
one that is no text, or another one to a part of the run."""


class Elsewhere(NamedTuple):
    """The thread and the namespace that who calls a part of a run names for it; empty where it says none of its own.

    The part stays on the thread of the run around it, under whose lease it writes: what it remembers is kept apart
    there.
    """

    thread: str = ""
    namespace: str = ""


@dataclass(frozen=True, slots=True)
class RunConfig:
    """One call's configuration. `thread_id` None means a new thread where there is a checkpointer.

    `checkpoint_id` None means the thread's last, as an empty one does that a caller gives.
    `checkpoint_map` names, by namespace, the checkpoints around the one of `checkpoint_id`, and itself.
    """

    thread_id: str | None = None
    checkpoint_id: str | None = None
    checkpoint_ns: str = ""
    recursion_limit: int = RECURSION_LIMIT
    max_concurrency: int | None = None
    tags: tuple[str, ...] = ()
    metadata: Mapping[str, Any] = field(default_factory=dict)
    run_id: UUID | str | None = None
    """As the caller gave it, and as callbacks are told it: who compares takes an id and its text for two."""
    checkpoint_map: Mapping[str, str] = field(default_factory=dict)
    configurable: Mapping[str, Any] = field(default_factory=dict)
    rest: Mapping[str, Any] = field(default_factory=dict)
    executor: Any = None
    progress: bool = False
    """Whether the run shows itself, where somebody may see it."""

    @property
    def replays(self) -> dict[str, str]:
        """The checkpoints of nested runs that the caller goes back to, by namespace."""
        return {name: id for name, id in self.checkpoint_map.items() if name}

    @property
    def run_text(self) -> str | None:
        """The run's id as text, as it is stored and shown."""
        return None if self.run_id is None else str(self.run_id)

    @property
    def traced_run(self) -> str | None:
        """The run's id where metadata or `configurable` say it, as servers do that try a call again."""
        found = self.metadata.get("run_id") or self.configurable.get("run_id")
        return found if isinstance(found, str) else None

    def at_root(self) -> RunConfig:
        """The configuration of the outermost run, where it names a checkpoint of a nested one."""
        if not self.checkpoint_ns or "" not in self.checkpoint_map:
            return self
        return replace(self, checkpoint_ns="", checkpoint_id=self.checkpoint_map[""])

    def under(self, around: RunConfig) -> RunConfig:
        """The configuration of a call made inside a run of another: its own comes first."""
        if self == _NONE:
            return around
        return replace(
            around,
            recursion_limit=around.recursion_limit
            if self.recursion_limit == RECURSION_LIMIT
            else self.recursion_limit,
            max_concurrency=around.max_concurrency if self.max_concurrency is None else self.max_concurrency,
            tags=(*around.tags, *(tag for tag in self.tags if tag not in around.tags)),
            metadata={**around.metadata, **self.metadata},
            configurable={**around.configurable, **self.configurable},
            rest={**around.rest, **self.rest},
            executor=around.executor if self.executor is None else self.executor,
            checkpoint_id=None,
            checkpoint_map={},
        )

    def to_dict(self, **configurable: Any) -> dict[str, Any]:
        """The configuration as user code sees it, with the run's own coordinates."""
        return {
            **self.rest,
            "configurable": {**self.configurable, **configurable},
            "tags": list(self.tags),
            "metadata": dict(self.metadata),
            "recursion_limit": self.recursion_limit,
            "max_concurrency": self.max_concurrency,
            "run_id": self.run_text,
        }

    def shown_metadata(self, of_task: Mapping[str, Any]) -> dict[str, Any]:
        """The metadata of a task in a stream: the caller's and its own."""
        traced = {key: value for key in TRACED if (value := self.configurable.get(key))}
        found = {**traced, **self.metadata, **of_task}
        return {key: value for key, value in found.items() if key not in PLACES}

    def stored_metadata(self) -> dict[str, Any]:
        """The plain values among the caller's metadata and configurable: they can be filtered by.

        Raises:
            InvalidInput: one of the metadata has a name that is no text, which matters only where they are kept.
        """
        found: dict[str, Any] = {}
        _check_names(self.metadata, "metadata")
        for key, value in (*self.metadata.items(), *self.configurable.items()):
            if isinstance(value, str | int | float | bool) and not key.startswith("__") and key not in PLACES:
                found.setdefault(key, value)
        if self.run_text is not None:
            found["run_id"] = self.run_text
        return found


_NONE = RunConfig()

_COORDINATES = ("thread_id", "checkpoint_id", "checkpoint_ns", "checkpoint_map")

_KEYS = (
    "configurable",
    "recursion_limit",
    "max_concurrency",
    "executor",
    "tags",
    "metadata",
    "run_id",
    "progress",
    "callbacks",
    "run_name",
    "thread_id",
)
"""What a caller may have meant by a key. Not all are read: `callbacks` and `run_name` are LangChain's, and `thread_id`
belongs into `configurable`."""

_OF_A_TASK = ("step", "node", "triggers", "path", "checkpoint_ns")

PLACES = frozenset([*_COORDINATES, *(f"langgraph_{name}" for name in _OF_A_TASK)])
"""Keys that say where running code is, and so are no metadata of a checkpoint or a task, which know that themselves."""

TRACED = ("run_id", "task_id", "assistant_id", "graph_id")
"""What metadata repeat of a `configurable`, since whoever looks at traces searches by it."""


def read_config(config: Config | None, thread_id: str | None = None) -> RunConfig:
    """Read a `RunnableConfig`; `thread_id` given beside it means the same as inside it.

    Raises:
        InvalidInput: a key has the wrong type or value.
    """
    if config is None:
        return RunConfig(thread_id) if thread_id is None else RunConfig(checked_thread_id(thread_id))
    if not isinstance(config, Mapping):
        raise InvalidInput(
            f"config is {config!r}, which is no mapping: pass thread_id='…', or "
            "config={'configurable': {'thread_id': '…'}}; several arguments of the function are one input: "
            "invoke({'name': value, …})"
        )
    given = dict(config)
    configurable = _mapping(given, "configurable")
    _check_names(configurable, "configurable")
    inner = configurable.get("thread_id")
    if thread_id is not None and inner is not None and str(inner) != thread_id:
        raise InvalidInput(
            f"thread_id={thread_id!r} and configurable['thread_id']={inner!r} differ: pass one"
        )
    thread = thread_id if thread_id is not None else inner
    limit = given.pop("recursion_limit", None)
    progress = given.pop("progress", False)
    return RunConfig(
        None if thread is None else checked_thread_id(thread),
        _checkpoint_id(checkpoint) if (checkpoint := configurable.get("checkpoint_id")) else None,
        configurable.get("checkpoint_ns") or "",
        RECURSION_LIMIT if limit is None else _at_least_one(limit, "recursion_limit"),
        _max_concurrency(given.pop("max_concurrency", None)),
        _tags(given.pop("tags", None)),
        _mapping(given, "metadata"),
        given.pop("run_id", None),
        configurable.get("checkpoint_map") or {},
        {key: value for key, value in configurable.items() if key not in _COORDINATES},
        given,
        check_executor(given.pop("executor", None)),
        bool(progress),
    )


def check_keys(config: RunConfig) -> RunConfig:
    """The configuration, unless a key in it is a misspelling of a known one.

    Raises:
        InvalidInput: one is.
    """
    for key in config.rest:
        meant = None if key in _KEYS else nearly(key, _KEYS)
        if meant is not None:
            written = "'configurable': {'thread_id': '…'}" if meant == "thread_id" else repr(meant)
            raise InvalidInput(
                f"config[{key!r}] is unknown: write {written}, or another key if it is your own"
            )
    return config


def located(thread: str, namespace: str, checkpoint: str, metadata: Mapping[str, Any]) -> dict[str, Any]:
    """A config that names a checkpoint, and by its metadata those of the runs around it."""
    where: dict[str, Any] = {"thread_id": thread, "checkpoint_ns": namespace, "checkpoint_id": checkpoint}
    parents = metadata.get("parents")
    if namespace and parents:
        where["checkpoint_map"] = {**parents, namespace: checkpoint}
    return {"configurable": where}


def checked_thread_id(value: Any) -> str:
    """The id that a thread is named by.

    Raises:
        InvalidInput: it is None or empty, or no text.
    """
    text = "" if value is None else str(value)
    if not text:
        raise InvalidInput(
            f"thread_id={value!r} names none: name the thread, or leave thread_id out for a new one"
        )
    if not is_unicode(text):
        raise InvalidInput(
            f"thread_id={text!r} has a lone surrogate, which no database keeps: was it decoded with "
            'errors="surrogateescape"? Decode it with another encoding, or name the thread otherwise'
        )
    return text


def _checkpoint_id(value: Any) -> str:
    """The id that a checkpoint is named by.

    Raises:
        InvalidInput: it is no text that any checkpoint's id is.
    """
    text = str(value)
    if not is_unicode(text):
        raise InvalidInput(f"checkpoint_id={text!r} is no checkpoint's: take one from get_state_history()")
    return text


def _mapping(given: dict[str, Any], key: str) -> Mapping[str, Any]:
    value = given.pop(key, None) or {}
    if not isinstance(value, Mapping):
        raise InvalidInput(
            f"config[{key!r}] is {value!r}, which is no mapping: pass {{{key!r}: {{'name': value, …}}}}"
        )
    return value


def _check_names(values: Mapping[str, Any], key: str) -> None:
    """Refuse a name that is no text: it couldn't be kept, and no run be found by it.

    Raises:
        InvalidInput: there is one.
    """
    for name in values:
        if not isinstance(name, str):
            raise InvalidInput(
                f"config[{key!r}] has the key {name!r}, which is no text: write {{{key!r}: {{{str(name)!r}: …}}}}"
            )


def _tags(value: Any) -> tuple[str, ...]:
    if not isinstance(value, Iterable | None):
        raise InvalidInput(f"config['tags'] is {value!r}, which is no list: pass {{'tags': ['{value}']}}")
    return tuple(value or ())


def _max_concurrency(value: Any) -> int | None:
    return None if value is None else _at_least_one(value, "max_concurrency")


def _at_least_one(value: Any, name: str) -> int:
    if not isinstance(value, int):
        raise InvalidInput(f"{name} must be a whole number, got {value!r}")
    if value < 1:
        raise InvalidInput(f"{name} must be at least 1, got {value!r}")
    return value
