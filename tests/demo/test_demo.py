"""`flowfn demo`: the real job, the real SIGKILL, and figures that are true.

What the workers really execute is seen by an audit hook that is put into every Python process of the
demo: `measure` compiles each file under its name relative to the library's folder.
"""

import ast
import json
import os
import subprocess
import sys
import sysconfig
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest

FILES = 60
COMMAND = "import sys; from flowfn.cli import main; sys.exit(main(sys.argv[1:]))"

WITNESS = """
import os, sys

def witness(event, arguments):
    if event == "compile" and isinstance(arguments[1], str) and not os.path.isabs(arguments[1]):
        line = f"{os.getpid()} {arguments[1]}\\n"
        os.write(log, line.encode())

log = os.open(os.environ["WITNESS"], os.O_CREAT | os.O_APPEND | os.O_WRONLY)
sys.addaudithook(witness)
"""


class Demo:
    """One run of the demo: its figures, and the files that each process compiled, in the order of the processes."""

    def __init__(self, folder: Path, figures: dict[str, Any]) -> None:
        self.folder = folder
        self.figures = figures
        self.report = Path(figures["report"]["report"]).read_text("utf-8")

    @property
    def executions(self) -> list[list[str]]:
        by_process: dict[str, list[str]] = defaultdict(list)
        for line in (self.folder / "witness.log").read_text().splitlines():
            process, file = line.split(" ", 1)
            if file.endswith(".py"):
                by_process[process].append(file)
        return list(by_process.values())


def environment(installed: Path, **more: str) -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(installed), **more}


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Demo:
    """The demo over the 60 largest files, with its database kept."""
    import flowfn

    folder = tmp_path_factory.mktemp("demo")
    (folder / "hook").mkdir()
    (folder / "hook" / "sitecustomize.py").write_text(WITNESS)
    installed = Path(next(iter(flowfn.__path__))).resolve().parent
    path = os.pathsep.join([str(folder / "hook"), str(installed)])
    done = subprocess.run(
        [sys.executable, "-c", COMMAND, "demo", "--files", str(FILES), "--yes", "--json", "--db", "kept.db"],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": path, "WITNESS": str(folder / "witness.log")},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return Demo(folder, json.loads(done.stdout))


def largest_files() -> list[str]:
    """The 60 largest files of the library, found without the demo's code."""
    folder = Path(sysconfig.get_path("stdlib"))
    found = []
    for top, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if not name.endswith("-packages")]
        found += [Path(top, name) for name in names if name.endswith(".py")]
    found.sort(key=lambda path: (-path.stat().st_size, path.relative_to(folder).as_posix()))
    return [path.relative_to(folder).as_posix() for path in found[:FILES]]


def parsed(path: Path) -> ast.Module | None:
    try:
        return ast.parse(path.read_bytes())
    except SyntaxError:
        return None


class Counted:
    """How many definitions a module has, and which modules its imports name."""

    def __init__(self, tree: ast.Module | None) -> None:
        self.functions = self.classes = 0
        self.imports: set[str] = set()
        for node in ast.walk(tree) if tree is not None else ():
            match node:
                case ast.FunctionDef() | ast.AsyncFunctionDef():
                    self.functions += 1
                case ast.ClassDef():
                    self.classes += 1
                case ast.Import():
                    self.imports |= {alias.name for alias in node.names}
                case ast.ImportFrom(level=0):
                    self.imports.add(str(node.module))


def test_the_worker_is_killed_half_way(demo: Demo) -> None:
    """After half of the files at the earliest, and before it has measured all."""
    assert demo.figures["killed"] is True
    assert FILES // 2 <= demo.figures["ran_before"] < FILES


def test_every_file_is_recorded_exactly_once(demo: Demo) -> None:
    """G1: what was recorded before the kill is reused, all else runs after it, and together it is all."""
    figures = demo.figures
    assert figures["files"] == FILES
    assert figures["reused"] == figures["ran_before"]
    assert figures["reused"] + figures["ran_after"] == FILES


