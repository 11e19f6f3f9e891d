"""Runnables as nodes: invoked with the configuration of where they run, in pieces where somebody wants to see them.

Rule: the steps of a sequence are the node's own, and the sequence is no run beside them.
"""

from __future__ import annotations

from collections.abc import AsyncIterable, Iterable, Mapping, Sequence
from functools import reduce
from typing import Any, TypeVar

from flowfn.context import current_frame
from graph_compat.injection import config_of
from graph_compat.langchain import config_around, is_loaded, is_of_langchain
from graph_compat.langchain.listeners import streaming
from graph_compat.langchain.node_config import NodeConfig, var_child_runnable_config

N = TypeVar("N")

_LATE: set[type] = set()


def looks_late(node: type[N]) -> type[N]:
    """Declare a class of nodes that hand their configuration on as a plain dict, or not at all.

    Where nobody listens they are given one that is worked out when something first looks at it.
    """
    _LATE.add(node)
    return node


async def invoked(runnable: Any, state: Any, *, on_loop: bool) -> Any:
    """What a runnable makes of a node's input; in pieces, where somebody wants to see them."""
    if type(runnable) in _LATE and (unheard := _unheard()) is not None:
        return await runnable.ainvoke(state, unheard) if on_loop else runnable.invoke(state, unheard)
    config = config_here()
    steps = _steps(runnable, config)
    if not _in_pieces(runnable, config):
        for step, its_config in steps:
            state = await step.ainvoke(state, its_config) if on_loop else step.invoke(state, its_config)
        return state
    (first, its_config), *rest = steps
    pieces = first.astream(state, its_config) if on_loop else first.stream(state, its_config)
    for step, its_config in rest:
        pieces = step.atransform(pieces, its_config) if on_loop else step.transform(pieces, its_config)
    return await aadded_up(pieces) if on_loop else added_up(pieces)


def added_up(pieces: Iterable[Any]) -> Any:
    """Pieces as one value; the last, where they don't add up, and None where there are none."""
    return reduce(_added, pieces, None)


async def aadded_up(pieces: AsyncIterable[Any]) -> Any:
    """`added_up` for asyncio."""
    whole = None
    async for piece in pieces:
        whole = _added(whole, piece)
    return whole


def _steps(runnable: Any, config: dict[str, Any] | None) -> Sequence[tuple[Any, dict[str, Any] | None]]:
    """The runnables to run one after another, each with its configuration: a sequence, handed one, would have a graph
    in it stop after as few steps as suit a chain."""
    if config is None or not (steps := steps_of(runnable)):
        return [(runnable, config)]
    callbacks = config.get("callbacks")
    if callbacks is None or not callbacks.handlers:
        return [(step, config) for step in steps]
    return [
        (step, {**config, "callbacks": _of_step(callbacks, number)}) for number, step in enumerate(steps, 1)
    ]


def _of_step(callbacks: Any, number: int) -> Any:
    """A node's callbacks for the step of this number."""
    own = callbacks.copy()
    own.remove_tags(["seq:step:1"])
    own.add_tags([f"seq:step:{number}"], inherit=False)
    return own


def steps_of(runnable: Any) -> Sequence[Any]:
    """The runnables of a sequence; none of anything else."""
    if not is_loaded():
        return ()
    from langchain_core.runnables import RunnableSequence

    return runnable.steps if isinstance(runnable, RunnableSequence) else ()


def awaits_itself(runnable: Any) -> bool:
    """Whether what `ainvoke` of a runnable does is its own: what is no more than a way to a thread can't be stopped."""
    if not is_of_langchain(runnable):
        return True
    from langchain_core.runnables import Runnable, RunnableLambda
    from langchain_core.runnables.base import RunnableBindingBase

    if isinstance(runnable, RunnableBindingBase):
        return awaits_itself(runnable.bound)
    if steps := steps_of(runnable):
        return all(map(awaits_itself, steps))
    if isinstance(runnable, RunnableLambda):
        return hasattr(runnable, "afunc")
    return type(runnable).ainvoke is not Runnable.ainvoke


def _unheard() -> NodeConfig | None:
    """The configuration of a node that nobody listens to; None where somebody does."""
    frame = current_frame.get()
    if frame is None or not is_loaded():
        return None if frame is None else NodeConfig(frame)
    around = var_child_runnable_config().get()
    return around if type(around) is NodeConfig else None


def config_here() -> dict[str, Any] | None:
    """The configuration of the running code; None outside of any."""
    around = config_around()
    if around is not None:
        return around
    frame = current_frame.get()
    return None if frame is None else config_of(frame)


def _in_pieces(runnable: Any, config: Mapping[str, Any] | None) -> bool:
    callbacks = None if config is None else config.get("callbacks")
    return callbacks is not None and hasattr(runnable, "stream") and bool(streaming(callbacks.handlers))


def _added(whole: Any, piece: Any) -> Any:
    try:
        return piece if whole is None else whole + piece
    except TypeError:
        return piece
