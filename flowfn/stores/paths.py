"""Which texts of a value a path names, for comparing with queries.

Rule: a path is keys joined by periods, `[0]`, `[-1]` or `[*]` after a list, `*` for every key or element, and
`{a,b.c}` for several paths at once. `$`, or nothing, is the whole value. What isn't there gives no text.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any

from flowfn.stores.encoding import LONGEST_NUMBER

_TOKEN = re.compile(r"\{[^{}]*\}|\[[^\[\]]*\]|[^.\[\]{}]+|[^.]")

WHOLE = "$"


def tokenize_path(path: str) -> list[str]:
    """The steps of a path: `"a[0].{b,c}"` has `["a", "[0]", "{b,c}"]`."""
    return _TOKEN.findall(path)


def get_text_at_path(obj: Any, path: str | Sequence[str]) -> list[str]:
    """The texts of a value at a path, or at its steps: strings as they are, all else as JSON."""
    steps = tokenize_path(path) if isinstance(path, str) else list(path)
    found = [obj] if steps in ([], [WHOLE]) else _walk(obj, steps)
    return [text for part in found if (text := _text(part)) is not None]


def texts_of(value: Any, paths: Iterable[Sequence[str]]) -> list[str]:
    """The texts of a value at all of several paths."""
    return [text for path in paths for text in get_text_at_path(value, path)]


def _walk(part: Any, steps: Sequence[str]) -> Iterator[Any]:
    if not steps:
        yield part
        return
    for child in _children(part, steps[0]):
        yield from _walk(child, steps[1:])


def _children(part: Any, step: str) -> Iterable[Any]:
    """What one step leads to."""
    if step.startswith("{") and step.endswith("}"):
        return (found for each in step[1:-1].split(",") for found in _walk(part, tokenize_path(each.strip())))
    if step.startswith("[") and step.endswith("]"):
        return _elements(part, step[1:-1].strip())
    if step == "*":
        return part.values() if isinstance(part, Mapping) else part if isinstance(part, list | tuple) else ()
    return (part[step],) if isinstance(part, Mapping) and step in part else ()


def _elements(part: Any, index: str) -> Iterable[Any]:
    if not isinstance(part, list | tuple):
        return ()
    if index == "*":
        return part
    try:
        return (part[int(index)],)
    except (ValueError, IndexError):
        return ()


def _text(part: Any) -> str | None:
    if part is None:
        return None
    if isinstance(part, str):
        return part
    with suppress(TypeError, ValueError):
        return str(part) if isinstance(part, bool | int | float) else _json(part)
    with suppress(RecursionError):  # what leads back to itself is refused where it is kept
        return _json(_writable(part))
    return None


def _json(part: Any) -> str:
    return json.dumps(part, sort_keys=True, ensure_ascii=False, default=str)


def _writable(part: Any) -> Any:
    """What JSON can say of a value: keys as texts, which can be sorted, and numbers of more digits than Python writes
    in decimal as hexadecimal ones."""
    if isinstance(part, Mapping):
        return {str(_writable(key)): _writable(value) for key, value in part.items()}
    if isinstance(part, list | tuple):
        return [*map(_writable, part)]
    if type(part) is int and part.bit_length() > LONGEST_NUMBER:
        return hex(part)
    return part
