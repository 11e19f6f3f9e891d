"""Which savers are used through LangGraph's methods, and the one adapter that each of them has."""

from __future__ import annotations

import threading
import weakref
from typing import TYPE_CHECKING, Any, TypeGuard

from checkpointers.base import CheckpointSaver
from checkpointers.foreign.methods import TWIN
from flowfn.logs import logger
from flowfn.ports import Saver
from flowfn.python.forking import let_go_by_fork

if TYPE_CHECKING:
    from checkpointers.foreign.partly import PartlyForeign
    from checkpointers.foreign.saver import ForeignSaver

METHODS = ("put", "put_writes", "get_tuple", "list")
"""What a saver has to have, or their `a…` twins. `delete_thread` is needed to delete threads."""

_COLOURS = ("", TWIN)
_WRITING = {prefix + name for prefix in _COLOURS for name in ("put", "put_writes")}


def is_foreign(target: Any) -> TypeGuard[Any]:
    """Whether something is a saver that is used through LangGraph's methods.

    That is whatever has them and isn't a saver of flowfn's, and one of flowfn's of which any is replaced: by a
    subclass, or by who has set it. Where only those are that read, what it writes isn't.
    """
    if isinstance(target, CheckpointSaver):
        return bool(_replaced(target))
    if isinstance(target, type | Saver):
        return False
    return any(all(hasattr(target, prefix + name) for name in METHODS) for prefix in _COLOURS)


def _replaced(saver: CheckpointSaver) -> frozenset[str]:
    """Which of the methods of a saver of flowfn's are none of `CheckpointSaver`'s; looked at anew each time, since a
    test may have set one, and taken it away again.
    """
    kind, own = type(saver), vars(saver)
    names = [prefix + name for prefix in _COLOURS for name in METHODS]
    return frozenset(
        name for name in names if name in own or getattr(kind, name) is not getattr(CheckpointSaver, name)
    )


def adapted(saver: Any) -> ForeignSaver | PartlyForeign:
    """The adapter of a saver: the same one for as long as anybody has it, so that its leases are shared."""
    with _adapting:
        found = _adapters.get(id(saver))
        if found is None:
            found = _adapters[id(saver)] = _made(saver)
        found.note_loop()
        return found


def _made(saver: Any) -> ForeignSaver | PartlyForeign:
    if isinstance(saver, CheckpointSaver) and not (replaced := _replaced(saver)) & _WRITING:
        from checkpointers.foreign.partly import PartlyForeign

        return PartlyForeign(saver, replaced)
    from checkpointers.foreign.saver import ForeignSaver

    logger.info(
        "%s keeps threads through LangGraph's methods: no lease keeps other processes out of a thread, and a "
        "commit isn't one transaction",
        type(saver).__name__,
    )
    return ForeignSaver(saver)


_adapters: weakref.WeakValueDictionary[int, ForeignSaver | PartlyForeign] = weakref.WeakValueDictionary()
_adapting = let_go_by_fork(threading.Lock())
