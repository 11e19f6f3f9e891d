"""Modules that the program has loaded: what is of use only to who uses them is asked of them, and never imports them.

Rule: one that another thread is in the middle of importing, as a task does that imports pandas in its body, isn't
loaded yet. It lacks names, and no value of this process has come of it.
"""

from __future__ import annotations

import sys
from typing import Any


def loaded(name: str) -> Any:
    """The module of this name, whole; None where it isn't loaded, or not yet."""
    module = sys.modules.get(name)
    return None if getattr(getattr(module, "__spec__", None), "_initializing", False) else module
