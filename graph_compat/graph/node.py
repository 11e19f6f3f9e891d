"""A node as the engine runs it: its action, then what its value writes, then where its edges lead.

Rule: all of that is one task, recorded as one list of writes; so a branch that fails fails its node, and a
node that has finished has decided where to go.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from operator import methodcaller
from typing import TYPE_CHECKING, Any, Generic, NoReturn

from flowfn.context import current_frame
from flowfn.definition import Definition, always
from flowfn.identity.names import qualified_name
from flowfn.policies import CachePolicy, RetryPolicy, TimeoutPolicy
from flowfn.pregel import Program, Steps, View, peek
from flowfn.python.event_loop import running_loop
from flowfn.python.loaded import loaded
from flowfn.values import MISSING, Checkpoint, Write
from graph_compat.blocking import blocking
from graph_compat.errors import Arrived, GraphInterrupt, NodeCancelledError
from graph_compat.graph.action import Action, awaited, called
from graph_compat.graph.bound import bound
from graph_compat.graph.branch import BranchSpec
from graph_compat.graph.schema import Schema
from graph_compat.graph.writes import Writer, with_ids
from graph_compat.langchain.listeners import has_awaited_listeners
from graph_compat.langchain.node_runs import NodeRun, node_run
from graph_compat.pushing import pushes
from graph_compat.typing import ContextT, NodeInputT

if TYPE_CHECKING:
    from asyncio import AbstractEventLoop

    from flowfn.config import RunConfig
    from graph_compat.types import TracePolicy

_STEPS_LEFT = 2
"""How many supersteps remain to the routers of an update, which has no limit: LangGraph's number."""


@dataclass(frozen=True, kw_only=True)
class StateNodeSpec(Generic[NodeInputT, ContextT]):
    """A node as its author described it; None leaves a policy to the graph's defaults."""

    action: Action
    metadata: Mapping[str, Any] | None
    input_schema: Any
    retry_policy: RetryPolicy | Sequence[RetryPolicy] | None
    cache_policy: CachePolicy | None
    ends: tuple[str, ...] | Mapping[str, str] = ()
    defer: bool = False
    error_handler: Any = None
    timeout: float | timedelta | TimeoutPolicy | None = None
    trace_policy: TracePolicy | None = None
    is_error_handler: bool = False

    @property
    def runnable(self) -> Any:
        """What runs, to be run by itself: a test's `builder.nodes["a"].runnable.invoke(state)`."""
        return bound(self.action)


