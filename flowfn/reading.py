"""What is recorded of a thread, read without the program that wrote it.

Values whose types only the program knows can't be restored here; `Unreadable` stands for them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from itertools import count
from typing import Any

from flowfn.described import metadata_of
from flowfn.engine.answers import read_pending
from flowfn.engine.identity import DOUBT, ERROR, REPORT, RUN_TASK, Ledger, task_uuid
from flowfn.errors import DecryptionError, FlowError
from flowfn.ports import Loaded, Saver, Serializer, ThreadRow, Versioned
from flowfn.report import Report
from flowfn.state import RecordedCall, recorded_calls
from flowfn.values import Interrupt

RESULT = "__end__"


@dataclass(frozen=True, repr=False)
class Unreadable:
    """A value that is stored and can't be restored here; `why` names its type, or its key."""

    why: str
    shown: str = "<known to the program only>"

    def __repr__(self) -> str:
        return self.shown


@dataclass(frozen=True)
class CallView:
    """A recorded call, with those made under it.

    `status` is `done`, `failed`, `asked`, `answered`, `waiting`, `running`, or `in_doubt`: under way when the run died.
    `decision` is what was said of it, and by whom, when it was in doubt.
    `started` is in seconds since the epoch, `seconds` how long it took, None while it hasn't ended; 0.0 stands for
    less than a millisecond. `known` is the last outcome that there was when the call was made, `place` its own: each as
    the step of the superstep and a number within it.
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


@dataclass(frozen=True)
class ThreadView:
    """A thread's last run. `result` and `error` are None where there is none."""

    row: ThreadRow
    calls: tuple[CallView, ...] = ()
    questions: tuple[Interrupt, ...] | Unreadable = ()
    result: Any = None
    error: Any = None
    report: Report = field(default_factory=Report)


def status_of(row: ThreadRow) -> str:
    """A thread's status; `killed` where it is running and nobody alive runs it."""
    return "killed" if row.status == "running" and row.owner is None else row.status


def open_questions(saver: Saver, row: ThreadRow) -> tuple[Interrupt, ...] | Unreadable:
    """What a thread waits to be told."""
    if row.status != "interrupted":
        return ()
    head = saver.load(row.id)
    return () if head is None else _or_unreadable(partial(_questions, saver.serde, head))


def view(saver: Saver, row: ThreadRow) -> ThreadView:
    """A thread's last run, whole."""
    run = _Run(saver, row)
    return ThreadView(
        row,
        calls=run.calls(""),
        questions=open_questions(saver, row),
        result=run.result() if row.status == "done" else None,
        error=run.error() if row.status == "failed" else None,
        report=run.report(),
    )


class _Run:
    """The checkpoints of a thread's last run, by namespace, in the order of their commits.

    `inside` finds the namespace of a call by the id that the namespace ends with.
    """

    def __init__(self, saver: Saver, row: ThreadRow) -> None:
        self.serde = saver.serde
        self.row = row
        self.found: dict[str, list[Loaded]] = {}
        for loaded in saver.history(row.id, None):
            self.found.setdefault(loaded.checkpoint.namespace, []).insert(0, loaded)
            if not loaded.checkpoint.namespace and loaded.checkpoint.source in ("input", "fork"):
                break
        self.inside = {name.rpartition(":")[2]: name for name in self.found if name}

    def calls(self, namespace: str) -> tuple[CallView, ...]:
        """The calls recorded in a namespace, in the order of their records."""
        return tuple(call for loaded in self.found.get(namespace, ()) for call in self._made_under(loaded))

    def _made_under(self, loaded: Loaded) -> Iterator[CallView]:
        ledger = Ledger(loaded.writes, self.serde)
        infos = [record.info for record in ledger.records.values() if record.info is not None]
        for scope in dict.fromkeys(info.scope for info in infos if info.scope not in ledger.records):
            for call in recorded_calls(ledger, scope):
                yield self._shown(loaded, call)

    def _shown(self, loaded: Loaded, call: RecordedCall) -> CallView:
        below = tuple(self._shown(loaded, under) for under in call.calls) + self._workflow_of(loaded, call)
        status = self._status(call.status, below)
        result = _or_unreadable(lambda: call.result)
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
        )

    def _workflow_of(self, loaded: Loaded, call: RecordedCall) -> tuple[CallView, ...]:
        """What ran in the namespace of a call, which has one where it called another workflow."""
        row = loaded.checkpoint
        namespace = self.inside.get(task_uuid(loaded.thread, row.namespace, row.id, call.id))
        return () if namespace is None else self.calls(namespace)

    def _status(self, recorded: str, below: Sequence[CallView]) -> str:
        """A call without an outcome is under way, waits for what is asked under it, or died with the run."""
        if recorded != "in_doubt":
            return recorded
        if any(call.status == "asked" and call.name != DOUBT for call in below):
            return "asked"
        return "running" if self.row.owner is not None else "in_doubt"

    def result(self) -> Any:
        """What the run returned; of a graph, its state."""
        channels = self.found[""][-1].checkpoint.values if "" in self.found else {}
        values = {
            name: _value_of(self.serde, stored)
            for name, stored in channels.items()
            if stored.value is not None and (name == RESULT or not name.startswith("__"))
        }
        return values.get(RESULT, values or None)

    def error(self) -> Any:
        """What the run failed with: its own error if recorded, else that of the last call to fail."""
        for row in self._of_run(ERROR):
            return _or_unreadable(partial(self.serde.loads, row.value))
        failed = [call for call in _flat(self.calls("")) if call.status == "failed"]
        return failed[-1].result if failed else None

    def report(self) -> Report:
        """How the last attempt differed from its record."""
        for row in self._of_run(REPORT):
            return Report.from_data(self.serde.loads(row.value))
        return Report()

    def _of_run(self, channel: str) -> Iterator[Any]:
        """What the run recorded of itself, the latest first."""
        for loaded in reversed(self.found.get("", [])):
            yield from (
                row for row in reversed(loaded.writes) if (row.task, row.channel) == (RUN_TASK, channel)
            )


