"""What the stored rows of one call, or of one node's task, say.

Rule: what calls were is decoded at once, and together, since whoever reads records looks for calls; so is what is but
a flag, a name or a number, and decides whose a record is. Any other row is kept as it was read, and its value is
decoded when somebody asks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

from flowfn.ports import Deserializer, WriteRow
from flowfn.pregel.program import ERROR_SOURCE, NO_WRITES
from flowfn.report import CallSummary
from flowfn.row_channels import (
    ANSWER,
    ANSWERED_BY,
    CALL,
    CODE,
    DECISION,
    ERROR,
    FAILED,
    QUESTION,
    REPORT,
    RETURN,
    STARTED,
    SUSPENDED,
    TIMED,
    TOLD,
)
from flowfn.values import Write

DOUBT = "in_doubt"
"""The name of the question whether a call in doubt had happened."""

HANDLER = "node_error_handler"
"""What the task is called that handles another one's error, and how its path ends."""

OUTCOMES = (RETURN, ERROR, ANSWER)

OF_CALLS = frozenset(
    (*OUTCOMES, CALL, QUESTION, SUSPENDED, ANSWERED_BY, STARTED, DECISION, TIMED, CODE, TOLD, FAILED, REPORT)
)
"""The channels of what is recorded of calls; a node's task has its own besides."""

_ONE: Mapping[str, int] = {
    ERROR: -1,
    SUSPENDED: -2,
    QUESTION: -3,
    FAILED: -4,
    ERROR_SOURCE: -5,
    REPORT: -5,  # the run's own, and never beside a node's
    DECISION: -6,
    ANSWERED_BY: -7,
    TIMED: -9,
    CODE: -10,
    TOLD: -11,
}
"""The index of a row of which a task has one at most, the last that was written."""


def one_row(task: str, channel: str, data: bytes, path: str = "") -> WriteRow:
    """A row that replaces the one of its task and channel."""
    return WriteRow(task, _ONE[channel], channel, data, path)


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
    """The arguments themselves, unless they are long; see `identity.differences`."""
    branch: int = 0
    """Which branch of its scope's code made it; see `hosts/numbering.py`."""
    captured: bytes = b""
    """What its function was made with, where others may have its name; see `identity.made_with.captured`."""
    alone: bool = False
    """Whether its caller knew no other function of its name; not where that wasn't recorded."""

    @property
    def is_of_a_place(self) -> bool:
        """Whether it is a value that was made once; see `engine/calls/once.py`."""
        return not (self.code or self.arguments)

    @property
    def summary(self) -> CallSummary:
        """The call, for people."""
        return CallSummary(self.name, self.arguments, self.site, self.code)

    def __str__(self) -> str:
        return f"{self.name}({self.arguments})"


info_of: Callable[[Sequence[Any]], CallInfo] = partial(tuple.__new__, CallInfo)
"""What is recorded of a call, of all its parts, at half of what calling the class costs."""

_FIELDS = len(CallInfo._fields)
_BRANCH = CallInfo._fields.index("branch")


def stored(info: CallInfo) -> list[Any]:
    """What is stored of a call: texts, bytes, and numbers of no more than 64 bits, so that many are read together."""
    values: list[Any] = [*info]
    if info.branch >> 64:
        values[_BRANCH] = info.branch.to_bytes((info.branch.bit_length() + 7) // 8)
    return values


def infos_of(many: Iterable[Sequence[Any]]) -> list[CallInfo]:
    """What was recorded of calls; a record of before has fewer fields, one of a later flowfn may have more."""
    return [
        info_of(values)
        if len(values) == _FIELDS and type(values[_BRANCH]) is int
        else _of_another_form(values)
        for values in many
    ]


def _of_another_form(values: Sequence[Any]) -> CallInfo:
    if len(values) > _BRANCH and type(branch := values[_BRANCH]) is bytes:
        values = [*values[:_BRANCH], int.from_bytes(branch), *values[_BRANCH + 1 :]]
    return CallInfo(*values[:_FIELDS])


class Timing(NamedTuple):
    """When a call's first attempt began and its last one ended, in seconds since the epoch, and how many it took."""

    started: float
    ended: float
    attempts: int


class Told(NamedTuple):
    """What a call told those who read streams around it, and whether its result came from a cache.

    `by_reader` has what the outermost of them was told first: which it is, the shape of the chunks, and the chunks.
    """

    cached: bool = False
    by_reader: Sequence[tuple[int, str, Sequence[Any]]] = ()

    def to(self, reader: int, shape: str) -> Sequence[Any] | None:
        """The chunks that one of them was told; None where it had none of this shape."""
        return next((chunks for at, as_, chunks in self.by_reader if (at, as_) == (reader, shape)), None)


class Record:
    """One call as the journal has it: what it was and what came of it, both still encoded."""

    __slots__ = (
        "_answered_by",
        "_decision",
        "_free",
        "_serde",
        "_start",
        "_timed",
        "_told",
        "claimed",
        "code",
        "failed",
        "index",
        "info",
        "order",
        "outcome",
        "question",
        "started",
        "task",
        "waiting",
    )

    def __init__(self, task: str, serde: Deserializer) -> None:
        self.task = task
        self._free = True
        self.claimed = False
        """Whether a call of this attempt has turned out to be this one."""
        self.info: CallInfo | None = None
        """What the call was; None where only its outcome is known."""
        self.code: str | None = None
        """The code that its outcome is of, or that was called while there is none; None where that isn't known."""
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
        self._timed: WriteRow | None = None
        self._told: WriteRow | None = None
        self._serde = serde

    def add_call(self, info: CallInfo) -> None:
        """Take up what a row says of what the call was; it says so once."""
        if self.info is None:
            self.info = info
            if self.code is None:
                self.code = info.code

    def add(self, row: WriteRow, place: int) -> None:
        """Take up any other row."""
        channel = row.channel
        if channel in OUTCOMES:
            if (index := row.index) >= self.index:
                self.index, self.order, self.outcome = index, place, row
        elif channel == QUESTION:
            self.question = row
        elif channel == SUSPENDED:
            self.waiting = self._serde.loads(row.value)
        elif channel == ANSWERED_BY:
            self._answered_by = row
        elif channel == STARTED:
            if row.index > self.started:
                self.started, self._start = row.index, row
        elif channel == DECISION:
            self._decision = row
        elif channel == TIMED:
            self._timed = row
        elif channel == CODE:
            self.code = self._serde.loads(row.value)
        elif channel == TOLD:
            self._told = row
        elif channel == FAILED:
            self.failed = self._serde.loads(row.value)

    def claim(self) -> bool:
        """Take it for a call; False if it is another one's. Of two threads that ask at the same time one is told so."""
        try:
            del self._free  # one step of the interpreter's, which succeeds once
        except AttributeError:
            return False
        self.claimed = True
        return True

    @property
    def summary(self) -> CallSummary | None:
        """What it is of, for people, with the code that its outcome is of; None where only the outcome is known."""
        return None if self.info is None else self.info.summary._replace(code=self.code or "")

    @property
    def told(self) -> Told:
        """What it told those who read streams around it."""
        return Told() if self._told is None else Told(*self._serde.loads(self._told.value))

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
