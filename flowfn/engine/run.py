"""A run: load → (plan → attempt the tasks → apply → save)* → result.

A root run holds its thread's lease (`engine/root.py`). A nested one, of a workflow called inside a
run, has a namespace of its own on the same thread, under the same lease.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from itertools import count
from typing import TYPE_CHECKING, Any

from flowfn.cache import PROCESS
from flowfn.definition import Definition, OnDivergence
from flowfn.engine.attempt import attempt
from flowfn.engine.call import Call
from flowfn.engine.identity import Ledger, call_id, instance_id
from flowfn.engine.interrupts import Pending
from flowfn.engine.journal import checkpoint_row
from flowfn.engine.spawn import spawn
from flowfn.errors import AsyncInBlockingRun, GraphRecursionError, Suspended
from flowfn.events import CheckpointSaved, Event, TaskReused, ValuesChanged
from flowfn.policies import RetryPolicy
from flowfn.ports import Cache, CheckpointRow, Host, Serializer
from flowfn.pregel.apply import advance, apply, begin
from flowfn.pregel.plan import due, plan
from flowfn.pregel.program import Program, Task
from flowfn.pregel.view import view
from flowfn.report import CallSummary, Report
from flowfn.values import MISSING, Checkpoint, Source, Write

if TYPE_CHECKING:
    from flowfn.config import RunConfig
    from flowfn.engine.frame import Frame
    from flowfn.engine.journal import Journal
    from flowfn.engine.slots import Slots

PREVIOUS = "__previous__"

_ERRORS_KEPT = 256


@dataclass(frozen=True, slots=True)
class Hosts:
    """Where a run's code goes: `own` drives the run, sync attempts go to `threads`, async ones to `loop`."""

    own: Host
    threads: Host
    loop: Host | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Settings:
    """What a workflow was configured with, for all runs of it."""

    on_divergence: OnDivergence = "doubt"
    retry: tuple[RetryPolicy, ...] = ()
    cache: Cache = PROCESS
    store: Any = None
    context: Any = None


class Tally:
    """A number that any thread may add to."""

    __slots__ = ("_next", "_reads")

    def __init__(self) -> None:
        self._next = count()
        self._reads = 0

    def add(self) -> None:
        next(self._next)

    @property
    def value(self) -> int:
        """How often `add` was called; to be read by one thread."""
        self._reads += 1
        return next(self._next) - self._reads + 1


