"""An entrypoint as a program of one node, and a direct call of it as a run of that program.

The program has three channels: the call's input, its result, and what the next call sees as `previous`.
"""

from __future__ import annotations

import typing
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property, partial
from typing import Any

from flowfn.config import RunConfig
from flowfn.context import current_frame, site_of
from flowfn.definition import Definition
from flowfn.engine.drive import drive
from flowfn.engine.lead import Ending, Fresh, give_back, on_saver
from flowfn.engine.run import PREVIOUS, Hosts, Settings
from flowfn.engine.spawn import spawn
from flowfn.errors import Interrupted, InvalidInput
from flowfn.functional.final import final
from flowfn.identity.captured import is_local
from flowfn.identity.digest import exact
from flowfn.invocation import Order, Setup, blocking_hosts, loop_hosts, nest, run_awaiting, run_blocking
from flowfn.logs import logger
from flowfn.ports import Begin, Lease
from flowfn.pregel.amendment import Amendment
from flowfn.pregel.apply import Batch
from flowfn.pregel.channels import EphemeralValue, LastValue, Result
from flowfn.pregel.program import Node, Program
from flowfn.pregel.view import View
from flowfn.values import MISSING, StateUpdate, Write

if typing.TYPE_CHECKING:
    from collections.abc import Coroutine

    from flowfn.engine.frame import Frame
    from flowfn.invocation import Started

START, END = "__start__", "__end__"


class Lowered:
    """What the engine needs of an entrypoint: its setup, and its function as a task of another run."""

    def __init__(self, definition: Definition, options: Mapping[str, Any]) -> None:
        self.definition = definition
        self.shape = Shape(definition)
        self.setup = _setup(definition, self.shape, options, self._inside)
        self.nested = self._nested(None)

    def _nested(self, started: Started | None) -> Definition:
        """What a call of it inside another run is; `started` where that is streamed."""
        run = self._run_nested_async if self.definition.is_async else self._run_nested
        return self.definition.with_options(
            function=partial(run, started),
            is_workflow=True,
            counted=False,
            retry=(),
            cache=None,
            timeout=None,
            is_generator=False,
            stands_for=self.definition.author_function,
            injects=False,
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
        hosts = loop_hosts()
        order = await self._adopted(given, hosts)
        return _unwrapped(await run_awaiting(self.setup, order, hosts), order)

    def call_on(self, thread: str, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
        """A direct call on a thread that the caller names."""
        given = self.shape.fresh(args, kwargs, self.setup.name)
        given = given._replace(begin=given.begin.on_thread())
        order = Order(given, RunConfig(thread), goes_on=True)
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
        lease: Lease | None = None
        try:
            lease = await on_saver(saver, hosts.own, saver.adopt, *given.begin)
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
        await hosts.own.join(future)
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


class Shape:
    """An entrypoint's parameters: how calls and inputs become the one input that is stored, and back."""

    def __init__(self, definition: Definition) -> None:
        self.definition = definition
        self.parameters = definition.parameters
        self.lone = self.parameters[0].name if len(self.parameters) == 1 else None

    @cached_property
    def hints(self) -> dict[str, Any]:
        """The annotations to validate by; empty where they can't be resolved."""
        try:
            found = typing.get_type_hints(self.definition.author_function, include_extras=True)
        except Exception:
            return {}
        return {p.name: found[p.name] for p in self.parameters if p.name in found}

    @cached_property
    def _by_name(self) -> bool:
        """Whether each parameter can be passed by its name."""
        return all(p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY) for p in self.parameters)

    @cached_property
    def variadic(self) -> dict[str, str]:
        marks = {p.VAR_POSITIONAL: "*" for p in self.parameters} | {
            p.VAR_KEYWORD: "**" for p in self.parameters
        }
        return {p.name: marks[p.kind] for p in self.parameters if p.kind in marks}

    def fresh(self, args: Sequence[Any], kwargs: Mapping[str, Any], workflow: str) -> Fresh:
        """A direct call as the start of a run."""
        bound = self.checked(self.definition.bind(args, dict(kwargs)))
        return Fresh([Write(START, bound)], Begin(workflow, self.digest(bound)))

    def given(self, given: Any) -> tuple[list[Write], str]:
        """What an `invoke` input writes, and what makes two of them the same call."""
        bound = self.bound(given)
        return [Write(START, bound)], self.digest(bound)

    def writes(self, given: Any) -> list[Write]:
        """What an input writes."""
        return [Write(START, self.bound(given))]

    def bound(self, given: Any) -> dict[str, Any]:
        """An input by parameter name: the value of the only parameter, or a mapping of several.

        Raises:
            InvalidInput: it isn't that, or doesn't fit.
        """
        lone = self.lone is not None and self.lone not in self.variadic
        if given is MISSING:
            return self.checked(self.definition.bind((), {}))
        if lone:
            return self.checked({typing.cast(str, self.lone): given})
        if not isinstance(given, Mapping):
            names = ", ".join(p.name for p in self.parameters) or "none"
            raise InvalidInput(
                f"{self.definition.name!r} takes {len(self.parameters)} parameters ({names}), so its input is a "
                f"mapping of them, not {given!r}"
            )
        return self.checked(self.definition.bind(*self.spread(given)))

    def spread(self, given: Mapping[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """A mapping of parameters as arguments."""
        rest = dict(given)
        if self._by_name:
            return (), rest
        args: list[Any] = []
        for parameter in self.parameters:
            if parameter.kind is parameter.POSITIONAL_ONLY and parameter.name in rest:
                args.append(rest.pop(parameter.name))
            elif parameter.kind is parameter.VAR_POSITIONAL:
                args = [
                    rest.pop(p.name)
                    for p in self.parameters
                    if p.kind is p.POSITIONAL_OR_KEYWORD and p.name in rest
                ]
                args += rest.pop(parameter.name, ())
            elif parameter.kind is parameter.VAR_KEYWORD:
                rest.update(rest.pop(parameter.name, {}))
        return tuple(args), rest

    def checked(self, bound: dict[str, Any]) -> dict[str, Any]:
        """The arguments as their annotations.

        Raises:
            ValidationError: one doesn't fit.
        """
        if not self.hints:
            return bound
        from flowfn.validation import arguments

        return arguments(bound, self.hints, self.variadic)

    @cached_property
    def _made_with(self) -> str:
        """What tells a local function's calls from those of another one of its name: a factory makes many."""
        made_with = self.definition.made_with if is_local(self.definition.author_function) else {}
        return f"/{exact(made_with).exact.hex()}" if made_with else ""

    def digest(self, bound: Mapping[str, Any]) -> str:
        """What makes two calls the same call."""
        held = self.definition.held
        return exact({**held, **bound} if held else bound).exact.hex() + self._made_with

    def shown(self, given: Mapping[str, Any]) -> Any:
        """The stored input as streams show it: of one parameter, its value."""
        return next(iter(given.values())) if len(given) == 1 else given


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
        updates=lambda checkpoint, updates: _amendment(definition, updates),
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
    questions = ", ".join(f"{i.value!r} (id {i.id})" for i in ending.interrupts)
    answer = "answer" if len(ending.interrupts) == 1 else "{id: answer, …}"
    how = (
        f"answer with workflow.thread({thread!r}).resume({answer})"
        if thread
        else "it keeps no past, and can't be answered: give it a checkpointer"
    )
    raise Interrupted(f"the run waits for an answer to {questions}: {how}", ending.interrupts, thread)
