"""That a script's code travels to workers, which haven't run it.

Rule: cloudpickle sends what `__main__` defines as code. In a process that `multiprocessing` spawned the script is
`__mp_main__`, which cloudpickle takes for a module that the worker has as well, and there it is another one.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from threading import RLock

from flowfn.python.forking import let_go_by_fork

_SPAWNED = "__mp_main__"
_lock = let_go_by_fork(RLock())


@contextmanager
def script_sent_along() -> Iterator[None]:
    """What is pickled meanwhile has the code of the script with it. Afterwards cloudpickle is as it was: what others
    send to who has run the script is found there by name, and is no copy."""
    import cloudpickle

    module = sys.modules.get(_SPAWNED)
    if getattr(module, "__name__", None) != _SPAWNED:  # elsewhere it is a second name of `__main__`
        yield
        return
    with _lock:
        if _SPAWNED in cloudpickle.list_registry_pickle_by_value():
            yield
            return
        cloudpickle.register_pickle_by_value(module)
        try:
            yield
        finally:
            cloudpickle.unregister_pickle_by_value(module)
