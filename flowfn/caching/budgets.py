"""How much a cache may keep, and for how long: by choice alone, so that None means no bound."""

from __future__ import annotations

from datetime import timedelta


def bytes_budget(value: int | None) -> int | None:
    """A `max_bytes=`.

    Raises `TypeError` or `ValueError` unless it is a positive whole number or None.
    """
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError(f"max_bytes must be a whole number of bytes, not {value!r}; write max_bytes=2**30")
    if value <= 0:
        raise ValueError(f"max_bytes must be positive. It is {value!r}; write max_bytes=None for no bound")
    return value


def seconds_budget(value: float | timedelta | None) -> float | None:
    """A `max_age=` in seconds.

    Raises `TypeError` or `ValueError` unless it is positive, or None.
    """
    seconds = value.total_seconds() if isinstance(value, timedelta) else value
    if seconds is None:
        return None
    if isinstance(seconds, bool) or not isinstance(seconds, int | float):
        raise TypeError(f"max_age must be seconds or a timedelta, not {value!r}; write max_age=86400")
    if not seconds > 0:
        raise ValueError(f"max_age must be positive. It is {value!r}; write max_age=None for no bound")
    return float(seconds)
