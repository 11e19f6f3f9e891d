"""`flowfn demo`: its options, and its screen where there is a terminal."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer
from rich.progress import BarColumn, MofNCompleteColumn, Progress, ProgressColumn, Task, TaskID, TextColumn
from rich.prompt import Prompt
from rich.text import Text

from flowfn.cli.failures import Usage, WorkflowFailed
from flowfn.cli.terminal import output, print_json
from flowfn.demo.conductor import Figures, WorkerFailed, conduct
from flowfn.demo.screen import PlainScreen, Screen


def command(
    files: Annotated[int | None, typer.Option(help="Only the N largest files. Default: all.")] = None,
    db: Annotated[Path | None, typer.Option("--db", help="Keep the record in this SQLite file.")] = None,
    yes: Annotated[bool, typer.Option("--yes", help="Answer with the default.")] = False,
    kill: Annotated[bool, typer.Option("--kill/--no-kill", help="Kill the worker half way.")] = True,
    keep: Annotated[bool, typer.Option("--keep", help="Keep the temporary directory.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print nothing but the figures, as JSON.")] = False,
) -> None:
    """Kill a durable job half way, and see it go on. It indexes the standard library of this Python."""
    screen = _screen(as_json=as_json, yes=yes)
    with _database(db, keep=keep) as path:
        screen.say(f"database {path}")
        try:
            figures = conduct(path, screen, largest=files, kill=kill)
        except WorkerFailed as error:
            raise WorkflowFailed("the demo failed") from error
    if as_json:
        print_json(asdict(figures))
        return
    for line in _lines(figures):
        screen.say(line)
    if db is not None or keep:
        screen.say(f"{'see it with':<26}flowfn show {figures.thread} --db {path}")
    else:
        screen.say(f"{'':<26}and removed with its directory; --keep keeps it")


@contextmanager
def _database(given: Path | None, *, keep: bool) -> Iterator[Path]:
    """The file that keeps the record; the report is written beside it."""
    if given is not None:
        if not given.absolute().parent.is_dir():
            raise Usage(f"--db {str(given)!r}: there is no such folder: create it, or name a file elsewhere")
        yield given
    elif keep:
        yield Path(tempfile.mkdtemp(prefix="flowfn-demo-"), "runs.db")
    else:
        with tempfile.TemporaryDirectory(prefix="flowfn-demo-") as folder:
            yield Path(folder, "runs.db")


def _screen(*, as_json: bool, yes: bool) -> Screen:
    if as_json:
        return Screen()
    return TerminalScreen(yes=yes) if sys.stdout.isatty() else PlainScreen()


def _lines(figures: Figures) -> list[str]:
    """The end of the story, in figures."""
    report = figures.report
    rows = [
        ("files", f"{figures.files}"),
        ("recorded before the kill" if figures.killed else "measured", f"{figures.ran_before}"),
        ("reused after it", f"{figures.reused}"),
        ("run after it", f"{figures.ran_after}"),
        ("seconds", f"{figures.seconds:.1f}"),
        ("report", f"{report.lines:,} lines, {report.classes:,} classes, {report.functions:,} functions"),
        (
            "",
            f"{report.imports:,} imports, {report.unreadable} unreadable files; first {figures.answer!r}",
        ),
        ("written to", report.report),
    ]
    shown = rows if figures.killed else [row for row in rows if not row[0].endswith("after it")]
    return ["", *(f"{name:<26}{value}" for name, value in shown)]


class TerminalScreen(PlainScreen):
    """A live progress bar, and a human who answers, unless `yes` or the input is no terminal."""

    def __init__(self, *, yes: bool) -> None:
        super().__init__()
        self._human = not yes and sys.stdin.isatty()
        self._console = output()
        self._progress: Progress | None = None
        self._bar = TaskID(0)

    def say(self, text: str) -> None:
        """A line."""
        self._console.print(text, soft_wrap=True)

    def started(self, files: int, reused: int) -> None:
        """A bar that begins with what is recorded already."""
        self._progress = Progress(
            TextColumn("  recorded"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("reused {task.fields[reused]}"),
            _Rate(),
            console=self._console,
        )
        self._bar = self._progress.add_task("", total=files, completed=reused, reused=reused)
        self._progress.start()

    def measured(self) -> None:
        """The bar moves."""
        if self._progress is not None:
            self._progress.advance(self._bar)

    def stopped(self) -> None:
        """The bar stands."""
        if self._progress is not None:
            self._progress.stop()

    def ask(self, question: str, choices: Sequence[str]) -> str:
        """What the human types; Enter is the first choice."""
        if not self._human:
            return super().ask(question, choices)
        return Prompt.ask(question, console=self._console, choices=list(choices), default=choices[0])


class _Rate(ProgressColumn):
    """Files measured per second by this worker."""

    def render(self, task: Task) -> Text:
        speed = task.finished_speed or task.speed
        return Text("" if speed is None else f"{speed:.0f} files/s")
