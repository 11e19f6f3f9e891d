"""A job whose processes die at their n-th I/O, on the machinery of `flowfn.testing`, and who looks on."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

import pytest

from checkpointers import PostgresSaver
from flowfn import Command, Interrupted, Workflow, current
from flowfn.instance_ids import instance_id
from flowfn.ports import Commit, Saver, Writes
from flowfn.row_channels import RETURN
from flowfn.testing.processes import DyingSaver, FileDisk, LivingSaver, MemoryDisk, When, at

from ..postgres_database import Database

Caller = Literal["invoke", "ainvoke", "call"]
THREAD = "job"


class PostgresDisk:
    """An empty Postgres database."""

    def __init__(self, database: Database) -> None:
        database.empty()
        self._url = database.url

    def open(self) -> PostgresSaver:
        return PostgresSaver(self._url)


class Disk:
    """What outlives a process: a SQLite file in a folder, a Postgres database, or the rows of a `MemorySaver`."""

    def __init__(self, home: Path | Database | None) -> None:
        self._inner = (
            MemoryDisk() if home is None else FileDisk(home) if isinstance(home, Path) else PostgresDisk(home)
        )

    @property
    def stride(self) -> int:
        """How many I/Os are between two at which a test lets processes die: opening Postgres costs more than a run."""
        return 5 if isinstance(self._inner, PostgresDisk) else 1

    def open(self) -> LivingSaver:
        """A saver as a new process opens it."""
        return self._inner.open()


def deaths(*savers: str) -> pytest.MarkDecorator:
    """Where a process keeps what it has, and when it dies; on a disk after a commit only.

    A saver is left the same by who dies after a commit and by who dies before the next one. It is onlookers who have
    seen more in between, whatever the saver.
    """
    places = [("memory", "before"), *((saver, "after") for saver in savers)]
    return pytest.mark.parametrize(("disk", "when"), places, indirect=["disk"])


class World:
    """What an onlooker knows of all processes: which calls ran, which were recorded, what callers saw."""

    def __init__(self) -> None:
        self.executed: list[str] = []
        self.violations: list[str] = []
        self._committed: set[str] = set()
        self._observed: dict[str, Any] = {}

    def runs(self, label: str) -> None:
        """A task's body runs: its outcome must not have been recorded before."""
        self.executed.append(label)
        if current().idempotency_key in self._committed:
            self.violations.append(f"{label} ran again though its result was recorded")

    def was_committed(self, commit: Commit) -> None:
        """A commit is durable: the calls that it has results of must never run again."""
        for item in commit.items:
            if isinstance(item, Writes):
                for row in item.rows:
                    if row.channel == RETURN:
                        key = instance_id(commit.thread, item.namespace, item.checkpoint, row.task)
                        self._committed.add(key)

    def sees(self, place: str, value: Any) -> Any:
        """Code at `place` sees a value that no two computations share: it must be the same on every replay."""
        first = self._observed.setdefault(place, value)
        if first != value:
            self.violations.append(f"{place} saw {first!r}, and after a crash {value!r}")
        return value


Build = Callable[[World, Saver], Workflow[Any, Any]]


class Job:
    """One thread of a workflow, run by one process after another until it is done."""

    def __init__(self, disk: Disk, caller: Caller, build: Build, given: Any) -> None:
        self.world = World()
        self._disk = disk
        self._caller = caller
        self._build = build
        self._input = given

    def run(self, dies_at: int | None = None, when: When = "before") -> Any:
        """Go on with the job in a new process, answering what it asks.

        Raises:
            Crash: the process died on the way.
        """
        inner = self._disk.open()
        saver = DyingSaver(inner, self.world.was_committed, at(dies_at, when))
        workflow = self._build(self.world, saver)
        try:
            if self._caller == "ainvoke":
                return asyncio.run(self._ainvoke(workflow))
            return self._invoke(workflow) if self._caller == "invoke" else self._call(workflow, saver)
        finally:
            saver.bury()
            inner.abandon()

    def _invoke(self, workflow: Workflow[Any, Any]) -> Any:
        while (given := self._next(workflow)) is not DONE:
            workflow.invoke(given, thread_id=THREAD)
        return workflow.get_state(thread_id=THREAD).values

    async def _ainvoke(self, workflow: Workflow[Any, Any]) -> Any:
        while (given := self._next(workflow)) is not DONE:
            await workflow.ainvoke(given, thread_id=THREAD)
        return workflow.get_state(thread_id=THREAD).values

    def _next(self, workflow: Workflow[Any, Any]) -> Any:
        """What an operator passes who looks at the thread: the input, answers, or None to go on."""
        state = workflow.get_state(thread_id=THREAD)
        if state.metadata is None:
            return self._input
        if not state.tasks:  # `next` leaves out the nodes whose updates only wait to be applied
            return DONE
        answers = {question.id: answer_to(question.value) for question in state.interrupts}
        return Command(resume=answers) if answers else None

    def _call(self, workflow: Any, saver: DyingSaver) -> Any:
        """Call the workflow as a function; a caller who lost the answer of a finished run looks it up."""
        while not (done := [row.id for row in saver.threads() if row.workflow and row.status == "done"]):
            try:
                workflow(self._input)
            except Interrupted as waiting:
                answers = {question.id: answer_to(question.value) for question in waiting.interrupts}
                workflow.thread(waiting.thread_id).resume(answers)
        return workflow.get_state(thread_id=done[0]).values


DONE: Any = object()


def answer_to(question: Any) -> str:
    """What the human of these tests says."""
    return f"yes to {question}"
