"""The ledger of a superstep: what its stored rows say of each call and each node's task, and who has claimed it.

Rule: a row is kept as it was read, and its value is decoded when somebody asks. A record belongs to one call of an
attempt: the first that claims it, on whichever thread.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from itertools import count
from typing import Any, NamedTuple

from flowfn.engine.ids import call_id, node_scope
from flowfn.ports import Deserializer, WriteRow
from flowfn.pregel.program import ERROR_SOURCE, NO_WRITES
from flowfn.report import CallSummary
from flowfn.values import Write

CALL = "__call__"
RETURN = "__return__"
ERROR = "__error__"
QUESTION = "__interrupt__"
ANSWER = "__resume__"
FAILED = "__failed__"
REPORT = "__report__"
SUSPENDED = "__suspended__"
ANSWERED_BY = "__answered_by__"
STARTED = "__started__"
DECISION = "__decision__"
TIMED = "__timed__"
CODE = "__code__"

DOUBT = "in_doubt"
"""The name of the question whether a call in doubt had happened."""

RUN_TASK = "0" * 32
"""The task under which a root checkpoint keeps what belongs to the run: open questions, the report."""

OUTCOMES = (RETURN, ERROR, ANSWER)


class CallInfo(NamedTuple):
    """What is recorded of a call besides its outcome: enough to match it and to show it.

    `born` is how many outcomes the run had when the call was made; `site` is file:line; `position` is how many
    calls of its name its scope had made before, -1 where that isn't known.
    """

    name: str
    qualified: str
    scope: str
    skeleton: bytes | None
    leaves: Sequence[Sequence[str]]
    weak: bool
    occurrence: int
    born: int
    at: float
    site: str
    arguments: str
    code: str
    scope_code: str
    position: int = -1
    form: bytes | None = None
    """The arguments themselves, unless they are long; see `forms`."""
    branch: int = 0
    """Which branch of its scope's code made it, in the order in which the branches were made."""

    @property
    def summary(self) -> CallSummary:
        """The call, for people."""
        return CallSummary(self.name, self.arguments, self.site, self.code)

    def __str__(self) -> str:
        return f"{self.name}({self.arguments})"


class Timing(NamedTuple):
    """When a call's first attempt began and its last one ended, in seconds since the epoch, and how many it took."""

    started: float
    ended: float
    attempts: int