@dataclass(frozen=True)
class Step:
    """What runs when a node does, in a context of its own.

    `edges` are the writes of its plain edges and joins; `trace_policy` says what tracers are told of it.
    """

    action: Action
    writer: Writer
    schema: Schema
    edges: Sequence[Write] = ()
    branches: Sequence[BranchSpec] = ()
    trace_policy: TracePolicy | None = None

    @property
    def awaits(self) -> str | None:
        """The name of the first thing in it that has to be awaited; None where nothing has."""
        return next((action.name for action in self._actions if action.blocking is None), None)

    @property
    def gains_by_loop(self) -> bool:
        """Whether anything in it has a form of its own for an event loop."""
        return not all(action.only_blocks for action in self._actions)

    @property
    def has_forms(self) -> bool:
        """Whether anything in it has such a form, be it no more than a way to a thread, and a shorter one."""
        return any(action.awaited is not None for action in self._actions)

    @property
    def _actions(self) -> list[Action]:
        return [self.action, *(branch.action for branch in self.branches)]

    def passed_on(self, state: Any) -> list[Write]:
        """The writes of a node without an action or branches of its author's."""
        return self._writes([], state)

    def run(self, state: Any) -> list[Write]:
        """The node's writes, for a blocking run."""
        pushed = pushes(self.schema)
        run = node_run(self.action.name, state, self.trace_policy, on_loop=False)
        if run is not None:
            return blocking(self._watched(run, state, pushed, on_loop=False))
        value = self._value(state, None)
        writes = self._writes(pushed, value)
        for branch in self.branches:
            writes += branch.writes(called(branch.action, self._seen_by(branch, value, writes)))
        return writes

    async def run_on_loop(self, state: Any) -> list[Write]:
        """`run` for asyncio."""
        pushed = pushes(self.schema)
        run = node_run(self.action.name, state, self.trace_policy, on_loop=True)
        if run is not None:
            return await self._watched(run, state, pushed, on_loop=True)
        value = await self._value_on_loop(state, None)
        writes = self._writes(pushed, value)
        for branch in self.branches:
            writes += branch.writes(await awaited(branch.action, self._seen_by(branch, value, writes)))
        return writes

    async def _watched(
        self, run: AbstractAsyncContextManager[NodeRun], state: Any, pushed: list[Write], *, on_loop: bool
    ) -> list[Write]:
        """The writes of a run that somebody is told of."""
        form = awaited if on_loop else _called
        async with run as watched:
            value = await self._value_on_loop(state, watched) if on_loop else self._value(state, watched)
            watched.value = value
            writes = self._writes(pushed, value)
            for place, branch in enumerate(self.branches, len(self.edges)):
                path, seen = branch.action, self._seen_by(branch, value, writes)
                writes += branch.writes(await watched.asked(path.told, partial(form, path), seen, place))
            return writes

    def _value(self, state: Any, watched: NodeRun | None) -> Any:
        """What the action comes to."""
        call = self.action.blocking
        assert call is not None
        try:
            return call(state)
        except (Arrived, GraphInterrupt) as signal:
            return _unwound(signal, watched)
        except BaseException as error:
            if type(error) is not _asyncio_cancellation():
                raise
            raise NodeCancelledError(self.action.name) from error

    async def _value_on_loop(self, state: Any, watched: NodeRun | None) -> Any:
        """`_value` for asyncio."""
        import asyncio

        try:
            return await awaited(self.action, state)
        except (Arrived, GraphInterrupt) as signal:
            return _unwound(signal, watched)
        except asyncio.CancelledError as error:
            task = asyncio.current_task()
            if task is not None and task.cancelling():
                raise
            raise NodeCancelledError(self.action.name) from error

    def _writes(self, pushed: list[Write], value: Any) -> list[Write]:
        """What the node's code pushed, what its value writes, and where its plain edges lead."""
        written = self.writer.writes(value)
        if pushed:
            written = self.writer.pushed(pushed) + written
        if self.writer.identifying:
            written = with_ids(written, self.writer.identifying)
        written += self.edges
        return written

    def written(self, value: Any, program: Program, checkpoint: Checkpoint, name: str) -> list[Write]:
        """The writes of a value that somebody says the node of this name returned at a checkpoint."""
        writes = self._writes([], value)
        managed = program.managed_at(Steps(checkpoint.step, checkpoint.step + _STEPS_LEFT))
        for branch in self.branches:
            state = self._shown(branch, value, peek(program, checkpoint, writes, managed, name))
            if branch.action.blocking is None:
                assert branch.action.awaited is not None
                writes += branch.writes(_awaited_here(branch.action.awaited(state)))
            else:
                writes += branch.writes(branch.action.blocking(state))
        return writes

    def _seen_by(self, branch: BranchSpec, value: Any, writes: Sequence[Write]) -> Any:
        """The state that a branch decides on: after this node's writes, before everybody else's."""
        frame = current_frame.get()
        assert frame is not None
        run, task = frame.run, frame.call.node_task
        assert task is not None
        fresh = peek(run.program, run.checkpoint, writes, run.managed, task.name, task.path)
        return self._shown(branch, value, fresh)

    def _shown(self, branch: BranchSpec, value: Any, fresh: View) -> Any:
        schema = branch.input_schema or self.schema
        if schema.is_root:
            return next(iter(fresh.pick(tuple(schema.channels)).values()), None)
        values = fresh.pick(schema.keys)
        if schema.make is not None:
            return schema.make(values)
        return {**value, **values} if branch.input_schema is None and isinstance(value, dict) else values


async def _called(action: Action, state: Any) -> Any:
    return called(action, state)


