"""Which tasks an error has passed: notes on it, for whoever reads its traceback.

Rule: a note is put on once, by the call that failed, and whatever comes of that, the error itself is what counts: one
whose class lets nobody change it stays as it is.
"""

from __future__ import annotations

from contextlib import suppress
from inspect import unwrap
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from flowfn.definition import Definition
    from flowfn.engine.calls.call import Call

_PASSED = "During task with name "
_FORGOTTEN = (
    "A call of a task gives a future, which runs as it is: its value is .result(), or await in async code"
)
_NO_STORE = "The store is None: give the workflow one, such as store='memory.db'"
_OF_STORES = frozenset(each + name for name in ("get", "put", "delete", "search") for each in ("", "a"))
_LEFT_OUT = "[the tasks between these are left out]"
_MOST = 16
"""Of the notes that say which tasks an error passed, so many at each end are kept: each records all that are on it, and
of tasks that call each other deeply that would be all of them each time."""


def blame(call: Call, error: Exception) -> None:
    """Note on an error which call it has ended; a hidden one's is that of the node which it is a part of."""
    told = call.shown
    note = f"{_PASSED}'{told.definition.name}' and id '{told.id}'"
    with suppress(Exception):
        if note not in getattr(error, "__notes__", ()):
            if _is_of_a_future(error):
                error.add_note(_FORGOTTEN)
            if _is_of_no_store(told, error):
                error.add_note(_NO_STORE)
            error.add_note(note)
            _leave_out(error.__notes__)


def _is_of_a_future(error: BaseException) -> bool:
    """Whether it is Python's own, or has it in its group, about what a future can't do, and the value of a task's call
    perhaps can; and doesn't say so yet."""
    if _FORGOTTEN in getattr(error, "__notes__", ()):
        return False
    if isinstance(error, BaseExceptionGroup):
        return any(map(_is_of_a_future, error.exceptions))
    return type(error) in (TypeError, AttributeError) and "Future" in str(error)


def _is_of_no_store(call: Call, error: Exception) -> bool:
    """Whether its function asked for a store, there is none, and it was used as if there were."""
    return (
        type(error) is AttributeError
        and error.obj is None
        and error.name in _OF_STORES
        and call.run.settings.store is None
        and _asks_for_a_store(call.definition)
        and _NO_STORE not in getattr(error, "__notes__", ())
    )


def _asks_for_a_store(definition: Definition) -> bool:
    """Whether its function is given a store, or names that of the runtime that it is given."""
    code = getattr(unwrap(definition.author_function), "__code__", None)
    names = () if code is None else code.co_names
    return "store" in definition.filled or ("runtime" in definition.filled and "store" in names)


def _leave_out(notes: list[str]) -> None:
    """Of more tasks than are kept, drop the innermost one of the outer ones."""
    passed = [at for at, note in enumerate(notes) if note.startswith(_PASSED)]
    if len(passed) <= 2 * _MOST:
        return
    if _LEFT_OUT in notes:
        del notes[passed[_MOST]]
    else:
        notes[passed[_MOST]] = _LEFT_OUT
