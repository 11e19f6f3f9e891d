"""How times are written in texts: which they are, and how exactly they are told.

Rule: a text tells a time to the digit that is written, and what is left open is told as such. A date is written by ISO
8601 or as in file names, or, with a time of day, as `ctime`, mails and people write it; a number is seconds since 1970,
or their thousandths and so on. Without a zone it may be local time or UTC, and `5/6/2026` of either month.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta, timezone
from typing import NamedTuple

__all__ = ["DATE", "NUMBER", "SPELLED", "Written", "read", "time_of"]


class Written(NamedTuple):
    """A time as it is written."""

    instants: tuple[int, ...]
    """What it may be, in microseconds since 1970, of a longer fraction cut and rounded."""
    digits: int
    """How many digits of a second are written, but for the zeros at the end of a number, which has none there."""
    length: float = 0.0
    """The seconds that it leaves open: those of a day, a minute or a second."""


_CLOCK = (
    r"(?P<hour>\d{1,2}):(?P<minute>[0-5]\d)(?::(?P<second>[0-5]\d)(?:\.(?P<fraction>\d{1,9}))?)?"
    r"(?:\s?(?P<half>[AP])\.?M\b\.?)?"
)
_ZONE = r"\s?(?P<zone>Z|GMT|UTC|[+-]\d\d:?\d\d)"
_YEAR = r"(?:19|20)\d\d"
_DAY = r"\d{1,2}(?:st|nd|rd|th)?"
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_MONTH = rf"(?:{'|'.join(_MONTHS)})[a-z]{{0,6}}\.?"

DATE = re.compile(
    rf"(?<!\d)(?P<date>{_YEAR}(?P<dash>-?)(?:0[1-9]|1[0-2])(?P=dash)(?:0[1-9]|[12]\d|3[01]))"
    r"(?:[T _-]?(?P<hour>[01]\d|2[0-3])[:.-]?(?P<minute>[0-5]\d)"
    r"(?:[:.-]?(?P<second>[0-5]\d)(?:[.,]?(?P<fraction>\d{1,9}))?)?"
    r"(?:\s?(?P<zone>Z|[+-]\d\d:?\d\d))?)?(?!\d)"
)
"""A date by ISO 8601, or as `strftime` makes them for file names."""

SPELLED = re.compile(
    r"(?<!\d)(?:(?:mon|tue|wed|thu|fri|sat|sun)[a-z]{0,6},?\s)?(?P<date>"
    rf"{_DAY}[ -]{_MONTH}[ -]{_YEAR}|{_MONTH}\s{{1,2}}{_DAY}(?:,?\s{_YEAR})?|\d{{1,2}}([/.])\d{{1,2}}\2{_YEAR})"
    rf",?\s(?:at\s)?{_CLOCK}(?:{_ZONE})?(?:\s(?P<year>{_YEAR}))?(?!\w)",
    re.IGNORECASE,
)
"""A date and a time of day as `time.ctime`, `email.utils.formatdate` and people write them."""

NUMBER = re.compile(
    r"(?<!\d)(?<!\d\.)(?P<whole>[1-4]\d{9})(?P<more>(?:\d{3}){0,3})(?:\.(?P<fraction>\d+))?(?!\d)"
)
"""A number of seconds since 1970, or of their thousandths, millionths or thousand millionths."""


def time_of(text: str) -> Written | None:
    """The time that a text is, with nothing beside it; None if it is none."""
    matches = (form.fullmatch(text) for form in (NUMBER, DATE, SPELLED))
    return next((read(match) for match in matches if match is not None), None)


def read(match: re.Match[str]) -> Written | None:
    """The time that one of these forms has found; None if there is no such date."""
    parts = match.groupdict()
    fraction = parts["fraction"] or ""
    if "whole" in parts:
        digits = parts["more"] + fraction.rstrip("0")
        return Written(tuple(_to_the_digit(int(parts["whole"]), digits)), len(digits))
    begun = dict.fromkeys(seconds for day in _days(parts) for seconds in _seconds(day, parts))
    instants = tuple(each for seconds in begun for each in _to_the_digit(seconds, fraction))
    return Written(instants, len(fraction), _left_open(parts)) if instants else None


def _left_open(parts: dict[str, str | None]) -> float:
    if parts["hour"] is None:
        return 86_400.0
    return 60.0 if parts["second"] is None else 0.0 if parts["fraction"] else 1.0


def _to_the_digit(seconds: int, digits: str) -> Iterator[int]:
    """The microseconds of a time to its digits: cut, and rounded."""
    cut = seconds * 1_000_000 + int(digits[:6].ljust(6, "0"))
    yield cut
    if digits[6:7] >= "5":
        yield cut + 1


def _days(parts: dict[str, str | None]) -> Iterator[tuple[int, int, int]]:
    """The days that a date may be."""
    date = parts["date"] or ""
    if date[:4].isdigit():
        digits = date.replace("-", "")
        yield int(digits[:4]), int(digits[4:6]), int(digits[6:])
        return
    numbers = [int(number) for number in re.findall(r"\d+", f"{date} {parts['year'] or ''}")]
    year = next((number for number in numbers if number > 99), None)
    if year is None:
        return
    first, *more = (number for number in numbers if number < 100)
    named = [at for at, name in enumerate(_MONTHS, 1) if re.search(rf"(?<![a-z]){name}", date.lower())]
    yield from ((year, month, first) for month in named)
    yield from ((year, *either) for month in more for either in ((first, month), (month, first)))


def _seconds(day: tuple[int, int, int], parts: dict[str, str | None]) -> Iterator[int]:
    """The seconds since 1970 of a time on that day; without a zone those of local time and of UTC."""
    hour, minute, second = (int(parts[part] or 0) for part in ("hour", "minute", "second"))
    if half := parts.get("half"):
        hour = hour % 12 + 12 * (half in "Pp")
    zone = parts["zone"]
    try:
        value = datetime(*day, hour, minute, second)
        yield (value.replace(tzinfo=_zone(zone) if zone else UTC) - _BEGIN) // timedelta(seconds=1)
        if not zone:
            yield (value.astimezone() - _BEGIN) // timedelta(seconds=1)
    except (OverflowError, ValueError, OSError):
        return  # 30 February; the year 1900 or 2099, outside of the platform's epoch


_BEGIN = datetime(1970, 1, 1, tzinfo=UTC)


def _zone(offset: str) -> timezone:
    if offset[0] not in "+-":
        return UTC
    ahead = timedelta(hours=int(offset[1:3]), minutes=int(offset[-2:]))
    return timezone(ahead if offset[0] == "+" else -ahead)
