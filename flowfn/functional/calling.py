"""A call of an entrypoint: a run of its own, or a part of the run that it is made in.

Rule: a direct call goes on with the unfinished run of the very same call, where there is one that nobody holds.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from flowfn.config import RunConfig
from flowfn.context import current_frame, site_of
from flowfn.definition import Definition, held_by
from flowfn.engine.calls.spawn import spawn
from flowfn.engine.drive import drive
from flowfn.engine.hosts import Hosts
from flowfn.engine.runs.entering import Fresh
from flowfn.engine.runs.lead import Ending
from flowfn.engine.runs.leasing import give_back, leased
from flowfn.errors import Interrupted, InvalidInput
from flowfn.functional.lowering import END, lowered
from flowfn.functional.shape import Shape
from flowfn.futures import Future, WouldBlock, wait_aside
from flowfn.invocation import (
    Order,
    blocking_hosts,
    hosts_in_turn,
    loop_hosts,
    nest,
    recorded_as,
    run_awaiting,
    run_blocking,
)
from flowfn.logs import logger
from flowfn.ports import Lease
from flowfn.pregel.view import View
from flowfn.rendering import quoted

if TYPE_CHECKING:
    from flowfn.engine.calls.frame import Frame
    from flowfn.invocation import Started


_NONE = RunConfig()


class Calls:
    """What calls of an entrypoint are made of: its setup, its parameters, and its function as a task of another run."""

    def __init__(self, definition: Definition, options: Mapping[str, Any]) -> None:
        self.definition = definition
        self.shape = Shape(definition)
        self.setup = lowered(definition, self.shape, options, self._inside)
        self.nested = self._nested(_NONE, None)

    def _nested(self, config: RunConfig, started: Started | None) -> Definition:
        """What a call of it inside another run is, with what it says of its `config`; `started` where that is streamed.

        Of a method, the object tells its calls from those of another one, as it does for tasks.
        """
        author_function = self.definition.author_function
        run = self._run_nested_async if self.definition.is_async else self._run_nested
        return self.definition.with_options(
            function=partial(run, config, started),
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
            return future if self.definition.is_async else self._waited_for(future)
        try:
            given = self.shape.fresh(args, kwargs, self.setup.name)
        except InvalidInput as error:
            raise self._with_a_thread_named(error, kwargs) from None
        if self.definition.is_async:
            coroutine: Any = self._call_async(given)
            coroutine.__qualname__ = self.definition.name  # by which Python tells of one that nobody awaits
            return coroutine
        hosts = blocking_hosts()
        order = drive(self._adopted(given, hosts))
        return _unwrapped(run_blocking(self.setup, order, hosts), order)

    def _waited_for(self, future: Future[Any]) -> Any:
        """The result of a call inside another run.

        Raises:
            RuntimeError: waiting for it would block an event loop, where its function can't be awaited.
        """
        try:
            return future.result()
        except WouldBlock:
            if future.done():  # it is what the call itself ended in
                raise
        raise RuntimeError(
            f"{self.definition.name}() is a plain def, and would block the event loop on which it is called: make it "
            "an async def, and await it"
        )

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

    def _with_a_thread_named(self, error: InvalidInput, kwargs: dict[str, Any]) -> InvalidInput:
        """An error about arguments; one that names a thread says how a direct call does that."""
        if "thread_id" not in kwargs or "thread_id" in self.definition.parameters.signature.parameters:
            return error
        return InvalidInput(f"{error}: to name the thread write {self.definition.name}.thread('…')(…)")

    async def _await_on(self, order: Order) -> Any:
        return _unwrapped(await run_awaiting(self.setup, order), order)

    async def _adopted(self, given: Fresh, hosts: Hosts) -> Order:
        """Go on with the unfinished run of this very call, if there is one that nobody holds; else start one."""
        saver = self.setup.saver
        if saver is None:
            return Order(given, RunConfig())
        workflow, call = given.begin
        lease: Lease | None = None
        hosts.own.leave_what_cannot_go_on()
        try:
            if saver.inline:  # by no other call: Ctrl-C may come between two
                lease = saver.adopt(workflow, call)
            else:
                lease = await leased(saver, hosts.own, lambda: saver.adopt(workflow, call))
            if lease is None:
                function = self.definition.author_function
                recorded = await recorded_as(self.setup, saver, hosts.own, given, function)
                if recorded is not None:
                    lease = await leased(saver, hosts.own, lambda: saver.adopt(workflow, recorded))
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
        is_plain = order.started is None and order.config == _NONE
        nested = self.nested if is_plain else self._nested(order.config, order.started)
        future = spawn(frame, nested, *self.shape.spread(start.value), "")
        await wait_aside(hosts.own.join(future), hosts.own)
        value = future.result(0)
        return Ending(value, state=View({}, {}, {END: value}))

    # -- called inside another run --------------------------------------------------------------

    def _run_nested(self, config: RunConfig, started: Started | None, /, *args: Any, **kwargs: Any) -> Any:
        frame = current_frame.get()
        assert frame is not None
        given = self.shape.fresh(args, kwargs, self.setup.name)
        order = Order(None, config.under(frame.run.config), started=started)
        return drive(nest(self.setup, frame, given, order, blocking_hosts())).value

    async def _run_nested_async(
        self, config: RunConfig, started: Started | None, /, *args: Any, **kwargs: Any
    ) -> Any:
        frame = current_frame.get()
        assert frame is not None
        given = self.shape.fresh(args, kwargs, self.setup.name)
        order = Order(None, config.under(frame.run.config), started=started)
        return (await nest(self.setup, frame, given, order, loop_hosts())).value


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
