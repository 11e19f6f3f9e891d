"""Which values a filter lets through: the one rule, for every backend.

Rule: each key of a filter names a field of the value, literally, or else by a path of keys joined by periods.
Its condition is

- a mapping of operators (`$eq $ne $gt $gte $lt $lte`), all of which must hold;
- another mapping: the field is a mapping, and the condition filters it in turn;
- a list: the field is a list of that length, and each element meets the condition at its place;
- anything else: the field equals it.

A missing field counts as None. Numbers, and strings that spell one, are ordered as numbers; other strings as
text; what can't be ordered doesn't match.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from flowfn.errors import InvalidFilter

_ORDER: dict[str, Callable[[Any, Any], bool]] = {
    "$gt": operator.gt,
    "$gte": operator.ge,
    "$lt": operator.lt,
    "$lte": operator.le,
}
OPERATORS = frozenset(_ORDER) | {"$eq", "$ne"}

Test = Callable[[Any], bool]
"""Whether a value passes."""


def check(given: Any) -> None:
    """Refuse a filter that no value could be held against.

    Raises:
        InvalidFilter: an unknown operator, or what isn't a mapping.
    """
    if not isinstance(given, Mapping):
        raise InvalidFilter(
            f'filter={given!r} is not a mapping. Write a field and its value: {{"kind": "note"}}.'
        )
    for condition in given.values():
        _check_condition(condition)


def _check_condition(condition: Any) -> None:
    if isinstance(condition, list | tuple):
        for each in condition:
            _check_condition(each)
    elif is_operators(condition):
        unknown = next((name for name in condition if name not in OPERATORS), None)
        if unknown is not None:
            known = ", ".join(sorted(OPERATORS))
            raise InvalidFilter(f"Unsupported operator: {unknown} in {condition!r}. Write one of {known}.")
    elif isinstance(condition, Mapping):
        check(condition)


def is_operators(condition: Any) -> bool:
    """Whether a condition is a mapping of operators."""
    return isinstance(condition, Mapping) and any(str(key).startswith("$") for key in condition)


def matches(value: Any, given: Mapping[str, Any]) -> bool:
    """Whether a value passes a filter that was checked."""
    return matcher(given)(value)


def matcher(given: Mapping[str, Any]) -> Test:
    """Tells of many values whether they pass a filter that was checked: it is read once."""
    tests = [(key, _test(condition)) for key, condition in given.items()]

    def passes(value: Any) -> bool:
        if type(value) is not dict and not isinstance(value, Mapping):
            return False
        for key, test in tests:  # noqa: SIM110 - a generator would take as long as the test
            if not test(_field(value, key)):
                return False
        return True

    return passes


def _field(value: Mapping[str, Any], key: str) -> Any:
    if key in value or not isinstance(key, str):
        return value.get(key)
    found: Any = value
    for part in key.split("."):
        if not isinstance(found, Mapping):
            return None
        found = found.get(part)
    return found


def _test(condition: Any) -> Test:
    """Tells of a field whether it meets a condition."""
    if is_operators(condition):
        operators = tuple(condition.items())
        return lambda field: all(_compares(name, field, operand) for name, operand in operators)
    if isinstance(condition, Mapping):
        return matcher(condition)
    if isinstance(condition, list | tuple):
        return _each([*map(_test, condition)])
    return lambda field: bool(field == condition)


def _each(tests: Sequence[Test]) -> Test:
    def passes(field: Any) -> bool:
        return (
            isinstance(field, list | tuple)
            and len(field) == len(tests)
            and all(test(item) for test, item in zip(tests, field, strict=True))
        )

    return passes


def _compares(name: str, field: Any, operand: Any) -> bool:
    if name == "$eq":
        return bool(field == operand)
    if name == "$ne":
        return bool(field != operand)
    ordered = _orderable(field, operand)
    return ordered is not None and _ORDER[name](*ordered)


def _orderable(field: Any, operand: Any) -> tuple[Any, Any] | None:
    """Both as numbers, or both as text; None where they have no order."""
    numbers = number(field), number(operand)
    if numbers[0] is not None and numbers[1] is not None:
        return numbers
    if isinstance(field, str) and isinstance(operand, str):
        return field, operand
    return None


def number(value: Any) -> int | float | None:
    """The number that a value is, or spells; None where it is none."""
    if isinstance(value, int | float):
        return value
    if not isinstance(value, str):
        return None
    try:
        return float(value)
    except ValueError:
        return None