def test_nothing_recorded_ran_again(demo: Demo) -> None:
    """G1, seen from outside: the second worker compiled what wasn't recorded, each file once, and the third nothing."""
    first, second = demo.executions
    assert len(second) == len(set(second)) == demo.figures["ran_after"]
    assert len(first) == len(set(first)) >= demo.figures["ran_before"]
    assert set(first) | set(second) == set(largest_files())
    assert len(set(first) & set(second)) == len(first) - demo.figures["ran_before"]


def test_the_record_has_each_file_once(demo: Demo, capsys: Any) -> None:
    """The database that was kept says the same to `flowfn show`."""
    from flowfn.cli import main

    assert main(["show", demo.figures["thread"], "--json", "--db", str(demo.folder / "kept.db")]) == 0
    found = json.loads(capsys.readouterr().out)
    measured = [call for call in found["calls"] if call["name"] == "measure"]
    assert len({call["arguments"] for call in measured}) == len(measured) == FILES
    assert {call["status"] for call in found["calls"]} == {"done", "answered"}
    assert [call["name"] for call in found["calls"]][FILES:] == [
        "cross_reference",
        "interrupt",
        "write_report",
    ]


def test_the_report_is_right(demo: Demo) -> None:
    """Its figures equal those of an independent count."""
    folder = Path(sysconfig.get_path("stdlib"))
    files = largest_files()
    trees = [parsed(folder / file) for file in files]
    counts = [Counted(tree) for tree in trees]
    expected = {
        "report": demo.figures["report"]["report"],
        "files": FILES,
        "unreadable": sum(tree is None for tree in trees),
        "lines": sum((folder / file).read_bytes().count(b"\n") for file in files),
        "functions": sum(count.functions for count in counts),
        "classes": sum(count.classes for count in counts),
        "imports": sum(len(count.imports) for count in counts),
    }
    assert demo.figures["report"] == expected
    assert f"{expected['files']} files, {expected['lines']} lines" in demo.report


def test_the_answer_is_obeyed(demo: Demo) -> None:
    """The report opens with the section that was asked for; with --yes, the first choice."""
    sections = [line for line in demo.report.splitlines() if line.startswith("## ")]
    assert demo.figures["answer"] == "largest"
    assert sections == ["## largest", "## imported", "## undocumented"]


def test_it_is_plain_where_there_is_no_terminal(run_python: Any) -> None:
    """No control characters; the default answer is said; what was temporary is gone."""
    done = run_python("-c", COMMAND, "demo", "--files", "4", "--no-kill")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.replace("\n", "").isprintable()
    assert "  4 of 4 files are recorded\n" in done.stdout
    assert "answered with the default: largest" in done.stdout
    database = done.stdout.splitlines()[0].removeprefix("database ")
    assert not Path(database).parent.exists()


def test_it_says_what_cannot_be(run_python: Any, tmp_path: Path) -> None:
    """No files, no folder: exit code 2; a worker that fails: 1, with its error."""
    assert run_python("-c", COMMAND, "demo", "--files", "0").returncode == 2
    assert run_python("-c", COMMAND, "demo", "--db", "nowhere/runs.db").returncode == 2
    (tmp_path / "notes.db").write_bytes(b"no database at all, and long enough to be looked at" * 9)
    done = run_python("-c", COMMAND, "demo", "--files", "4", "--db", "notes.db")
    assert done.returncode == 1
    assert "NotADatabase" in done.stderr


@pytest.mark.skipif(sys.platform == "win32", reason="needs a pseudo-terminal")
def test_a_human_is_asked_on_a_terminal(installed: Path, tmp_path: Path) -> None:
    """With a progress bar, and the answer as typed."""
    import pty

    parent, child = pty.openpty()
    os.write(parent, b"imported\n")
    command = [sys.executable, "-c", COMMAND, "demo", "--files", "4", "--no-kill"]
    terminal = environment(installed, TERM="xterm", COLUMNS="100")
    with subprocess.Popen(command, cwd=tmp_path, env=terminal, stdin=child, stdout=child, stderr=child):
        os.close(child)
        said = "".join(iter(lambda: read(parent), ""))
    os.close(parent)
    assert "4/4" in said
    assert "first 'imported'" in said


def read(terminal: int) -> str:
    """What a terminal shows next; nothing once everybody has left it."""
    try:
        return os.read(terminal, 65536).decode(errors="replace")
    except OSError:
        return ""
