"""Arguments that may come by the names that they had."""

from __future__ import annotations

from typing import Any

from graph_compat.warnings import LangGraphDeprecatedSinceV05, LangGraphDeprecationWarning, warn


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