class Run:
    """What the tasks of one invocation of a program share."""

    def __init__(
        self,
        program: Program,
        hosts: Hosts,
        journal: Journal | None,
        config: RunConfig,
        settings: Settings,
        serde: Serializer,
        *,
        parent: Run | None = None,
        namespace: str = "",
    ) -> None:
        self.program = program
        self.hosts = hosts
        self.host = hosts.own
        self.journal = journal
        self.config = config
        self.settings = settings
        self.serde = serde
        self.parent = parent
        self.root: Run = self if parent is None else parent.root
        self.namespace = namespace
        self.thread = "" if journal is None else journal.thread
        self.checkpoint = Checkpoint("")
        self.ledger = Ledger()
        self.step = -1
        self.since: float = self.host.now() - 60.0 if parent is None else parent.root.since
        self.report: Report = Report() if parent is None else parent.root.report
        self.ran: Tally = Tally() if parent is None else parent.root.ran
        self.reused: Tally = Tally() if parent is None else parent.root.reused
        self.post: Callable[[Event], None] | None = None
        self.pause: Callable[[], Any] | None = None
        self.slots: Slots | None = None
        self.fatal: BaseException | None = None
        self.rejected: Exception | None = None
        self.pending: list[Pending] = []
        self.newcomers: list[Call] = []
        """Calls that ran while recorded ones of their name were left."""
        self.errors: dict[int, tuple[Exception, Call, int]] = {}

    spawn = staticmethod(spawn)

    # -- what attempts ask of their run ---------------------------------------------------------

    def host_of(self, definition: Definition) -> Host:
        """The host that a function's attempts belong to.

        Raises:
            AsyncInBlockingRun: it is async, and the caller of the run is not.
        """
        if not definition.is_async:
            return self.hosts.threads
        if self.hosts.loop is None:
            raise refused_async(definition.name)
        return self.hosts.loop

    @property
    def previous(self) -> Any:
        """What the last finished call on the thread saved, or None."""
        return self.checkpoint.values.get(PREVIOUS)

    def remember(self, error: Exception, call: Call, order: int) -> None:
        """Keep a recorded error, to know it should it end the run. The oldest are long since handled."""
        self.errors[id(error)] = (error, call, order)
        if len(self.errors) > _ERRORS_KEPT:
            self.errors.pop(next(iter(self.errors)))

    def replayed(self, call: Call, value: Any) -> None:
        """A record was handed back."""
        self.reused.add()
        if self.root.post is not None:
            self.root.post(TaskReused(self.namespace, self.step, call, value))

    async def reread(self, scope: str, host: Host) -> None:
        """Take the records of a failed attempt's calls up again, for the next attempt to claim."""
        if self.journal is not None:
            loaded = await self.journal.load(host, self.namespace, self.checkpoint.id)
            self.ledger.reopen(self.journal.ledger(loaded), scope)

    # -- supersteps -----------------------------------------------------------------------------

    async def go_on(self) -> Any:
        """Run supersteps until nothing is left to run; the result.

        Raises:
            Suspended: something waits for an answer.
            GraphRecursionError: more than `recursion_limit` supersteps.
            Exception: a task's own.
        """
        for _ in range(self.config.recursion_limit):
            tasks = plan(self.program, self.checkpoint)
            self._tell_checkpoint()
            if not tasks:
                return self.result()
            await self._superstep(tasks)
            await self._advance(tasks)
            if self.pause is not None:
                await self.pause()
        if due(self.program, self.checkpoint):
            raise GraphRecursionError(
                f"{self.program.name!r} did not end within {self.config.recursion_limit} supersteps: look for a "
                "loop without an exit, or raise config['recursion_limit']"
            )
        return self.result()

    def result(self) -> Any:
        """What the program makes of the values that it ends on."""
        return self.program.result(view(self.program, self.checkpoint))

    async def _superstep(self, tasks: Sequence[Task]) -> None:
        calls = [self._call_of(task) for task in tasks]
        if len(calls) == 1:
            await self.host.settle([calls[0].future])
        else:
            for call in calls:
                self.host_of(call.definition).start(call.future)
            await self.host.settle([call.future for call in calls])
        if self.root.fatal is not None:
            raise self.root.fatal
        errors = [error for call in calls if (error := _error_of(call.future)) is not None]
        for error in errors:
            if not isinstance(error, Suspended):
                raise error
        if errors:
            raise Suspended
        for task, call in zip(tasks, calls, strict=True):
            assert call.future is not None
            task.writes = task.node.output(call.future.result(0))

    def _call_of(self, task: Task) -> Call:
        """The attempt at a node: a call without a caller."""
        definition: Definition = task.node.run  # type: ignore[assignment]
        args, kwargs = task.input
        scope = call_id("", "/".join(map(str, task.path)), b"", 0)
        call = Call(self, None, definition, args, kwargs, scope)
        call.node, call.triggers = task.node, task.triggers
        call.future = self.host_of(definition).future(partial(attempt, call))
        return call

    async def _advance(self, tasks: Sequence[Task]) -> None:
        """Apply what the tasks wrote, and save the next checkpoint."""
        before = self.checkpoint
        after = advance(before, apply(self.program, before, tasks))
        self.stamp(after, before, "loop")
        self.note_orphans()
        ends = self.parent is None and not due(self.program, after)
        if self.journal is not None:
            items: list[Any] = [self._row(after, before)]
            if ends:
                items += self.journal.report_rows(self.counted_report(), before.id)
            await self.journal.write(self.host, items, status="done" if ends else None, release=ends)
        self._become(after)
        self._tell_values(before, after)

    async def take_input(self, writes: Sequence[Write]) -> None:
        """Save a checkpoint with a caller's input, giving up what was still due."""
        before = self.checkpoint
        after = advance(before, begin(self.program, before, writes))
        after.metadata = self.config.stored_metadata()
        await self.save(after, before, "input")

    async def save(self, after: Checkpoint, before: Checkpoint, source: Source) -> None:
        """Make a checkpoint the one to go on from, durably."""
        self.stamp(after, before, source)
        if self.journal is not None:
            await self.journal.write(self.host, [self._row(after, before)])
        self._become(after)

    def _row(self, after: Checkpoint, before: Checkpoint) -> CheckpointRow:
        assert self.journal is not None
        return checkpoint_row(self.journal.serde, after, self.namespace, before, self.program)

    def stamp(self, after: Checkpoint, before: Checkpoint, source: Source) -> None:
        """Give a new checkpoint its place: after another, now."""
        after.id = self.host.new_id()
        after.parent = before.id or None
        after.step = before.step + 1
        after.source = source
        after.created_at = datetime.fromtimestamp(self.host.now(), UTC).isoformat()

    def _become(self, checkpoint: Checkpoint) -> None:
        self.checkpoint = checkpoint
        self.step = checkpoint.step
        self.ledger = Ledger()

    def note_orphans(self) -> None:
        """Report what was recorded and nobody asked for."""
        all_orphans = list(self.ledger.orphans())
        orphans = list(all_orphans)
        for call in self.newcomers:
            place = (call.info.scope, call.info.qualified)
            rival = next((info for info in orphans if (info.scope, info.qualified) == place), None)
            if rival is not None:
                orphans.remove(rival)
                recorded = CallSummary(rival.name, rival.arguments, rival.site)
                self.report.add("new", recorded, call.summary, "other arguments, or another call: ran")
        self.newcomers.clear()
        for info in all_orphans:
            self.report.add("orphan", CallSummary(info.name, info.arguments, info.site), None)

    def counted_report(self) -> Report:
        """The report as it stands."""
        self.report.reused, self.report.ran = self.reused.value, self.ran.value
        return self.report

    # -- what watchers are told -----------------------------------------------------------------

    def _tell_checkpoint(self) -> None:
        if self.root.post is None or self.journal is None:
            return
        tasks = tuple(
            (
                instance_id(
                    self.thread,
                    self.namespace,
                    self.checkpoint.id,
                    call_id("", "/".join(map(str, path)), b"", 0),
                ),
                name,
            )
            for name, path, _ in due(self.program, self.checkpoint)
        )
        values = self.output_values(self.checkpoint)
        self.root.post(CheckpointSaved(self.namespace, self.thread, self.checkpoint, values, tasks))

    def _tell_values(self, before: Checkpoint, after: Checkpoint) -> None:
        if self.root.post is None:
            return
        if any(
            after.versions.get(name) != before.versions.get(name) for name in self.program.output_channels
        ):
            self.root.post(ValuesChanged(self.namespace, self.output_values(after)))

    def output_values(self, checkpoint: Checkpoint) -> Any:
        """The result as it stands at a checkpoint; MISSING where there is none."""
        state = view(self.program, checkpoint)
        if not any(name in state for name in self.program.output_channels):
            return MISSING
        return self.program.result(state)

    # -- nesting --------------------------------------------------------------------------------

    def nested(self, program: Program, settings: Settings, frame: Frame, host: Host) -> Run:
        """A run of another program inside one of this run's calls."""
        segment = (
            f"{program.name}:{instance_id(self.thread, self.namespace, self.checkpoint.id, frame.scope)}"
        )
        namespace = f"{self.namespace}|{segment}" if self.namespace else segment
        hosts = replace(self.hosts, own=host)
        inherited = replace(
            settings,
            cache=self.settings.cache if settings.cache is PROCESS else settings.cache,
            store=settings.store if settings.store is not None else self.settings.store,
            context=settings.context if settings.context is not None else self.settings.context,
        )
        return Run(
            program, hosts, self.journal, self.config, inherited, self.serde, parent=self, namespace=namespace
        )


def refused_async(name: str) -> AsyncInBlockingRun:
    """The error of a blocking run that meets an async function."""
    return AsyncInBlockingRun(
        f"{name!r} is async, and this run is blocking: call the workflow by ainvoke() or astream() (or await it), "
        "or make the function a plain def"
    )


async def execute_nested(run: Run, writes: Sequence[Write]) -> Any:
    """Run a nested program to its end, going on where an earlier attempt stopped.

    Raises:
        Suspended: something in it waits for an answer.
    """
    journal = run.journal
    loaded = None if journal is None else await journal.load(run.host, run.namespace, None)
    if loaded is not None and journal is not None:
        run.checkpoint = journal.checkpoint(loaded, run.program.channels)
        run.step = run.checkpoint.step
        run.ledger = journal.ledger(loaded)
    else:
        await run.take_input(writes)
    return await run.go_on()


def _error_of(future: Any) -> BaseException | None:
    """The error that a finished future holds; a cancelled one's is its cancellation."""
    if future.cancelled():
        return _cancellation(future)
    error: BaseException | None = future.exception(0)
    return error


def _cancellation(future: Any) -> BaseException:
    try:
        future.result(0)
    except BaseException as error:
        return error
    raise AssertionError("a cancelled future has no result")
