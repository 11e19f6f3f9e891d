"""The state of threads, read from outside a run. The shapes are LangGraph's."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from flowfn.config import RunConfig, located
from flowfn.described import choice
from flowfn.engine.ids import nested_namespace, node_scope
from flowfn.engine.questions.waiting import read_asked
from flowfn.engine.records.ledger import Ledger
from flowfn.engine.records.record import NodeRecord, Record
from flowfn.engine.records.rows import decode_checkpoint
from flowfn.engine.replay.lost import log_command_refused
from flowfn.errors import UnknownCheckpoint, UnknownPart
from flowfn.history.call_trees import folded
from flowfn.instance_ids import task_uuid
from flowfn.ports import Loaded, Saver, WriteRow
from flowfn.pregel.apply import Batch, advance, amend, apply
from flowfn.pregel.plan import due
from flowfn.pregel.program import PUSH, Program
from flowfn.pregel.view import EMPTY, shown, view
from flowfn.report import Report
from flowfn.row_channels import ERROR, REPORT, RETURN, RUN_TASK
from flowfn.streams import gathered
from flowfn.values import Checkpoint, Interrupt, PregelTask, StateSnapshot, Write

if TYPE_CHECKING:
    from flowfn.invocation import Setup


@dataclass(init=False, repr=False, eq=False)
class RecordedCall:
    """A recorded call, as `get_state` lists it under its task; values are decoded when they are read.

    Its fields are those that JSON has, so that a web application can answer with a state: a result may be anything.
    """

    __slots__ = (
        "_record",
        "answered_at",
        "answered_by",
        "arguments",
        "attempts",
        "born",
        "calls",
        "decision",
        "id",
        "name",
        "order",
        "seconds",
        "site",
        "started",
        "status",
    )

    id: str
    name: str
    arguments: str
    site: str
    status: str
    answered_by: str | None
    """Of a question, who answered it: as they said, or "deadline" for its default."""
    answered_at: datetime | None
    decision: str
    """What was said of it, and by whom, when it was in doubt; empty if nothing was."""
    started: float | None
    """When its first attempt began, in seconds since the epoch."""
    seconds: float | None
    """How long it took, retries included; None for what hasn't ended, and for questions."""
    attempts: int
    """How many attempts it took."""
    born: int
    """How many outcomes the run had when it was called."""
    order: int | None
    """Which of them is its own."""
    calls: tuple[RecordedCall, ...]

    def __init__(self, record: Record, calls: tuple[RecordedCall, ...]) -> None:
        info = record.info
        self.id = record.task
        self.name = info.name if info is not None else "?"
        self.arguments = info.arguments if info is not None else ""
        self.site = info.site if info is not None else ""
        self.status = _status(record)
        self.answered_by = record.answered.get("by")
        self.answered_at = record.answered.get("at")
        self.decision = record.decision
        timing = record.timing
        self.started = None if info is None else timing.started if timing else info.at
        self.seconds = None
        if self.status in ("done", "failed"):
            self.seconds = timing.ended - timing.started if timing else 0.0
        self.attempts = timing.attempts if timing else 1
        self.born = info.born if info is not None else 0
        self.order = record.index if record.finished else None
        self.calls = calls
        self._record: Record | _Read = record

    @property
    def result(self) -> Any:
        """Its value, its error or its answer; None while it has none."""
        return self._record.value() if self._record.finished else None

    def __getstate__(self) -> dict[str, Any]:
        """What is pickled has its value in it: what it would be read with stays in this process."""
        read = _Read(self._record.outcome, self._record.finished, self.result)
        return {name: getattr(self, name) for name in self.__slots__} | {"_record": read}

    def __setstate__(self, state: dict[str, Any]) -> None:
        for name, value in state.items():
            setattr(self, name, value)

    def __repr__(self) -> str:
        return f"<{self.name}({self.arguments}): {self.status}>"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, RecordedCall):
            return NotImplemented
        return self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self.id)

    def _key(self) -> tuple[Any, ...]:
        return (self.id, self.name, self.arguments, self.site, self.status, self._record.outcome, self.calls)


