"""Operations that can be done, whoever made them: a method of a store, or a user who made a batch."""

from __future__ import annotations

from typing import Any

from flowfn.errors import InvalidInput
from flowfn.python.unicode import is_unicode
from flowfn.stores import filters
from flowfn.stores.base import minutes_of
from flowfn.stores.items import GetOp, ListNamespacesOp, Op, PutOp, SearchOp
from flowfn.stores.namespaces import checked, checked_conditions, checked_for_put


def checked_op(op: Op) -> Op:
    """An operation that can be done.

    Raises:
        InvalidInput: its key, value, time to live, depth, limit or offset is of the wrong kind, or it is no operation.
        InvalidFilter: its filter or condition can't be met.
        InvalidNamespaceError: its namespace isn't valid.
    """
    if isinstance(op, GetOp):
        return GetOp(checked(op.namespace), _key(op.key), op.refresh_ttl)
    if isinstance(op, PutOp):
        place = checked if op.value is None else checked_for_put
        return PutOp(place(op.namespace), _key(op.key), _value(op.value), op.index, minutes_of(op.ttl))
    if isinstance(op, SearchOp):
        filters.check(op.filter or {})
        _check_page(op.limit, op.offset)
        return op._replace(namespace_prefix=checked(op.namespace_prefix))
    if isinstance(op, ListNamespacesOp):
        _check_page(op.limit, op.offset)
        if op.max_depth is not None and not isinstance(op.max_depth, int):
            raise InvalidInput(
                f"max_depth={op.max_depth!r} is no number of labels. Pass a whole number, or None for all."
            )
        return op._replace(match_conditions=checked_conditions(op.match_conditions))
    raise InvalidInput(f"{op!r} is no operation. Pass a GetOp, PutOp, SearchOp or ListNamespacesOp.")


def _key(key: Any) -> str:
    """The key; a whole number stands for its digits."""
    if type(key) is not str and isinstance(key, int) and not isinstance(key, bool):
        return str(key)
    if not isinstance(key, str) or not is_unicode(key):
        raise InvalidInput(f"key={key!r} is no key. Pass a string, such as {str(key)!r}.")
    return key


def _value(value: Any) -> dict[str, Any] | None:
    if value is None or isinstance(value, dict):
        return value
    try:
        return dict(value.items())
    except (AttributeError, TypeError):
        raise InvalidInput(f'value={value!r} is not a dict. Write {{"value": {value!r}}}.') from None


def _check_page(limit: Any, offset: Any) -> None:
    for name, number in (("limit", limit), ("offset", offset)):
        if not isinstance(number, int) or number < 0:
            raise InvalidInput(f"{name}={number!r} is not a count. Pass a whole number from 0 on.")
