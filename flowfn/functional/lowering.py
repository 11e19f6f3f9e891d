"""An entrypoint as a program of one node, and a direct call of it as a run of that program.

The program has three channels: the call's input, its result, and what the next call sees as `previous`.
"""

from __future__ import annotations

import typing
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from flowfn.config import RunConfig
from flowfn.context import current_frame, site_of
from flowfn.definition import Definition, held_by
from flowfn.engine.calls.spawn import spawn
from flowfn.engine.drive import drive
from flowfn.engine.hosts import Hosts
from flowfn.engine.runs.entering import Fresh
from flowfn.engine.runs.lead import Ending
from flowfn.engine.runs.leasing import give_back, leased
from flowfn.engine.runs.run import PREVIOUS
from flowfn.engine.settings import Settings
from flowfn.errors import Interrupted, InvalidInput
from flowfn.functional.final import final
from flowfn.functional.shape import START, Shape
from flowfn.invocation import (
    Order,
    Setup,
    blocking_hosts,
    hosts_in_turn,
    loop_hosts,
    nest,
    run_awaiting,
    run_blocking,
)
from flowfn.logs import logger
from flowfn.ports import Lease
from flowfn.pregel.amendment import Amendment
from flowfn.pregel.apply import Batch
from flowfn.pregel.channels import EphemeralValue, LastValue, Result
from flowfn.pregel.program import Node, Program
from flowfn.pregel.view import View
from flowfn.rendering import quoted
from flowfn.values import MISSING, StateUpdate, Write

if typing.TYPE_CHECKING:
    from collections.abc import Coroutine

    from flowfn.engine.calls.frame import Frame
    from flowfn.invocation import Started

END = "__end__"


class Lowered:
    """What the engine needs of an entrypoint: its setup, and its function as a task of another run."""

    def __init__(self, definition: Definition, options: Mapping[str, Any]) -> None:
        self.definition = definition
        self.shape = Shape(definition)
        self.setup = _setup(definition, self.shape, options, self._inside)
        self.nested = self._nested(None)

    def _nested(self, started: Started | None) -> Definition:
        """What a call of it inside another run is; `started` where that is streamed.

        Of a method, the object tells its calls from those of another one, as it does for tasks.
        """
        author_function = self.definition.author_function
        run = self._run_nested_async if self.definition.is_async else self._run_nested
        return self.definition.with_options(
            function=partial(run, started),
            is_workflow=True,
            counted=False,
            retry=(),
            cache=None,
            timeout=None,
            is_generator=False,
            stands_for=author_function,
            held={**held_by(author_function), **self.definition.held},
            injects=False,
            reader=None if started is None else started.reader,
        )

    # -- called directly ------------------------------------------------------------------------

    def call(self, args: Sequence[Any], kwargs: dict[str, Any], caller: Any) -> Any:
        """Call the workflow as its function is called: in a run, as a part of it; else as a run of its own."""
        frame = current_frame.get()
        if frame is not None:
            future = spawn(frame, self.nested, args, kwargs, site_of(caller))
            return future if self.definition.is_async else future.result()
        given = self.shape.fresh(args, kwargs, self.setup.name)
        if self.definition.is_async:
            return self._call_async(given)
        hosts = blocking_hosts()
        order = drive(self._adopted(given, hosts))
        return _unwrapped(run_blocking(self.setup, order, hosts), order)

    async def _call_async(self, given: Fresh) -> Any:
        hosts = await hosts_in_turn(self.setup)
        order = await self._adopted(given, hosts)
        return _unwrapped(await run_awaiting(self.setup, order, hosts), order)

    def call_on(self, thread: str, args: Sequence[Any], kwargs: dict[str, Any], *, once: bool) -> Any:
        """A direct call on a thread that the caller names."""
        given = self.shape.fresh(args, kwargs, self.setup.name)
        order = Order(given, RunConfig(thread), goes_on=True, once=once)
        if self.definition.is_async:
            return self._await_on(order)
        return _unwrapped(run_blocking(self.setup, order), order)

    async def _await_on(self, order: Order) -> Any:
        return _unwrapped(await run_awaiting(self.setup, order), order)

    async def _adopted(self, given: Fresh, hosts: Hosts) -> Order:
        """Go on with the unfinished run of this very call, if there is one that nobody holds; else start one."""
        saver = self.setup.saver
        if saver is None:
            return Order(given, RunConfig())
        workflow, call = given.begin
        lease: Lease | None = None
        try:
            if saver.inline:  # by no other call: Ctrl-C may come between two
                lease = saver.adopt(workflow, call)
            else:
                lease = await leased(saver, hosts.own, lambda: saver.adopt(workflow, call))
            if lease is None:
                return Order(given, RunConfig(hosts.own.new_id()))
            logger.info("continuing the unfinished run %s of %s", lease.thread, self.definition.name)
            return Order(None, RunConfig(lease.thread), lease=lease)
        except BaseException:
            if lease is not None:
                await give_back(saver, hosts.own, lease)
            raise

    async def _inside(self, frame: Frame, given: Fresh, order: Order, hosts: Hosts) -> Ending:
        """A run of it as a call of the run around."""
        (start,) = given.writes
        nested = self.nested if order.started is None else self._nested(order.started)
        future = spawn(frame, nested, *self.shape.spread(start.value), "")
        frame.step_aside()
        try:
            await hosts.own.join(future)
        finally:
            await frame.step_back(hosts.own)
        value = future.result(0)
        return Ending(value, state=View({}, {}, {END: value}))

    # -- called inside another run --------------------------------------------------------------

    def _run_nested(self, started: Started | None, /, *args: Any, **kwargs: Any) -> Any:
        frame = current_frame.get()
        assert frame is not None
        given = self.shape.fresh(args, kwargs, self.setup.name)
        order = Order(None, frame.run.config, started=started)
        return drive(nest(self.setup, frame, given, order, blocking_hosts())).value

    async def _run_nested_async(self, started: Started | None, /, *args: Any, **kwargs: Any) -> Any:
        frame = current_frame.get()
        assert frame is not None
        given = self.shape.fresh(args, kwargs, self.setup.name)
        order = Order(None, frame.run.config, started=started)
        return (await nest(self.setup, frame, given, order, loop_hosts())).value


