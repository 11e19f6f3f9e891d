"""A run that shows itself while it goes on: a live tree of its calls, in a terminal or in a notebook.

Rule: quiet where nobody would see it. In a terminal it is on stderr, so that what the program prints can be piped.
All runs of a process share one screen, as rich has one.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from io import StringIO
from threading import RLock
from typing import TYPE_CHECKING, Any

from flowfn.errors import InvalidInput
from flowfn.events import Event, RunEnded, RunStarted
from flowfn.python.forking import after_fork
from flowfn.python.loaded import loaded
from flowfn.watching.calls import Heard

if TYPE_CHECKING:
    from rich.console import Console, Group, RenderableType
    from rich.live import Live

    from flowfn.watching import Watcher

__all__ = ["NotebookScreen", "TerminalScreen", "run_tree", "screen"]

MOST = 12
"""Calls of one caller that are shown one by one; of more, those that ended are counted."""

_PAUSE = 0.1
"""Seconds between two pictures in a notebook."""


def screen() -> list[Watcher]:
    """What shows a run that begins now; nothing where nobody would see it.

    Raises:
        InvalidInput: it would be seen, and rich isn't installed.
    """
    in_notebook = _in_notebook()
    if not in_notebook and not sys.stderr.isatty():
        return []
    try:
        import rich  # noqa: F401
    except ModuleNotFoundError:
        raise InvalidInput("progress=True needs rich: pip install 'flowfn-durable[cli]'") from None
    return [NotebookScreen() if in_notebook else TerminalScreen()]


def _in_notebook() -> bool:
    """Whether the code runs in a notebook's kernel, not in IPython's own terminal."""
    ipython = loaded("IPython")
    shell = None if ipython is None else ipython.get_ipython()
    return shell is not None and type(shell).__name__ != "TerminalInteractiveShell"


def run_tree(run: Heard) -> RenderableType:
    """A run as it stands: a tree of its calls under a line of its own, and its questions."""
    from rich.console import Group
    from rich.text import Text

    from flowfn.rendering import duration, in_line, printable
    from flowfn.watching.tree import call_tree, status_text

    head = Text.assemble(
        in_line(run.workflow), "  ", status_text(run.status), (f"  {duration(run.seconds)}", "dim")
    )
    if run.thread:
        head.append(f"  {in_line(run.thread)}", style="dim")
    asked = [
        Text(f"waiting for a human: {printable(str(each.value))}", style="yellow") for each in run.questions
    ]
    return Group(call_tree(head, run.calls, most=MOST), *asked)


class TerminalScreen:
    """Shows one run on the process's stderr."""

    def __init__(self) -> None:
        self._run = Heard()

    def __call__(self, event: Event) -> None:
        """Hear an event of the run."""
        self._run(event)
        if isinstance(event, RunStarted):
            _stage.enter(self._run)
        elif isinstance(event, RunEnded):
            _stage.leave(self._run)


class _Stage:
    """The runs that are shown on stderr at this moment."""

    def __init__(self) -> None:
        self._renew()
        after_fork(self._renew)

    def _renew(self) -> None:
        self._lock = RLock()
        self._runs: list[Heard] = []
        self._live: Live | None = None

    def enter(self, run: Heard) -> None:
        from rich.live import Live

        with self._lock:
            self._runs.append(run)
            if self._live is None:
                self._live = Live(
                    console=_stderr(),
                    get_renderable=self._picture,
                    refresh_per_second=8,
                    transient=True,
                    redirect_stdout=sys.stdout.isatty(),
                )
                self._live.start(refresh=True)

    def leave(self, run: Heard) -> None:
        """Take a run off the screen; how it ended stays above it."""
        with self._lock:
            self._runs.remove(run)
            assert self._live is not None
            live = self._live
            if not self._runs:
                self._live = None
                live.stop()
            live.console.print(run_tree(run))

    def _picture(self) -> Group:
        from rich.console import Group

        return Group(*map(run_tree, tuple(self._runs)))


_stage = _Stage()


def _stderr() -> Console:
    from rich.console import Console

    return Console(file=sys.stderr, highlight=False, markup=False, emoji=False)


class NotebookScreen:
    """Shows one run as the output of a notebook's cell, which is written anew as it goes on."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._run = Heard()
        self._clock = clock
        self._lock = RLock()
        self._shown_at = 0.0
        self._handle: Any = None

    def __call__(self, event: Event) -> None:
        """Hear an event of the run."""
        self._run(event)
        with self._lock:
            if isinstance(event, RunStarted):
                from IPython.display import display

                self._handle = display(self._bundle(), raw=True, display_id=True)
                self._shown_at = self._clock()
            elif self._handle is not None and self._is_due(event):
                self._handle.update(self._bundle(), raw=True)
                self._shown_at = self._clock()

    def _is_due(self, event: Event) -> bool:
        return isinstance(event, RunEnded) or self._clock() - self._shown_at >= _PAUSE

    def _bundle(self) -> dict[str, str]:
        from rich.console import Console

        console = Console(file=StringIO(), record=True, width=120, highlight=False, markup=False, emoji=False)
        console.print(run_tree(self._run))
        html = console.export_html(inline_styles=True, code_format="<pre>{code}</pre>", clear=False)
        return {"text/plain": console.export_text(), "text/html": html}
