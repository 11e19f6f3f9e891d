"""An entrypoint as a program of one node.

It has three channels: the call's input, its result, and what the next call sees as `previous`.
"""

from __future__ import annotations

import typing
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from flowfn.definition import Definition
from flowfn.engine.hosts import Hosts
from flowfn.engine.runs.entering import Fresh
from flowfn.engine.runs.lead import Ending
from flowfn.engine.runs.run import PREVIOUS
from flowfn.engine.settings import Settings
from flowfn.errors import InvalidInput
from flowfn.functional.final import final
from flowfn.functional.shape import START, Shape
from flowfn.invocation import Order, Setup
from flowfn.pregel.amendment import Amendment
from flowfn.pregel.apply import Batch
from flowfn.pregel.channels import EphemeralValue, LastValue, Result
from flowfn.pregel.program import Node, Program
from flowfn.values import MISSING, StateUpdate, Write

if typing.TYPE_CHECKING:
    from collections.abc import Coroutine

    from flowfn.engine.calls.frame import Frame

END = "__end__"


def lowered(
    definition: Definition,
    shape: Shape,
    options: Mapping[str, Any],
    inside: Callable[[Frame, Fresh, Order, Hosts], Coroutine[Any, Any, Ending]],
) -> Setup:
    """What the workflow of an entrypoint is made of; `options` are the decorator's, `inside` runs it in another run."""
    return Setup(
        program=_program(definition, shape),
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
        recorded_call=lambda read: shape.recorded_call(read(START)),
        updates=lambda checkpoint, updates, where: _amendment(definition, updates),
        inside=inside,
        returned=_returned,
    )


def _program(definition: Definition, shape: Shape) -> Program:
    """An entrypoint's one node, and its channels."""
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
    return Program(
        nodes={definition.name: node},
        channels={START: EphemeralValue(), END: Result(), PREVIOUS: LastValue()},
        input=shape.writes,
        result=lambda values: values.get(END),
        input_channels=(START,),
        output_channels=(END,),
        stream_channels=(END,),
        lone=True,
        lone_output=True,
        opaque=True,
        shares_context=True,
        name=definition.name,
        labels={
            START: f"the arguments of {definition.name!r}",
            END: f"the result of {definition.name!r}",
            PREVIOUS: f"what {definition.name!r} saves for its next call",
        },
    )


def _input(values: Mapping[str, Any]) -> Any:
    return values.get(START, MISSING)


def _output(value: Any) -> list[Write]:
    if isinstance(value, final):
        return [Write(END, value.value), Write(PREVIOUS, value.save)]
    return [Write(END, value), Write(PREVIOUS, value)]


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
