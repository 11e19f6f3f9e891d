"""How ids and times are spelled in a database.

Rule: each has a short spelling, where it comes back from that letter by letter, and is kept as it is otherwise.
A thread's rows are mostly ids: 16 bytes of a UUID instead of 36 letters are a third of them.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from functools import lru_cache

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
_UUID_LETTERS, _UUID_DIGITS = 36, 32
_TIME_LETTERS, _IN_UTC = 32, "+00:00"
_WHOLE = "000000"
"""Microseconds of a whole second, which isn't written with any."""


@lru_cache(256)
def short_id(id: str) -> bytes | str:
    """The 16 bytes of a UUID in its usual spelling; any other id is itself."""
    digits = id.replace("-", "")
    if (
        len(digits) == _UUID_DIGITS
        and len(id) == _UUID_LETTERS
        and id[8] == id[13] == id[18] == id[23] == "-"
    ):
        try:
            data = bytes.fromhex(digits)
        except ValueError:
            return id
        if data.hex() == digits:  # in small letters, and without blanks
            return data
    return id


def long_id(kept: bytes | str) -> str:
    """The id that was kept."""
    if type(kept) is not bytes:
        return kept  # type: ignore[return-value]
    digits = kept.hex()
    return f"{digits[:8]}-{digits[8:12]}-{digits[12:16]}-{digits[16:20]}-{digits[20:]}"


def short_time(time: str) -> int | str:
    """Microseconds since 1970 of a time in UTC, as flowfn writes it; any other time is itself."""
    if len(time) == _TIME_LETTERS and time.endswith(_IN_UTC) and time[19] == ".":
        minute, digits = _minute(time[:17]), time[17:19] + time[20:26]
        if (
            minute is not None
            and digits.isascii()
            and digits.isdecimal()
            and digits < "60"
            and digits[2:] != _WHOLE
        ):
            return minute + int(digits)
    return _parsed(time)


@lru_cache(64)
def _minute(time: str) -> int | None:
    """When a minute began whose time is written up to the seconds: it is parsed once for all times in it."""
    found = _parsed(f"{time}00{_IN_UTC}")
    return found if isinstance(found, int) else None


def _parsed(time: str) -> int | str:
    try:
        at = datetime.fromisoformat(time)
    except ValueError:
        return time
    if at.tzinfo is None:
        return time
    number = (at - _EPOCH) // _MICROSECOND
    return number if long_time(number) == time else time


def long_time(kept: int | str) -> str:
    """The time that was kept, ISO 8601."""
    return kept if isinstance(kept, str) else (_EPOCH + kept * _MICROSECOND).isoformat()
