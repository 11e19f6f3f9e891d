"""G2: a program that was moved or renamed as a whole, file or class, between a kill and the resume."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = """
import os
import sys

from flowfn import entrypoint, task


class Shop:
    @task
    def charge(self, n):
        print("charged", n, flush=True)
        return n

    @entrypoint(checkpointer="runs.db")
    def run(self, n):
        receipt = self.charge(n).result()
        if "die" in sys.argv:
            os._exit(9)
        return receipt


@task
def charge(n):
    print("charged", n, flush=True)
    return n


@entrypoint(checkpointer="runs.db")
def pay(n):
    receipt = charge(n).result()
    if "die" in sys.argv:
        os._exit(9)
    return receipt


if __name__ == "__main__":
    thread = (Shop().run if "method" in sys.argv else pay).thread("t")
    print("got", thread(1) if "call" in sys.argv else thread.resume())
"""


CHARGE = """
from flowfn import task


@task
def charge(n):
    print("charged", n, flush=True)
    return n
"""

PAY = """
import os
import sys

from flowfn import entrypoint
{before}


@entrypoint(checkpointer="runs.db", name="bank.pay")
def pay(n):
    {inside}
    receipt = charge(n).result()
    if "die" in sys.argv:
        os._exit(9)
    return receipt


thread = pay.thread("t")
print("got", thread(1) if "call" in sys.argv else thread.resume())
"""


class Folder:
    """Scripts in a folder, and what a process that runs one says."""

    def __init__(self, folder: Path, installed: Path) -> None:
        self.folder = folder
        self._environment = {**os.environ, "PYTHONPATH": str(installed), "PYTHONDONTWRITEBYTECODE": "1"}

    def lay_out(self, name: str, text: str) -> None:
        """Write a module of a package, which stays there."""
        (self.folder / name).parent.mkdir(exist_ok=True)
        (self.folder / name).write_text(text)

    def run(self, name: str, text: str, *arguments: str) -> tuple[list[str], str]:
        """The lines that a script printed, and the last one of what it said beside; only that file is there."""
        for other in self.folder.glob("*.py"):
            other.unlink()
        (self.folder / name).write_text(text)
        ended = subprocess.run(
            [sys.executable, name, *arguments],
            cwd=self.folder,
            env=self._environment,
            capture_output=True,
            text=True,
        )
        return ended.stdout.splitlines(), (ended.stderr.splitlines() or [""])[-1]


@pytest.fixture
def folder(tmp_path: Path, installed: Path) -> Folder:
    """An empty folder."""
    return Folder(tmp_path, installed)


def test_a_workflow_whose_file_was_renamed_with_its_tasks_is_refused(folder: Folder) -> None:
    """Nothing of the record would be its own; under the old names of both, all is."""
    assert folder.run("app.py", PROGRAM, "call", "die") == (["charged 1"], "")
    printed, error = folder.run("shop.py", PROGRAM)
    assert printed == []
    assert "keep its name and theirs with @entrypoint(name='app.pay') and @task(name='app.charge')" in error
    named = PROGRAM.replace('"runs.db")\ndef pay', '"runs.db", name="app.pay")\ndef pay')
    printed, error = folder.run("shop.py", named)
    assert (printed, "@task(name='app.charge')" in error) == ([], True)
    named = named.replace("@task\ndef charge", '@task(name="app.charge")\ndef charge')
    assert folder.run("shop.py", named)[0] == ["got 1"]


def test_a_workflow_whose_class_was_renamed_with_its_tasks_is_refused(folder: Folder) -> None:
    """The same of methods."""
    folder.run("app.py", PROGRAM, "method", "call", "die")
    renamed = PROGRAM.replace("Shop", "Store")
    printed, error = folder.run("app.py", renamed, "method")
    assert printed == []
    assert "@entrypoint(name='app.Shop.run') and @task(name='app.Shop.charge')" in error


def test_a_workflow_with_a_name_of_its_own_may_import_its_tasks_as_it_runs(folder: Folder) -> None:
    """What it will import may go by the recorded names, as the workflow's own name doesn't say where they are."""
    folder.lay_out("bank/tasks.py", CHARGE)
    text = PAY.format(before="", inside="from bank.tasks import charge")
    assert folder.run("app.py", text, "call", "die") == (["charged 1"], "")
    assert folder.run("app.py", text)[0] == ["got 1"]


def test_a_workflow_with_a_name_of_its_own_whose_tasks_were_moved_is_refused(folder: Folder) -> None:
    """They are there already, and go by another module."""
    folder.lay_out("bank/tasks.py", CHARGE)
    folder.run("app.py", PAY.format(before="from bank.tasks import charge", inside=""), "call", "die")
    folder.lay_out("bank/till.py", CHARGE)
    printed, error = folder.run("app.py", PAY.format(before="from bank.till import charge", inside=""))
    assert (printed, "@task(name='bank.tasks.charge')" in error) == ([], True)


def test_a_workflow_that_was_moved_alone_goes_on(folder: Folder) -> None:
    """A workflow in another class, whose tasks are where they were, takes up their records."""
    folder.run("app.py", PROGRAM, "call", "die")
    moved = PROGRAM.replace("\n@entrypoint", "\nclass Till:\n @staticmethod\n @entrypoint").replace(
        "\ndef pay", "\n def pay"
    )
    moved = moved.replace("else pay)", "else Till.pay)")
    assert folder.run("app.py", moved)[0] == ["got 1"]