def _asyncio_cancellation() -> type[BaseException] | None:
    """`asyncio.CancelledError`, which nobody can have raised who didn't import asyncio."""
    asyncio = loaded("asyncio")
    return None if asyncio is None else asyncio.CancelledError


_routing: ContextVar[AbstractEventLoop | None] = ContextVar("_routing", default=None)
"""The event loop of the caller whose update runs on this thread."""


@contextmanager
def routing_on_this_loop() -> Iterator[None]:
    """Have updates that are made on threads meanwhile run their async branches on the loop that is here."""
    token = _routing.set(running_loop())
    try:
        yield
    finally:
        _routing.reset(token)


def _awaited_here(coroutine: Any) -> Any:
    """The value of an async branch, for a caller outside any run."""
    import asyncio

    loop = _routing.get()
    if loop is None:
        return asyncio.run(coroutine)
    return asyncio.run_coroutine_threadsafe(coroutine, loop).result()


def _unwound(signal: Arrived | GraphInterrupt, watched: NodeRun | None) -> Any:
    """What a node comes to whose code a signal unwound: a command from the graph in it, or a question."""
    if not isinstance(signal, Arrived):
        _ask(signal)
    if watched is not None:
        watched.signal = signal
    return signal.args[0]


def _ask(signal: GraphInterrupt) -> NoReturn:
    """Ask what the node's code raised as questions, however often they are answered; without any, wait."""
    frame = current_frame.get()
    assert frame is not None
    if frame.told or not signal.args[0]:
        raise signal
    while True:  # an answer doesn't end what the node raises again
        frame.ask_together(signal.args[0])


def definition_of(
    step: Step,
    *,
    retry: tuple[RetryPolicy, ...],
    cache: CachePolicy | None,
    timeout: TimeoutPolicy | None,
) -> Definition:
    """What the engine calls for a node.

    Raises:
        ValueError: a timeout, and code that can't be stopped.
    """
    name, source, awaits = step.action.name, step.action.source, step.awaits
    if timeout is not None and awaits is None:
        if not step.action.can_be_stopped:
            raise ValueError(
                "Node timeouts are only supported for async nodes because sync Python execution cannot be safely"
                f" cancelled in-process. Node '{name}' is sync."
            )
        awaits = name
    function = source if hasattr(source, "__code__") else None
    qualified = f"{qualified_name(function) if function is not None else type(source).__name__}:{name}"
    return Definition(
        function=step.run if awaits is None else step.run_on_loop,
        name=name,
        qualified=qualified,
        is_async=awaits is not None,
        is_generator=False,
        retry=retry,
        cache=cache,
        timeout=timeout,
        stands_for=function,
        injects=False,
        awaits=awaits or "",
        form_on_loop=step.run_on_loop if awaits is None else None,
        prefers_loop=_preference(step),
    )


def _preference(step: Step) -> Callable[[RunConfig, bool], bool]:
    """Which runs await a node on their event loop rather than run it on a thread."""
    if step.gains_by_loop:
        return always
    return _where_nothing_is_kept if step.has_forms else has_awaited_listeners


def _where_nothing_is_kept(config: RunConfig, recorded: bool) -> bool:
    """Whether a node that only blocks is awaited all the same: what it does is lost then with who waits for it."""
    return not recorded or has_awaited_listeners(config)


def stops(names: str | Sequence[str]) -> Any:
    """The nodes to stop at, or "*" for all."""
    return "*" if names == "*" else tuple(names)


def reader(schema: Schema, name: str) -> Callable[[Mapping[str, Any]], Any]:
    """What makes a node's input of the available values."""
    if schema.is_root:
        (key,) = schema.channels
        return lambda state: state.get(key, MISSING)
    keys, make = schema.keys, schema.make
    if make is None:
        return methodcaller("pick", keys)

    def read(state: Any) -> Any:
        try:
            return make(state.pick(keys))
        except Exception as error:
            error.add_note(f"Before task with name '{name}' and path '('__pregel_pull', '{name}')'")
            raise

    return read
