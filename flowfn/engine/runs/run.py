"""What the tasks of one invocation of a program share: where it stands, what is recorded, who watches.

A root run holds its thread's lease (`engine/runs/lead.py`). A nested one, of a workflow called inside a
run, has a namespace of its own on the same thread, under the same lease (`engine/runs/nesting.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Literal

from flowfn.engine.calls.spawn import spawn
from flowfn.engine.hosts import Hosts, refused_async
from flowfn.engine.records.backlog import Item
from flowfn.engine.records.ledger import Ledger
from flowfn.engine.records.rows import Encoded, checkpoint_row, encoded_metadata
from flowfn.engine.replay.lost import forget_ways, log_dropped, log_refused
from flowfn.engine.replay.refusing import refuse_losses
from flowfn.engine.runs.root import Root
from flowfn.events import Event, TaskReused
from flowfn.instance_ids import task_uuid
from flowfn.ports import CheckpointRow, Host, Loaded, Serializer
from flowfn.pregel.apply import Batch, advance, amend, apply, begin
from flowfn.pregel.program import PULL, Program, Steps
from flowfn.pregel.view import view
from flowfn.python.cached_property import cached_property
from flowfn.values import MISSING, Checkpoint, Source, Write

if TYPE_CHECKING:
    from flowfn.config import RunConfig
    from flowfn.definition import Definition
    from flowfn.engine.calls.call import Call
    from flowfn.engine.calls.frame import Frame
    from flowfn.engine.records.journal import Journal
    from flowfn.engine.records.reader import Reader
    from flowfn.engine.runs.places import Places
    from flowfn.engine.settings import Settings
    from flowfn.pregel.program import Task

PREVIOUS = "__previous__"

NO_VALUES: Mapping[str, Any] = {}

_NOTHING: frozenset[str] = frozenset()


class Run:
    """What the tasks of one invocation of a program share."""

    thread: str = ""
    made: bool = False
    """Whether it made the checkpoint that it stands at itself, so that only it can have recorded anything there."""
    step: int = -2
    stop: int = 0
    tasks: Sequence[Task] = ()
    """Of the superstep under way; those that have finished have their writes."""
    breakpoint: Literal["interrupt_before", "interrupt_after"] | None = None
    """Which kind of breakpoint it stopped at."""
    came_to: Sequence[Write] | None = None
    """What its only node wrote when it ended, where that runs again for who reads the stream: it stays what it was."""
    post: Callable[[Event], None] | None = None
    """Told of what happens, where somebody watches this run or one around it."""
    readers: tuple[Reader, ...] = ()
    """Who reads its stream, or that of a run around it, inside the run that calls it; the outermost first."""
    was_named: str | None = None
    """What its only node was called when it recorded its calls, if that was another name."""
    depth = 0
    """How many runs there are around it."""
    slots: Places | None = None
    """Where its calls have a place under `max_concurrency`: those of the run around it, if there is a limit there."""
    pause: Callable[[], Any] | None = None
    """Waits between supersteps until whoever watches has caught up."""
    before_work: Callable[[int], Any] | None = None
    """The same before so many tasks begin, of which has been told."""
    _managed: tuple[Steps, Mapping[str, Any]] = Steps(-1, -1), NO_VALUES
    since: float = 0.0
    """When the checkpoint that it stands at was made, in seconds since the epoch; 0 where nothing is recorded."""
    _unrecorded: str = ""
    """What the checkpoints of a run that keeps none go by, so that ids of tasks and messages are its own."""
    _stamped: float = 0.0
    """When it made its last one."""
    _metadata: tuple[dict[str, Any], bytes] | None = None
    """Of all its checkpoints, once one was made: what the caller gave, and where the runs around it stand, which don't
    move while it runs; and that as bytes."""

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
        frame: Frame | None = None,
        place: Callable[[], str] = str,
        remembers: bool = False,
    ) -> None:
        self.program = program
        self.hosts = hosts
        self.host = hosts.own
        self.journal = journal
        self.config = config
        self.settings = settings
        self.serde = serde
        self.parent = parent
        self.frame = frame
        """The attempt that a nested run is part of."""
        self._place = place
        self.remembers = remembers
        """Whether, nested, it goes on from where its program was when it last ran on the thread."""
        self.call: str | None = frame.call.id if remembers and frame is not None else None
        """Which call one that remembers is part of; the others have a namespace of their own for each."""
        self.checkpoint: Checkpoint = Checkpoint("")
        self.ledger: Ledger = Ledger()
        self.newcomers: list[Call] = []
        """Calls that ran while recorded ones of their name were left."""
        self.callers: dict[str, Definition] = {}
        """Of a resumed run: the functions that were called again, by the scope of what they call."""
        self.interrupt_before: Collection[str] | Literal["*"] = program.interrupt_before
        self.interrupt_after: Collection[str] | Literal["*"] = program.interrupt_after
        self.root = self._joined(parent)
        if self.root.rehearsal is not None:
            self.root.rehearsal.runs.append(self)

    def _joined(self, parent: Run | None) -> Root:
        """What it shares with the runs around it, if it is nested; else it is the root itself."""
        if parent is not None:
            self.thread, self.post, self.readers = parent.thread, parent.post, parent.readers
            self.depth, self.slots = parent.depth + 1, parent.slots
            return parent.root
        root = Root(self.host)
        if self.journal is not None:
            self.thread, self.journal.ends = self.journal.thread, root.end
        return root

    spawn = staticmethod(spawn)

    @cached_property
    def namespace(self) -> str:
        """Where it stands on its thread: who keeps nothing, and isn't watched, is hardly ever asked.

        Those around it are named first, the outermost before all: there may be more of them than a stack has room for.
        """
        unnamed, around = [], self.parent
        while around is not None and "namespace" not in vars(around):
            unnamed.append(around)
            around = around.parent
        for run in reversed(unnamed):
            vars(run).setdefault("namespace", run._place())
        return self._place()

    # -- what attempts ask of their run ---------------------------------------------------------

    def host_of(self, definition: Definition) -> Host:
        """The host that a function's attempts belong to.

        Raises:
            AsyncInBlockingRun: it is async, and the caller of the run is not.
        """
        if not definition.is_async:
            return self.hosts.threads
        if self.hosts.loop is None:
            raise refused_async(definition.awaits or definition.name)
        return self.hosts.loop

    def hosts_itself(self, definition: Definition) -> bool:
        """Whether a function's attempts belong to the host that drives the run."""
        return (self.hosts.loop if definition.is_async else self.hosts.threads) is self.host

    @property
    def previous(self) -> Any:
        """What the last finished call on the thread saved, or None."""
        return self.checkpoint.values.get(PREVIOUS)

    def replayed(self, call: Call, value: Any) -> None:
        """A record was handed back."""
        self.root.reused.count()
        if self.post is not None:
            self.post(TaskReused(self.namespace, self.step, call, value))

    async def reread(self, scope: str, host: Host) -> None:
        """Take the records of a failed attempt's calls up again, for the next attempt to claim."""
        if self.journal is not None:
            loaded = await self.journal.load(host, self.namespace, self.checkpoint.id)
            self.ledger.reopen(self.journal.ledger(loaded), scope)

    # -- where it stands --------------------------------------------------------------------------

    def stand_at(self, checkpoint: Checkpoint, ledger: Ledger | None = None, *, made: bool = True) -> None:
        """Go on from a checkpoint, with what is recorded under it: nothing, of one that the run `made`, and stored."""
        if made:
            checkpoint.touched = _NOTHING
            self.since = self._stamped
        elif checkpoint.created_at:
            self.since = datetime.fromisoformat(checkpoint.created_at).timestamp()
        left, self.checkpoint = self.checkpoint, checkpoint
        self.made = made
        self.step = checkpoint.step
        if ledger is not None:
            self.ledger = ledger
            return
        if not self.ledger.is_empty:
            self.ledger = Ledger()
        if self.root.asks and left.call in (None, self.call):
            self.root.questions.forget(self.thread, self.namespace, left.id if self.remembers else None)

    async def settle_edits(self, loaded: Loaded, *, commanded: bool) -> None:
        """Refuse to pass over what an edit of the program would lose, unless a command says where to go.

        Raises:
            NonDeterminismError: there is such a thing. Nothing has run.
        """
        if not (commanded or self.ledger.commanded):
            await refuse_losses(self, loaded)
        forget_ways(self.checkpoint, self.program)

    def set_out(self) -> None:
        """Count the supersteps that the run may take from here, as LangGraph counts them.

        The superstep of a caller's input counts as one, and so does the one that finds nothing to do.
        """
        self.stop = self.step + self.config.recursion_limit + 2

    @property
    def managed(self) -> Mapping[str, Any]:
        """What nodes may read of the superstep that is planned; the same for all of them."""
        if not self.program.managed:
            return NO_VALUES
        known, values = self._managed
        if known.step != self.step + 1 or known.stop != self.stop:
            steps = Steps(self.step + 1, self.stop)
            values = self.program.managed_at(steps)
            self._managed = steps, values
        return values

    @property
    def parents(self) -> dict[str, str]:
        """The checkpoint that each run around this one stands at, by its namespace."""
        around = self.parent
        return {} if around is None else {**around.parents, around.namespace: around.checkpoint.id}

    def result(self) -> Any:
        """What the program makes of the values that it ends on."""
        return self.program.result(view(self.program, self.checkpoint))

    def result_at(self, checkpoint: Checkpoint) -> Any:
        """The result as it stands at a checkpoint; MISSING where there is none."""
        state = view(self.program, checkpoint)
        if not any(name in state for name in self.program.output_channels):
            return MISSING
        return self.program.result(state)

    @property
    def begins_a_branch(self) -> bool:
        """Whether it stands at an update or a copy after which nothing was done: a replay there needs no other."""
        return self.checkpoint.source in ("update", "fork") and not any(
            node.finished for node in self.ledger.nodes.values()
        )

    async def fork(self, writes: Sequence[Write] = ()) -> None:
        """Go on from an older checkpoint: a copy of it becomes the head; what was recorded there runs anew.

        Where runs inside it are to go back as well, they do so in the same commit: alone, it would begin them anew.
        """
        before = self.checkpoint
        changes = amend(self.program, before, writes)
        after = advance(before, changes)
        log_dropped(self.program, changes, after)
        if self.may_hold and self.root.back is not None and self.root.back.inside:
            assert self.journal is not None
            self.stamp(after, "fork")
            self.journal.hold_until_next([self.row(after)])
            self.stand_at(after)
        else:
            await self.save(after, "fork")

    def ahead(self) -> Checkpoint:
        """The checkpoint with what the finished tasks of the superstep under way have written."""
        done = [Batch(task.name, task.writes, task.path) for task in self.tasks if task.writes]
        before = self.checkpoint
        return advance(before, apply(self.program, before, done)) if done else before

    async def take_input(self, writes: Sequence[Write], *, commanded: bool = False) -> None:
        """Save a checkpoint with a caller's input; what was due is given up, but for what it has written.

        Where no code runs before the next one, and nobody watches, it goes with that. What a command writes into a
        state that is there leads to any node, whose code runs at once.
        """
        if self.journal is None and self.post is None and self._passed_on(writes):
            return
        before = self.checkpoint
        forget_ways(before, self.program)
        changes = begin(self.program, before, writes, self.ledger.left_at)
        log_refused(changes, self.thread)
        after = advance(before, changes)
        if changes.ignored or self.program.sends in (changes.updated or ()):
            log_dropped(self.program, changes, after)
        if commanded or not self.may_hold or not self.program.passes_on:
            await self.save(after, "input")
            return
        self.stamp(after, "input")
        self.hold([self.row(after)])
        self.stand_at(after)

    def _passed_on(self, writes: Sequence[Write]) -> bool:
        """Stand where the first superstep leads, of a run that keeps nothing and that nobody watches: whatever comes
        before a node's own code can't be seen.

        False where that superstep has code of the author's or a breakpoint, or fails: then it is run, and says why.
        """
        program, before = self.program, Checkpoint("")
        channels = tuple(channel for channel, _ in writes)
        if not program.passes_on or channels != program.input_channels:
            return False
        if self.interrupt_before or self.interrupt_after:
            return False
        (node,) = [program.nodes[name] for name in program.subscribers[channels[0]]]
        definition: Definition = node.run  # type: ignore[assignment]
        args, kwargs = node.spread(writes[0].value)
        self.stamp(before, "input")
        try:
            passed = node.output(definition.function(*args, **kwargs))
            changes = apply(program, before, [Batch(node.name, passed, (PULL, node.name), node.triggers)])
        except Exception:
            return False
        self.stand_at(before)
        after = advance(before, changes)
        if changes.ignored or program.sends in (changes.updated or ()):
            log_dropped(program, changes, after)
        self.stamp(after, "loop")
        self.stand_at(after)
        return True

    @property
    def may_hold(self) -> bool:
        """Whether a checkpoint of it may go with a later commit: nobody is shown what isn't stored."""
        return self.journal is not None and self.post is None

    def hold(self, items: Sequence[Item], closed: Iterable[str] = ()) -> None:
        """Have a checkpoint, and what goes with it, committed with what comes after it; see `Journal.hold`."""
        assert self.journal is not None
        self.journal.hold(self.namespace, items, closed)

    async def save(self, after: Checkpoint, source: Source) -> None:
        """Make a checkpoint the one to go on from, durably."""
        self.stamp(after, source)
        if self.journal is not None:
            await self.journal.write(self.host, [self.row(after)])
        self.stand_at(after)

    def row(self, after: Checkpoint, encoded: Encoded | None = None) -> CheckpointRow:
        """A checkpoint as a row, with the values that changed since the one before it."""
        assert self.journal is not None
        assert self._metadata is not None
        said = self._metadata[1]
        return checkpoint_row(self.journal.serde, after, self.namespace, self.program, said, encoded=encoded)

    def stamp(self, after: Checkpoint, source: Source) -> None:
        """Give a new checkpoint its place: after the last one, now."""
        before = self.checkpoint
        after.step = before.step + 1
        after.source = source
        after.call = self.call
        if self.journal is None:
            self._unrecorded = self._unrecorded or self.host.new_id()
            after.id = f"{self._unrecorded} {after.step}"
            return
        after.id = self.host.new_id(before.id)
        after.parent = before.id or None
        self._stamped = self.host.now()
        after.created_at = datetime.fromtimestamp(self._stamped, UTC).isoformat()
        if self._metadata is None:
            said = {**self.config.stored_metadata(), "parents": self.parents}
            self._metadata = said, encoded_metadata(self.journal.serde, said)
        after.metadata = self._metadata[0]

    def tell(self, event: Event) -> None:
        """Tell whoever watches; see `engine/runs/telling.py` for where it stands."""
        if self.post is not None:
            self.post(event)

    def task_id(self, scope: str) -> str:
        """The public id of a task of the superstep."""
        return task_uuid(self.thread, self.namespace, self.checkpoint.id, scope)
