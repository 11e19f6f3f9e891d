"""The options and arguments that several commands take."""

from __future__ import annotations

from typing import Annotated

import typer

from flowfn.cli.completing import thread_ids
from flowfn.cli.database import VARIABLE

Db = Annotated[
    str | None,
    typer.Option(
        "--db",
        envvar=VARIABLE,
        metavar="PATH|URL",
        help="The SQLite file, or postgresql://… Default: the only file in this directory.",
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
ThreadId = Annotated[
    str,
    typer.Argument(
        metavar="THREAD", help="The thread's id, or how it begins or ends.", autocompletion=thread_ids
    ),
]
Script = Annotated[
    str,
    typer.Argument(metavar="APP.PY[:NAME]", help="The script that defines the workflow: imported, not run."),
]
