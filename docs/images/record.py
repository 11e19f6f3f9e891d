"""The pictures of the command line in the documents, recorded from real runs: `python docs/images/record.py`.

Rule: a picture is what a command prints in a terminal, cut from its output and nothing else: `show`, `diff`, and one
frame each of what goes on living, `tail` and a program's own progress. The suite records them anew, and compares.
"""

from __future__ import annotations

import os
import pty
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from io import StringIO
from pathlib import Path
from tempfile import mkdtemp

from rich.console import Console
from rich.text import Text

HERE = Path(__file__).resolve().parent
FLOWFN = (sys.executable, "-m", "flowfn")

_FRAME = re.compile(r"\r?\x1b\[2K(?:\x1b\[1A\x1b\[2K)*")
"""What rich writes between two frames of a live picture."""

_MODE = re.compile(r"\x1b\[\?\d+[hl]")
"""What hides the cursor, and shows it again."""

_FONT = re.compile(r"\s*@font-face \{.*?\}", re.DOTALL)
"""Where rich's pictures name fonts to fetch from the network."""

HOME = "/home/ann/projects"


def record() -> dict[str, str]:
    """What each picture shows, in the colours of a terminal."""
    folder = Path(mkdtemp(prefix="shop-", dir="/tmp"))
    try:
        shown = {**_live(folder), **_still(folder)}
    finally:
        shutil.rmtree(folder)
    return {name: _MODE.sub("", text).replace(str(folder), HOME) for name, text in shown.items()}


def _live(folder: Path) -> dict[str, str]:
    """A run that waits half way for the file `go`, while two look on."""
    shutil.copy(HERE / "shop.py", folder / "app.py")
    with _running(folder, sys.executable, "app.py", THREAD="order-43") as program:
        progress = _first(program, lambda frame: "retried" in frame)
        _first(program, lambda frame: "2 attempts" in frame and "done" in frame.partition("2 attempts")[0])
        with _running(folder, *FLOWFN, "tail", "order-43", "--every", "0.1") as tail:
            tailed = _first(tail, lambda frame: "2 attempts" in frame and "running" in frame)
            (folder / "go").touch()
            list(tail)
        list(program)
    (folder / "go").unlink()
    return {"progress": progress, "tail": tailed}


def _still(folder: Path) -> dict[str, str]:
    """The run as it waits for an answer, and one that died and was edited before it went on."""
    show = _printed(folder, *FLOWFN, "show", "order-43")
    (folder / "go").touch()
    _printed(folder, sys.executable, "app.py", THREAD="order-44", DIE="yes")
    source = (folder / "app.py").read_text("utf-8")
    (folder / "app.py").write_text(source.replace("reserve(item) for", "reserve(item, 2) for"), "utf-8")
    _printed(folder, *FLOWFN, "resume", "order-44", "app.py")
    return {"show": show, "diff": _printed(folder, *FLOWFN, "diff", "order-44")}


def to_svg(name: str, text: str) -> str:
    """A picture of what a terminal was given."""
    shown = Text.from_ansi(text.strip("\r\n"))
    width = max(84, *(line.cell_len for line in shown.split()))
    console = Console(file=StringIO(), width=width, record=True, force_terminal=True)
    console.print(shown)
    title = "python app.py" if name == "progress" else f"flowfn {name} order-{44 if name == 'diff' else 43}"
    return _FONT.sub("", console.export_svg(title=title, unique_id=name))


# -- a terminal of one's own ----------------------------------------------------------------------------


@contextmanager
def _running(folder: Path, *command: str, **environment: str) -> Iterator[Iterator[str]]:
    """A command in a terminal; gives the frames that it writes, as they come."""
    leader, follower = pty.openpty()
    known: Mapping[str, str] = {
        key: value for key, value in os.environ.items() if not key.startswith("FLOWFN")
    }
    shape = {"COLUMNS": "116", "LINES": "40", "TERM": "xterm-256color", "PYTHONPATH": str(HERE.parent.parent)}
    process = subprocess.Popen(
        command, cwd=folder, env={**known, **shape, **environment}, stdout=follower, stderr=follower
    )
    os.close(follower)
    try:
        with process:
            yield _frames(leader)
    finally:
        process.kill()
        os.close(leader)


def _frames(terminal: int) -> Iterator[str]:
    """The frames that are written to a terminal; the last one is whatever the end left."""
    read = ""
    with suppress(OSError):  # Linux tells the end of a terminal by an error
        while data := os.read(terminal, 65_536):
            *whole, read = _FRAME.split(read + data.decode(errors="replace").replace("\r\n", "\n"))
            yield from whole
    yield read


def _first(frames: Iterator[str], wanted: Callable[[str], bool]) -> str:
    seen = []
    for frame in frames:
        if wanted(frame):
            return frame
        seen.append(frame)
    raise AssertionError(f"no frame was as wanted: {seen[-3:]}")


def _printed(folder: Path, *command: str, **environment: str) -> str:
    with _running(folder, *command, **environment) as frames:
        return "".join(frames)


if __name__ == "__main__":
    for name, text in record().items():
        (HERE / f"{name}.svg").write_text(to_svg(name, text), "utf-8")
