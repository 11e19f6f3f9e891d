"""How ids and times are spelled in a database.

Rule: each has a short spelling, where it comes back from that letter by letter, and is kept as it is otherwise.
A thread's rows are mostly ids: 16 bytes of a UUID instead of 36 letters are a third of them.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from functools import lru_cache

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
_UUID_LETTERS = 36


@lru_cache(256)
def short_id(id: str) -> bytes | str:
    """The 16 bytes of a UUID in its usual spelling; any other id is itself."""
    if len(id) == _UUID_LETTERS:
        try:
            data = bytes.fromhex(id.replace("-", ""))
        except ValueError:
            return id
        if len(data) == 16 and long_id(data) == id:
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