class _Read(NamedTuple):
    """A record whose value has been read."""

    outcome: WriteRow | None
    finished: bool
    read: Any

    def value(self) -> Any:
        return self.read


def _status(record: Record) -> str:
    """`done`, `failed`, `answered`; `asked`; `waiting` for an answer; `in_doubt`: under way when the process died."""
    if record.in_doubt:
        return "in_doubt"
    if record.outcome is not None:
        return {RETURN: "done", ERROR: "failed"}.get(record.outcome.channel, "answered")
    if record.question is not None:
        return "asked"
    return "waiting"


def load(saver: Saver, where: RunConfig) -> Loaded | None:
    """The stored checkpoint that a config names; None for a thread without any.

    Raises:
        UnknownCheckpoint: it names one that isn't there.
    """
    assert where.thread_id is not None
    loaded = saver.load(where.thread_id, where.checkpoint_ns, where.checkpoint_id)
    if loaded is None and where.checkpoint_id is not None:
        raise UnknownCheckpoint(
            f"thread {where.thread_id!r} has no checkpoint {where.checkpoint_id!r}: take one from get_state_history()"
        )
    return loaded


def part_at(setup: Setup, where: RunConfig) -> tuple[Setup, RunConfig]:
    """The program that runs in the namespace of a config: the workflow itself, or one nested in it.

    The config is given back with the namespace that the program's state is kept in.

    Raises:
        UnknownPart: there is none.
    """
    namespace = ""
    for segment in filter(None, where.checkpoint_ns.split("|")):
        name, _, task = segment.partition(":")
        if name.isdecimal():
            namespace = f"{namespace}|{segment}"
            continue
        part = setup.part(name)
        if part is None:
            raise UnknownPart(
                f"Subgraph {where.checkpoint_ns} not found in {setup.program.name!r}: take it from get_state()"
            )
        setup = part
        kind = "remembering" if part.remembers or not task else "anew"
        namespace = nested_namespace(namespace, name, task, kind)
    return setup, replace(where, checkpoint_ns=namespace)


def snapshot(setup: Setup, saver: Saver, where: RunConfig, parts: bool = False) -> StateSnapshot:
    """The state of a thread at the checkpoint that a config names; with `parts`, of nested programs too."""
    setup, where = part_at(setup, where)
    loaded = load(saver, where)
    if loaded is None:
        config = {"configurable": {"thread_id": where.thread_id}}
        if where.checkpoint_ns:
            config["configurable"]["checkpoint_ns"] = where.checkpoint_ns
        return StateSnapshot(shown(setup.program, EMPTY), (), config, None, None, None, (), ())
    if where.checkpoint_id is None:
        return _Reading(setup, saver, loaded).snapshot(ahead=True, parts=parts)
    after = _after(saver, loaded) if setup.program.opaque else None
    return _Reading(setup, saver, loaded, after).snapshot(ahead=False, parts=parts)


def _after(saver: Saver, loaded: Loaded) -> Loaded | None:
    """What was committed after a checkpoint, in its namespace; None for the head."""
    here, newer = loaded.checkpoint.namespace, None
    for namespace, id in saver.places(loaded.thread):
        if namespace == here:
            if id == loaded.checkpoint.id:
                return None if newer is None else saver.load(loaded.thread, here, newer)
            newer = id
    return None


