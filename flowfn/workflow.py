"""A workflow: a program that can be called, streamed, inspected, changed and gone back in.

Each method comes in two colours that share their code: `invocation.prepare` makes the engine's
coroutine, the blocking method drives it, the async one awaits it.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import aclosing, closing
from typing import TYPE_CHECKING, Any, Generic, ParamSpec, TypeVar

from flowfn.config import Durability, OnBusy, RunConfig, read_config
from flowfn.errors import InvalidInput, NoCheckpointer
from flowfn.values import MISSING, StateSnapshot

if TYPE_CHECKING:
    from flowfn.engine.root import Ending
    from flowfn.invocation import Setup
    from flowfn.ports import Saver
    from flowfn.thread import Thread

P = ParamSpec("P")
R = TypeVar("R")

Config = Mapping[str, Any]


class Workflow(Generic[P, R]):
    """A program with a way to be called. Made by `@entrypoint`."""

    if TYPE_CHECKING:

        @property
        def _self_setup(self) -> Setup:
            """What the workflow is made of; built when it is first asked for."""

    # -- calling --------------------------------------------------------------------------------

    def invoke(
        self,
        input: Any = MISSING,
        config: Config | None = None,
        *,
        thread_id: str | None = None,
        context: Any = None,
        durability: Durability | None = None,
        on_busy: OnBusy | None = None,
    ) -> Any:
        """Run and return the result, or `{"__interrupt__": [...]}` where the run waits for answers.

        Args:
            input: the value for a workflow of one parameter, a mapping for several; None goes on where the
                thread stopped; `Command(resume=answer)` answers it and goes on.
            config: LangGraph's `RunnableConfig`; `configurable.checkpoint_id` goes on from an older checkpoint.
            thread_id: the same as `config["configurable"]["thread_id"]`. Without one a new thread is started.
            context: what the running code sees as `runtime.context`.
            durability: "sync" (default), "async" or "exit"; see the guarantees.
            on_busy: "wait" (default), "reject" or "cancel", where another live run holds the thread.

        Raises:
            InvalidInput, ValidationError: the input doesn't fit; nothing was recorded.
            UnknownThread, UnknownCheckpoint, NoPendingInterrupt, AmbiguousAnswer, EmptyCommand, NoCheckpointer:
                there is nothing to resume in this way.
            ThreadBusy: `on_busy="reject"`.
            NonDeterminismError: a call can't be told from a recorded one.
            Exception: the workflow's own; the thread can be resumed with `invoke(None, config)`.
        """
        from flowfn.invocation import Order, run_blocking

        order = Order(input, read_config(config, thread_id), context, durability, on_busy)
        return _returned(run_blocking(self._self_setup, order))

    async def ainvoke(
        self,
        input: Any = MISSING,
        config: Config | None = None,
        *,
        thread_id: str | None = None,
        context: Any = None,
        durability: Durability | None = None,
        on_busy: OnBusy | None = None,
    ) -> Any:
        """`invoke` for asyncio: async functions run on the event loop, sync ones on threads."""
        from flowfn.invocation import Order, run_awaiting

        order = Order(input, read_config(config, thread_id), context, durability, on_busy)
        return _returned(await run_awaiting(self._self_setup, order))

    def stream(
        self,
        input: Any = MISSING,
        config: Config | None = None,
        *,
        stream_mode: str | Sequence[str] | None = None,
        subgraphs: bool = False,
        thread_id: str | None = None,
        context: Any = None,
        durability: Durability | None = None,
        on_busy: OnBusy | None = None,
    ) -> Iterator[Any]:
        """Run and yield what happens, as `stream_mode` says: one mode, or a list for `(mode, chunk)` pairs.

        Leaving the loop early stops the run at its next task or superstep; it can be resumed.
        """
        from flowfn.hosts.streams import ThreadStream
        from flowfn.invocation import Order, Started, blocking_hosts, prepare
        from flowfn.streams import Shaper
        from flowfn.traceback import trimmed

        order = Order(input, read_config(config, thread_id), context, durability, on_busy)
        shaper = Shaper(stream_mode or self._self_setup.stream_mode, subgraphs)
        watch, run = ThreadStream(), Started()
        events = watch.events(prepare(self._self_setup, order, blocking_hosts(), watch, run), run.leave)
        with closing(events):  # type: ignore[type-var]
            try:
                for event in events:
                    yield from shaper.chunks(event)
            except Exception as error:
                raise trimmed(error) from error.__cause__

    async def astream(
        self,
        input: Any = MISSING,
        config: Config | None = None,
        *,
        stream_mode: str | Sequence[str] | None = None,
        subgraphs: bool = False,
        thread_id: str | None = None,
        context: Any = None,
        durability: Durability | None = None,
        on_busy: OnBusy | None = None,
    ) -> AsyncIterator[Any]:
        """`stream` for asyncio."""
        from flowfn.hosts.streams import LoopStream
        from flowfn.invocation import Order, Started, loop_hosts, prepare
        from flowfn.streams import Shaper
        from flowfn.traceback import trimmed

        order = Order(input, read_config(config, thread_id), context, durability, on_busy)
        shaper = Shaper(stream_mode or self._self_setup.stream_mode, subgraphs)
        watch, run = LoopStream(), Started()
        events = watch.events(prepare(self._self_setup, order, loop_hosts(), watch, run), run.leave)
        async with aclosing(events):  # type: ignore[type-var]
            try:
                async for event in events:
                    for chunk in shaper.chunks(event):
                        yield chunk
            except Exception as error:
                raise trimmed(error) from error.__cause__

    def batch(
        self, inputs: Sequence[Any], config: Config | Sequence[Config] | None = None, **options: Any
    ) -> list[Any]:
        """`invoke` for each input, in parallel; the results in the order of the inputs."""
        from flowfn.hosts.threads import ThreadHost

        configs = _per_input(inputs, config)
        threads = ThreadHost()
        futures = [
            threads.future(lambda item=item, one=one: _inline(self.invoke, item, one, options))  # type: ignore[misc]
            for item, one in zip(inputs, configs, strict=True)
        ]
        for future in futures:
            threads.start(future)
        return [future.result() for future in futures]

    async def abatch(
        self, inputs: Sequence[Any], config: Config | Sequence[Config] | None = None, **options: Any
    ) -> list[Any]:
        """`batch` for asyncio."""
        import asyncio

        configs = _per_input(inputs, config)
        runs = [self.ainvoke(item, one, **options) for item, one in zip(inputs, configs, strict=True)]
        return list(await asyncio.gather(*runs))

    # -- the state of a thread ------------------------------------------------------------------

    def get_state(self, config: Config | None = None, *, thread_id: str | None = None) -> StateSnapshot:
        """The thread's state at its head, or at `configurable.checkpoint_id`.

        Of a thread that nobody has used, `values` is None and `next` is empty, as in LangGraph.

        Raises:
            UnknownCheckpoint: the thread has no checkpoint of that id.
            NoCheckpointer: the workflow keeps no past.
        """
        from flowfn.state import snapshot

        return snapshot(self._self_setup.program, self._saver(), self._coordinates(config, thread_id))

    async def aget_state(
        self, config: Config | None = None, *, thread_id: str | None = None
    ) -> StateSnapshot:
        """`get_state` for asyncio."""
        found: StateSnapshot = await self._on_saver(self.get_state, config, thread_id=thread_id)
        return found

    def get_state_history(
        self,
        config: Config | None = None,
        *,
        thread_id: str | None = None,
        filter: Mapping[str, Any] | None = None,
        before: Config | None = None,
        limit: int | None = None,
    ) -> Iterator[StateSnapshot]:
        """The thread's checkpoints, newest first; `filter` compares metadata, `before` names a checkpoint."""
        from flowfn.state import history

        end = None if before is None else read_config(before).checkpoint_id
        where = self._coordinates(config, thread_id)
        return history(self._self_setup.program, self._saver(), where, filter, end, limit)

    async def aget_state_history(
        self, config: Config | None = None, **options: Any
    ) -> AsyncIterator[StateSnapshot]:
        """`get_state_history` for asyncio."""
        for found in await self._on_saver(lambda: list(self.get_state_history(config, **options))):
            yield found

    def update_state(
        self,
        config: Config | None,
        values: Any,
        as_node: str | None = None,
        *,
        thread_id: str | None = None,
    ) -> dict[str, Any]:
        """Write to a thread's state as a new checkpoint, and return the config that names it.

        For an `@entrypoint` the value becomes both its result and what the next call sees as `previous`.
        With `configurable.checkpoint_id` the new checkpoint forks from that one.

        Raises:
            UnknownCheckpoint, NoCheckpointer: as `get_state`.
            ThreadBusy: a live run holds the thread.
        """
        from flowfn.state import apply_update

        where = self._coordinates(config, thread_id)
        writes = self._self_setup.updates(values, as_node)
        return apply_update(self._self_setup.program, self._saver(), where, writes)

    async def aupdate_state(
        self, config: Config | None, values: Any, as_node: str | None = None, *, thread_id: str | None = None
    ) -> dict[str, Any]:
        """`update_state` for asyncio."""
        found: dict[str, Any] = await self._on_saver(
            self.update_state, config, values, as_node, thread_id=thread_id
        )
        return found

    def thread(self, thread_id: str) -> Thread[P, R]:
        """A handle on one thread of this workflow."""
        from flowfn.thread import Thread

        return Thread(self, thread_id)

    # -- shared by all of the above -------------------------------------------------------------

    def _saver(self) -> Saver:
        saver = self._self_setup.saver
        if saver is None:
            raise NoCheckpointer(
                f"{self._self_setup.name!r} keeps no past: give it one with @entrypoint(checkpointer='runs.db')"
            )
        return saver

    def _coordinates(self, config: Config | None, thread_id: str | None) -> RunConfig:
        where = read_config(config, thread_id)
        if where.thread_id is None:
            raise InvalidInput("no thread is named: pass thread_id='…' or configurable={'thread_id': '…'}")
        return where

    async def _on_saver(self, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        from flowfn.engine.root import on_saver
        from flowfn.invocation import loop_hosts

        return await on_saver(self._saver(), loop_hosts().own, function, *args, **kwargs)


def _returned(ending: Ending) -> Any:
    """A result the way LangGraph's `invoke` returns it."""
    if ending.interrupts:
        return {"__interrupt__": list(ending.interrupts)}
    return ending.value


def _per_input(inputs: Sequence[Any], config: Config | Sequence[Config] | None) -> list[Config | None]:
    if config is None or isinstance(config, Mapping):
        return [config] * len(inputs)
    if len(config) != len(inputs):
        raise InvalidInput(
            f"{len(inputs)} inputs and {len(config)} configs: pass one config, or one per input"
        )
    return list(config)


async def _inline(
    function: Callable[..., Any], input: Any, config: Config | None, options: dict[str, Any]
) -> Any:
    return function(input, config, **options)
