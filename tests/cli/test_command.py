"""The command as it is installed: its extra, its help, its usage errors."""

from pathlib import Path
from typing import Any

import pytest

from checkpointers import SqliteSaver
from flowfn import entrypoint

COMMAND = "import sys; from flowfn.cli import main; sys.exit(main())"


@pytest.mark.parametrize("library", ["typer", "rich"])
def test_a_missing_extra_is_named(run_python: Any, library: str) -> None:
    """Without typer or rich there is one sentence that says what to install."""
    done = run_python("-c", f"import sys; sys.modules[{library!r}] = None\n{COMMAND}", "ls")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (
        f"flowfn: the command line needs {library}, which is not installed: pip install 'flowfn-durable[cli]'\n"
    )


def test_help_lists_the_commands(run_python: Any) -> None:
    """One smoke test through a real process."""
    done = run_python("-c", COMMAND, "--help")
    assert (done.returncode, done.stderr) == (0, "")
    assert [
        name for name in ("ls", "show", "resume", "answer", "demo") if f"\n  {name} " not in done.stdout
    ] == []


def test_help_and_version_by_the_names_that_hands_know(flowfn: Any) -> None:
    """`-h` is `--help`, of each command, and `--version` what `version` prints."""
    assert flowfn("-h").out == flowfn("--help").out
    assert flowfn("ls", "-h").out == flowfn("ls", "--help").out
    assert flowfn("--version").out == flowfn("version").out


def test_wrong_usage_is_exit_code_2(flowfn: Any) -> None:
    """A missing argument, an unknown option and an unknown command."""
    assert [flowfn("show").code, flowfn("ls", "--nope").code, flowfn("nope").code] == [2, 2, 2]


def test_ctrl_c_is_quiet_as_the_command_loads(run_python: Any) -> None:
    """It is 130 then as it is later."""
    script = """
import sys
from flowfn.cli import main

class Pressed:
    def find_spec(self, name, path=None, target=None):
        if name == "typer":
            raise KeyboardInterrupt

sys.meta_path.insert(0, Pressed())
sys.exit(main(["ls"]))
"""
    done = run_python("-c", script)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "")


@pytest.fixture
def database(tmp_path: Path) -> Path:
    """A database of one thread, whose id not every encoding has."""
    with SqliteSaver(tmp_path / "runs.db") as saver:
        entrypoint(checkpointer=saver, name="flow")(abs).invoke(-1, thread_id="é…\U0001f600")
    return tmp_path / "runs.db"


def test_what_a_stream_cannot_encode_is_spelled_out(run_python: Any, database: Path) -> None:
    """No command fails for it, whether it is asked for a table, a tree or a picture."""
    for command in ("ls", "show", "timeline", "history", "graph"):
        named = () if command == "ls" else ("\xe9",)
        ascii_only = {"PYTHONIOENCODING": "ascii", "PYTHONUTF8": "1"}
        done = run_python("-c", COMMAND, command, *named, "--db", database, **ascii_only)
        assert (command, done.returncode, done.stderr, done.stdout.isascii()) == (command, 0, "", True)
        assert command in ("history", "graph") or r"\xe9\u2026\U0001f600" in done.stdout


def test_a_closed_stream_is_written_nothing(run_python: Any, database: Path) -> None:
    """The exit code says what came of it, as always."""
    closed = "import sys; sys.stdout = sys.stderr = None; from flowfn.cli import main; sys.exit(main())"
    for words, code in ((("ls",), 0), (("ls", "--json"), 0), (("show", "nobody"), 2), (("export", "é"), 2)):
        done = run_python("-c", closed, *words, "--db", database)
        assert (words, done.returncode, done.stdout + done.stderr) == (words, code, "")


def test_the_package_is_the_command_too(run_python: Any) -> None:
    """`python -m flowfn`, where the script isn't on the path."""
    done = run_python("-m", "flowfn", "--help")
    assert (done.returncode, done.stdout == run_python("-c", COMMAND, "--help").stdout) == (0, True)