def _output(value: Any) -> list[Write]:
    if isinstance(value, final):
        return [Write(END, value.value), Write(PREVIOUS, value.save)]
    return [Write(END, value), Write(PREVIOUS, value)]


def _setup(
    definition: Definition,
    shape: Shape,
    options: Mapping[str, Any],
    inside: Callable[[Frame, Fresh, Order, Hosts], Coroutine[Any, Any, Ending]],
) -> Setup:
    node_definition = definition.with_options(is_workflow=True, counted=False, recorded=False)
    node = Node(
        definition.name,
        typing.cast(Any, node_definition),
        (START,),
        _input,
        _output,
        spread=shape.spread,
        shown=shape.shown,
        timeout=definition.timeout,
    )
    program = Program(
        nodes={definition.name: node},
        channels={START: EphemeralValue(), END: Result(), PREVIOUS: LastValue()},
        input=shape.writes,
        result=lambda values: values.get(END),
        input_channels=(START,),
        output_channels=(END,),
        stream_channels=(END,),
        lone=True,
        opaque=True,
        shares_context=True,
        name=definition.name,
        labels={
            START: f"the input of {definition.name!r}",
            END: f"the result of {definition.name!r}",
            PREVIOUS: f"what {definition.name!r} saves for its next call",
        },
    )
    return Setup(
        program=program,
        name=definition.qualified,
        checkpointer=options["checkpointer"],
        settings=Settings(
            on_divergence=options["on_divergence"],
            retry=definition.retry,
            cache=MISSING if options["cache"] is None else options["cache"],
            executor=options["executor"],
            store=options["store"],
        ),
        is_async=definition.is_async,
        durability=options["durability"],
        on_busy=options["on_busy"],
        context_schema=options["context_schema"],
        progress=options["progress"],
        given=shape.given,
        updates=lambda checkpoint, updates, where: _amendment(definition, updates),
        inside=inside,
        returned=_returned,
    )


def _input(values: Mapping[str, Any]) -> Any:
    return values.get(START, MISSING)


def _returned(ending: Ending, value: Any) -> Any:
    return {"__interrupt__": list(ending.interrupts)} if ending.interrupts else value


def _amendment(definition: Definition, updates: Sequence[StateUpdate]) -> Amendment:
    """What updates of an entrypoint's state come to: its result, and what its next call sees."""
    for update in updates:
        if update.as_node not in (None, definition.name):
            raise InvalidInput(
                f"as_node={update.as_node!r}: an entrypoint has one node, {definition.name!r}; leave it out"
            )
    return Amendment([Batch("__input__", _output(update.values)) for update in updates], gives_up=True)


def _unwrapped(ending: Ending, order: Order) -> Any:
    """A direct call's result.

    Raises:
        Interrupted: the run waits for answers.
    """
    if not ending.interrupts:
        return ending.value
    thread = order.config.thread_id or ""
    questions = ", ".join(f"{quoted(i.value)} (id {i.id})" for i in ending.interrupts)
    answer = "answer" if len(ending.interrupts) == 1 else "{id: answer, …}"
    how = (
        f"answer with workflow.thread({thread!r}).resume({answer})"
        if thread
        else "it keeps no past, and can't be answered: give it a checkpointer"
    )
    raise Interrupted(f"the run waits for an answer to {questions}: {how}", ending.interrupts, thread)
