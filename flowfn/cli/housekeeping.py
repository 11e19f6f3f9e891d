"""`flowfn gc`, `flowfn export` and `flowfn import`: threads that go, and threads that travel."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path

from checkpointers import CheckpointSaver, EncryptedSaver, export_thread, import_thread, open_saver
from flowfn.cli.database import Place, as_it_is, find_thread, reading, with_keys, writing
from flowfn.cli.failures import Usage
from flowfn.errors import ThreadBusy
from flowfn.ports import ThreadRow

_UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days", "w": "weeks"}

_FINISHED = ("done", "cancelled")


@dataclass
class Collected:
    """What a collection did, or would do."""

    threads: int = 0
    checkpoints: int = 0
    busy: int = 0


def age(text: str) -> timedelta:
    """A time such as `90s`, `12h` or `30d`.

    Raises:
        Usage: it is none.
    """
    found = re.fullmatch(r"(\d{1,6})([smhdw])", text)
    if found is None:
        raise Usage(f"{text!r} is no age: write a number and one of {', '.join(_UNITS)}, such as 30d")
    return timedelta(**{_UNITS[found[2]]: int(found[1])})


def collect(
    place: Place, now: datetime, keep: int | None, older: timedelta | None, *, dry: bool
) -> Collected:
    """Delete the finished threads that were last written to longer ago than `older`, and of all others forget
    all but the last `keep` checkpoints of each namespace; with `dry`, only count. Threads in use are left alone."""
    if keep is None and older is None:
        raise Usage("nothing is to go: pass --older-than AGE, such as 30d, or --keep N, or both")
    done = Collected()
    opened = as_it_is if dry else writing
    with opened(place) as saver:  # neither what goes nor what stays has to be decrypted
        for row in saver.threads():
            if row.owner is not None:
                done.busy += 1
            elif older is not None and _is_over(row, now, older):
                _delete(saver, row.id, partial(_is_over, now=now, older=older), done, dry=dry)
            elif keep is not None:
                _forget(saver, row.id, keep, done, dry=dry)
    return done


def _is_over(row: ThreadRow, now: datetime, older: timedelta) -> bool:
    return row.status in _FINISHED and now - datetime.fromisoformat(row.updated_at) > older


def _delete(
    saver: CheckpointSaver, thread: str, is_over: Callable[[ThreadRow], bool], done: Collected, *, dry: bool
) -> None:
    """Delete a thread, unless a run has begun since it was listed."""
    seen, row = saver.places(thread), saver.thread(thread)
    if row is None or not is_over(row):
        return
    try:
        done.threads += dry or saver.delete_unused(thread, seen=seen)
    except ThreadBusy:
        done.busy += 1


def _forget(saver: CheckpointSaver, thread: str, keep: int, done: Collected, *, dry: bool) -> None:
    try:
        done.checkpoints += len(saver.beyond(thread, keep)) if dry else saver.keep_last(thread, keep)
    except ThreadBusy:
        done.busy += 1


def export(place: Place, prefix: str, output: Path | None) -> None:
    """Write a thread to a file, or to the standard output.

    Raises:
        Usage: that is a terminal or closed, or the file can't be written.
    """
    if output is None and sys.stdout is None:
        raise Usage("the standard output is closed: name a file, `flowfn export THREAD --output run.flow`")
    if output is None and sys.stdout.isatty():
        raise Usage(
            "a run is bytes, and not for a terminal: redirect them, `flowfn export THREAD > run.flow`"
        )
    with reading(place) as saver:
        assert isinstance(saver, CheckpointSaver)
        data = export_thread(saver, find_thread(saver, prefix).id)
    if output is None:
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()
        return
    try:
        output.write_bytes(data)
    except OSError as error:
        raise Usage(f"--output {str(output)!r} can't be written: {error.strerror}") from error


def import_run(source: Path, place: Place, id: str | None) -> str:
    """Make the thread that a file holds in a database, which is made where there is none; returns its id.

    Raises:
        Usage: there is no such file.
    """
    if not source.is_file():
        raise Usage(f"there is no file {str(source)!r}: pass one that `flowfn export` wrote")
    opened = open_saver(place)
    try:
        saver = with_keys(opened)
        assert isinstance(saver, CheckpointSaver | EncryptedSaver)
        return import_thread(saver, source.read_bytes(), thread_id=id)
    finally:
        opened.close()
