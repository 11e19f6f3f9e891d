"""`flowfn state` and `flowfn history`: the checkpoints of a thread, read without its program."""

from __future__ import annotations

from typing import Annotated

import typer

from flowfn.cli.as_json import plain
from flowfn.cli.database import choose, find_checkpoint, find_thread, reading
from flowfn.cli.failures import Usage
from flowfn.cli.options import Db, Json, ThreadId
from flowfn.cli.showing import shown
from flowfn.cli.table import Table
from flowfn.cli.terminal import in_line, output, print_json, printable
from flowfn.history.moments import Moment, moment, moments

Namespace = Annotated[
    str, typer.Option("--ns", help="The namespace of a nested workflow. Default: the thread's own.")
]


def state(
    thread: ThreadId,
    checkpoint: Annotated[
        str | None,
        typer.Option(
            "--checkpoint", help="The checkpoint's id, or how it begins or ends. Default: the last."
        ),
    ] = None,
    namespace: Namespace = "",
    db: Db = None,
    as_json: Json = False,
) -> None:
    """Show what a thread holds. At its last checkpoint, or at an earlier one."""
    with reading(choose(db)) as saver:
        id = find_thread(saver, thread).id
        if checkpoint is None:
            found = moment(saver, id, namespace)
        else:
            meant = find_checkpoint(saver, id, checkpoint, namespace)
            found = next((each for each in moments(saver, id, namespace) if each.id == meant), None)
    if found is None:
        raise Usage(f"thread {id!r} has no checkpoint" + (f" in {namespace!r}" if namespace else ""))
    if as_json:
        print_json(_as_json(found))
        return
    head = f"{found.id}  step {found.step}  {found.source}  {found.created_at}"
    output().print(in_line(head), soft_wrap=True)
    for name, value in found.values.items():
        output().print(f"  {in_line(name)}: {printable(shown(value))}", soft_wrap=True)


def history(
    thread: ThreadId,
    limit: Annotated[int | None, typer.Option(min=1, help="Only so many.")] = None,
    namespace: Namespace = "",
    db: Db = None,
    as_json: Json = False,
) -> None:
    """List the checkpoints of a thread, the last one first."""
    with reading(choose(db)) as saver:
        found = list(moments(saver, find_thread(saver, thread).id, namespace, limit))
    if as_json:
        print_json([_as_json(each) for each in found])
        return
    table = Table("CHECKPOINT", "STEP", "MADE BY", "AT", "CALLS", "CHANGED", right=("STEP", "CALLS"))
    for each in found:
        at = each.created_at[:19].replace("T", " ")
        cells = (each.id, str(each.step), each.source, at, str(each.calls or ""), ", ".join(each.changed))
        table.add_row(*map(in_line, cells))
    output().print(table)


def _as_json(each: Moment) -> dict[str, object]:
    told = dict(vars(each))
    values = {name: plain(value) for name, value in each.values.items()}
    return {"checkpoint": told.pop("id"), **told, "metadata": plain(each.metadata), "values": values}
