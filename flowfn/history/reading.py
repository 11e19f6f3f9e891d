"""What is recorded of a thread, read without the program that wrote it.

Values whose types only the program knows can't be restored here; `Unreadable` stands for them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from typing import Any

from flowfn.described import metadata_of
from flowfn.engine.questions.waiting import read_pending
from flowfn.engine.records.ledger import Ledger
from flowfn.engine.records.record import DOUBT, NodeRecord
from flowfn.errors import DecryptionError, FlowError
from flowfn.history.call_trees import folded, with_inner
from flowfn.history.state import RecordedCall, recorded_calls
from flowfn.history.supersteps import NodeTask, leads_to, node_tasks
from flowfn.instance_ids import task_uuid
from flowfn.ports import CheckpointRow, Loaded, Saver, Serializer, ThreadRow, Versioned
from flowfn.report import Report
from flowfn.row_channels import ERROR, QUESTION, REPORT, RUN_TASK
from flowfn.streams import gathered
from flowfn.values import Interrupt, Write

_BETWEEN = re.compile(r"(?<!\|)\|(?!\|)")
"""What stands between the parts of a namespace; of a part that is one thread's, the thread is within it."""

RESULT = "__end__"

CHANNELS = {"__start__": "input", RESULT: "result", "__previous__": "previous"}
"""What the channels of an entrypoint are called here."""


@dataclass(frozen=True, repr=False)
class Unreadable:
    """A value that is stored and can't be restored here; `why` names its type, or its key."""

    why: str
    shown: str = "<known to the program only>"

    def __repr__(self) -> str:
        return self.shown


@dataclass(frozen=True)
class CallView:
    """A recorded call, or a node of a graph's superstep, with the calls made under it.

    `status` is `done`, `failed`, `asked`, `answered`, `waiting`, `running`, or `in_doubt`: under way when the run died;
    of a node also `due`: it runs when the run goes on.
    `decision` is what was said of it, and by whom, when it was in doubt.
    `started` is in seconds since the epoch, `seconds` how long it took, None while it hasn't ended; 0.0 stands for
    less than a millisecond. `known` is the last outcome that there was when the call was made, `place` its own: each as
    the step of the superstep and a number within it.

    `qualified` is the name with its module, by which a task called `sleep` is told from flowfn's own; "" of a node.

    Of a node, `step` is the number of its superstep, None for a call; `arguments` is what a `Send` gave it; `result`
    what it wrote, by channel; `leads` the nodes that this led to, as far as that is told; `id` is the task's, as
    `get_state` has it.
    """

    name: str
    arguments: str
    site: str
    status: str
    result: Any
    calls: tuple[CallView, ...]
    answered_by: str | None = None
    answered_at: datetime | None = None
    decision: str = ""
    id: str = ""
    started: float | None = None
    seconds: float | None = None
    attempts: int = 1
    known: tuple[int, int] = (0, 0)
    place: tuple[int, int] | None = None
    step: int | None = None
    leads: tuple[str, ...] = ()
    qualified: str = ""

    @property
    def label(self) -> str:
        """What was called, as it would be written; a node that was given no more than the state is its name."""
        return self.name if self.step is not None and not self.arguments else f"{self.name}({self.arguments})"


@dataclass(frozen=True)
class ThreadView:
    """A thread's last run. `result` and `error` are None where there is none."""

    row: ThreadRow
    calls: tuple[CallView, ...] = ()
    questions: tuple[Interrupt, ...] | Unreadable = ()
    result: Any = None
    error: Any = None
    report: Report = field(default_factory=Report)


def open_questions(saver: Saver, row: ThreadRow) -> tuple[Interrupt, ...] | Unreadable:
    """What a thread waits to be told."""
    if row.standing not in ("interrupted", "killed"):
        return ()
    head = saver.load(row.id)
    return () if head is None else or_unreadable(partial(_questions, saver.serde, head))


def view(saver: Saver, row: ThreadRow) -> ThreadView:
    """A thread's last run, whole."""
    run = _Run(saver, row)
    return ThreadView(
        row,
        calls=run.calls,
        questions=open_questions(saver, row),
        result=run.result() if row.status == "done" else None,
        error=run.error() if row.status == "failed" else None,
        report=run.report(),
    )