def describe(error: Any) -> str:
    """A recorded error, in a line."""
    return f"{type(error).__name__}: {error}" if isinstance(error, BaseException) else str(error)


def _questions(serde: Serializer, head: Loaded) -> tuple[Interrupt, ...]:
    return tuple(pending.interrupt for pending in read_pending(serde, head.writes))


def _value_of(serde: Serializer, stored: Versioned) -> Any:
    """A channel's value, with its changes."""

    def read() -> Any:
        whole = stored.whole()
        assert whole is not None
        return serde.loads(whole)

    return _or_unreadable(read)


def _or_unreadable(read: Callable[[], Any]) -> Any:
    try:
        return read()
    except DecryptionError as error:
        return Unreadable(str(error), "<encrypted>")
    except FlowError as error:
        return Unreadable(str(error))


def _flat(calls: Sequence[CallView]) -> Iterator[CallView]:
    for call in calls:
        yield call
        yield from _flat(call.calls)


@dataclass(frozen=True)
class Moment:
    """A checkpoint: what the thread held when it was made.

    `values` is by channel; of an entrypoint `input`, `result` and `previous`. `changed` names the channels whose
    values its superstep changed, `calls` counts what was recorded on the way from it to the next.
    """

    id: str
    parent: str | None
    namespace: str
    step: int
    source: str
    created_at: str
    metadata: Any
    values: dict[str, Any]
    changed: tuple[str, ...]
    calls: int


def moment(saver: Saver, thread: str, namespace: str = "") -> Moment | None:
    """The last checkpoint of a thread; None where there is none."""
    return next(moments(saver, thread, namespace, 1), None)


def moments(saver: Saver, thread: str, namespace: str = "", limit: int | None = None) -> Iterator[Moment]:
    """The checkpoints of a thread, the last committed first."""
    older = iter(saver.history(thread, namespace, limit=None if limit is None else limit + 1))
    found = next(older, None)
    for _ in range(limit) if limit is not None else count():
        if found is None:
            return
        before = next(older, None)
        yield _moment(saver.serde, found, before)
        found = before


_CHANNELS = {"__start__": "input", RESULT: "result", "__previous__": "previous"}
"""What the channels of an entrypoint are called here."""


def _moment(serde: Serializer, loaded: Loaded, before: Loaded | None) -> Moment:
    row = loaded.checkpoint
    then = {} if before is None else before.checkpoint.versions
    names = {name: _CHANNELS.get(name, name) for name in row.versions if _is_shown(name)}
    values = {
        shown: _value_of(serde, row.values[name])
        for name, shown in names.items()
        if name in row.values and row.values[name].value is not None
    }
    changed = (shown for name, shown in names.items() if row.versions[name] != then.get(name))
    calls = sum(1 for record in Ledger(loaded.writes, serde).records.values() if record.info is not None)
    metadata = _or_unreadable(partial(metadata_of, row, serde))
    return Moment(
        row.id,
        row.parent,
        row.namespace,
        row.step,
        row.source,
        row.created_at,
        metadata,
        values,
        tuple(changed),
        calls,
    )


def _is_shown(channel: str) -> bool:
    """Whether a channel holds what its program's author put there."""
    return channel in _CHANNELS or not channel.startswith(("__", "to:", "branch:", "join:"))
