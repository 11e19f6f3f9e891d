"""The `flowfn` command. It needs the extra `cli`: typer and rich, imported nowhere else.

- `app` has the commands, as typer reads them, `options` what several of them take, `completing` what a shell offers.
- Before a command: `database`, which it means, `program`, whose it is, `workflows`, which of its a run goes on with,
  and `typed`, what its words say. After it: `outcome`, `failures`.
- Looking on: `listing`, `past`, `tailing`, `diff`, `picturing`. Going on: `running`, `recovering`, `answering`, by the
  forms of `asking`. Changing: `changing`, `housekeeping`, `importing`. Besides: `caching`, `doctor`, `demo`, `version`.
- What is printed: `showing` for people, in a `table` or not, `as_json` for programs, on the streams of `terminal`.
"""

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
    except KeyboardInterrupt:  # loading takes long enough for a Ctrl-C
        return 130
    except ModuleNotFoundError as error:
        name = (error.name or "").partition(".")[0]
        if name not in _EXTRA:
            raise
        print(_MISSING.format(name=name), file=sys.stderr)
        return 2
    return run(sys.argv[1:] if arguments is None else list(arguments))
