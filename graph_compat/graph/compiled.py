"""A program that runs: what compiled state graphs and `Pregel` share."""

from __future__ import annotations

import sys
import warnings
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from operator import is_
from typing import TYPE_CHECKING, Any, cast

from checkpointers.foreign.errors import SaverRaised
from flowfn.config import GIVEN_THREAD, Config, Durability, RunConfig, read_config
from flowfn.context import current_frame
from flowfn.errors import UnknownCheckpoint, UnknownPart, UnknownThread
from flowfn.policies import CachePolicy, RetryPolicy, timeout_seconds
from flowfn.values import Command, Write
from graph_compat.cache.port import CachePort, port_of
from graph_compat.constants import CONFIG_KEY_CHECKPOINTER
from graph_compat.errors import InvalidUpdateError, no_input, timed_out, translated
from graph_compat.graph.configs import (
    DEFAULT_RECURSION_LIMIT,
    full_config,
    is_handed_on,
    of_a_part,
    of_its_own,
    shown_config,
)
from graph_compat.graph.nested import Nested
from graph_compat.graph.node import Step, routing_on_this_loop
from graph_compat.graph.schema import maker
from graph_compat.graph.watched import ending_for
from graph_compat.langchain.graph_runs import graph_run
from graph_compat.langchain.messages import load_classes
from graph_compat.langchain.runnable import of_runnables
from graph_compat.langchain.tokens import listening
from graph_compat.snapshot import StateSnapshot
from graph_compat.types import GraphOutput
from graph_compat.warnings import LangGraphDeprecatedSinceV10, depth_of_caller, warn

if TYPE_CHECKING:
    from langchain_core.runnables import RunnableConfig

    from flowfn.context import Frame
    from flowfn.invocation import Ending, Fresh, Order, Resume, Run, Setup
    from flowfn.ports import Saver
    from flowfn.pregel import Amendment, Program
    from flowfn.streams import Shaper, Version
    from flowfn.values import Checkpoint, StateUpdate

_NO_THREAD = (
    "Checkpointer requires one or more of the following 'configurable' keys: thread_id, checkpoint_ns,"
    " checkpoint_id. Pass config={'configurable': {'thread_id': '…'}}"
)


