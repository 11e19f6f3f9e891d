"""A graph as a part of the run that calls it, or as one of that run's nodes."""

from __future__ import annotations

from collections.abc import Coroutine, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from flowfn.context import current_frame
from flowfn.ports import Begin
from flowfn.python.lazy import Later
from flowfn.values import MISSING, Command
from graph_compat.errors import Arrived, ParentCommand
from graph_compat.graph.configs import config_within, elsewhere_of, named_place
from graph_compat.graph.watched import Watched
from graph_compat.langchain import callbacks_here
from graph_compat.langchain.graph_runs import graph_run
from graph_compat.langchain.invoking import config_here
from graph_compat.langchain.listeners import is_heard

if TYPE_CHECKING:
    from flowfn import invocation
    from flowfn.context import Frame
    from flowfn.identity.made_with import together
    from flowfn.invocation import Ending, Fresh, Hosts, Order, Setup
else:
    invocation, together = Later("flowfn.invocation"), Later("flowfn.identity.made_with.together")


class Nested(Watched):
    """What a compiled graph does inside a run: nothing of it is recorded where its `checkpointer` is False."""

    checkpointer: Any
    debug: bool

    async def _inside(self, frame: Frame, given: Fresh, order: Order, hosts: Hosts) -> Ending:
        """Run as a part of the run that calls; a command for the graph around arrives there."""
        named = named_place(order.config.checkpoint_ns)
        around = order.config.under(frame.run.config)
        callbacks = order.config.rest.get("callbacks") or callbacks_here()
        around = replace(around, run_id=order.config.run_id, rest={**around.rest, "callbacks": callbacks})
        on_loop = hosts.on_loop
        try:
            async with graph_run(self.name, order.input, around, on_loop=on_loop) as (config, result):
                order = replace(order, config=config)
                ending = await self._nested(self._self_setup, frame, given, order, hosts, named)
                result.value = ending.value if order.shown is None else self._shown(ending, order.shown)
            return ending
        except ParentCommand as signal:
            raise _arrived(signal) from None

    def _nested(
        self, setup: Setup, frame: Frame, given: Fresh, order: Order, hosts: Hosts, named: str = ""
    ) -> Coroutine[Any, Any, Ending]:
        recorded = self.checkpointer is not False
        remembers = setup.remembers or bool(named)
        elsewhere = elsewhere_of(frame, order.config, named) if remembers else None
        if setup.settings.store is not None and frame.run.settings.store is not None:  # that around counts
            setup = replace(setup, settings=replace(setup.settings, store=None))
        return invocation.nest(
            setup, frame, given, order, hosts, remembers=remembers, recorded=recorded, elsewhere=elsewhere
        )

    def as_node(self, state: Any) -> Any:
        """What it comes to as the node that runs here, on what the node is given."""
        frame = current_frame.get()
        if frame is None or not self._is_told_nothing(frame, state):
            return self.invoke(state, self._config_of_node())
        setup = self._self_setup
        return _handed_back(
            setup,
            invocation.ended_blocking(setup, self._within(setup, frame, state, invocation.blocking_hosts())),
        )

    async def as_node_on_loop(self, state: Any) -> Any:
        """`as_node` for asyncio."""
        frame = current_frame.get()
        if frame is None or not self._is_told_nothing(frame, state):
            return await self.ainvoke(state, self._config_of_node())
        setup = self._self_setup
        return _handed_back(
            setup,
            await invocation.ended_awaiting(
                setup, self._within(setup, frame, state, invocation.loop_hosts())
            ),
        )

    def _is_told_nothing(self, frame: Frame, state: Any) -> bool:
        """Whether a call of it by its node would say no more than the state: then no configuration has to be made of
        the run's, in LangChain's words, to be read again. Where `invoke` was replaced, what replaces it is called.
        """
        return not (
            self.config is not None
            or self.debug
            or is_heard(frame)
            or state is None
            or isinstance(state, Command)
            or self._is_watched()
        )

    async def _within(self, setup: Setup, frame: Frame, state: Any, hosts: Hosts) -> Ending:
        """Run as the node that runs here."""
        together.part()
        given = invocation.Fresh(self._program.input(state), Begin(self.name, ""))
        try:
            return await self._nested(
                setup, frame, given, invocation.Order(state, config_within(frame)), hosts
            )
        except ParentCommand as signal:
            raise _arrived(signal) from None

    def _config_of_node(self) -> Mapping[str, Any] | None:
        """The node's configuration for a graph that is bound to one of its own; without it every graph finds it."""
        return None if self.config is None else config_here()


def _handed_back(setup: Setup, ending: Ending) -> Any:
    """What a node has of the graph that it is."""
    return setup.returned(ending, None if ending.value is MISSING else ending.value)


def _arrived(signal: ParentCommand) -> Arrived:
    """A command for the graph around, there."""
    return Arrived(replace(signal.args[0], graph=None))
