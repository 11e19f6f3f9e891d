"""What the other's methods find: a checkpoint, or those of threads, the newest first."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from checkpointers.foreign.methods import Methods
from checkpointers.foreign.rows import foreign_config
from checkpointers.rules import PAGE, unknown_before
from flowfn.described import RECORD
from flowfn.ports import Place


def tuple_of(methods: Methods, thread: str, namespace: str, checkpoint: str | None) -> Any:
    """A checkpoint, or the last one of a namespace; None where there is none."""
    return methods.call("get_tuple", foreign_config(thread, namespace, checkpoint))


def listed(
    methods: Methods, thread: str, namespace: str | None, before: str | None = None, limit: int | None = None
) -> list[Any]:
    """The checkpoints of a thread, in the order that the saver has them in."""
    bound = None if before is None else foreign_config(thread, namespace or "", before)
    where = foreign_config(thread, namespace, None)
    found: list[Any] = methods.call("list", where, before=bound, limit=limit)
    return found


def history(
    methods: Methods, thread: str | None, namespace: str | None, before: str | None, limit: int | None
) -> Iterator[Any]:
    """Checkpoints before one, the newest first.

    Raises:
        UnknownCheckpoint: there is no such one.
    """
    if thread is None or namespace is None:
        return iter(_of_several(methods, thread, namespace, before)[:limit])
    if before is not None and tuple_of(methods, thread, namespace, before) is None:
        raise unknown_before(before)
    return _by_pages(methods, thread, namespace, before, limit)


def _by_pages(
    methods: Methods, thread: str, namespace: str, before: str | None, limit: int | None
) -> Iterator[Any]:
    while limit is None or limit > 0:
        size = PAGE if limit is None else min(limit, PAGE)
        page = listed(methods, thread, namespace, before, size)
        yield from page
        if len(page) < size:
            return
        before = page[-1].checkpoint["id"]
        limit = None if limit is None else limit - size


def _of_several(methods: Methods, thread: str | None, namespace: str | None, before: str | None) -> list[Any]:
    """Read whole, since savers differ in how they sort what isn't of one namespace."""
    found = _newest_first(methods.call("list", None) if thread is None else listed(methods, thread, None))
    spaces = [one for one in found if namespace in (None, _namespace(one))]
    if before is None:
        return spaces
    if before not in [one.checkpoint["id"] for one in found]:
        raise unknown_before(before)
    return [one for one in spaces if one.checkpoint["id"] < before]


def places(methods: Methods, thread: str) -> list[Place]:
    """Where the checkpoints of a thread are, the newest first."""
    found = _newest_first(listed(methods, thread, None))
    return [(_namespace(one), one.checkpoint["id"]) for one in found]


def threads_of(found: Sequence[Any]) -> list[str]:
    """The threads of a listing that flowfn wrote, the newest checkpoint's first."""
    ours = [one for one in found if RECORD in one.checkpoint["channel_values"]]
    return list(dict.fromkeys(str(one.config["configurable"]["thread_id"]) for one in _newest_first(ours)))


def _newest_first(found: Sequence[Any]) -> list[Any]:
    return sorted(found, key=lambda one: str(one.checkpoint["id"]), reverse=True)


def _namespace(found: Any) -> str:
    namespace: str = found.config["configurable"].get("checkpoint_ns", "")
    return namespace
