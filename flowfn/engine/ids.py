"""Ids of calls, tasks and namespaces: digests of where they are, so that each attempt makes the same ones."""

from __future__ import annotations

from functools import lru_cache
from hashlib import sha256
from typing import Any


def call_id(scope: str, name: str, digest: bytes, occurrence: int) -> str:
    """The id of a call: 32 hex digits, the same on every attempt."""
    text = f"{scope}\0{name}\0{occurrence}\0".encode("utf-8", "surrogatepass")
    return sha256(text + digest).hexdigest()[:32]


def instance_id(thread: str, namespace: str, checkpoint: str, task: str) -> str:
    """The id of one call of one run: the same on every attempt, and nowhere else. 32 hex digits."""
    text = "\0".join((thread, namespace, checkpoint, task))
    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32]


def task_uuid(thread: str, namespace: str, checkpoint: str, task: str) -> str:
    """The same id in the form of a UUID, as people and tools are shown it."""
    raw = instance_id(thread, namespace, checkpoint, task)
    return f"{raw[:8]}-{raw[8:12]}-{raw[12:16]}-{raw[16:20]}-{raw[20:]}"


def nested_namespace(around: str, name: str, task: str, kind: str) -> str:
    """Where a program nested in a task keeps its state; without ids where it goes on from its last call."""
    if kind == "remembering":
        return "|".join([*(segment.split(":")[0] for segment in around.split("|") if segment), name])
    return "|".join(filter(None, [around, f"{name}:{task}"]))


def remembers(namespace: str) -> bool:
    """Whether it is of a nested run that goes on from its last call."""
    return bool(namespace) and ":" not in namespace


@lru_cache(maxsize=4096)
def node_scope(path: tuple[Any, ...]) -> str:
    """The id of a node's task within its superstep."""
    return call_id("", "/".join(map(str, path)), b"", 0)


@lru_cache(maxsize=4096)
def node_path(path: tuple[Any, ...]) -> str:
    """The path of a node's task as its rows carry it; it sorts as the tasks are applied."""
    return "~" + "/".join([f"{part:010}" if isinstance(part, int) else str(part) for part in path])