class CompiledGraph(Nested):
    """A program that runs: what compiled state graphs and `Pregel` share.

    `checkpointer`, `store`, `cache`, `name`, `stream_mode`, `context_schema` and `step_timeout` (seconds that a
    superstep may take) may be set; the next call goes by them. The class has them too, for mocks that are made of it.
    """

    input_channels: Any
    checkpointer: Any = None
    store: Any = None
    cache: Any = None
    name: str = "LangGraph"
    stream_mode: str | Sequence[str] = "values"
    stream_eager: bool = False
    """Chunks are shown when they are there, in every mode; so it changes nothing."""
    context_schema: type[Any] | None = None
    config: Mapping[str, Any] | None = None
    step_timeout: float | None = None
    retry_policy: tuple[RetryPolicy, ...] = ()
    cache_policy: CachePolicy | None = None

    def __init__(
        self,
        *,
        program: Program,
        checkpointer: Any = None,
        cache: Any = None,
        store: Any = None,
        debug: bool = False,
        name: str = "LangGraph",
        stream_mode: str | Sequence[str] = "updates",
        context_schema: type[Any] | None = None,
        config: Mapping[str, Any] | None = None,
        step_timeout: float | None = None,
        stream_transformers: Sequence[Any] | None = None,
    ) -> None:
        self.name = name
        self.debug = debug
        self.checkpointer = checkpointer
        self.store = store
        self.cache = cache
        self.stream_mode = stream_mode
        self.context_schema = context_schema
        self.config = config
        self.step_timeout = step_timeout
        self.stream_transformers = tuple(stream_transformers or ())
        self._program = program

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name!r}>"

    def batch(
        self, inputs: Sequence[Any], config: Config | Sequence[Config] | None = None, **options: Any
    ) -> list[Any]:
        _check_lengths(inputs, config)
        return super().batch(inputs, config, **options)

    async def abatch(
        self, inputs: Sequence[Any], config: Config | Sequence[Config] | None = None, **options: Any
    ) -> list[Any]:
        _check_lengths(inputs, config)
        return await super().abatch(inputs, config, **options)

    def batch_as_completed(
        self, inputs: Sequence[Any], config: Config | Sequence[Config] | None = None, **options: Any
    ) -> Iterator[tuple[int, Any]]:
        """`batch`, each result when it is there, with its input's place; LangChain's, which has to be installed."""
        results: Iterator[Any] = self._of_langchains("batch_as_completed", inputs, config, options)
        return results

    def abatch_as_completed(
        self, inputs: Sequence[Any], config: Config | Sequence[Config] | None = None, **options: Any
    ) -> AsyncIterator[tuple[int, Any]]:
        """`batch_as_completed` for asyncio."""
        results: AsyncIterator[Any] = self._of_langchains("abatch_as_completed", inputs, config, options)
        return results

    def _of_langchains(
        self,
        method: str,
        inputs: Sequence[Any],
        config: Config | Sequence[Config] | None,
        options: dict[str, Any],
    ) -> Any:
        """What LangChain's method gives; each input with the limit that `invoke` would have, not with LangChain's."""
        _check_lengths(inputs, config)
        given = [config] * len(inputs) if config is None or isinstance(config, Mapping) else config
        limits = (full_config(self.config, one, None).get("recursion_limit") for one in given)
        limited = [
            {**(one or {}), "recursion_limit": DEFAULT_RECURSION_LIMIT if limit is None else limit}
            for one, limit in zip(given, limits, strict=True)
        ]
        return of_runnables(method, self, type(self))(inputs, limited, **options)

    @property
    def _has_own_name(self) -> bool:
        return self.name != "LangGraph"

    # -- what a workflow is made of -------------------------------------------------------------

    @property
    def _self_setup(self) -> Setup:
        """The setup, made anew where an attribute that it depends on was set."""
        key = (
            self.checkpointer,
            self.store,
            self.cache,
            self.name,
            self.stream_mode,
            self.context_schema,
            self.step_timeout,
        )
        if self._made is None or not all(map(is_, self._made[0], key)):
            self._made = (key, self._set_up())
        return self._made[1]

    def _set_up(self) -> Setup:
        from flowfn.invocation import Settings, Setup

        program = self._program
        saver = None if isinstance(self.checkpointer, bool) else self.checkpointer
        if saver is not None and program.placed:
            load_classes()
        return Setup(
            program=program if program.name == self.name else replace(program, name=self.name),
            name=self.name,
            checkpointer=saver,
            settings=Settings(
                on_divergence="reuse",
                cache=port_of(self.cache),
                store=self.store,
                retry=self.retry_policy,
                step_timeout=timeout_seconds(self.step_timeout, "step_timeout"),
                positional=True,
                timed_out=timed_out,
            ),
            stream_mode=self.stream_mode,
            given=self._given,
            updates=self._amendment,
            inside=self._inside,
            lead=self._lead,
            commands=self._commanded,
            follows_run_id=True,
            returned=returned,
            part=self._part,
            remembers=self.checkpointer is True,
            translated=self._translated,
        )

    def _translated(self, error: BaseException) -> BaseException:
        """An error of the engine as LangGraph's users know it."""
        return no_input(self.input_channels, error) if isinstance(error, UnknownThread) else translated(error)

    async def _lead(self, run: Run, given: Fresh | Resume, order: Order) -> Ending:
        """Run as a chain of LangChain's callbacks."""
        from flowfn.invocation import lead

        on_loop = run.hosts.on_loop
        if on_loop and self.cache is not None:
            cache = self._self_setup.settings.cache
            if isinstance(cache, CachePort):
                cache.note_loop()
        async with graph_run(self.name, order.input, run.config, on_loop=on_loop) as (config, result):
            run.config = config
            if "graph_compat.callbacks" in sys.modules:
                from graph_compat.callbacks import life_of

                async with life_of(run) as ended:
                    ending = await lead(run, given)
                    await ended(ending)
            else:
                ending = await lead(run, given)
            result.value = ending.value if order.shown is None else self._shown(ending, order.shown)
        return ending

    def _shaper(
        self,
        mode: str | Sequence[str],
        subgraphs: bool,
        output_keys: str | Sequence[str] | None,
        version: Version,
    ) -> Shaper:
        shaper = super()._shaper(mode, subgraphs, output_keys, version)
        if not isinstance(mode, list) and len(shaper.modes) == 1:
            shaper.labelled = False
        return shaper

    def _chunks(
        self, order: Order, shaper: Shaper, printed: str | Sequence[str], ending: list[Ending]
    ) -> Iterator[Any]:
        return super()._chunks(listening(order, shaper, printed), shaper, printed, ending_for(ending))

    def _achunks(
        self, order: Order, shaper: Shaper, printed: str | Sequence[str], ending: list[Ending]
    ) -> AsyncIterator[Any]:
        return super()._achunks(listening(order, shaper, printed), shaper, printed, ending_for(ending))

    def _given(self, given: Any) -> tuple[Sequence[Write], str]:
        """What an input writes; no two inputs of a graph are the same call."""
        return self._program.input(given), ""

    def _commanded(self, command: Command[Any]) -> Sequence[Write]:
        """What a caller's command writes."""
        raise NotImplementedError

    def _amendment(
        self,
        checkpoint: Checkpoint,
        updates: Sequence[StateUpdate],
        where: RunConfig,
        around: Sequence[CompiledGraph] = (),
    ) -> Amendment:
        """What updates of the state come to; `where` is their caller's configuration."""
        from graph_compat.graph.updating import amendment
        from graph_compat.outside import asked_outside

        with asked_outside(where, self._store_within(around)):
            return amendment(self, checkpoint, updates)

    async def _updated(self, update: Callable[[], dict[str, Any]]) -> dict[str, Any]:
        """Make an update beside the event loop, which its edges' coroutines run on."""
        from flowfn.invocation.hosts import loop_hosts

        found: dict[str, Any]
        with routing_on_this_loop():
            found = await self._once_free(lambda: loop_hosts().own.blocking(update))
        return found

    def _written(self, node: str, values: Any, checkpoint: Checkpoint) -> list[Write]:
        """What a node writes that returns `values` at a checkpoint."""
        step: Step = self._program.nodes[node].run.function.__self__  # type: ignore[attr-defined]
        return step.written(values, self._program, checkpoint, node)

    def _part(self, node: str, around: Sequence[CompiledGraph] = ()) -> Setup | None:
        """The setup of the graph nested in a node."""
        found = self._graph_in(node)
        if found is None or getattr(found, "checkpointer", None) is False:
            return None
        setup = found._self_setup
        if not isinstance(found, CompiledGraph):
            return setup
        here = (*around, self)
        return replace(
            setup, updates=partial(found._amendment, around=here), part=partial(found._part, around=here)
        )

    def _store_within(self, around: Sequence[CompiledGraph]) -> Any:
        """The store that its code finds in graphs, outermost first: as in a run, that of the first that has one."""
        return next(
            (each._self_setup.ready.store for each in (*around, self) if each.store is not None), None
        )

    def _durability(self, durability: Durability | None, others: dict[str, Any]) -> Durability | None:
        """The durability of a call, which may come by its old name."""
        during = others.pop("checkpoint_during", None)
        if during is not None:
            warn(
                "`checkpoint_during` is deprecated and will be removed. Please use `durability` instead.",
                LangGraphDeprecatedSinceV10,
                depth=depth_of_caller() + 1,
            )
            if durability is not None:
                raise ValueError(
                    "Cannot use both `checkpoint_during` and `durability` parameters. Please use `durability` instead."
                )
            durability = "async" if during else "exit"
        if durability is not None and self.checkpointer in (None, False) and current_frame.get() is None:
            warnings.warn(
                "`durability` has no effect when no checkpointer is present.",
                UserWarning,
                stacklevel=depth_of_caller(),
            )
        return durability

    def _order(
        self, input: Any, config: Config | None, thread_id: str | None, context: Any, **given: Any
    ) -> Order:
        if isinstance(input, Command) and input.graph == Command.PARENT:
            raise InvalidUpdateError(
                "There is no parent graph. A caller's command is for the graph that it calls"
            )
        if input is None and self._self_setup.saver is None:
            raise no_input(self.input_channels, f"{self.name!r} keeps no past to go on with: pass an input")
        make = maker(self.context_schema) if isinstance(context, Mapping) else None
        read = context if make is None else make(dict(context))
        return super()._order(input, config, thread_id, read or None, **given)

    def _returned(self, ending: Ending, output_keys: Any, version: Version) -> Any:
        found = super()._returned(ending, output_keys, version)
        return GraphOutput(found.value, found.interrupts) if version == "v2" else found

    def _mode(self, mode: str | Sequence[str] | None, config: Config | None) -> str | Sequence[str]:
        is_part = mode is None and current_frame.get() is not None and is_handed_on(config)
        return "values" if is_part else super()._mode(mode, config)

    def _printed(self, debug: bool | None) -> Sequence[str]:
        return super()._printed(debug or self.debug)

    def _saver(self) -> Saver:
        saver = self._self_setup.saver
        if saver is None:
            raise ValueError(f"No checkpointer set. {self.name!r} keeps no past: compile(checkpointer=…)")
        return saver

    def _where(self, config: Mapping[str, Any] | None, thread_id: str | None) -> RunConfig:
        return self._with_thread(self._read(full_config(self.config, config, thread_id), thread_id))

    def _config(self, config: Mapping[str, Any] | None, thread_id: str | None) -> RunConfig:
        merged = full_config(self.config, config, thread_id)
        read, frame = self._read(merged, thread_id), current_frame.get()
        if frame is None:
            if merged.get("recursion_limit") is None and read.recursion_limit != DEFAULT_RECURSION_LIMIT:
                read = replace(read, recursion_limit=DEFAULT_RECURSION_LIMIT)
        else:
            read = of_a_part(frame, read) if is_handed_on(merged) else of_its_own(read)
        if self.checkpointer is True and not (
            self._is_part_of(frame, read) and (read.thread_id is None or is_handed_on(merged))
        ):
            raise RuntimeError("checkpointer=True cannot be used for root graphs.")
        return self._with_thread(read)

    def _read(self, merged: Mapping[str, Any], thread_id: str | None) -> RunConfig:
        """A configuration that is a call's, or names a place to look at."""
        limit = merged.get("recursion_limit")
        if limit is not None and limit < 1:
            raise ValueError(f"recursion_limit must be at least 1. It is {limit!r}")
        read = read_config(merged, thread_id)
        configurable = merged.get("configurable") or {}
        saver, given = configurable.get(CONFIG_KEY_CHECKPOINTER), configurable.get("thread_id")
        # Inside of a run it may be that of the graph around, which keeps what this one keeps.
        if saver is not None and saver is not self.checkpointer and current_frame.get() is None:
            raise ValueError(
                f"A configuration names no saver, and {CONFIG_KEY_CHECKPOINTER!r} of this one is {saver!r}: nothing of"
                " the call would be kept there. Use graph.copy({'checkpointer': saver}), or compile(checkpointer=…)"
            )
        if given is not None and not isinstance(given, str):
            read = replace(read, configurable={**read.configurable, GIVEN_THREAD: given})
        return read

    def _with_thread(self, read: RunConfig) -> RunConfig:
        """A configuration that names a thread where one is needed."""
        if current_frame.get() is None and read.thread_id is None and self.checkpointer not in (None, False):
            raise ValueError(_NO_THREAD)
        return read

    def _is_part_of(self, frame: Frame | None, config: RunConfig) -> bool:
        """Whether a call with this configuration is a part of the run that makes it."""
        from flowfn.invocation.nesting import is_part_of

        return frame is not None and is_part_of(frame, self._self_setup, config)

    def get_state(
        self,
        config: Mapping[str, Any] | None = None,
        *,
        subgraphs: bool = False,
        thread_id: str | None = None,
    ) -> StateSnapshot:
        """The thread's state; an empty one for a checkpoint or a subgraph that isn't there, as in LangGraph, which has
        the configuration that was given."""
        named = shown_config(self.config, config)
        try:
            found = cast(StateSnapshot, super().get_state(config, subgraphs=subgraphs, thread_id=thread_id))
        except (UnknownCheckpoint, UnknownPart):
            return StateSnapshot({}, (), named, None, None, None, (), ())
        except SaverRaised as error:
            raise translated(error) from None
        if found.created_at is not None:
            return found
        return found._replace(values={}, config=found.config if config is None else named)

    def get_state_history(
        self,
        config: Config | None = None,
        *,
        thread_id: str | None = None,
        filter: Mapping[str, Any] | None = None,
        before: Config | None = None,
        limit: int | None = None,
    ) -> Iterator[StateSnapshot]:
        """The thread's checkpoints, newest first, read one by one; none of a subgraph that isn't there."""
        found = super().get_state_history(
            config, thread_id=thread_id, filter=filter, before=before, limit=limit
        )
        try:
            yield from cast("Iterator[StateSnapshot]", found)
        except UnknownPart:
            return
        except SaverRaised as error:
            raise translated(error) from None

    if TYPE_CHECKING:  # LangGraph's programs name what these return

        async def aget_state(
            self, config: Config | None = None, *, subgraphs: bool = False, thread_id: str | None = None
        ) -> StateSnapshot: ...

        def aget_state_history(
            self, config: Config | None = None, **options: Any
        ) -> AsyncIterator[StateSnapshot]: ...

        def update_state(  # type: ignore[override]
            self,
            config: Config | None,
            values: Any,
            as_node: str | None = None,
            task_id: str | None = None,
            *,
            thread_id: str | None = None,
        ) -> RunnableConfig: ...

        async def aupdate_state(  # type: ignore[override]
            self,
            config: Config | None,
            values: Any,
            as_node: str | None = None,
            task_id: str | None = None,
            *,
            thread_id: str | None = None,
        ) -> RunnableConfig: ...

        def bulk_update_state(  # type: ignore[override]
            self,
            config: Config | None,
            supersteps: Sequence[Sequence[StateUpdate]],
            *,
            thread_id: str | None = None,
        ) -> RunnableConfig: ...

        async def abulk_update_state(  # type: ignore[override]
            self,
            config: Config | None,
            supersteps: Sequence[Sequence[StateUpdate]],
            *,
            thread_id: str | None = None,
        ) -> RunnableConfig: ...


def _check_lengths(inputs: Sequence[Any], config: Config | Sequence[Config] | None) -> None:
    if config is not None and not isinstance(config, Mapping) and len(config) != len(inputs):
        raise ValueError(
            f"config must be a list of the same length as inputs, but got {len(config)} configs for"
            f" {len(inputs)} inputs"
        )


def returned(ending: Ending, value: Any) -> Any:
    """What `invoke` returns: the result, with the open questions in it."""
    if not ending.interrupts:
        return value
    questions = {"__interrupt__": list(ending.interrupts)}
    return {**value, **questions} if isinstance(value, dict) else questions
