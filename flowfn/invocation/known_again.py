"""Recorded calls that go by another digest now: a class of their arguments was edited since.

Rule: a recorded call is the one that its input is, as it is restored now (a class that got a field gives that its
default). What is unfinished is looked through once, before the first call that may be such a one: a process has its
classes from its beginning, or, where a notebook edits them, with the code of the functions that it decorates anew. That
takes its time, so that no event loop stands still for it.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from functools import partial
from types import CodeType
from typing import TYPE_CHECKING, Any
from weakref import ref

from flowfn.engine.runs.entering import Fresh
from flowfn.errors import DecryptionError, FlowError
from flowfn.identity.digest import is_plain
from flowfn.ports import UNFINISHED, Begin, Host, Saver, ThreadRow
from flowfn.values import MISSING

if TYPE_CHECKING:
    from flowfn.definition import Definition
    from flowfn.invocation.setup import Setup

_MOST = 1000
"""How many threads are looked through, those of the latest runs first."""

_Found = Mapping[str, str]

_known: dict[int, tuple[ref[CodeType], dict[tuple[int, str], tuple[Any, _Found]]]] = {}
"""By the id of a function's code, beside that, and the id of a saver and the workflow's name, beside the saver: what
unfinished calls go by now, and were recorded as, where the two differ. Code that is read once more has an equal, and a
saver of somebody's own may have one, or no hash; all functions that a factory makes have the same code."""


async def recorded_as(
    setup: Setup, saver: Saver, host: Host, given: Fresh, definition: Definition
) -> str | None:
    """What an unfinished call was recorded as that is the `given` one of a workflow of that definition now.

    None where there is none, or a look at what is unfinished would be one at all that the saver keeps.
    """
    if all(is_plain(write.value) for write in given.writes) or not getattr(saver, "lists_quickly", True):
        return None
    if (code := definition.body) is None:
        return None
    known, key = _known_of(code), (id(saver), setup.name)
    of, found = known.get(key, (None, {}))
    if of is None or of() is not saver:
        found = await host.on_saver(saver, partial(_edited, setup, saver))
        with suppress(TypeError):  # one that can't be referred to is looked through each time
            known[key] = ref(saver), found
    return found.get(given.begin.call)


def _known_of(code: CodeType) -> dict[tuple[int, str], tuple[Any, _Found]]:
    """What is known of that code; forgotten with it."""
    of, known = _known.get(id(code), (None, {}))
    if of is None or of() is not code:
        known = {}
        _known[id(code)] = ref(code, partial(_forget, id(code))), known
    return known


def _forget(key: int, gone: ref[CodeType]) -> None:
    if (kept := _known.get(key)) is not None and kept[0] is gone:
        del _known[key]


def _edited(setup: Setup, saver: Saver) -> dict[str, str]:
    """Of the unfinished calls whose arguments aren't what they were when they were recorded: by what they go now, what
    they were recorded as. A run on a thread that has a past is for who names that."""
    found: dict[str, str] = {}
    with suppress(DecryptionError):  # of no thread is anything told without its key
        for row in saver.threads(limit=_MOST):
            begun = Begin(row.workflow, row.call)
            if row.workflow == setup.name and row.status in UNFINISHED and begun != begun.on_thread():
                now = _now(setup, saver, row)
                if now is not None:
                    found.setdefault(now, row.call)
    return {now: then for now, then in found.items() if now != then}


def _now(setup: Setup, saver: Saver, row: ThreadRow) -> str | None:
    """What the call of a thread's run goes by now: its arguments anew, and the object or the factory that it is of."""
    with suppress(FlowError):  # what can't be read is no hindrance to another call
        now, then = call_now(setup, saver, row.id), row.call.split("/")
        return "/".join([now.partition("/")[0], *then[1:]]) if now else None
    return None


def call_now(setup: Setup, saver: Saver, thread: str) -> str:
    """The digest of the call that a thread's run is of, as its input is restored now; empty where it can't be."""
    began = next((each for each in saver.history(thread, "") if each.checkpoint.source == "input"), None)
    if began is None:  # what was there is kept no longer
        return ""

    def read(channel: str) -> Any:
        data = began.checkpoint.values[channel].whole()
        return MISSING if data is None else saver.serde.loads(data)

    with suppress(FlowError, KeyError):
        return setup.recorded_call(read)
    return ""
