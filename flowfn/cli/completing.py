"""What a shell offers to complete: the ids of threads.

Rule: completion says nothing and raises nothing; where the database can't be read, nothing is offered.
"""

from __future__ import annotations

import os

import typer

from flowfn.cli.database import VARIABLE, choose, reading
from flowfn.cli.terminal import in_line
from flowfn.errors import FlowError

_MOST = 50


def thread_ids(ctx: typer.Context, incomplete: str) -> list[tuple[str, str]]:
    """The threads whose ids begin so, the last used first, each with its workflow and status."""
    given = ctx.params.get("db") or os.environ.get(VARIABLE)
    try:
        with reading(choose(given)) as saver:
            rows = [row for row in saver.threads() if row.id.startswith(incomplete)][:_MOST]
    except FlowError:
        return []
    return [(row.id, in_line(f"{row.workflow}, {row.standing}")) for row in rows if row.id.isprintable()]