class _Run:
    """The checkpoints of a thread's last run, in the order of their commits; nested ones by the task they ran in."""

    def __init__(self, saver: Saver, row: ThreadRow) -> None:
        self.serde = saver.serde
        self.row = row
        self.own: list[Loaded] = []
        self.inside: dict[tuple[str, ...], list[Loaded]] = {}
        self.last: dict[str, str] = {}
        """The last checkpoint of each namespace."""
        for loaded in saver.history(row.id, None):
            checkpoint = loaded.checkpoint
            self.last.setdefault(checkpoint.namespace, checkpoint.id)
            self._found_in(checkpoint).insert(0, loaded)
            if not checkpoint.namespace and checkpoint.source in ("input", "fork"):
                break

    def _found_in(self, checkpoint: CheckpointRow) -> list[Loaded]:
        """Where a checkpoint goes: that of a nested run by its namespace's last part, `name:task`; of one that
        remembers, and has no task in it, also by the checkpoint around it."""
        parts = [part for part in _BETWEEN.split(checkpoint.namespace) if not part.isdecimal()]
        name, _, task = parts[-1].rpartition(":")
        if not checkpoint.namespace:
            return self.own
        if name:
            return self.inside.setdefault((task,), [])
        parents = metadata_of(checkpoint, self.serde).get("parents") or {"": ""}
        around, id = [*parents.items()][-1]
        return self.inside.setdefault((around, id, task), [])

    @property
    def calls(self) -> tuple[CallView, ...]:
        """What the run called, in the order of the records."""
        return self._calls(self.own)

    def _calls(self, checkpoints: Sequence[Loaded]) -> tuple[CallView, ...]:
        return tuple(call for loaded in checkpoints for call in self._made_under(loaded))

    def _made_under(self, loaded: Loaded) -> Iterator[CallView]:
        ledger = Ledger(loaded.writes, self.serde)
        is_last = self.last[loaded.checkpoint.namespace] == loaded.checkpoint.id
        nodes = node_tasks(loaded, ledger, self.serde, is_last)
        for node in nodes:
            yield self._node(loaded, ledger, node)
        infos = [record.info for record in ledger.records.values() if record.info is not None]
        shown = {node.scope for node in nodes}.union(ledger.records)
        for scope in dict.fromkeys(info.scope for info in infos if info.scope not in shown):
            yield from self._called(loaded, ledger, scope)

    def _node(self, loaded: Loaded, ledger: Ledger, node: NodeTask) -> CallView:
        record, step = node.record, loaded.checkpoint.step
        calls = self._called(loaded, ledger, node.scope)
        below = calls + self._nested(loaded, node.name, node.scope)
        status = self._status_of_node(record, below)
        timing = None if record is None else record.timing
        ended = status in ("done", "failed")
        writes = or_unreadable(lambda: [] if record is None else record.writes)
        return CallView(
            node.name,
            node.arguments,
            "",
            status,
            or_unreadable(lambda: record.error)
            if record is not None and status == "failed"
            else _written(writes),
            below,
            id=task_uuid(loaded.thread, loaded.checkpoint.namespace, loaded.checkpoint.id, node.scope),
            started=timing.started if timing else _began(loaded, below) if status != "due" else None,
            seconds=None if not ended else timing.ended - timing.started if timing else 0.0,
            attempts=timing.attempts if timing else 1,
            known=(step, 0),
            place=(step, 1) if ended else None,
            step=step + 1,
            leads=() if isinstance(writes, Unreadable) else leads_to(writes),
        )

    def _status_of_node(self, record: NodeRecord | None, below: Sequence[CallView]) -> str:
        """A node without writes failed, waits, is under way, died with the run, or hasn't begun."""
        if record is not None and record.finished:
            return "done"
        if record is not None and record.rows:
            return "failed"
        if any(call.status in ("asked", "waiting") for call in below):
            return "waiting"
        if self.row.status == "running":
            return "running" if self.row.owner is not None else "in_doubt"
        return "due"

    def _called(self, loaded: Loaded, ledger: Ledger, scope: str) -> tuple[CallView, ...]:
        calls = recorded_calls(ledger, scope)
        return folded(calls, lambda call: call.calls, partial(self._shown, loaded, ledger))

    def _shown(
        self, loaded: Loaded, ledger: Ledger, call: RecordedCall, calls: tuple[CallView, ...]
    ) -> CallView:
        info = ledger.records[call.id].info
        below = calls + self._nested(loaded, call.name, call.id)
        status = self._status(call.status, below)
        result = or_unreadable(lambda: call.result)
        return CallView(
            call.name,
            call.arguments,
            call.site,
            status,
            result,
            below,
            answered_by=call.answered_by,
            answered_at=call.answered_at,
            decision=call.decision,
            id=call.id,
            started=call.started,
            seconds=call.seconds,
            attempts=call.attempts,
            known=(loaded.checkpoint.step, call.born),
            place=None if call.order is None else (loaded.checkpoint.step, call.order),
            qualified="" if info is None else info.qualified,
        )

    def _nested(self, loaded: Loaded, name: str, task: str) -> tuple[CallView, ...]:
        """What ran within a call or a node that ran workflows or graphs."""
        row = loaded.checkpoint
        anew = self.inside.get((task_uuid(loaded.thread, row.namespace, row.id, task),), [])
        return self._calls([*anew, *self.inside.get((row.namespace, row.id, name), [])])

    def _status(self, recorded: str, below: Sequence[CallView]) -> str:
        """A call without an outcome is under way, waits for what is asked under it, or died with the run."""
        if recorded != "in_doubt":
            return recorded
        if any(call.status == "asked" and call.name != DOUBT for call in below):
            return "asked"
        return "running" if self.row.owner is not None else "in_doubt"

    def result(self) -> Any:
        """What the run returned; of a graph, its state."""
        channels = self.own[-1].checkpoint.values if self.own else {}
        values = {
            name: value_of(self.serde, stored)
            for name, stored in channels.items()
            if stored.value is not None and (name == RESULT or not name.startswith("__"))
        }
        return values.get(RESULT, values or None)

    def error(self) -> Any:
        """What the run failed with: its own error if recorded, else that of the last call to fail."""
        for row in self._of_run(ERROR):
            return or_unreadable(partial(self.serde.loads, row.value))
        failed = [call for call in with_inner(self.calls) if call.status == "failed"]
        return failed[-1].result if failed else None

    def report(self) -> Report:
        """How the last attempt differed from its record."""
        for row in self._of_run(REPORT):
            return Report.from_data(self.serde.loads(row.value))
        return Report()

    def _of_run(self, channel: str) -> Iterator[Any]:
        """What the run recorded of itself, the latest first."""
        for loaded in reversed(self.own):
            yield from (
                row for row in reversed(loaded.writes) if (row.task, row.channel) == (RUN_TASK, channel)
            )


