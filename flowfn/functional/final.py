"""`entrypoint.final`: one value for the caller, another for the next call."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, TypeVar

V = TypeVar("V")
S = TypeVar("S")


@dataclass(frozen=True, slots=True)
class final(Generic[V, S]):
    """Return `value` to the caller and save `save` as the next call's `previous`."""

    value: V
    save: S
