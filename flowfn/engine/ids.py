"""Ids of calls, of nodes' tasks within a superstep, and of namespaces: digests of where they are, so that each attempt
makes the same ones.
"""

from __future__ import annotations

from functools import lru_cache
from hashlib import sha256
from typing import Any


def call_id(scope: str, name: str, digest: bytes, occurrence: int) -> str:
    """The id of a call: 32 hex digits, the same on every attempt."""
    text = f"{scope}\0{name}\0{occurrence}\0".encode("utf-8", "surrogatepass")
    return sha256(text + digest).hexdigest()[:32]


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