def describe(error: Any) -> str:
    """A recorded error, in a line."""
    return f"{type(error).__name__}: {error}" if isinstance(error, BaseException) else str(error)


def _questions(serde: Serializer, head: Loaded) -> tuple[Interrupt, ...]:
    found = tuple(pending.interrupt for pending in read_pending(serde, head.writes))
    if not found:
        # Whose a sealed row is, is sealed as well: without the key, a run that asks looks like one that doesn't.
        for row in head.writes:
            if row.channel == QUESTION:
                serde.loads(row.value)
    return found


def value_of(serde: Serializer, stored: Versioned) -> Any:
    """A channel's value, with its changes."""

    def read() -> Any:
        whole = stored.whole()
        assert whole is not None
        return serde.loads(whole)

    return or_unreadable(read)


def _began(loaded: Loaded, below: Sequence[CallView]) -> float:
    """When a node without a time of its own began: with its superstep, unless what it called was earlier."""
    began = datetime.fromisoformat(loaded.checkpoint.created_at).timestamp()
    return min([began, *(call.started for call in below if call.started is not None)])


def _written(writes: Sequence[Write] | Unreadable) -> Any:
    """What a node wrote to the channels that its program's author made."""
    if isinstance(writes, Unreadable):
        return writes
    return gathered(writes, [write.channel for write in writes if is_shown(write.channel)]) or None


def or_unreadable(read: Callable[[], Any]) -> Any:
    """What `read` returns, or `Unreadable` where it meets what only the program, or a key, could read."""
    try:
        return read()
    except DecryptionError as error:
        return Unreadable(str(error), "<encrypted>")
    except FlowError as error:
        return Unreadable(str(error))


def is_shown(channel: str) -> bool:
    """Whether a channel holds what its program's author put there."""
    return channel in CHANNELS or not channel.startswith(("__", "to:", "branch:", "join:"))
