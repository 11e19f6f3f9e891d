"""Warnings of names that LangGraph has deprecated."""

from __future__ import annotations

import sys
import warnings
from typing import Any

__all__ = [
    "LangGraphDeprecatedSinceV05",
    "LangGraphDeprecatedSinceV10",
    "LangGraphDeprecatedSinceV11",
    "LangGraphDeprecationWarning",
]


class LangGraphDeprecationWarning(DeprecationWarning):
    """A name is deprecated since LangGraph `since` (major, minor), and goes in `expected_removal`."""

    since: tuple[int, int] = (1, 0)
    expected_removal: tuple[int, int] = (2, 0)

    def __init__(
        self,
        message: str,
        *args: object,
        since: tuple[int, int] | None = None,
        expected_removal: tuple[int, int] | None = None,
    ) -> None:
        super().__init__(message, *args)
        self.message = message.rstrip(".")
        self.since = since or self.since
        self.expected_removal = expected_removal or (self.since[0] + 1, 0)

    def __str__(self) -> str:
        since, removal = (".".join(map(str, version)) for version in (self.since, self.expected_removal))
        return f"{self.message}. Deprecated in LangGraph V{since} to be removed in V{removal}."


class LangGraphDeprecatedSinceV05(LangGraphDeprecationWarning):
    """Deprecated since 0.5."""

    since = (0, 5)

    def __init__(self, message: str, *args: object) -> None:
        super().__init__(message, *args, since=(0, 5), expected_removal=(2, 0))


class LangGraphDeprecatedSinceV10(LangGraphDeprecationWarning):
    """Deprecated since 1.0."""

    since = (1, 0)


class LangGraphDeprecatedSinceV11(LangGraphDeprecationWarning):
    """Deprecated since 1.1."""

    since = (1, 1)

    def __init__(self, message: str, *args: object) -> None:
        super().__init__(message, *args, since=(1, 1), expected_removal=(3, 0))


def warn(message: str, kind: type[LangGraphDeprecationWarning], *, depth: int = 3) -> None:
    """Warn whoever called the caller."""
    warnings.warn(kind(message), stacklevel=depth)


def depth_of_caller() -> int:
    """How far up from the one who asks the code is that called graph_compat, as `stacklevel` counts."""
    depth, frame = 1, sys._getframe(1)
    while frame.f_globals.get("__name__", "").startswith(_OURS) and frame.f_back is not None:
        depth, frame = depth + 1, frame.f_back
    return depth


_OURS = ("graph_compat.", "flowfn.")


def renamed(
    deprecated: dict[str, Any],
    old: str,
    new: str,
    value: Any,
    kind: type[LangGraphDeprecationWarning] = LangGraphDeprecatedSinceV05,
) -> Any:
    """The value of an argument, taken out of `deprecated` if it came by its old name, with a warning."""
    if old not in deprecated:
        return value
    warn(f"`{old}` is deprecated and will be removed. Please use `{new}` instead.", kind, depth=4)
    given = deprecated.pop(old)
    return given if value is None else value


def refuse_others(deprecated: dict[str, Any], where: str) -> None:
    """Refuse what is left of `deprecated`: arguments that no name has ever been given.

    Raises:
        TypeError: there are some.
    """
    for unknown in deprecated:
        raise TypeError(f"{where} got an unexpected keyword argument {unknown!r}")
