"""A call of a task: what is called, from where, and who it is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from flowfn.context import shipped
from flowfn.engine.ids import node_path, node_scope
from flowfn.engine.records.record import info_of
from flowfn.identity.digest import Digest, render
from flowfn.instance_ids import task_uuid
from flowfn.pregel.program import PULL
from flowfn.report import CallSummary

if TYPE_CHECKING:
    from flowfn.definition import Definition
    from flowfn.engine.calls.frame import Frame
    from flowfn.engine.records.notes import Note
    from flowfn.engine.records.record import CallInfo, Record
    from flowfn.engine.runs.run import Run
    from flowfn.futures import Future
    from flowfn.identity.renaming import Forms
    from flowfn.pregel.program import Node, Task
    from flowfn.values import Interrupt, Write


_NONE: dict[str, Any] = {}


class Failure(NamedTuple):
    """What a task that handles an error is given: which node failed, on what input, and how."""

    node: str
    input: Any
    error: BaseException


class Behind(NamedTuple):
    """A call's arguments as they were when it was made, and the futures among them whose calls have yet to be placed,
    each with the id that it had then."""

    forms: Forms
    futures: Sequence[tuple[str, Future[Any]]]

    def digest(self) -> Digest:
        """That of the arguments, now that it is known which calls those are."""
        return self.forms.digest_with({was: future.call for was, future in self.futures})


class Call:
    """One call, from the moment that it is made; `task` is its id, empty where nothing is recorded."""

    __slots__ = (
        "_id",
        "_info",
        "args",
        "arguments",
        "attempts",
        "behind",
        "born",
        "branch",
        "cached_as",
        "checkpoint",
        "definition",
        "digest",
        "doubt",
        "edited",
        "from_cache",
        "future",
        "given_up",
        "kwargs",
        "note",
        "nth",
        "number",
        "occurrence",
        "parent",
        "position",
        "questions",
        "run",
        "site",
        "started",
        "task",
        "timeout",
        "waited",
    )

    # What a `NodeCall` has of its own, as it is of any other.
    node: Node | None = None
    node_task: Task | None = None
    rides = False
    writes: Sequence[Write] | None = None
    triggers: tuple[str, ...] = ("__pregel_push",)
    """What a stream says made it due; LangGraph's word for a call."""

    def __init__(
        self,
        run: Run,
        parent: Frame | None,
        definition: Definition,
        args: Sequence[Any],
        kwargs: dict[str, Any],
        task: str = "",
        site: str = "",
    ) -> None:
        self.run = run
        self.parent = parent
        self.definition = definition
        self.args = args
        self.kwargs = kwargs
        self.task = task
        self.site = site
        self.checkpoint = run.checkpoint.id
        """Under which its superstep began."""
        self.arguments = _NONE
        """What counts of its arguments, by parameter."""
        self.digest: Digest | None = None
        """Of these; None where nothing is recorded."""
        self.behind: Behind | None = None
        """What it is until other calls are placed, whose futures are among its arguments; None of most."""
        self.occurrence = 0
        """How many equal calls came before it in its scope."""
        self.branch = 0
        """Which branch of its caller's code made it."""
        self.position = -1
        """How many calls of its name its caller had made before."""
        self.born = 0
        """How many outcomes the run had when it was made."""
        self.nth = 0
        """How many tasks its caller had called before, in this attempt."""
        self.number = 0
        """Of a hidden call: how many runs its caller had nested in itself before, each such call counted as one."""
        self._id: str | None = None
        self._info: CallInfo | None = None
        self.note: Note | None = None
        """That it was made, as the journal has it; None before it begins."""
        self.future: Future[Any] | None = None
        """What its caller got; None where nobody waits for it by a future."""
        self.given_up = False
        """Whether nobody wants it tried any more; of a task, its caller's end says so."""
        self.questions: list[Interrupt] = []
        """What it, or any call under it, asked in this attempt and has no answer to."""
        self.timeout: Any = definition.timeout
        self.started = 0.0
        """When its first attempt began, in seconds since the epoch; 0 before."""
        self.attempts = 0
        """How many attempts at it have begun."""
        self.from_cache = False
        self.cached_as = ""
        """The key of its result in a cache."""
        self.doubt: Record | None = None
        """Its record, where that says that it had started and not finished."""
        self.waited = False
        """Whether its record says that the run stopped for a question of its own or of a call of its."""
        self.edited = False
        """Whether its record is of other code."""

    def __repr__(self) -> str:
        return f"<call {self.definition.name} {self.task[:8]}>"

    def give_up(self) -> None:
        """Have it tried no more: it ends where it waits between two attempts, or after the one that is under way."""
        self.given_up = True
        self.run.root.end_rests()

    @property
    def in_vain(self) -> bool:
        """Whether nobody wants it tried any more, or what it is a part of, or the run has ended."""
        if self.run.root.fatal is not None:
            return True
        call: Call | None = self
        while call is not None:
            frame = call.parent or call.run.frame
            if call.given_up or (frame is not None and frame.closed):
                return True
            call = None if frame is None else frame.call
        return False

    @property
    def leaves(self) -> bool:
        """Whether its attempts are made on an executor: a task's, where one is named.

        Not on a worker: what is called there is part of an attempt, and could wait for its own place for ever.
        """
        if not self.definition.counted or self.definition.transaction is not None:
            return False
        named = self.definition.executor is not None or self.run.settings.executor is not None
        return named and shipped.get() is None

    @property
    def is_handler(self) -> bool:
        """Whether it handles the error of another node's task."""
        return self.node_task is not None and isinstance(self.node_task.input, Failure)

    @property
    def info(self) -> CallInfo:
        """What is recorded of the call; made when it is first asked for, as most reused calls never are."""
        if self._info is not None:
            return self._info
        definition, frame, digested = self.definition, self.parent, self.digest
        assert frame is not None
        assert digested is not None
        self._info = info = info_of(
            (
                definition.name,
                definition.qualified,
                frame.scope,
                digested.skeleton,
                [*map(list, digested.leaves)],
                bool(digested.weak),
                self.occurrence,
                self.born,
                self.run.host.now(),
                self.site,
                render(self.arguments),
                definition.code,
                frame.call.definition.code,
                self.position,
                digested.form,
                self.branch,
                definition.captured,
                (caller := frame.calls.caller) is None or caller.is_alone(definition),
            )
        )
        return info

    @property
    def summary(self) -> CallSummary:
        """The call, for people."""
        return self.info.summary

    @property
    def shown_input(self) -> Any:
        """The input as streams show it."""
        if self.node_task is None:
            return tuple(self.args), self.kwargs
        return self.node_task.node.shown(self.node_task.input)

    @property
    def id(self) -> str:
        """The public id of the call, a UUID: the same on every attempt, or of this one where nothing is recorded."""
        if self._id is None:
            scope = self.task or self.run.host.new_id()
            self._id = task_uuid(self.run.thread, self.run.namespace, self.checkpoint, scope)
        return self._id

    def fix_id(self) -> None:
        """Work its id out before others may ask: where nothing is recorded each thread would make one of its own."""
        self._id = self.id

    @property
    def path(self) -> str:
        """The place of a node's task in its superstep, as its rows carry it; of a call that code makes, none."""
        return ""

    @property
    def shown(self) -> Call:
        """The call that its code is told of: that of the node which a hidden one is a part of, else itself."""
        if self.parent is None or not self.definition.hidden:
            return self
        return self.parent.call.shown

    @property
    def owner(self) -> str:
        """How an error about the call's value begins."""
        where = f" (called at {self.site})" if self.site else ""
        return f"the result of task {self.definition.name!r}{where}"


