"""`flowfn fork` and `flowfn cancel`: what changes a thread without its program."""

from __future__ import annotations

from typing import Annotated

import typer

from flowfn.cli.database import choose, find_checkpoint, find_thread, with_keys, writing
from flowfn.cli.options import Db, Json, ThreadId
from flowfn.cli.terminal import in_line, output, print_json
from flowfn.config import RunConfig
from flowfn.history.changing import cancel as cancel_thread
from flowfn.history.copying import copy_to
from flowfn.hosts.ids import new_id


def fork(
    thread: ThreadId,
    before: Annotated[
        str | None,
        typer.Option(metavar="CALL", help="Where the run was before this call: its name, NAME#2, or its id."),
    ] = None,
    checkpoint: Annotated[
        str | None,
        typer.Option(help="Copy the checkpoint of this id, or how that begins or ends. Default: the last."),
    ] = None,
    to: Annotated[str | None, typer.Option("--to", metavar="NEW", help="The new thread's id.")] = None,
    db: Db = None,
    as_json: Json = False,
) -> None:
    """Copy a thread to a new one. As it is, or as it was before a call; resume goes on from there."""
    with writing(choose(db)) as opened:
        saver = with_keys(opened)
        id = find_thread(saver, thread).id
        name = new_id() if to is None else to
        meant = None if checkpoint is None else find_checkpoint(saver, id, checkpoint)
        copy_to(saver, RunConfig(id, meant), name, before)
        row = saver.thread(name)
    if as_json:
        print_json({"thread": name, "of": id, "status": None if row is None else row.standing})
    else:
        output().print(in_line(name))


def cancel(thread: ThreadId, db: Db = None, as_json: Json = False) -> None:
    """Stop a thread's run, wherever it goes on. It can write no more, and stops at its next task."""
    with writing(choose(db)) as opened:
        saver = with_keys(opened)
        id = find_thread(saver, thread).id
        cancel_thread(saver, id)
        row = saver.thread(id)
    assert row is not None
    if as_json:
        print_json({"thread": id, "status": row.standing})
    else:
        output().print(in_line(f"{id}  {row.standing}"))
