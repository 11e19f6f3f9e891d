"""Namespaces: which are allowed, which match, and how one is written in a single string.

Rule: labels are non-empty strings without periods, so that a namespace written with a period after each label
is as unambiguous as the tuple, and all that is below it begins with the same string.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Any

from flowfn.errors import InvalidFilter, InvalidNamespaceError
from flowfn.python.unicode import is_unicode
from flowfn.stores.items import MatchCondition, Namespace

RESERVED = "langgraph"
"""A root label that LangGraph's platform keeps for itself."""


def checked(labels: Any) -> Namespace:
    """The labels as a tuple.

    Raises:
        InvalidNamespaceError: they aren't labels, or it is one string, which would be taken letter by letter
            and so would find `("user10",)` under `"user1"`.
    """
    if type(labels) is not tuple and (isinstance(labels, str) or not isinstance(labels, Iterable)):
        raise InvalidNamespaceError(f"{labels!r} is not a namespace. Pass a tuple of labels: ({labels!r},)")
    namespace = tuple(labels)
    try:
        return _checked(namespace)
    except TypeError:  # a label that can't be hashed is no string either
        return _checked.__wrapped__(namespace)


@lru_cache(maxsize=4096)
def _checked(namespace: Namespace) -> Namespace:
    for label in namespace:
        if not isinstance(label, str):
            raise InvalidNamespaceError(
                f"Invalid namespace label '{label}' found in {namespace}. Namespace labels must be strings, but "
                f"got {type(label).__name__}. Pass {str(label)!r}."
            )
        if "." in label:
            raise InvalidNamespaceError(
                f"Invalid namespace label '{label}' found in {namespace}. Namespace labels cannot contain "
                f"periods ('.'). Pass {label.replace('.', '_')!r}, or several labels."
            )
        if not label:
            raise InvalidNamespaceError(
                f"Namespace labels cannot be empty strings. Got {label} in {namespace}. Leave it out."
            )
        if not is_unicode(label):
            raise InvalidNamespaceError(
                f"Invalid namespace label {label!r} found in {namespace}. Pass a label without lone surrogates."
            )
    return namespace


def checked_for_put(labels: Any) -> Namespace:
    """The labels as a tuple where an item may be put.

    Raises:
        InvalidNamespaceError: as `checked`; also for no labels at all, and for a reserved root.
    """
    namespace = checked(labels)
    if not namespace:
        raise InvalidNamespaceError(
            'Namespace cannot be empty. Pass at least one label, such as ("memories",).'
        )
    if namespace[0] == RESERVED:
        raise InvalidNamespaceError(
            f'Root label for namespace cannot be "{RESERVED}". Got: {namespace}. Begin with another label.'
        )
    return namespace


def written(namespace: Namespace) -> str:
    """The namespace as one string: a period after each label."""
    return "".join(f"{label}." for label in namespace)


def read(text: str) -> Namespace:
    """The namespace that was written so."""
    return tuple(text.split(".")[:-1])


# -- matching -------------------------------------------------------------------------------------


def checked_conditions(conditions: Iterable[MatchCondition] | None) -> tuple[MatchCondition, ...]:
    """The conditions, with their paths as tuples.

    Raises:
        InvalidFilter: a match type that there isn't.
    """
    found = []
    for kind, path in conditions or ():
        if kind not in ("prefix", "suffix"):
            raise InvalidFilter(f"Unsupported match type: {kind}. Write 'prefix' or 'suffix'.")
        found.append(MatchCondition(kind, tuple(path)))
    return tuple(found)


def common_prefix(conditions: Iterable[MatchCondition]) -> Namespace:
    """The longest labels that every namespace begins with which meets the conditions."""
    return max((_plain(path) for kind, path in conditions if kind == "prefix"), key=len, default=())


def _plain(path: Namespace) -> Namespace:
    return path[: path.index("*")] if "*" in path else path


def meets(namespace: Namespace, conditions: Iterable[MatchCondition]) -> bool:
    """Whether a namespace begins and ends as the conditions say."""
    return all(
        _fits(namespace if kind == "prefix" else namespace[::-1], path if kind == "prefix" else path[::-1])
        for kind, path in conditions
    )


def _fits(labels: Namespace, path: Namespace) -> bool:
    if len(path) > len(labels):
        return False
    if "*" not in path:
        return path == labels[: len(path)]
    return all(part in ("*", label) for part, label in zip(path, labels, strict=False))


def listed(
    namespaces: Iterable[Namespace],
    conditions: Sequence[MatchCondition],
    max_depth: int | None,
    limit: int,
    offset: int,
) -> list[Namespace]:
    """The namespaces that meet the conditions, cut to `max_depth` labels, each once, sorted."""
    found = {namespace[:max_depth] for namespace in namespaces if meets(namespace, conditions)}
    return sorted(found)[offset : offset + limit]
