"""The `flowfn` command. It needs the extra `cli`: typer and rich, imported nowhere else."""

from __future__ import annotations

import sys
from collections.abc import Sequence

__all__ = ["main"]

_EXTRA = ("typer", "rich")

_MISSING = """\
flowfn: the command line needs {name}, which is not installed: pip install 'flowfn-durable[cli]'"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; `arguments` default to the process's own.

    Returns 0 where it went well, 1 where the workflow failed, 2 where something has to be asked for in
    another way, 3 where the run waits for an answer.
    """
    try:
        from flowfn.cli.app import run
    except ModuleNotFoundError as error:
        name = (error.name or "").partition(".")[0]
        if name not in _EXTRA:
            raise
        print(_MISSING.format(name=name), file=sys.stderr)
        return 2
    return run(sys.argv[1:] if arguments is None else list(arguments))
