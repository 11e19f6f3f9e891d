"""A process that dies at its n-th I/O, without a process.

Rule: a `Process` sees its rows through a saver that dies before or after a chosen call, and from then on
lets nothing through, as a dead process writes nothing. Rows survive in the `Disk`; the lease that the
dead process held stays written there, and is free because its owner is dead, not because it was given back.
"""

from __future__ import annotations

import asyncio
import shutil
import threading
import uuid
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Literal

from checkpointers import MemorySaver, PostgresSaver, SqliteSaver
from flowfn import Command, Interrupted, Workflow, current
from flowfn.engine.identity import RETURN, instance_id
from flowfn.ports import Busy, Commit, Lease, Loaded, Saver, ThreadRow, Writes

from ..postgres_database import Database

When = Literal["before", "after"]
Caller = Literal["invoke", "ainvoke", "call"]
THREAD = "job"


class Crash(BaseException):
    """The process is dead."""


AnySaver = MemorySaver | SqliteSaver | PostgresSaver


class Disk:
    """What outlives a process: a SQLite file in a folder, a Postgres database, or the rows of a `MemorySaver`."""

    def __init__(self, home: Path | Database | None) -> None:
        self._memory = MemorySaver() if home is None else None
        self._file = _empty_database(home) if isinstance(home, Path) else None
        self._database = home if isinstance(home, Database) else None
        if self._database is not None:
            self._database.empty()

    @property
    def stride(self) -> int:
        """How many I/Os are between two at which a test lets processes die: opening Postgres costs more than a run."""
        return 1 if self._database is None else 5

    def open(self) -> AnySaver:
        """A saver as a new process opens it."""
        if self._database is not None:
            return PostgresSaver(self._database.url)
        return self._memory or SqliteSaver(self._file or "")

    def bury(self, saver: AnySaver) -> None:
        """Let the owner of a saver be dead. Its lease rows stay, as a killed process leaves them."""
        saver._holder.close()
        if not isinstance(saver, MemorySaver):
            saver._database.close()


def _empty_database(folder: Path) -> Path:
    """A new database file: a copy of one without threads, since making one costs more than a run."""
    empty = folder / "empty.db"
    if not empty.exists():
        SqliteSaver(empty).close()
    file = folder / f"{uuid.uuid4()}.db"
    shutil.copyfile(empty, file)
    return file


class DyingSaver:
    """Passes calls on to a saver, until the n-th one kills it."""

    def __init__(self, inner: Saver, world: World, dies_at: int | None = None, when: When = "before") -> None:
        self.inner = inner
        self.serde = inner.serde
        self.dead = False
        self.calls = 0
        self._world = world
        self._dies_at = dies_at
        self._when = when
        self._lock = threading.Lock()

    @property
    def inline(self) -> bool:
        return self.inner.inline

    @property
    def keeps_deltas(self) -> bool:
        return self.inner.keeps_deltas

    def _io(self, method: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        with self._lock:
            self.calls += 1
            last = self.calls == self._dies_at
        if self.dead or (last and self._when == "before"):
            self.dead = True
            raise Crash
        result = method(*args, **kwargs)
        if last:
            self.dead = True
            raise Crash
        return result

    def commit(self, commits: Sequence[Commit], *, wait: bool = True) -> list[Any]:
        """Death comes as a refusal, so that whoever waits for a commit unwinds, and its threads end."""

        def commit() -> list[Exception | None]:
            refusals = self.inner.commit(commits, wait=wait)
            for one, refusal in zip(commits, refusals, strict=True):
                if refusal is None:
                    self._world.was_committed(one)
            return refusals

        try:
            return self._io(commit)  # type: ignore[no-any-return]
        except Crash:
            return [Crash()] * len(commits)

    def claim(self, thread: str, *, force: bool = False) -> Lease | Busy:
        return self._io(self.inner.claim, thread, force=force)  # type: ignore[no-any-return]

    def adopt(self, workflow: str, call: str) -> Lease | None:
        return self._io(self.inner.adopt, workflow, call)  # type: ignore[no-any-return]

    def release(self, lease: Lease) -> None:
        self._io(self.inner.release, lease)

    def load(self, thread: str, namespace: str = "", checkpoint: str | None = None) -> Loaded | None:
        return self._io(self.inner.load, thread, namespace, checkpoint)  # type: ignore[no-any-return]

    def history(self, thread: str | None, namespace: str | None = "", **options: Any) -> Iterator[Loaded]:
        return self._io(self.inner.history, thread, namespace, **options)  # type: ignore[no-any-return]

    def threads(self, *, limit: int | None = None) -> list[ThreadRow]:
        return self._io(self.inner.threads, limit=limit)  # type: ignore[no-any-return]

    def thread(self, thread: str) -> ThreadRow | None:
        return self._io(self.inner.thread, thread)  # type: ignore[no-any-return]

    def delete_thread(self, thread_id: str) -> None:
        self._io(self.inner.delete_thread, thread_id)

    def close(self) -> None:
        self._io(self.inner.close)


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
        saver = DyingSaver(inner, self.world, dies_at, when)
        workflow = self._build(self.world, saver)
        try:
            if self._caller == "ainvoke":
                return asyncio.run(self._ainvoke(workflow))
            return self._invoke(workflow) if self._caller == "invoke" else self._call(workflow, saver)
        finally:
            self._disk.bury(inner)

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
