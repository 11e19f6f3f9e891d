"""The name by which the standard library publishes what it keeps elsewhere: one on every Python.

Rule: a run that one Python began goes on under another, so that what is recorded carries no name of the standard
library's inner modules (`pathlib._local.Path`, which 3.12 has in `pathlib`), and of something that was renamed the
name that all have.
"""

from __future__ import annotations

import sys
from functools import lru_cache

__all__ = ["published"]

_RENAMED = {("re", "PatternError"): ("re", "error")}
"""By module and qualified name: what a later Python calls otherwise, and still has under its first name."""


@lru_cache(maxsize=1024)
def published(module: str, qualname: str) -> tuple[str, str]:
    """Module and qualified name, of what the standard library has as they are on every Python."""
    package, *rest = module.split(".")
    if package not in sys.stdlib_module_names or package.startswith("__"):
        return module, qualname
    public = [package.removeprefix("_"), *(part for part in rest if not part.startswith("_"))]
    return _RENAMED.get((module, qualname), (".".join(public), qualname))
