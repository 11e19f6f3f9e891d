"""Datetimes, times and their zones.

Rule: the instant that comes back is the one that was stored. A zone whose class is registered comes back as it was; of
another one of a library's own only the offset does, and only where that is one in all seasons.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, date, datetime, time, timezone, tzinfo
from typing import Any
from zoneinfo import ZoneInfo

from flowfn.serde.format import Kind, Refused, mark
from flowfn.serde.leaves import Encoder, plain_datetime, plain_time
from flowfn.serde.names import Names
from flowfn.serde.objects.kinds import is_plain

_ZONED_DATETIME = mark(Kind.ZONED_DATETIME)
_ZONED_TIME = mark(Kind.ZONED_TIME)
_TIMEZONE = mark(Kind.TIMEZONE)

_SEASONS = (1, 7)
"""Months; one of them is in the summer time of a zone that has one."""

_YEAR = 2000
"""Of a time, which has none."""

_FROZEN: dict[str, type] = {"FakeDatetime": datetime, "FakeDate": date}


def unfrozen(cls: type) -> type:
    """The class in whose place freezegun has put this one for a test: the time is stored; any other class itself."""
    return _FROZEN.get(cls.__name__, cls) if cls.__module__ == "freezegun.api" else cls


def encoders_of_times(names: Names) -> dict[type, Encoder]:
    """By type; `names` says which zones are registered."""
    zones = _Zones(names)

    def of_datetime(value: datetime) -> Any:
        zone = value.tzinfo
        if (zone is None or zone is UTC) and not value.fold:
            return plain_datetime(value)
        zone = zones.of(value)
        if zone is UTC and not value.fold:  # in the words of a library
            return plain_datetime(value.replace(tzinfo=UTC))
        return [_ZONED_DATETIME, value.replace(tzinfo=None).isoformat(), value.fold, zone]

    def of_time(value: time) -> Any:
        if value.tzinfo is None and not value.fold:
            return plain_time(value)
        return [_ZONED_TIME, value.replace(tzinfo=None).isoformat(), value.fold, zones.of(value)]

    return {datetime: of_datetime, time: of_time, timezone: _timezone}


class _Zones:
    """The zones of times, as they are stored."""

    def __init__(self, names: Names) -> None:
        self._names = names
        self._kept: set[type] = {timezone, ZoneInfo}
        """Classes of which each zone is stored as it is."""

    def of(self, value: datetime | time) -> tzinfo | None:
        """The zone of a time; of one that isn't registered, and has one offset at all times, a `timezone` of that."""
        zone = value.tzinfo
        cls = type(zone)
        if zone is None or cls in self._kept:
            return zone
        if is_plain(cls) and self._names.is_allowed(cls):
            self._kept.add(cls)
            return zone
        with suppress(Exception):
            if (fixed := _fixed(zone, value)) is not None:
                return fixed
        raise Refused(_remedy(cls))


def _remedy(cls: type) -> str:
    advice = "Use zoneinfo.ZoneInfo or datetime.timezone"
    register = f", or register it: flowfn.serde.allow({cls.__name__})" if is_plain(cls) else ""
    return f"its zone is of type {cls.__module__}.{cls.__qualname__}. {advice}{register}"


def _fixed(zone: tzinfo, value: datetime | time) -> timezone | None:
    """A zone that has one offset, whatever the date; what it says of none at all may be that of its winter."""
    offset, name = zone.utcoffset(None), zone.tzname(None)
    if offset is None or value.utcoffset() != offset:
        return None
    year = value.year if isinstance(value, datetime) else _YEAR
    if any(datetime(year, month, 1, tzinfo=zone).utcoffset() != offset for month in _SEASONS):
        return None
    plain = timezone(offset)
    return plain if name in (None, plain.tzname(None)) else timezone(offset, name)


def _timezone(value: timezone) -> list[Any]:
    return [_TIMEZONE, *value.__getinitargs__()]  # type: ignore[attr-defined]


def _build_datetime(items: list[Any], _: Names) -> datetime:
    _, text, fold, zone = items
    return datetime.fromisoformat(text).replace(tzinfo=zone, fold=fold)


def _build_time(items: list[Any], _: Names) -> time:
    _, text, fold, zone = items
    return time.fromisoformat(text).replace(tzinfo=zone, fold=fold)


BUILDERS: dict[Kind, Callable[[list[Any], Names], Any]] = {
    Kind.ZONED_DATETIME: _build_datetime,
    Kind.ZONED_TIME: _build_time,
    Kind.TIMEZONE: lambda items, _: timezone(*items[1:]),
}