def history(
    setup: Setup,
    saver: Saver,
    where: RunConfig,
    filter: Mapping[str, Any] | None,
    before: str | None,
    limit: int | None,
) -> Iterator[StateSnapshot]:
    """The states of a thread, newest first."""
    setup, where = part_at(setup, where)
    thread, found = where.thread_id, 0
    assert thread is not None
    wanted = choice(saver.serde, where.checkpoint_id, filter)
    read = partial(saver.history, thread, where.checkpoint_ns, before=before)
    if not setup.program.opaque:
        for loaded in read() if wanted is None else read(chosen=wanted):
            if limit is not None and found >= limit:
                return
            found += 1
            yield _Reading(setup, saver, loaded).snapshot(ahead=False, parts=False)
        return
    # What a checkpoint of an entrypoint came to is in the next one, whether that is wanted or not.
    after = None if before is None else saver.load(thread, where.checkpoint_ns, before)
    for loaded in read():
        newer, after = after, loaded
        if limit is not None and found >= limit:
            return
        if wanted is not None and not wanted(loaded):
            continue
        found += 1
        yield _Reading(setup, saver, loaded, newer).snapshot(ahead=False, parts=False)


class _Reading:
    """One stored checkpoint of a program, being read; `after` is the one that was committed next, if that is known."""

    def __init__(self, setup: Setup, saver: Saver, loaded: Loaded, after: Loaded | None = None) -> None:
        self.setup = setup
        self.program = setup.program
        self.saver = saver
        self.loaded = loaded
        self.namespace = loaded.checkpoint.namespace
        self.ledger = Ledger(loaded.writes, saver.serde)
        self.checkpoint = decode_checkpoint(saver.serde, loaded.checkpoint, self.program.channels)
        self.after = after
        self.root = self._root()
        self.asked = read_asked(saver.serde, self.root.writes)

    def _root(self) -> Loaded:
        """The checkpoint of the outermost run, where what waits is listed."""
        if not self.namespace:
            return self.loaded
        root = (self.checkpoint.metadata.get("parents") or {}).get("")
        found = self.saver.load(self.loaded.thread, "", root) if root else None
        return found or self.loaded

    def snapshot(self, *, ahead: bool, parts: bool) -> StateSnapshot:
        """The snapshot; `ahead` of the checkpoint by what its finished tasks have written."""
        row, program = self.loaded.checkpoint, self.program
        at = amended(program, self.checkpoint, self.ledger.commanded, self.loaded.thread)
        found = due(program, replace(at if ahead else self.checkpoint, updated=None))
        tasks = tuple(self._task(name, path, ahead, parts) for name, path, _ in found)
        done = [(name, path, writes) for name, path, _ in found if (writes := self.ledger.writes_at(path))]
        reached = self._with(at, [Batch(name, writes, path) for name, path, writes in done]) if ahead else at
        refused = reached is None
        following = names = tuple(name for name, _, _ in found)
        if ahead:  # a superstep whose tasks have all ended is to be gone on with
            waiting = [name for name, path, _ in found if refused or self.ledger.writes_at(path) is None]
            following = tuple(waiting) or names
        at = reached or at
        return StateSnapshot(
            shown(program, view(program, at)),
            following,
            self._config(row.id),
            {**self.checkpoint.metadata},
            row.created_at,
            None if row.parent is None else self._config(row.parent),
            tasks,
            tuple(interrupt for task in tasks for interrupt in task.interrupts),
        )

    def _with(self, at: Checkpoint, done: Sequence[Batch]) -> Checkpoint | None:
        """The checkpoint with what finished tasks wrote; None where a channel refuses that: the run fails with it."""
        try:
            return advance(at, apply(self.program, at, done)) if done else at
        except Exception:
            return None

    def _config(self, checkpoint: str) -> dict[str, Any]:
        """A config that names a checkpoint, and those of the runs around it."""
        return located(self.loaded.thread, self.namespace, checkpoint, self.checkpoint.metadata)

    def _task(self, name: str, path: tuple[Any, ...], ahead: bool, parts: bool) -> PregelTask:
        scope = node_scope(path)
        node = self.ledger.nodes.get(scope)
        finished = node is not None and node.finished
        task = task_uuid(self.loaded.thread, self.namespace, self.checkpoint.id, scope)
        return PregelTask(
            task,
            name,
            ("__pregel_" + path[0], *path[1:], *((False,) if path[0] == PUSH and len(path) == 2 else ())),
            None if finished and ahead else self._error(node),
            self._questions(scope, ahead),
            self._part(name, task, parts),
            _result(node.writes, self.program) if node is not None and finished else self._led_to(),
            recorded_calls(self.ledger, scope),
        )

    def _led_to(self) -> Any:
        """What a program's only node came to: it is recorded as the values of the next checkpoint alone."""
        if self.after is None or not self.program.opaque:
            return None
        after = decode_checkpoint(self.saver.serde, self.after.checkpoint, self.program.channels)
        if (after.parent, after.source) != (self.checkpoint.id, "loop"):
            return None
        return shown(self.program, view(self.program, after))

    def _error(self, node: NodeRecord | None) -> Any:
        """What the task failed with: of a node, as text; of an entrypoint, the error."""
        if node is not None:
            return node.error_text
        rows = [row for row in self.loaded.writes if row.task == RUN_TASK and row.channel == ERROR]
        recorded = not self.program.lone
        return None if recorded or not rows else self.saver.serde.loads(rows[-1].value)

    def _questions(self, scope: str, ahead: bool) -> tuple[Interrupt, ...]:
        """What the task waits for; in the past, what it asked last."""
        here = self.namespace, self.checkpoint.id, scope
        asked = [question for question in self.asked if question.holds_up(*here)]
        return tuple(question.interrupt for question in asked if not (ahead and question.answered))

    def _part(self, name: str, task: str, parts: bool) -> Any:
        """Where the state of the program nested in a node is, or that state."""
        part = self.setup.part(name)
        if part is None:
            return None
        namespace = nested_namespace(self.namespace, name, task, "anew")
        where = {"thread_id": self.loaded.thread, "checkpoint_ns": namespace}
        if not parts:
            return {"configurable": where}
        kind = "remembering" if part.remembers else "anew"
        where["checkpoint_ns"] = nested_namespace(self.namespace, name, task, kind)
        found = self.saver.load(self.loaded.thread, where["checkpoint_ns"])
        if found is None:
            return StateSnapshot(
                shown(part.program, EMPTY), (), {"configurable": where}, None, None, None, (), ()
            )
        return _Reading(part, self.saver, found).snapshot(ahead=True, parts=True)


