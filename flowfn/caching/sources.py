"""The sources behind the digests of code that entries carry, kept once per version of a task.

They are what `explain` makes its diffs of; nothing else needs them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from weakref import WeakKeyDictionary

from flowfn.caching.entries import code_of, encode_code
from flowfn.definition import Definition
from flowfn.errors import FlowError

_MARK = "code-"

_kept: WeakKeyDictionary[Any, set[str]] = WeakKeyDictionary()
"""By cache, what this process has kept there."""


def is_source(key: str) -> bool:
    """Whether a key is that of sources rather than of a result."""
    return key.rpartition(":")[2].startswith(_MARK)


def lacks_sources(cache: Any, definition: Definition, code: str) -> bool:
    """Whether the sources behind a digest of code have yet to be kept, in a cache that can list what it keeps."""
    if not hasattr(cache, "keys") or code.startswith("version "):
        return False
    return _key(definition.qualified, code) not in _kept.get(cache, ())


def keep_sources(cache: Any, definition: Definition, code: str, at: float) -> None:
    """Keep the sources and constants of a task's present version beside its results."""
    key = _key(definition.qualified, code)
    cache.set(key, encode_code(key, definition.dependencies.parts, at), None)
    _kept.setdefault(cache, set()).add(key)


def forget_sources(cache: Any) -> None:
    """Note that a cache was cleared."""
    _kept.pop(cache, None)


def sources(cache: Any, task: str, code: str) -> Mapping[str, str]:
    """The parts behind a digest of a task's code: `code NAME` and `constant NAME`; empty if they are gone."""
    key = _key(task, code)
    data = cache.get(key)
    try:
        return {} if data is None else code_of(key, data)
    except (FlowError, ValueError):
        return {}


def _key(task: str, code: str) -> str:
    return f"{task}:{_MARK}{code}"
