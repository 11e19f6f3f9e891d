"""Whether the code in an asyncio task has an object at hand: what its functions name, and what that holds.

Rule: it is looked for among what the project's coroutines in the task hold, and in the functions, objects and
containers that these name, the nearest first; not in modules and classes, in other tasks, nor in what is flowfn's own.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Iterable, Iterator
from gc import get_referents, is_tracked
from types import CodeType, CoroutineType, FrameType, FunctionType, ModuleType
from typing import Any

from flowfn.hosts.branch_calls import is_own
from flowfn.python.handling import chain_of

_MOST = 2_000
"""Objects that are looked at: what is farther isn't at hand."""

_APART = (type, ModuleType, CodeType, FrameType, CoroutineType, asyncio.Future, asyncio.AbstractEventLoop)


def has_at_hand(task: asyncio.Task[Any], sought: Any) -> bool:
    """Whether the project's code in a task has an object at hand."""
    own = [code for code in chain_of(task.get_coro()) if is_own(getattr(code, "cr_frame", None))]
    waiting, seen = deque(each for code in own for each in _held_by(code)), set[int]()
    while waiting and len(seen) < _MOST:
        each = waiting.popleft()
        if each is sought:
            return True
        if id(each) not in seen and not isinstance(each, _APART) and not _is_ours(each):
            seen.add(id(each))
            waiting.extend(_held_by(each))
    return False


def _held_by(each: Any) -> Iterator[Any]:
    """What is held by an object, a coroutine or a function."""
    if isinstance(each, FunctionType):
        yield from _named(each.__code__, each.__globals__)
        for cell in each.__closure__ or ():
            yield from get_referents(cell)
        return
    if isinstance(each, CoroutineType) and each.cr_frame is not None:
        yield from _named(each.cr_code, each.cr_frame.f_globals)
    yield from filter(is_tracked, get_referents(each))


def _named(code: CodeType, module: dict[str, Any]) -> Iterable[Any]:
    return (module[name] for name in code.co_names if name in module)


def _is_ours(each: Any) -> bool:
    return type(each).__module__.partition(".")[0] == "flowfn"
