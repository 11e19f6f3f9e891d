"""What can't change in place, and so is the same value for as long as it is there."""

from __future__ import annotations

import re
from dataclasses import fields, is_dataclass
from datetime import date, time, timedelta, tzinfo
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from functools import partial
from operator import attrgetter, itemgetter, methodcaller
from pathlib import PurePath
from typing import Any
from uuid import UUID

__all__ = ["is_constant"]

_CONSTANTS = (
    *(type(None), bool, int, float, complex, str, bytes, range, date, time, timedelta, tzinfo),
    *(Decimal, Fraction, UUID, Enum, PurePath, re.Pattern),
    *(itemgetter, attrgetter, methodcaller),
)


def is_constant(value: Any) -> bool:
    """Whether a value can't change in place, whatever it holds."""
    if isinstance(value, tuple | frozenset):
        return all(map(is_constant, value))
    if isinstance(value, partial):
        return all(map(is_constant, (*value.args, *value.keywords.values())))
    if is_dataclass(value) and not isinstance(value, type):
        frozen: bool = value.__dataclass_params__.frozen  # type: ignore[attr-defined]
        return frozen and all(is_constant(getattr(value, field.name)) for field in fields(value))
    return isinstance(value, _CONSTANTS)
