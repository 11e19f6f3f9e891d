"""What can't change in place, and so is the same value for as long as it is there."""

from __future__ import annotations

import re
from dataclasses import fields, is_dataclass
from datetime import date, time, timedelta, tzinfo
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from functools import partial
from ipaddress import IPv4Address, IPv4Interface, IPv4Network, IPv6Address, IPv6Interface, IPv6Network
from operator import attrgetter, itemgetter, methodcaller
from pathlib import PurePath
from typing import Any
from uuid import UUID

__all__ = ["is_constant"]

_CONSTANTS = (
    *(type(None), bool, int, float, complex, str, bytes, range, date, time, timedelta, tzinfo),
    *(Decimal, Fraction, UUID, Enum, PurePath, re.Pattern),
    *(itemgetter, attrgetter, methodcaller),
    *(IPv4Address, IPv4Interface, IPv4Network, IPv6Address, IPv6Interface, IPv6Network),
)

_OF_PYDANTIC = {
    "pydantic.types": ("SecretStr", "SecretBytes"),
    "pydantic.networks": ("_BaseUrl", "_BaseMultiHostUrl"),
    "pydantic_core._pydantic_core": ("Url", "MultiHostUrl"),
}
"""By module: classes of values that pydantic makes of texts."""


def is_constant(value: Any) -> bool:
    """Whether a value can't change in place, whatever it holds."""
    if isinstance(value, tuple | frozenset):
        return all(map(is_constant, value))
    if isinstance(value, partial):
        return all(map(is_constant, (*value.args, *value.keywords.values())))
    if is_dataclass(value) and not isinstance(value, type):
        frozen: bool = value.__dataclass_params__.frozen  # type: ignore[attr-defined]
        return frozen and all(is_constant(getattr(value, field.name)) for field in fields(value))
    if isinstance(value, slice):
        return all(map(is_constant, (value.start, value.stop, value.step)))
    return isinstance(value, _CONSTANTS) or any(map(_is_of_pydantic, type(value).__mro__))


def _is_of_pydantic(cls: type) -> bool:
    return cls.__name__ in _OF_PYDANTIC.get(cls.__module__, ())