class NodeCall(Call):
    """A call without a caller: the attempt at the task that a node has in a superstep."""

    __slots__ = ("closed", "node", "node_task", "rides", "triggers", "value", "writes")

    # What tells a call that code makes from others, as it is of every node's, which its place tells from others.
    parent = digest = behind = note = doubt = _info = None
    site = ""
    arguments = _NONE
    occurrence = branch = born = nth = number = 0
    position = -1
    waited = edited = leaves = False

    def __init__(
        self, run: Run, definition: Definition, args: Sequence[Any], kwargs: dict[str, Any], task: Task
    ) -> None:
        self.run = run
        self.definition = definition
        self.args = args
        self.kwargs = kwargs
        self.task = node_scope(task.path if run.was_named is None else (PULL, run.was_named))
        self.checkpoint = run.checkpoint.id
        self._id = self.future = None
        self.given_up = self.from_cache = False
        self.cached_as = ""
        self.questions = []
        self.started, self.attempts = 0.0, 0
        self.node: Node = task.node
        self.node_task: Task = task
        self.timeout = task.timeout
        self.triggers = task.triggers
        self.rides = False
        """Whether its record goes with the next checkpoint rather than alone."""
        self.writes: Sequence[Write] | None = None
        """What it wrote, once it has ended."""
        self.closed: str | None = None
        """The namespace of the run nested in it that has ended with it, and is recorded with it."""
        self.value: Any = None
        """Where it was its superstep's only one and has ended: what its function returned."""

    @property
    def path(self) -> str:
        """Worked out for who records it alone."""
        return node_path(self.node_task.path)
