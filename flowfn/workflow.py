"""A workflow: a program that can be called and streamed; see `stateful.py` for what it can do with its threads.

Each method comes in two colours that share their code: `invocation.prepare` makes the engine's
coroutine, the blocking method drives it, the async one awaits it.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import aclosing
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, Any, Generic, ParamSpec, TypeVar

from flowfn.config import Config, Durability, OnBusy
from flowfn.errors import InvalidInput, UnknownChannel
from flowfn.options import check_option, refuse_others
from flowfn.ports import UNFINISHED, Standing
from flowfn.python.beside import imported_beside, ready
from flowfn.python.lazy import Later
from flowfn.python.sifting import sifted
from flowfn.stateful import Stateful
from flowfn.values import MISSING, GraphOutput

if TYPE_CHECKING:
    from flowfn import invocation
    from flowfn.engine.runs.lead import Ending
    from flowfn.invocation import Names, Order
    from flowfn.ports import ThreadRow
    from flowfn.runtime import RunControl
    from flowfn.streams import Keys, Shaper, Version
    from flowfn.thread import Thread
else:
    invocation = Later("flowfn.invocation")

P = ParamSpec("P")
R = TypeVar("R")

ENGINE = ("flowfn.invocation.streaming", "flowfn.hosts.loop")
"""The modules that the first call of a process loads."""

UNNAMED = (
    "graphs that nobody named share a name, so that nobody can tell which of them a run is of: name this one, by "
    "compile(name=…) or its attribute name, or go on with a run that you know to be its own by invoke(None, config)"
)
"""Why of a graph nothing is recovered that has no name of its own."""


class Workflow(Stateful, Generic[P, R]):
    """A program with a way to be called. Made by `@entrypoint`."""

    __slots__ = ()

    def _call_on(
        self, thread: str, args: Sequence[Any], kwargs: dict[str, Any], *, once: bool = False
    ) -> Any:
        """A direct call on a thread."""
        raise TypeError(f"a graph isn't called like a function: write thread({thread!r}).invoke(input)")

    @property
    def _is_awaited(self) -> bool:
        """Whether a direct call is a coroutine."""
        return False

    def _needed(self) -> tuple[str, ...]:
        """The modules that calls load, which an event loop needn't wait for."""
        return ENGINE

    # -- calling --------------------------------------------------------------------------------

    def invoke(
        self,
        input: Any = MISSING,
        config: Config | None = None,
        *,
        thread_id: str | None = None,
        context: Any = None,
        stream_mode: str | Sequence[str] | None = "values",
        print_mode: str | Sequence[str] = (),
        output_keys: str | Sequence[str] | None = None,
        interrupt_before: Names = None,
        interrupt_after: Names = None,
        durability: Durability | None = None,
        on_busy: OnBusy | None = None,
        control: RunControl | None = None,
        version: Version = "v1",
        subgraphs: bool = False,
        debug: bool | None = None,
        **others: Any,
    ) -> Any:
        """Run and return the result, or `{"__interrupt__": [...]}` where the run waits for answers.

        Args:
            input: the value for a workflow of one parameter, a mapping for several: a new run, also where the
                thread's last one is unfinished. None goes on where the thread stopped; `Command(resume=answer)`
                answers it and goes on. A direct call, or `thread(id)(…)`, goes on with the same call by itself.
            config: LangGraph's `RunnableConfig`; `configurable.checkpoint_id` goes on from an older checkpoint.
            thread_id: the same as `config["configurable"]["thread_id"]`. Without one a new thread is started.
            context: what the running code sees as `runtime.context`.
            stream_mode: anything but "values" returns the list of chunks that `stream` would yield.
            print_mode: stream modes whose chunks are printed meanwhile.
            output_keys: which channels the result shows; default: those of the output.
            interrupt_before, interrupt_after: nodes to stop at, or "*" for all; input None goes on from there.
            durability: "sync" (default), "async" or "exit"; see the guarantees.
            on_busy: "wait" (default), "reject" or "cancel", where another live run holds the thread.
            control: asks the run, from outside, to stop after its superstep.
            version: "v2" returns a `GraphOutput` of `value` and `interrupts`.
            subgraphs: of such chunks, those of nested programs too, each with its namespace.
            debug: print updates and values meanwhile.

        Raises:
            InvalidInput, ValidationError: the input doesn't fit; nothing was recorded.
            UnknownThread, UnknownCheckpoint, NoPendingInterrupt, AmbiguousAnswer, EmptyCommand, NoCheckpointer:
                there is nothing to resume in this way.
            ThreadBusy: `on_busy="reject"`.
            NonDeterminismError: a call can't be told from a recorded one.
            Exception: the workflow's own; the thread can be resumed with `invoke(None, config)`.
        """
        order = self._order(
            input,
            config,
            thread_id,
            context,
            durability=self._durability(durability, others),
            on_busy=on_busy,
            interrupt_before=interrupt_before,
            interrupt_after=interrupt_after,
            control=control,
            shown=output_keys,
        )
        self._check_keys(output_keys)
        print_mode = print_mode or self._printed(debug)
        if stream_mode == "values" and not print_mode:
            return self._returned(invocation.run_blocking(self._self_setup, order), output_keys, version)
        ending: list[Ending] = []
        shaper = self._shaper(self._mode(stream_mode, config), subgraphs, self._output(output_keys), version)
        chunks = list(self._chunks(order, shaper, print_mode, ending))
        return self._returned(ending[0], output_keys, version) if stream_mode == "values" else chunks

    async def ainvoke(
        self,
        input: Any = MISSING,
        config: Config | None = None,
        *,
        thread_id: str | None = None,
        context: Any = None,
        stream_mode: str | Sequence[str] | None = "values",
        print_mode: str | Sequence[str] = (),
        output_keys: str | Sequence[str] | None = None,
        interrupt_before: Names = None,
        interrupt_after: Names = None,
        durability: Durability | None = None,
        on_busy: OnBusy | None = None,
        control: RunControl | None = None,
        version: Version = "v1",
        subgraphs: bool = False,
        debug: bool | None = None,
        **others: Any,
    ) -> Any:
        """`invoke` for asyncio: async functions run on the event loop, sync ones on threads."""
        if (needed := self._needed()) not in ready:
            await imported_beside(needed)
        order = self._order(
            input,
            config,
            thread_id,
            context,
            durability=self._durability(durability, others),
            on_busy=on_busy,
            interrupt_before=interrupt_before,
            interrupt_after=interrupt_after,
            control=control,
            shown=output_keys,
        )
        self._check_keys(output_keys)
        print_mode = print_mode or self._printed(debug)
        if stream_mode == "values" and not print_mode:
            return self._returned(
                await invocation.run_awaiting(self._self_setup, order), output_keys, version
            )
        ending: list[Ending] = []
        shaper = self._shaper(self._mode(stream_mode, config), subgraphs, self._output(output_keys), version)
        chunks = [chunk async for chunk in self._achunks(order, shaper, print_mode, ending)]
        return self._returned(ending[0], output_keys, version) if stream_mode == "values" else chunks

    def stream(
        self,
        input: Any = MISSING,
        config: Config | None = None,
        *,
        thread_id: str | None = None,
        context: Any = None,
        stream_mode: str | Sequence[str] | None = None,
        print_mode: str | Sequence[str] = (),
        output_keys: str | Sequence[str] | None = None,
        interrupt_before: Names = None,
        interrupt_after: Names = None,
        durability: Durability | None = None,
        on_busy: OnBusy | None = None,
        control: RunControl | None = None,
        version: Version = "v1",
        subgraphs: bool = False,
        debug: bool | None = None,
        **others: Any,
    ) -> Iterator[Any]:
        """Run and yield what happens, as `stream_mode` says: one mode, or a list for `(mode, chunk)` pairs.

        Leaving the loop early stops the run at its next task or superstep; it can be resumed.

        Args:
            subgraphs: show what nested programs do as well, each chunk with its namespace.
            debug: print updates and values meanwhile.
            output_keys: which channels `values` and `updates` show; default: all.
            version: "v2" yields dicts of `type`, `ns` and `data`.

        The other arguments and the errors are those of `invoke`.
        """
        order = self._order(
            input,
            config,
            thread_id,
            context,
            durability=self._durability(durability, others),
            on_busy=on_busy,
            interrupt_before=interrupt_before,
            interrupt_after=interrupt_after,
            control=control,
            shown=self._streamed(output_keys),
        )
        shaper = self._shaper(self._mode(stream_mode, config), subgraphs, output_keys, version)
        yield from self._chunks(order, shaper, print_mode or self._printed(debug), [])

    async def astream(
        self,
        input: Any = MISSING,
        config: Config | None = None,
        *,
        thread_id: str | None = None,
        context: Any = None,
        stream_mode: str | Sequence[str] | None = None,
        print_mode: str | Sequence[str] = (),
        output_keys: str | Sequence[str] | None = None,
        interrupt_before: Names = None,
        interrupt_after: Names = None,
        durability: Durability | None = None,
        on_busy: OnBusy | None = None,
        control: RunControl | None = None,
        version: Version = "v1",
        subgraphs: bool = False,
        debug: bool | None = None,
        **others: Any,
    ) -> AsyncIterator[Any]:
        """`stream` for asyncio."""
        if (needed := self._needed()) not in ready:
            await imported_beside(needed)
        order = self._order(
            input,
            config,
            thread_id,
            context,
            durability=self._durability(durability, others),
            on_busy=on_busy,
            interrupt_before=interrupt_before,
            interrupt_after=interrupt_after,
            control=control,
            shown=self._streamed(output_keys),
        )
        shaper = self._shaper(self._mode(stream_mode, config), subgraphs, output_keys, version)
        printed = print_mode or self._printed(debug)
        async with aclosing(self._achunks(order, shaper, printed, [])) as chunks:  # type: ignore[type-var]
            async for chunk in chunks:
                yield chunk

    def _order(
        self, input: Any, config: Config | None, thread_id: str | None, context: Any, **given: Any
    ) -> Order:
        """The arguments of a call, read; those `given` by name go into the order as they are."""
        return invocation.Order(input, self._config(config, thread_id), context, **given)

    def _printed(self, debug: bool | None) -> Sequence[str]:
        """The stream modes that are printed without being asked for one by one."""
        return ("updates", "values") if debug else ()

    def _durability(self, durability: Durability | None, others: dict[str, Any]) -> Durability | None:
        """The durability of a call, after a look at the arguments that nobody knows.

        Raises:
            TypeError: there are some.
        """
        if others:
            self._refuse_others(others)
        return durability

    def _refuse_others(self, others: dict[str, Any]) -> None:
        refuse_others(f"a call of {self._self_setup.name!r}", others, Workflow.invoke.__kwdefaults__)

    def _check_keys(self, keys: str | Sequence[str] | None) -> None:
        """Refuse keys that name no channel.

        Raises:
            UnknownChannel: one doesn't.
        """
        channels = self._self_setup.program.channels
        for key in () if keys is None else (keys,) if isinstance(keys, str) else keys:
            if key not in channels:
                raise UnknownChannel(f"Key {key} not in channels. Those of the program: {list(channels)}")

    def _mode(self, mode: str | Sequence[str] | None, config: Config | None) -> str | Sequence[str]:
        """What a call streams that asks for `mode`, or for none."""
        return self._self_setup.stream_mode if mode is None else mode

    def _output(self, keys: Keys) -> Keys:
        """Which channels the chunks of a call show that isn't a stream: those of the output, as its result does."""
        return self._self_setup.program.output if keys is None else keys

    def _streamed(self, keys: Keys) -> Keys:
        """Which channels a stream's result shows to whoever watches calls: all that stream."""
        program = self._self_setup.program
        return program.stream_channels if keys is None and not program.lone else keys

    def _shaper(
        self,
        mode: str | Sequence[str],
        subgraphs: bool,
        output_keys: str | Sequence[str] | None,
        version: Version,
    ) -> Shaper:
        from flowfn.streams import Shaper

        self._check_keys(output_keys)
        typed = version == "v2" and self._self_setup.program.typed is not None
        return Shaper(mode, subgraphs, output_keys, version, typed)

    def _chunks(
        self, order: Order, shaper: Shaper, printed: str | Sequence[str], ending: list[Ending]
    ) -> Iterator[Any]:
        """Run beside the caller; the chunks, and when they have ended, in `ending`, what it came to."""
        from flowfn.invocation.streaming import chunks

        return chunks(self._self_setup, order, shaper, printed, ending)

    def _achunks(
        self, order: Order, shaper: Shaper, printed: str | Sequence[str], ending: list[Ending]
    ) -> AsyncIterator[Any]:
        """`_chunks` for asyncio."""
        from flowfn.invocation.streaming import awaited_chunks

        return awaited_chunks(self._self_setup, order, shaper, printed, ending)

    def batch(
        self,
        inputs: Sequence[Any],
        config: Config | Sequence[Config] | None = None,
        *,
        return_exceptions: bool = False,
        **options: Any,
    ) -> list[Any]:
        """`invoke` for each input, in parallel; the results in the order of the inputs.

        `return_exceptions` puts an error into the place of its result; else the first one is raised. The
        `max_concurrency` of the first config also says how many of them run at the same time at most, 32 if it is
        unset. Where they only compute, on a saver that is quick, there are fewer: they would hold each other up.
        """
        from flowfn.hosts.side_by_side import side_by_side

        configs = _per_input(inputs, config)
        calls = [
            partial(self.invoke, item, one, **options) for item, one in zip(inputs, configs, strict=True)
        ]
        most = self._most_at_once(configs)
        return side_by_side(calls, most, return_exceptions, eager=self._waits_to_commit)

    @property
    def _waits_to_commit(self) -> bool:
        """Whether each of its commits takes a while, which other runs can use or share."""
        saver = self._self_setup.saver
        return saver is not None and not saver.inline

    async def abatch(
        self,
        inputs: Sequence[Any],
        config: Config | Sequence[Config] | None = None,
        *,
        return_exceptions: bool = False,
        **options: Any,
    ) -> list[Any]:
        """`batch` for asyncio; all at the same time unless the first config has a `max_concurrency`."""
        from flowfn.hosts.side_by_side import awaited_side_by_side

        configs = _per_input(inputs, config)
        calls = [
            partial(self.ainvoke, item, one, **options) for item, one in zip(inputs, configs, strict=True)
        ]
        return await awaited_side_by_side(calls, self._most_at_once(configs), return_exceptions)

    # -- going on -------------------------------------------------------------------------------

    def thread(self, thread_id: str) -> Thread[P, R]:
        """A handle on one thread of this workflow."""
        from flowfn.thread import AwaitedThread, Thread

        return (AwaitedThread if self._is_awaited else Thread)(self, thread_id)

    def threads(self, *, status: Standing | None = None, limit: int | None = None) -> list[Thread[P, R]]:
        """The threads whose last run is of this workflow, those of the latest runs first.

        A graph's are those of the graphs of its name. Of a method they are those of an object that was made with the
        same, and so it is with what a factory made.

        Args:
            status: only those that stand so, as `Thread.status` says it. What processes left behind when they died is
                "killed", with which `recover` goes on.
            limit: so many at most.

        Raises:
            InvalidInput: there is no such status, or the limit is no count.
            NoCheckpointer: the workflow keeps no past; of a graph, LangGraph's ValueError.
        """
        check_option("status", status, Standing)
        saver, name = self._saver(), self._self_setup.name

        def read(most: int | None) -> list[ThreadRow]:
            open_ones = status in ("killed", *UNFINISHED)
            return saver.unfinished(name, limit=most) if open_ones else saver.threads(limit=most)

        def own(row: ThreadRow) -> Thread[P, R] | None:
            meant = row.workflow == name and self._is_of(row) and status in (None, row.standing)
            return self.thread(row.id) if meant else None

        return sifted(read, own, limit)

    async def athreads(
        self, *, status: Standing | None = None, limit: int | None = None
    ) -> list[Thread[P, R]]:
        """`threads` for asyncio."""
        found: list[Thread[P, R]] = await self._on_saver(self.threads, status=status, limit=limit)
        return found

    def recover(self, config: Config | None = None) -> dict[str, Any]:
        """Go on with every run that a process left when it died, or whose question has expired, side by side.

        Returns what each came to, by the id of its thread: its result, a question it may be, or the error that it
        raised. `ThreadBusy` is one that another process goes on with, or has gone on with by now.

        Args:
            config: as for `batch`; its `max_concurrency` says how many run at the same time.

        Raises:
            AsyncInBlockingRun: write `await workflow.arecover()`.
            InvalidInput: it is a graph that nobody named, whose runs can't be told from those of others.
            NoCheckpointer: the workflow keeps no past.
        """
        if self._self_awaits():
            from flowfn.engine.hosts import refused_async

            raise refused_async(self._self_setup.program.name)
        from flowfn.hosts.side_by_side import side_by_side

        def taken_up(order: Order) -> Any:
            return self._returned(invocation.run_blocking(self._self_setup, order), None, "v1")

        due = self._due(config)
        calls = [partial(taken_up, order) for order in due.values()]
        ended = side_by_side(calls, _most(due), True, eager=self._waits_to_commit)
        return dict(zip(due, ended, strict=True))

    async def arecover(self, config: Config | None = None) -> dict[str, Any]:
        """`recover` for asyncio."""
        from flowfn.hosts.side_by_side import awaited_side_by_side

        due = await self._on_saver(self._due, config)
        calls = [partial(self._taken_up, order) for order in due.values()]
        return dict(zip(due, await awaited_side_by_side(calls, _most(due), True), strict=True))

    async def _taken_up(self, order: Order) -> Any:
        return self._returned(await invocation.run_awaiting(self._self_setup, order), None, "v1")

    def _due(self, config: Config | None) -> dict[str, Order]:
        """How to go on with each run that is due, by its thread."""
        from flowfn.history.due import due
        from flowfn.invocation.hosts import blocking_hosts

        if not self._has_own_name:
            raise InvalidInput(UNNAMED)
        saver, now = self._saver(), datetime.fromtimestamp(blocking_hosts().own.now(), UTC)
        own = filter(self._is_of, saver.unfinished(self._self_setup.name))
        return {row.id: self._recovery(row.id, now, config) for row in due(saver, own, now)}

    def _recovery(self, thread: str, now: datetime, config: Config | None = None) -> Order:
        """To go on with a thread's run if it is due still when the thread is held."""
        from flowfn.history.due import check_still_due

        given = self.thread(thread)._located(config)
        check = partial(check_still_due, now=now)
        return self._order(None, given, None, None, on_busy="reject", check=check)

    @property
    def _has_own_name(self) -> bool:
        """Whether its name is no other workflow's: graphs that nobody named share one."""
        return True

    def _is_of(self, row: ThreadRow) -> bool:
        """Whether a run of this workflow's name is of this very one."""
        return True

    # -- shared by all of the above -------------------------------------------------------------

    def _self_awaits(self, around: Sequence[Workflow[Any, Any]] = ()) -> bool:
        """Whether a blocking call can't end: what runs, or a program in it, is a coroutine. `around`: what it is in."""
        return self._self_setup.is_async

    def _most_at_once(self, configs: Sequence[Config | None]) -> int | None:
        return self._config(configs[0], None).max_concurrency if configs else None

    def _shown(self, ending: Ending, keys: str | Sequence[str]) -> Any:
        """The values of `keys` that a run ended on."""
        from flowfn.pregel.view import shown

        return shown(self._self_setup.program, ending.state, keys)

    def _returned(self, ending: Ending, output_keys: str | Sequence[str] | None, version: Version) -> Any:
        """A result the way LangGraph's `invoke` returns it."""
        setup = self._self_setup
        value = ending.value if output_keys is None else self._shown(ending, output_keys)
        if version == "v2":
            if ending.interrupts and setup.program.opaque and not isinstance(value, Mapping):
                value = MISSING  # it is of the run before; as in a stream, a mapping alone is shown beside a question
            nothing: Any = {} if ending.interrupts else None
            return GraphOutput(nothing if value is MISSING else value, ending.interrupts)
        return setup.returned(ending, None if value is MISSING else value)


def _per_input(inputs: Sequence[Any], config: Config | Sequence[Config] | None) -> list[Config | None]:
    if config is None or isinstance(config, Mapping):
        return [config] * len(inputs)
    if len(config) != len(inputs):
        raise InvalidInput(
            f"{len(inputs)} inputs and {len(config)} configs: pass one config, or one per input"
        )
    return list(config)


def _most(due: Mapping[str, Order]) -> int | None:
    """How many of some runs may go on at the same time."""
    return next((order.config.max_concurrency for order in due.values()), None)