class Record:
    """One call as the journal has it: what it was and what came of it, both still encoded."""

    __slots__ = (
        "_answered_by",
        "_claims",
        "_code",
        "_decision",
        "_info",
        "_serde",
        "_start",
        "_timed",
        "failed",
        "index",
        "order",
        "outcome",
        "question",
        "started",
        "task",
        "waiting",
    )

    def __init__(self, task: str, serde: Deserializer) -> None:
        self.task = task
        self._claims: list[None] = [None]
        self.index = 0
        """The number that its outcome was given when it was recorded."""
        self.order = 0
        """The place of its outcome in the order of commits."""
        self.outcome: WriteRow | None = None
        self.question: WriteRow | None = None
        self.failed = 0
        self.waiting = False
        """Whether the run stopped for a question that it, or a call of it, asked."""
        self._answered_by: WriteRow | None = None
        self.started = 0
        """The number that its last start was given, where starts are recorded."""
        self._start: WriteRow | None = None
        self._decision: WriteRow | None = None
        self._info: WriteRow | CallInfo | None = None
        self._timed: WriteRow | None = None
        self._code: WriteRow | None = None
        self._serde = serde

    def add(self, row: WriteRow, place: int) -> None:
        if row.channel == CALL:
            self._info = self._info or row
        elif row.channel in OUTCOMES:
            if row.index >= self.index:
                self.index, self.order, self.outcome = row.index, place, row
        elif row.channel == QUESTION:
            self.question = row
        elif row.channel == SUSPENDED:
            self.waiting = self._serde.loads(row.value)
        elif row.channel == ANSWERED_BY:
            self._answered_by = row
        elif row.channel == STARTED:
            if row.index > self.started:
                self.started, self._start = row.index, row
        elif row.channel == DECISION:
            self._decision = row
        elif row.channel == TIMED:
            self._timed = row
        elif row.channel == CODE:
            self._code = row
        elif row.channel == FAILED:
            self.failed = self._serde.loads(row.value)

    @property
    def claimed(self) -> bool:
        """Whether a call of this attempt has turned out to be this one."""
        return not self._claims

    def claim(self) -> bool:
        """Take it for a call; False if it is another one's. Of two threads that ask at the same time one is told so."""
        try:
            self._claims.pop()
        except IndexError:
            return False
        return True

    @property
    def info(self) -> CallInfo | None:
        """What the call was; None where only its outcome is known."""
        if isinstance(self._info, WriteRow):
            self._info = CallInfo(*self._serde.loads(self._info.value))
        return self._info

    @property
    def code(self) -> str | None:
        """The code that its outcome is of, or that was called while there is none; None where that isn't known."""
        if self._code is not None:
            return self._serde.loads(self._code.value)  # type: ignore[no-any-return]
        return None if self.info is None else self.info.code

    @property
    def timing(self) -> Timing | None:
        """When it ran; None for what hasn't ended, and for what took no time to speak of."""
        if self._timed is None or self.outcome is None:
            return None
        return Timing(*self._serde.loads(self._timed.value))

    @property
    def finished(self) -> bool:
        """Whether it has an outcome."""
        return self.outcome is not None

    @property
    def in_doubt(self) -> bool:
        """Whether it was under way when the process died."""
        under_way = self.outcome is None or self.started > self.index
        return under_way and self.question is None and not self.waiting

    @property
    def started_at(self) -> float | None:
        """When it last began, in seconds since the epoch, where starts are recorded."""
        return None if self._start is None else self._serde.loads(self._start.value)

    @property
    def decision(self) -> str:
        """What was said of it, and by whom, when it was in doubt; empty if nothing was."""
        return "" if self._decision is None else self._serde.loads(self._decision.value)

    @property
    def answered(self) -> dict[str, Any]:
        """Of a question, who answered it (`by`, None where nobody said) and when (`at`, in UTC)."""
        return {} if self._answered_by is None else self._serde.loads(self._answered_by.value)

    @property
    def answered_by(self) -> str | None:
        """Who answered it, where that was said."""
        return self.answered.get("by")

    def asked(self) -> Any:
        """The question that it is, decoded."""
        assert self.question is not None
        return self._serde.loads(self.question.value)

    def value(self) -> Any:
        """The recorded outcome, decoded: a result, an error or an answer."""
        assert self.outcome is not None
        return self._serde.loads(self.outcome.value)


class NodeRecord:
    """What a node's task wrote, or how it failed, as the journal has it."""

    __slots__ = ("_serde", "rows")

    def __init__(self, serde: Deserializer) -> None:
        self.rows: list[WriteRow] = []
        self._serde = serde

    @property
    def finished(self) -> bool:
        """Whether the task ended well, be it without writing anything."""
        return any(row.index >= 0 for row in self.rows)

    @property
    def timing(self) -> Timing | None:
        """When it ran; None for what took no time to speak of, at the beginning of its superstep."""
        found = [row for row in self.rows if row.channel == TIMED]
        return Timing(*self._serde.loads(found[-1].value)) if found else None

    @property
    def path(self) -> str:
        """Whose task it is, as `node_path` wrote it."""
        return self.rows[0].path

    @property
    def handed_over(self) -> bool:
        """Whether it failed, and its error is another node's to handle."""
        return any(row.channel == ERROR_SOURCE for row in self.rows)

    @property
    def writes(self) -> list[Write]:
        """What it wrote, in its order."""
        rows = sorted((row for row in self.rows if row.index >= 0), key=lambda row: row.index)
        return [Write(row.channel, self._serde.loads(row.value)) for row in rows if row.channel != NO_WRITES]

    @property
    def error(self) -> Any:
        """The error that it last failed with; None if it didn't."""
        return self._failure[0]

    @property
    def error_text(self) -> str | None:
        """That error, as it showed itself."""
        return self._failure[1]

    @property
    def _failure(self) -> tuple[Any, str | None]:
        found = [row for row in self.rows if row.channel == ERROR]
        if not found:
            return None, None
        error, text = self._serde.loads(found[-1].value)
        return error, text


