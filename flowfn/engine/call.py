"""A call of a task: what is called, from where, and who it is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from flowfn.digest import Digest, render
from flowfn.engine.identity import CallInfo
from flowfn.report import CallSummary

if TYPE_CHECKING:
    from flowfn.definition import Definition
    from flowfn.engine.frame import Frame
    from flowfn.engine.journal import Note
    from flowfn.engine.run import Run
    from flowfn.futures import Future
    from flowfn.pregel.program import Node
    from flowfn.values import Interrupt


class Call:
    """One call, from the moment that it is made; `task` is its id, empty where nothing is recorded."""

    __slots__ = (
        "_info",
        "args",
        "arguments",
        "born",
        "definition",
        "digest",
        "from_cache",
        "future",
        "in_doubt",
        "kwargs",
        "node",
        "note",
        "occurrence",
        "parent",
        "run",
        "site",
        "task",
        "triggers",
        "waited",
    )

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
        self.arguments: dict[str, Any] = {}
        self.digest: Digest | None = None
        self.occurrence = 0
        self.born = 0
        self._info: CallInfo | None = None
        self.note: Note | None = None
        self.future: Future[Any] | None = None
        self.node: Node | None = None
        self.triggers: tuple[str, ...] = ("__pregel_push",)
        self.from_cache = False
        self.in_doubt = False
        self.waited = False

    def __repr__(self) -> str:
        return f"<call {self.definition.name} {self.task[:8]}>"

    @property
    def info(self) -> CallInfo:
        """What is recorded of the call; made when it is first asked for, as most reused calls never are."""
        if self._info is None:
            self._info = self._described()
        return self._info

    def _described(self) -> CallInfo:
        definition, frame, digested = self.definition, self.parent, self.digest
        assert frame is not None
        assert digested is not None
        return CallInfo(
            definition.name,
            definition.qualified,
            frame.scope,
            digested.skeleton,
            [list(leaf) for leaf in digested.leaves],
            digested.weak,
            self.occurrence,
            self.born,
            self.run.host.now(),
            self.site,
            render(self.arguments),
            definition.code,
            frame.call.definition.code,
        )

    @property
    def summary(self) -> CallSummary:
        """The call, for people."""
        return CallSummary(self.info.name, self.info.arguments, self.info.site)

    @property
    def shown_input(self) -> Any:
        """The input as streams show it: of a node, its lone argument if it has but one."""
        if self.node is None:
            return tuple(self.args), self.kwargs
        bound = self.definition.bind(self.args, self.kwargs)
        return next(iter(bound.values())) if len(bound) == 1 else bound

    @property
    def open_interrupts(self) -> tuple[Interrupt, ...]:
        """The questions that the run waits on so far."""
        return tuple(pending.interrupt for pending in self.run.root.pending)

    @property
    def owner(self) -> str:
        """How an error about the call's value begins."""
        where = f" (called at {self.site})" if self.site else ""
        return f"the result of task {self.definition.name!r}{where}"
