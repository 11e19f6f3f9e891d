"""What of a filter SQLite can decide by itself, so that rows that can't match are never loaded.

Rule: a condition in SQL may let through too much, and never holds back what `filters.matches` lets through. So it is
made only of what SQL and Python surely agree on: fields with plain names, text without control characters, and
numbers with a margin, because SQLite reads some decimal fractions wrong in their last digit.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from flowfn.python.unicode import is_unicode
from flowfn.stores.filters import is_operators, number

Condition = tuple[str, list[Any]]
"""SQL on the column `value`, and its parameters."""

_PLAIN_NAME = re.compile(r"[A-Za-z0-9_ -]+")
_EXACT = 10**15
"""Whole numbers below it are the same in JSON, SQLite and Python."""

_MARGIN = 1e-9


def conditions(given: Mapping[str, Any]) -> Iterator[Condition]:
    """The conditions in SQL that every value meets which passes the filter, kept as JSON or as bytes."""
    for key, condition in given.items():
        if isinstance(key, str) and _PLAIN_NAME.fullmatch(key):
            for name, operand in condition.items() if is_operators(condition) else [("$eq", condition)]:
                found = _condition(f'$."{key}"', name, operand)
                if found is not None:
                    sql, parameters = found
                    yield f"CASE typeof(value) WHEN 'text' THEN {sql} ELSE 1 END", parameters


def _condition(path: str, name: str, operand: Any) -> Condition | None:
    if name == "$eq":
        return _equality(path, operand)
    if name == "$ne":
        return None
    return _order(path, ">=" if name in ("$gt", "$gte") else "<=", operand)


def _equality(path: str, operand: Any) -> Condition | None:
    if operand is None:
        return "json_extract(value, ?) IS NULL", [path]
    whole = isinstance(operand, int) and abs(operand) < _EXACT
    if not whole and not _is_plain_text(operand):
        return None
    return "json_extract(value, ?) = ?", [path, int(operand) if whole else operand]


def _order(path: str, sign: str, operand: Any) -> Condition | None:
    found = number(operand)
    if found is None and _is_plain_text(operand):
        return (
            f"CASE json_type(value, ?) WHEN 'text' THEN json_extract(value, ?) {sign} ? ELSE 0 END",
            [path, path, operand],
        )
    if found is None or not abs(found) < _EXACT:  # nor is NaN
        return None
    margin = _MARGIN * (1 + abs(found))
    return (
        "CASE json_type(value, ?) WHEN 'text' THEN 1 WHEN 'array' THEN 0 WHEN 'object' THEN 0"
        f" ELSE json_extract(value, ?) {sign} ? END",
        [path, path, found - margin if sign == ">=" else found + margin],
    )


def _is_plain_text(operand: Any) -> bool:
    return isinstance(operand, str) and is_unicode(operand) and all(letter >= " " for letter in operand)