class Ledger:
    """The recorded calls of one superstep, and which of them this attempt has claimed.

    `nodes` holds what the tasks of nodes wrote, by their ids: rows that carry a path.
    """

    def __init__(self, rows: Iterable[WriteRow] = (), serde: Deserializer | None = None) -> None:
        self.records: dict[str, Record] = {}
        self.nodes: dict[str, NodeRecord] = {}
        for place, row in enumerate(rows, 1):
            if row.path:
                assert serde is not None
                self.nodes.setdefault(row.task, NodeRecord(serde)).rows.append(row)
                continue
            record = self.records.get(row.task)
            if record is None:
                assert serde is not None
                record = self.records[row.task] = Record(row.task, serde)
            record.add(row, place)
        commanded = self.nodes.get(RUN_TASK)
        self.last_index = 0 if commanded is None else max(row.index for row in commanded.rows)
        self.last_place = 0
        for record in self.records.values():
            self.last_index = max(self.last_index, record.index, record.started)
            self.last_place = max(self.last_place, record.order)
        self._index: _Index | None = None

    def __bool__(self) -> bool:
        return bool(self.records)

    def writes_at(self, path: tuple[Any, ...]) -> list[Write] | None:
        """What the task of a node wrote; None if it hasn't finished."""
        node = self.nodes.get(node_scope(path)) if self.nodes else None
        return node.writes if node is not None and node.finished else None

    @property
    def commanded(self) -> list[Write]:
        """What commands wrote beside the superstep."""
        node = self.nodes.get(RUN_TASK)
        return [] if node is None else node.writes

    def unclaimed(self) -> Iterator[Record]:
        """The calls that nobody has asked for yet, in the order in which they were recorded."""
        return (record for record in self.records.values() if not record.claimed and record.info is not None)

    def orphans(self) -> Iterator[CallInfo]:
        """What was recorded and nobody asked for, leaving out what ran under calls that were themselves reused."""
        for record in self.unclaimed():
            info = record.info
            assert info is not None
            if info.qualified == DOUBT:  # once it is settled, nobody asks any more
                continue
            parent = self.records.get(info.scope)
            if parent is None or (parent.claimed and not parent.finished):
                yield info

    def reopen(self, other: Ledger, scope: str) -> None:
        """Take from a newer reading what ran under `scope`, to be claimed again by its next attempt."""
        records = self.records.copy()
        for task, record in other.records.items():
            if other.is_under(record, scope):
                records[task] = record
            elif task not in records:
                record.claim()
                records[task] = record
        self.records = records

    def is_under(self, record: Record, scope: str) -> bool:
        """Whether a call was made by `scope`, or by a call made by it, and so on."""
        while record.info is not None:
            if record.info.scope == scope:
                return True
            parent = self.records.get(record.info.scope)
            if parent is None or parent is record:
                return False
            record = parent
        return False

    def equal_calls(self, scope: str, name: str, digest: bytes) -> dict[int, deque[Record]]:
        """The recorded calls that only their occurrence tells apart, in its order, by the branch that made them."""
        found: dict[int, deque[Record]] = {}
        for number in count():
            record = self.records.get(call_id(scope, name, digest, number))
            if record is None:
                return found
            if record.info is not None:
                found.setdefault(record.info.branch, deque()).append(record)
        raise AssertionError

    def is_claimed(self, task: str) -> bool:
        """Whether a call of that id is recorded, and another call of this attempt has turned out to be it."""
        record = self.records.get(task)
        return record is not None and record.claimed

    def rivals(self, scope: str, name: str) -> list[Record]:
        """The unclaimed calls of a name in a scope."""
        by_name = self._indexed.by_name
        found = by_name.get((scope, name))
        if not found:
            return []
        by_name[scope, name] = left = [record for record in found if not record.claimed]
        return left

    def was_survived(self, record: Record) -> bool:
        """Whether the calling code is known to have gone on after a recorded error.

        Only then is the error part of what happened; else nobody has acted on it, and the task runs again.
        """
        if record.failed >= record.index:
            return False
        info = record.info
        return info is not None and self._indexed.last_born.get(info.scope, 0) >= record.index

    @property
    def _indexed(self) -> _Index:
        """The index of all records: of threads that need it at the same time each makes a whole one."""
        index, records = self._index, self.records
        if index is None or index.records is not records:
            self._index = index = _Index(records)
        return index


class _Index:
    """What is looked for among records: those of a name in a scope, and how late each scope made a call."""

    __slots__ = ("by_name", "last_born", "records")

    def __init__(self, records: dict[str, Record]) -> None:
        self.records = records
        self.by_name: dict[tuple[str, str], list[Record]] = {}
        self.last_born: dict[str, int] = {}
        for record in records.values():
            if (info := record.info) is not None:
                self.by_name.setdefault((info.scope, info.qualified), []).append(record)
                self.last_born[info.scope] = max(self.last_born.get(info.scope, 0), info.born)
