"""Ids of one call, or one node's task, of one run of one thread: what people and tools are shown."""

from __future__ import annotations

from hashlib import sha256


def instance_id(thread: str, namespace: str, checkpoint: str, task: str) -> str:
    """The id of one call of one run: the same on every attempt, and nowhere else. 32 hex digits."""
    text = "\0".join((thread, namespace, checkpoint, task))
    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32]


def task_uuid(thread: str, namespace: str, checkpoint: str, task: str) -> str:
    """The same id in the form of a UUID, as people and tools are shown it."""
    raw = instance_id(thread, namespace, checkpoint, task)
    return f"{raw[:8]}-{raw[8:12]}-{raw[12:16]}-{raw[16:20]}-{raw[20:]}"
