"""Programs that are edited between a kill and the resume.

Rule: a version is a whole module file, `app.py`, so that code fingerprints change as they do in life.
`record` runs a version that dies where it calls `die()`; `resume` runs the same version, or another, on
what was recorded, and survives.
"""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path
from textwrap import dedent, indent
from typing import Any, NamedTuple

from checkpointers import SqliteSaver
from flowfn import Command
from flowfn.report import CallSummary, Report

HEAD = """
import asyncio
import datetime
import secrets
import time
import uuid

import flowfn
from flowfn import entrypoint, gather, interrupt, task

RAN = []
DIES = []


class Killed(BaseException):
    pass


def kill():
    raise Killed


def die():
    if DIES:
        DIES.pop()()


@task
def fetch(url):
    RAN.append(f"fetch({url!r})")
    return f"R({url})"


@task
def store(item):
    RAN.append(f"store({item!r})")
    return f"S({item})"


@task
def stamp(item, when):
    RAN.append(f"stamp({item!r})")
    return f"T({item})"


@task
async def step(name):
    await asyncio.sleep(0)
    RAN.append(f"step({name!r})")
    return f"R({name})"
"""


class Outcome(NamedTuple):
    """What one process came to: its result (None if it died), the bodies that ran, the thread's report."""

    result: Any
    ran: list[str]
    report: Report


class Edited:
    """One thread, and the versions of `app.py` that run on it, each as a module of this process."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._versions = 0
        self.saver = SqliteSaver(folder / "runs.db")
        self.error: Exception | None = None

    def record(self, body: str, given: Any = 0, **options: Any) -> Outcome:
        """Run a version from its beginning until it dies."""
        return self.run(body, given, dies=True, **options)

    def resume(self, body: str, **options: Any) -> Outcome:
        """Go on with another version, or with the same."""
        return self.run(body, None, **options)

    def answer(self, body: str, answer: Any, **options: Any) -> Outcome:
        """Answer the question that the thread waits on."""
        return self.run(body, Command(resume=answer), **options)

    def run(
        self, body: str, given: Any, *, dies: bool = False, head: str = HEAD, options: str = ""
    ) -> Outcome:
        """Run a version; an error that it raises is in `error`."""
        self._versions += 1
        app = self._load(source(body, head, options))
        if dies:
            app.DIES.append(app.kill)
        result, self.error = None, None
        try:
            result = app.run(given)
        except app.Killed:
            assert dies
        except Exception as error:
            self.error = error
        thread = app.flow.thread("job")
        self.state = thread.state
        return Outcome(result, app.RAN, thread.report)

    def _load(self, text: str) -> Any:
        """The text as the module `app`, from a file of its own, as another process would import it."""
        folder = self.folder / str(self._versions)
        folder.mkdir()
        (folder / "app.py").write_text(text)
        spec = importlib.util.spec_from_file_location("app", folder / "app.py")
        assert spec is not None
        assert spec.loader is not None
        app = importlib.util.module_from_spec(spec)
        app.__dict__["SAVER"] = self.saver
        sys.modules["app"] = app
        spec.loader.exec_module(app)
        return app


class EditedScript(Edited):
    """The same, where each version is a script of that name in a process that dies by `os._exit`."""

    def __init__(self, folder: Path, installed: Path) -> None:
        self.folder = folder
        self._environment = {**os.environ, "PYTHONPATH": str(installed), "PYTHONDONTWRITEBYTECODE": "1"}

    def run(
        self, body: str, given: Any, *, dies: bool = False, head: str = HEAD, options: str = ""
    ) -> Outcome:
        text = "SAVER = 'runs.db'\n" + source(body, head, options) + SCRIPT
        (self.folder / "app.py").write_text(text)
        finished = subprocess.run(
            [sys.executable, "app.py", json.dumps(given), json.dumps(dies)],
            cwd=self.folder,
            env=self._environment,
            capture_output=True,
            text=True,
        )
        assert finished.returncode == (9 if dies else 0), finished.stderr
        told = json.loads(finished.stdout)
        return Outcome(told["result"], told["ran"], Report.from_data(told["report"]))


SCRIPT = """
import json
import os
import sys


def tell(result):
    report = flow.thread("job").report.to_data()
    print(json.dumps({"result": result, "ran": RAN, "report": report}), flush=True)


def leave():
    tell(None)
    os._exit(9)


given, dies = map(json.loads, sys.argv[1:])
if dies:
    DIES.append(leave)
tell(run(given))
"""


def source(body: str, head: str = HEAD, options: str = "") -> str:
    """A version: tasks, and a workflow `flow(n)` with this body, a coroutine if it awaits."""
    colour = "async def" if "await " in body else "def"
    run = (
        "asyncio.run(flow.ainvoke(given, thread_id='job'))"
        if "await " in body
        else "flow.invoke(given, thread_id='job')"
    )
    arguments = ", ".join(filter(None, ["checkpointer=SAVER", options]))
    return (
        f"{head}\n\n@entrypoint({arguments})\n{colour} flow(n):\n{indent(dedent(body), '    ')}\n"
        f"\n\ndef run(given):\n    return {run}\n"
    )


def kinds(report: Report) -> list[str]:
    """The kinds of a report's differences, in order."""
    return [difference.kind for difference in report]


def shown(call: CallSummary | None) -> str:
    """A call as `name(arguments)`, without the place that it was made at."""
    return "-" if call is None else f"{call.name}({call.arguments})"


def rows(report: Report) -> list[tuple[str, str, str]]:
    """A report's differences as (kind, recorded, current)."""
    return [(row.kind, shown(row.recorded), shown(row.current)) for row in report]