def _result(writes: Sequence[Write], program: Program) -> Any:
    """What a task wrote, as a snapshot shows it: by channel, or the value of the only one."""
    found = gathered(writes, program.stream_channels)
    return found.get(program.stream_channels[0]) if program.lone else found


def amended(program: Program, checkpoint: Checkpoint, writes: Sequence[Write], thread: str) -> Checkpoint:
    """A checkpoint with what commands have written beside its superstep.

    What an edit of the program makes a channel refuse is left out: a thread has to be seen and changed to be mended.
    """
    if not writes:
        return checkpoint
    try:
        return advance(checkpoint, amend(program, checkpoint, writes))
    except Exception as error:
        log_command_refused(error, thread)
        return checkpoint


def recorded_calls(ledger: Ledger, scope: str) -> tuple[RecordedCall, ...]:
    """The calls recorded under a scope, each with those under it."""
    by_scope: dict[str, list[Record]] = {}
    for record in ledger.records.values():
        if record.info is not None:
            by_scope.setdefault(record.info.scope, []).append(record)
    return folded(by_scope.get(scope, ()), lambda record: by_scope.get(record.task, ()), RecordedCall)


def last_report(saver: Saver, thread: str) -> Report:
    """How the last resumed run of a thread differed from its record; empty if none was resumed."""
    head = saver.load(thread)
    while head is not None:
        for row in reversed(head.writes):
            if row.task == RUN_TASK and row.channel == REPORT:
                return Report.from_data(saver.serde.loads(row.value))
        parent = head.checkpoint.parent
        if parent is None or head.checkpoint.source == "input":
            break
        head = saver.load(thread, "", parent)
    return Report()
