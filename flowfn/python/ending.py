"""The end of the interpreter: what is open then is closed.

Rule: after the handlers of the program, which may still run workflows. `atexit` begins with who registered last, so
this registers as flowfn is imported; `weakref.finalize` does so where the first thing is opened.
"""

from __future__ import annotations

import atexit
import sys
from collections.abc import Callable
from typing import Any
from weakref import WeakKeyDictionary, finalize

__all__ = ["close_with"]

_open: WeakKeyDictionary[Any, finalize[..., Any]] = WeakKeyDictionary()


def close_with(owner: Any, close: Callable[..., Any], *args: Any) -> finalize[..., Any]:
    """Have `close(*args)` called once nobody refers to `owner` any more, or as the interpreter ends.

    One call for each owner: another one takes the first one's place.
    """
    finalizer = _open[owner] = finalize(owner, close, *args)
    finalizer.atexit = False
    return finalizer


@atexit.register
def _close_all() -> None:
    for finalizer in list(_open.values()):
        if (found := finalizer.detach()) is not None:
            _, close, args, _ = found
            try:
                close(*args)
            except Exception:  # the others are closed all the same
                sys.excepthook(*sys.exc_info())
