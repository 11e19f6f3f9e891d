"""What a thread or a branch acts on by what it calls: the error that code handled which has begun it.

Rule: a branch that is noted is told that as it is made, and those that it makes are told too (`numbering`). Nobody is
asked when code begins a thread, or when another factory makes a task. These act on what the code handles, whose context
they have a copy of, at the moment in which they call something: if it waits for them in its handler that is what it
began them for, and if its handler has ended, or it was given an error since, nothing. So no context holds an error.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from flowfn.context import met_by
from flowfn.python.handling import Handler, handled_by, handler_here

if TYPE_CHECKING:
    from flowfn.engine.calls.frame import Frame


def handled_by_maker(frame: Frame, branch: Handler) -> BaseException | None:
    """What the code handles that has begun what runs; nothing, if that is what runs. It is what was given an error of a
    call last in the context of which this is a copy; where nothing was, the `branch` that has the context."""
    met = met_by.get()
    maker, errors = met[1:] if met is not None and met[0]() is frame else (branch, 0)
    task = None if maker.task is None else maker.task()  # held meanwhile: one that is gone has no hash
    if maker == handler_here() or (maker.task is not None and task is None):
        return None
    return None if (frame.met or {}).get(maker, 0) > errors else handled_by(maker)
