#!/usr/bin/env python3
"""Run flowfn from a checkout, with Python and nothing else installed.

    python3 dev.py demo [...]    watch a durable job being killed and going on where it stopped
    python3 dev.py test [...]    run the tests; what follows goes to pytest
    python3 dev.py venv DIR      make an empty virtual environment with pip in it

`demo` and `test` keep the project installed in `.venv`, made anew whenever it is missing, broken or
older than `pyproject.toml`. FLOWFN_VENV=DIR names an environment to use as it is instead.

Rule: the standard library only, and syntax that an old Python can read, so that it can say it is too old.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent
OLDEST = (3, 11)
PROBE = "import flowfn, pytest, typer"
WORKERS = ("-n", "auto", "--maxprocesses", "4", "--maxschedchunk", "8")
"""The tests run side by side on what cores there are, handed out a few at a time, so that all end together; `test -n 0`
runs them in one process."""
MEMORY, ROOM = Path("/dev/shm"), 2 << 30
"""Linux has a folder in memory; the tests' files go there if it has so many bytes left."""
NO_PIP = """\
this Python cannot make a virtual environment: it has no ensurepip, and no pip that could fetch itself.
On Debian or Ubuntu: apt install python3-venv. Otherwise run dev.py with another Python."""


class Refusal(Exception):
    """Something that the person at the keyboard has to change; the message says what."""


def main(arguments: list[str]) -> int:
    if sys.version_info < OLDEST:
        found = ".".join(map(str, sys.version_info[:2]))
        raise Refusal(f"flowfn needs Python 3.11 or newer, and {sys.executable} is {found}.")
    if arguments[:1] == ["demo"]:
        return run(script(environment(), "flowfn"), *arguments)
    if arguments[:1] == ["test"]:
        venv = environment()
        keep_files_in_memory()
        keep_bytecode(venv)
        return run(script(venv, "python"), "-P", "-m", "pytest", *WORKERS, *arguments[1:])
    if arguments[:1] == ["venv"] and len(arguments) == 2:
        make(Path(arguments[1]))
        return 0
    print(__doc__)
    return 0 if arguments in (["-h"], ["--help"]) else 2


def environment() -> Path:
    """The directory of an environment that has flowfn installed."""
    given = os.environ.get("FLOWFN_VENV")
    if given:
        return Path(given).resolve()
    venv = ROOT / ".venv"
    if not ready(venv):
        install(venv)
    return venv


def ready(venv: Path) -> bool:
    """Whether `venv` was finished for this very checkout and still works."""
    try:
        if stamp(venv).read_text() != fingerprint():
            return False
        return succeeds(script(venv, "python"), "-P", "-c", PROBE)
    except OSError:
        return False


def install(venv: Path) -> None:
    """Make `venv` and put the project into it, editable; the stamp comes last."""
    say(f"setting up {venv} (once; a minute or two)")
    make(venv)
    pip = [script(venv, "python"), "-m", "pip", "install", "-qq", "--disable-pip-version-check"]
    if run(*pip, "--constraint", ROOT / "constraints.txt", "--editable", f"{ROOT}[dev]"):
        raise Refusal("pip could not install the project; what it said is above.")
    stamp(venv).write_text(fingerprint())


def keep_files_in_memory() -> None:
    """Let tests wait for no disk, which takes longer than most of them, unless `TMPDIR` says where files go."""
    if roomy(MEMORY):
        os.environ.setdefault("TMPDIR", str(MEMORY))


def keep_bytecode(venv: Path) -> None:
    """Let the processes of tests wait for no compiler: who wants no bytecode in the checkout has it in `venv`."""
    if os.environ.pop("PYTHONDONTWRITEBYTECODE", ""):
        os.environ.setdefault("PYTHONPYCACHEPREFIX", str(venv / "bytecode"))


def roomy(folder: Path) -> bool:
    """Whether a folder has room for the tests' files, and programs in it may be run."""
    try:
        found = os.statvfs(folder)
    except (AttributeError, OSError):  # Windows has no such call, and macOS no such folder
        return False
    return found.f_bavail * found.f_frsize > ROOM and not found.f_flag & os.ST_NOEXEC


def make(venv: Path) -> None:
    """Make an environment with pip, also where Python came without ensurepip, as Debian's does."""
    empty(venv)
    if succeeds(sys.executable, "-m", "venv", venv):
        return
    empty(venv)
    pip = [sys.executable, "-m", "pip", "--python", script(venv, "python"), "install", "-qq", "pip"]
    if not (succeeds(sys.executable, "-m", "venv", "--without-pip", venv) and succeeds(*pip)):
        raise Refusal(NO_PIP)


def empty(path: Path) -> None:
    """Make an empty directory, whatever stood there."""
    try:
        if path.is_symlink() or path.is_file():
            path.unlink()
        elif path.exists():
            shutil.rmtree(path)
        path.mkdir(parents=True)
    except OSError as error:
        raise Refusal(
            f"cannot replace {path} ({error.strerror}): remove it, or use a clone of your own."
        ) from None


def script(venv: Path, name: str) -> Path:
    return venv / "Scripts" / f"{name}.exe" if os.name == "nt" else venv / "bin" / name


def stamp(venv: Path) -> Path:
    return venv / "flowfn.stamp"


def fingerprint() -> str:
    """Changes when the environment has to be made anew."""
    parts = [str(ROOT).encode(), sys.version.encode()]
    parts += [(ROOT / name).read_bytes() for name in ("pyproject.toml", "constraints.txt")]
    return hashlib.sha256(b"\0".join(parts)).hexdigest()


def run(*command: object) -> int:
    """Run a command in the project's directory; its exit code."""
    return subprocess.run([str(word) for word in command], cwd=ROOT).returncode


def succeeds(*command: object) -> bool:
    """Whether a command ends well; what it prints is dropped."""
    words = [str(word) for word in command]
    return subprocess.run(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode == 0


def say(text: str) -> None:
    print(f"dev.py: {text}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except Refusal as refusal:
        say(str(refusal))
        sys.exit(1)
    except KeyboardInterrupt:
        sys.exit(130)
