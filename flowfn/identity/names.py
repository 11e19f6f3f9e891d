"""What a function, class or module is called, in every process alike.

Rule: `__main__` is no name: the same script is `__main__` when started and has its own name when
imported, and both must mean one task.
"""

from __future__ import annotations

import re
import sys
from os.path import basename, splitext
from typing import Any

from flowfn.published import published
from flowfn.unicode import escaped

__all__ = ["qualified_name"]

_MAIN = ("__main__", "__mp_main__")  # the second is what a spawned process calls its parent's

_INLINED = re.compile(r"<(?:list|set|dict)comp>\.")
"""What Python before 3.12 has in the names of functions made in a comprehension: a run outlives an upgrade."""


def qualified_name(obj: Any) -> str:
    """Module and qualified name of a function, method, class or module; of anything else, its type's.

    A script's module is the name that `python -m` was given, else its file's without the suffix.
    """
    qualname = getattr(obj, "__qualname__", None)
    if not isinstance(qualname, str):
        if isinstance(obj, type(sys)):
            return _module_name(obj.__name__)
        return qualified_name(type(obj))
    module = getattr(obj, "__module__", None)
    if not isinstance(module, str):  # a method of a built-in type, or of an instance of one
        owner = getattr(obj, "__objclass__", None) or type(getattr(obj, "__self__", None))
        module = str(owner.__module__)
    if "comp>" in qualname:
        qualname = _INLINED.sub("", qualname)
    return ".".join(published(_module_name(module), qualname))


def _module_name(module: str) -> str:
    if module not in _MAIN:
        return module
    main = sys.modules.get(module)
    spec = getattr(main, "__spec__", None)
    if spec is not None:
        return str(spec.name)
    file = getattr(main, "__file__", None)
    return escaped(splitext(basename(file))[0]) if file else module
