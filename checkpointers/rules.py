"""What every backend decides and says alike.

Rule: plain functions on the port's rows; a backend adds only where it keeps them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from operator import itemgetter

from flowfn.errors import InvalidInput, LeaseLost, SaverError, ThreadBusy, UnknownCheckpoint
from flowfn.logs import logger
from flowfn.ports import CheckpointRow, Choice, Commit, Loaded, WriteRow

END = (1 << 63) - 1
"""Above every place."""

PAGE = 16
"""Checkpoints of a history that are read at once, and so are in memory at once."""

HEADS = 256
"""Heads of checkpoints that are read at once."""


def now() -> str:
    """The time, ISO 8601, UTC."""
    return datetime.now(UTC).isoformat()


def concerns_thread(commit: Commit) -> bool:
    """Whether a commit updates its thread's row: by what becomes of its run, or by a checkpoint put from outside.

    What a run commits on its way doesn't: it is the hot path, and a listing that shows who runs needn't move with
    each step.
    """
    return (
        commit.begin is not None
        or commit.status is not None
        or commit.release
        or (commit.lease is None and CheckpointRow in map(type, commit.items))
    )


_spot = itemgetter(WriteRow._fields.index("task"), WriteRow._fields.index("index"))


def merged(rows: list[WriteRow]) -> list[WriteRow]:
    """Writes in the order of their commits, one per (task, index).

    Of several, the last counts where the index is negative, else the first. Without any, the list itself is returned.
    """
    spots = [*map(_spot, rows)]
    if len({*spots}) == len(rows):  # most tasks write once
        return rows
    kept: dict[tuple[str, int], WriteRow] = {}
    for spot, row in zip(spots, rows, strict=True):
        if row.index < 0:
            kept.pop(spot, None)
        kept.setdefault(spot, row)
    return list(kept.values())


def paged(
    read: Callable[[int, int], tuple[list[Loaded], int]], end: int, limit: int | None, most: int = PAGE
) -> Iterator[Loaded]:
    """Checkpoints page by page: no lock is held, and no transaction open, while a caller looks.

    `read(end, size)` gives up to `size` of those before place `end`, the last first, and the last one's place; `most`
    are read at once.
    """
    while limit is None or limit > 0:
        size = most if limit is None else min(limit, most)
        page, end = read(end, size)
        yield from page
        if len(page) < size:
            return
        limit = None if limit is None else limit - size


def chosen_of(
    heads: Callable[[int, int], list[tuple[int, Loaded]]],
    read: Callable[[Sequence[int]], list[Loaded]],
    chosen: Choice,
    end: int,
    limit: int | None,
    most: int = PAGE,
) -> Iterator[Loaded]:
    """As `paged`, those that are chosen by their heads; what is forgotten meanwhile is left out.

    `heads(end, size)` gives up to `size` of those before place `end`, the last first, each with its place; `read` those
    at some places, of which `most` are asked for at once.
    """
    while limit is None or limit > 0:
        found = heads(end, HEADS)
        places = [place for place, head in found if chosen(head)][:limit]
        for start in range(0, len(places), most):
            yield from read(places[start : start + most])
        if len(found) < HEADS:
            return
        end = found[-1][0]
        limit = None if limit is None else limit - len(places)


def limited(limit: int | None) -> int | None:
    """How many of a listing are asked for; None for all.

    Raises:
        InvalidInput: it is no count.
    """
    if limit is None:
        return None
    if not isinstance(limit, int) or limit < 0:
        raise InvalidInput(f"limit={limit!r} is not a count. Pass a whole number from 0 on, or None for all.")
    return min(int(limit), END)


def tell(commit: Commit) -> None:
    """Tell that a commit is durable. What goes wrong there is no word on it, nor on others of its group."""
    if commit.written is not None:
        try:
            commit.written()
        except Exception:
            logger.exception("thread %s: a commit was made, and whoever waited for it failed", commit.thread)


def lease_lost(thread: str, *, inherited: bool = False) -> LeaseLost:
    """Why a commit was refused; `inherited`: its lease is that of the process that this one was forked from."""
    if inherited:
        return LeaseLost(
            f"thread {thread!r} is run by the process that this one was forked from, where the run goes on: a forked "
            "child can write nothing of it. End the child with os._exit() once its work is done"
        )
    return LeaseLost(
        f"Another run took over thread {thread!r}, or somebody cancelled or deleted it: this run may write no more."
        " Read its state with `workflow.get_state(...)`, or call the workflow again."
    )


def busy(thread: str, owner: str) -> ThreadBusy:
    """Why nothing of a thread can be forgotten now; `owner` is a label."""
    return ThreadBusy(
        f"thread {thread!r} is held by a live run ({owner}), which may stand on what is to be forgotten:"
        " wait until it has ended"
    )


def unknown_before(checkpoint: str) -> UnknownCheckpoint:
    """Why a listing can't begin."""
    return UnknownCheckpoint(
        f"No checkpoint {checkpoint!r} to list those before it."
        " Pass `before=` the id of one that `history` returned."
    )


def nothing_to_change(row: CheckpointRow, channel: str) -> SaverError:
    """Why a delta can't be stored."""
    return SaverError(
        f"Checkpoint {row.id!r} changes the value of channel {channel!r}, and its parent {row.parent!r} has none."
        " Put the value whole."
    )


def strange_item(item: object) -> TypeError:
    """Why a commit can't be stored."""
    return TypeError(f"A commit cannot hold {item!r}. Put `CheckpointRow` or `Writes` into its items.")
