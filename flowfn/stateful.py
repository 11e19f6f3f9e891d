"""The state of a workflow's threads: looked at, gone through from the newest checkpoint to the oldest, and changed.

Each method comes in two colours; the async one runs the blocking one where the saver may block.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from flowfn.config import Config, RunConfig, check_keys, read_config
from flowfn.errors import EmptyUpdate, InvalidInput, NoCheckpointer, ThreadBusy
from flowfn.ports import with_configurable
from flowfn.values import StateSnapshot, StateUpdate

if TYPE_CHECKING:
    from flowfn.invocation import Setup
    from flowfn.ports import Saver


class Stateful:
    """What a workflow can do with the state of its threads."""

    __slots__ = ()  # or an entrypoint would not have its function's attributes

    if TYPE_CHECKING:

        @property
        def _self_setup(self) -> Setup:
            """What the workflow is made of; built when it is first asked for."""

    def get_state(
        self, config: Config | None = None, *, subgraphs: bool = False, thread_id: str | None = None
    ) -> StateSnapshot:
        """The thread's state at its head, or at `configurable.checkpoint_id`.

        At its head the values, and `next`, are ahead of the checkpoint by what finished tasks have written.
        Of a thread that nobody has used, there are no values and `next` is empty, as in LangGraph.
        `subgraphs` puts the state of nested programs into their tasks, in place of the config that names it.

        Raises:
            UnknownCheckpoint: the thread has no checkpoint of that id.
            NoCheckpointer: the workflow keeps no past.
        """
        from flowfn.history.state import snapshot

        saver, where = self._place(config, thread_id)
        with with_configurable(where.configurable):
            return snapshot(self._self_setup, saver, where, subgraphs)

    async def aget_state(
        self, config: Config | None = None, *, subgraphs: bool = False, thread_id: str | None = None
    ) -> StateSnapshot:
        """`get_state` for asyncio."""
        found: StateSnapshot = await self._on_saver(
            self.get_state, config, subgraphs=subgraphs, thread_id=thread_id
        )
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
        from flowfn.history.state import history

        end = None if before is None else read_config(before).checkpoint_id
        saver, where = self._place(config, thread_id)
        with with_configurable(where.configurable):
            found = history(self._self_setup, saver, where, filter, end, limit)
        return _each_with(where.configurable, found)

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
        task_id: str | None = None,
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
        update = StateUpdate(values, as_node, task_id)
        return self.bulk_update_state(config, [[update]], thread_id=thread_id)

    async def aupdate_state(
        self,
        config: Config | None,
        values: Any,
        as_node: str | None = None,
        task_id: str | None = None,
        *,
        thread_id: str | None = None,
    ) -> dict[str, Any]:
        """`update_state` for asyncio."""
        update = StateUpdate(values, as_node, task_id)
        return await self.abulk_update_state(config, [[update]], thread_id=thread_id)

    def bulk_update_state(
        self,
        config: Config | None,
        supersteps: Sequence[Sequence[StateUpdate]],
        *,
        thread_id: str | None = None,
    ) -> dict[str, Any]:
        """`update_state` several times over, each time with one or more updates that count as one superstep.

        An update may be a plain tuple `(values, as_node, task_id)`.

        Raises:
            EmptyUpdate: there is no superstep, or one without updates.
        """
        from flowfn.history.changing import apply_updates

        saver, where = self._place(config, thread_id)
        setup = self._self_setup
        if not supersteps:
            raise EmptyUpdate("No supersteps provided. Pass a list of lists of StateUpdate")
        if not all(supersteps):
            raise EmptyUpdate("No updates provided. Each superstep is a list of one StateUpdate or more")
        try:
            with with_configurable(where.configurable):
                steps = [[StateUpdate(*one) for one in updates] for updates in supersteps]
                return apply_updates(setup, saver, where, steps)
        except Exception as error:
            raise setup.translated(error) from error.__cause__

    async def abulk_update_state(
        self,
        config: Config | None,
        supersteps: Sequence[Sequence[StateUpdate]],
        *,
        thread_id: str | None = None,
    ) -> dict[str, Any]:
        """`bulk_update_state` for asyncio."""
        return await self._updated(partial(self.bulk_update_state, config, supersteps, thread_id=thread_id))

    async def _updated(self, update: Callable[[], dict[str, Any]]) -> dict[str, Any]:
        """Make an update from asyncio; a program whose updates run code has that awaited."""
        found: dict[str, Any] = await self._on_saver(update)
        return found

    # -- shared by all of the above -------------------------------------------------------------

    def _saver(self) -> Saver:
        saver = self._self_setup.saver
        if saver is None:
            raise NoCheckpointer(
                f"{self._self_setup.name!r} keeps no past: give it one with @entrypoint(checkpointer='runs.db')"
            )
        return saver

    def _config(self, config: Config | None, thread_id: str | None) -> RunConfig:
        """The configuration of a call."""
        return check_keys(read_config(config, thread_id))

    def _where(self, config: Config | None, thread_id: str | None) -> RunConfig:
        """A configuration that says where to look, whatever runs here."""
        return read_config(config, thread_id)

    def _place(self, config: Config | None, thread_id: str | None) -> tuple[Saver, RunConfig]:
        """Where to look; who keeps no past is told that first, as naming a thread would be of no use."""
        saver, where = self._saver(), self._where(config, thread_id)
        if where.thread_id is None:
            raise InvalidInput("no thread is named: pass thread_id='…' or configurable={'thread_id': '…'}")
        return saver, where

    async def _on_saver(self, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        from flowfn.engine.runs.leasing import on_saver
        from flowfn.invocation.hosts import loop_hosts

        saver, host = self._saver(), loop_hosts().own
        return await self._once_free(lambda: on_saver(saver, host, function, *args, **kwargs))

    async def _once_free(self, attempt: Callable[[], Awaitable[Any]]) -> Any:
        """Do something with a thread, once streams and runs that were left here have let go of it."""
        try:
            return await attempt()
        except ThreadBusy as busy:
            from flowfn.hosts.left_behind import ended
            from flowfn.hosts.streams import left_streams_end

            await left_streams_end()
            if busy.left is not None:
                await ended(busy.left)
            return await attempt()


def _each_with(configurable: Mapping[str, Any], found: Iterator[StateSnapshot]) -> Iterator[StateSnapshot]:
    """What an iterator finds, each with `configurable_here` saying this: whoever reads it goes on in between."""
    while True:
        with with_configurable(configurable):
            if (one := next(found, None)) is None:
                return
        yield one
