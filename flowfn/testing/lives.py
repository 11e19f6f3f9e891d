"""One job, lived by one process after another until it is done.

Rule: each life does what an operator does who finds the thread: it begins, answers what waits, or goes on. What
it needs to know it reads from the disk alone.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from contextvars import copy_context
from copy import deepcopy
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from flowfn.context import current_world
from flowfn.errors import InvalidInput, SerializationError
from flowfn.functional.entrypoint import Entrypoint
from flowfn.functional.final import final
from flowfn.hosts.clock import Clock
from flowfn.ports import Commit, Saver
from flowfn.python.event_loop import running_loop
from flowfn.testing.clock import SkippingClock, VirtualClock
from flowfn.testing.faults import inject
from flowfn.testing.onlooker import Onlooker, execution_of, recorded_in
from flowfn.testing.processes import Crash, Disk, DyingSaver, Fate, never
from flowfn.testing.simulation import Simulation
from flowfn.values import Command
from flowfn.workflow import Workflow

if TYPE_CHECKING:
    from flowfn.engine.calls.frame import Frame

THREAD = "job"

DONE: Any = object()


class Life(Simulation):
    """The world of one process: its saver dies where fate says, and nothing runs after that."""

    def __init__(
        self, inner: Saver, onlooker: Onlooker, fate: Fate, die: Callable[[], None], clock: Clock
    ) -> None:
        super().__init__()
        self.clock = clock
        self.onlooker = onlooker
        self.dying = DyingSaver(inner, self._told, fate, reads=False, die=die)

    def __exit__(self, *raised: object) -> None:
        self.dying.bury()
        super().__exit__(*raised)

    def saver(self, configured: Callable[[], Saver | None]) -> Saver:
        return self.dying

    def begins(self, frame: Frame, timeout: float | None) -> None:
        if self.dying.dead:
            raise Crash
        if frame.call.definition.recorded:
            self.onlooker.runs(execution_of(frame.call))
        elif frame.call.run.parent is None:
            self.onlooker.resumes(frame.call.run.root.report)

    def returned(self, frame: Frame, value: Any) -> None:
        if frame.call.definition.recorded or frame.call.run.parent is not None:
            return
        if self.dying.dead or frame.told:  # made of what stopped the run, by code that caught it
            return
        kept = value.value if isinstance(value, final) else value
        with suppress(SerializationError):
            self.onlooker.returns(self.dying.serde.loads(self.dying.serde.dumps(kept)))

    def _told(self, commit: Commit) -> None:
        if keys := recorded_in(commit):
            self.onlooker.was_recorded(keys)


@dataclass(frozen=True)
class Job:
    """A call of a workflow; `answers` is what a human says: a function of the question, or one answer to all."""

    workflow: Any
    args: Sequence[Any] = ()
    kwargs: Mapping[str, Any] = field(default_factory=dict)
    answers: Any = None
    clock: Clock = field(default_factory=lambda: _clock(), repr=False, compare=False)
    """The time of all its lives: that of the `VirtualClock` around, or one on which nobody waits."""

    def __post_init__(self) -> None:
        if not isinstance(self.workflow, Workflow):
            raise InvalidInput(f"{self.workflow!r} is no workflow: pass what @entrypoint or compile() made")

    def __str__(self) -> str:
        given = [*map(repr, self.args), *(f"{name}={value!r}" for name, value in self.kwargs.items())]
        return f"{self.workflow._self_setup.program.name}({', '.join(given)})"

    def live(
        self, disk: Disk, onlooker: Onlooker, fate: Fate = never, die: Callable[[], None] = lambda: None
    ) -> Any:
        """One life: the answer.

        Raises:
            Crash: fate struck.
            Exception: the workflow's own.
        """
        return self.lived(disk, lambda saver: Life(saver, onlooker, fate, die, self.clock))

    def lived(self, disk: Disk, life: Callable[[Saver], Life]) -> Any:
        """The answer of one life."""
        saver = disk.open()
        try:
            with life(saver):
                return _finished(self._live()) if self.workflow._self_awaits() else self._blocking()
        finally:
            saver.abandon()

    def _blocking(self) -> Any:
        while (given := self._next()) is not DONE:
            self.workflow.invoke(given, thread_id=THREAD)
        return self._state().values

    async def _live(self) -> Any:
        asyncio.get_running_loop().set_exception_handler(_tell_of_the_living)
        while (given := self._next()) is not DONE:
            await self.workflow.ainvoke(given, thread_id=THREAD)
        return self._state().values

    def _state(self) -> Any:
        return self.workflow.get_state({"configurable": {"thread_id": THREAD}})

    def _next(self) -> Any:
        """What to invoke the workflow with: the input, answers, or None to go on; `DONE` where it has ended."""
        state = self._state()
        if state.metadata is None:
            return self._input()
        if not state.tasks:
            return DONE
        if not state.interrupts:
            return None
        return Command(resume={question.id: self._answer(question.value) for question in state.interrupts})

    def _input(self) -> Any:
        """The arguments as each process has them: what one life does to them, the next one doesn't see."""
        with suppress(Exception):
            return self._given(*deepcopy((self.args, dict(self.kwargs))))
        return self._given(self.args, dict(self.kwargs))

    def _given(self, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
        if isinstance(self.workflow, Entrypoint):
            calls = self.workflow._self_calls
            return calls.shape.fresh(args, kwargs, calls.setup.name)
        (given,) = args
        return given

    def _answer(self, question: Any) -> Any:
        """What a human says; of a call in doubt, unless a function says otherwise, to run it again."""
        if _is_doubt(question) and not callable(self.answers):
            return "rerun"
        if self.answers is None:
            raise InvalidInput(
                f"{self} asks {question!r}: pass answers=, a function of the question, or the answer"
            )
        return self.answers(question) if callable(self.answers) else self.answers


def _tell_of_the_living(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    """Tell of errors that nobody took, but of none that says of a coroutine that its process had died."""
    if not isinstance(context.get("exception"), Crash):
        loop.default_exception_handler(context)


def _is_doubt(question: Any) -> bool:
    """Whether the engine asks, of a call with `in_doubt="ask"`."""
    return isinstance(question, Mapping) and {"in_doubt", "idempotency_key"} <= question.keys()


def _clock() -> Clock:
    around = current_world.get()
    return around.clock if isinstance(around, VirtualClock | inject) else SkippingClock()


def _finished(coroutine: Coroutine[Any, Any, Any]) -> Any:
    """Run a coroutine to its end, also where an event loop already runs on this thread."""
    if running_loop() is None:
        return asyncio.run(coroutine)
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(copy_context().run, asyncio.run, coroutine).result()
