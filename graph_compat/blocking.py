"""What is written once for blocking and asyncio callers, run for a blocking one.

Rule: a coroutine that is told `on_loop=False` awaits nothing that has to be waited for.
"""

from __future__ import annotations

from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


def blocking(coroutine: Coroutine[Any, Any, T]) -> T:
    """What a coroutine comes to, which runs from its beginning to its end.

    Raises:
        StopIteration: code in it did, of which Python makes a RuntimeError that doesn't say whose it is.
    """
    try:
        coroutine.send(None)
    except StopIteration as end:
        result: T = end.value
        return result
    except RuntimeError as error:
        if isinstance(error.__cause__, StopIteration) and error.args == ("coroutine raised StopIteration",):
            raise error.__cause__ from None
        raise
    coroutine.close()
    raise RuntimeError(f"{coroutine!r} suspended outside an event loop")
