"""Recorded calls that go by another digest now: a class of their arguments was edited since.

Rule: a recorded call is the one that its input is, as it is restored now (a class that got a field gives that its
default). What is unfinished is looked through once, before the first call that may be such a one: a process has its
classes from its beginning, or, where a notebook edits them, with the code of functions that it decorates anew, or with
the classes of what it calls them with. What a factory makes again and again has one code. Of what another call of the
factory made, or of another object's methods, nothing is read. The look takes its time, so that no event loop stands
still for it.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from functools import partial
from types import CodeType
from typing import TYPE_CHECKING, Any
from weakref import ref

from flowfn.engine.runs.entering import Fresh
from flowfn.errors import DecryptionError, FlowError, SaverError
from flowfn.identity.code.unwrapping import unwrapped
from flowfn.identity.digest import is_plain
from flowfn.ports import Begin, Host, Saver, ThreadRow
from flowfn.python.project import is_own
from flowfn.values import MISSING

if TYPE_CHECKING:
    from flowfn.invocation.setup import Setup

_MOST = 1000
"""How many unfinished runs of a workflow are looked through, the latest first."""

_MOST_KNOWN = 1024
"""Of how many workflows what is unfinished is remembered: a factory may make one for each customer."""

_known: dict[tuple[Any, ...], tuple[tuple[ref[Any], ...], Mapping[str, str]]] = {}
"""What unfinished calls go by now, and were recorded as, where the two differ: by workflow, what it was made with, and
the ids of its code, of a saver and of the classes of arguments, beside which those are, as others may get their ids.
Code that is written the same is equal, and a saver of somebody's own may be, or have no hash."""


async def recorded_as(setup: Setup, saver: Saver, host: Host, given: Fresh, function: Any) -> str | None:
    """What an unfinished call was recorded as that is the `given` one of a workflow of that function now.

    None where there is none, or a look at what is unfinished would be one at all that the saver keeps.
    """
    if all(is_plain(write.value) for write in given.writes) or not getattr(saver, "lists_quickly", True):
        return None
    code: CodeType | None = getattr(unwrapped(function), "__code__", None)
    if code is None:
        return None
    maker, things = _maker(given.begin.call), (code, saver, *_classes_in(given))
    place = setup.name, maker, *map(id, things)
    known, found = _known.get(place, _NOTHING)
    if not known or any(each() is not thing for each, thing in zip(known, things, strict=True)):
        found = await host.on_saver(saver, partial(_edited, setup, saver, maker))
        _remember(place, things, found)
    return found.get(given.begin.call)


_NOTHING: tuple[tuple[ref[Any], ...], Mapping[str, str]] = ((), {})


def _classes_in(given: Fresh) -> list[type]:
    """The project's classes of which a call's arguments are."""
    kinds = {type(each): None for write in given.writes for each in write.value.values()}
    return [*filter(is_own, kinds)]


def _remember(place: tuple[Any, ...], things: tuple[Any, ...], found: Mapping[str, str]) -> None:
    if len(_known) >= _MOST_KNOWN:
        _known.clear()
    with suppress(TypeError):  # one that can't be referred to is looked through each time
        _known[place] = tuple(map(ref, things)), found


def _maker(call: str) -> str:
    """What a workflow was made with, by a call of it."""
    return call.partition("/")[2]


def _edited(setup: Setup, saver: Saver, maker: str) -> dict[str, str]:
    """Of the unfinished calls whose arguments aren't what they were when they were recorded: by what they go now, what
    they were recorded as. A run on a thread that has a past is for who names that."""
    found: dict[str, str] = {}
    with suppress(DecryptionError):  # of no thread is anything told without its key
        for row in saver.unfinished(setup.name, limit=_MOST):
            begun = Begin(row.workflow, row.call)
            if _maker(row.call) == maker:
                now = None if begun == begun.on_thread() else _now(setup, saver, row)
                if now:
                    found.setdefault(now, row.call)
    return {now: then for now, then in found.items() if now != then}


def _now(setup: Setup, saver: Saver, row: ThreadRow) -> str:
    """What the call of a thread's run goes by now; empty where it can't be read, which is no hindrance to another."""
    try:
        return call_now(setup, saver, row.id)
    except SaverError:  # of what couldn't be looked at nobody knows
        raise
    except FlowError:
        return ""


def call_now(setup: Setup, saver: Saver, thread: str) -> str:
    """The digest of the call that a thread's run is of, as its input is restored now; empty where it can't be."""
    began = next((each for each in saver.history(thread, "") if each.checkpoint.source == "input"), None)
    if began is None:  # what was there is kept no longer
        return ""

    def read(channel: str) -> Any:
        data = began.checkpoint.values[channel].whole()
        return MISSING if data is None else saver.serde.loads(data)

    with suppress(Exception):  # whatever a serializer of somebody's own raises, or a model's validator
        return setup.recorded_call(read)
    return ""
