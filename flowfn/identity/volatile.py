"""Which values of an argument change on every run by their nature.

Rule: a *clock* value was the time of the call: its instant lies in the caller's window. A *random*
value has a shape that people and programs don't write by hand. Everything else is an ordinary value.
When in doubt between random and ordinary text, ordinary: the rates are measured in the tests.

A random value that is taken for an ordinary one makes its call look new, and it runs; an ordinary
one that is taken for random stops the run with a question. Hence the thresholds: more than 99 % of
what the usual generators make, and no identifier, word or path.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, date, datetime, time
from functools import partial
from typing import Any, Literal, NamedTuple
from uuid import UUID

from flowfn.identity.glance import is_ordinary_text
from flowfn.identity.times import DATE, NUMBER, SPELLED, read
from flowfn.identity.wording import DIGITS, looks_random, usual_pairs

__all__ = [
    "Detector",
    "Kind",
    "Part",
    "Window",
    "in_bytes",
    "in_date",
    "in_float",
    "in_int",
    "in_text",
    "in_uuid",
]

Kind = Literal["clock", "random"]


_TOLERANCE = 2.0
"""Seconds by which clocks of one machine and of its database may disagree."""

_DAY = 86_400.0
_YEAR = 366 * _DAY


class Window:
    """The time in which a call happened: from `since` (epoch seconds) until now; and the moments at which the code read
    the clock in an earlier attempt and was told the same `again`, in their order.

    `now` is asked once, and only if some value could be a time. So is `passed`, which tells the seconds that went by
    since: where the clock was set back meanwhile, the window is what it showed before that and has shown after it.
    """

    __slots__ = ("_again", "_clock", "_high", "_low", "_now", "_passed", "_since")

    def __init__(
        self,
        since: float,
        now: Callable[[], float],
        passed: Callable[[], float],
        again: Sequence[float] = (),
    ) -> None:
        self._again = again
        self._since = since
        self._clock = now
        self._passed = passed
        self._now: float | None = None

    @property
    def now(self) -> float:
        """The time, in epoch seconds."""
        if self._now is None:
            self._now, passed = self._clock(), self._passed()
            self._low = min(self._since, self._now - passed) - _TOLERANCE
            self._high = max(self._now, self._since + passed) + _TOLERANCE
        return self._now

    def meets(self, instant: float, length: float = 0.0) -> bool:
        """Whether some of the `length` seconds from `instant` on lies in the window."""
        if self._now is None:
            _ = self.now
        if self._low <= instant + length and instant <= self._high:
            return True
        at = bisect_left(self._again, instant - _TOLERANCE)
        return at < len(self._again) and self._again[at] <= instant + length + _TOLERANCE

    def meets_datetime(self, value: datetime, length: float = 0.0) -> bool:
        """The same of a datetime; a naive one may be local time or UTC."""
        zones = (None, UTC) if value.tzinfo is None else (value.tzinfo,)
        return any(self._meets_in(value, zone, length) for zone in zones)

    def _meets_in(self, value: datetime, zone: object, length: float) -> bool:
        try:
            return self.meets(value.replace(tzinfo=zone).timestamp(), length)  # type: ignore[arg-type]
        except (OverflowError, ValueError, OSError):  # the year 1 or 9999, outside of the platform's epoch
            return False


Detector = Callable[[Any, Window], Kind | None]
"""Says of a value whether it is volatile, and in which way."""


# -- whole values ---------------------------------------------------------------------------------


def in_int(value: int, window: Window) -> Kind | None:
    """An epoch number of the window is clock; one of the past year ordinary; 16 digits else random."""
    if -999_999_999 <= value <= 999_999_999:
        return None
    instant = _epoch_seconds(value)
    if instant is not None and window.meets(instant):
        return "clock"
    if abs(value) < 10**15 or (instant is not None and _is_recent(instant, window)):
        return None
    is_power = len(set(hex(abs(value)))) < 7 or value % 10_000 == 0  # of two, or of ten
    return None if is_power else "random"


def in_float(value: float, window: Window) -> Kind | None:
    """As `in_int`; random where it takes 15 significant digits or more to write it."""
    instant = _epoch_seconds(value)
    if instant is not None:  # no generator's range: a time, then or now
        return "clock" if window.meets(instant) else None
    return "random" if _significant(repr(value)) >= 15 else None


def in_date(value: date, window: Window) -> Kind | None:
    """A datetime in the window, or a day that the window touches, here or in UTC."""
    if isinstance(value, datetime):
        return "clock" if window.meets_datetime(value) else None
    return "clock" if window.meets_datetime(datetime.combine(value, time()), _DAY) else None


def in_uuid(value: UUID, window: Window) -> Kind | None:
    """Versions 1, 6 and 7 are clock in the window and ordinary outside; 3, 4, 5 and 8 are random."""
    version = value.version
    if version in (1, 6, 7):
        return "clock" if window.meets(_uuid_seconds(value.int, version)) else None
    return "random" if version in (3, 4, 5, 8) else None


def in_bytes(value: bytes, window: Window) -> Kind | None:
    """Eight bytes or more that are no text and hardly repeat."""
    if len(value) < 8 or _is_text(value):
        return None
    size = len(value)
    expected = 256 * (1 - (255 / 256) ** size)
    return "random" if len(set(value)) >= 0.8 * expected else None


def _is_text(value: bytes) -> bool:
    try:
        return value.decode().translate(_BLANKS).isprintable()
    except UnicodeDecodeError:
        return False


_BLANKS = {ord(blank): " " for blank in "\t\n\r\f"}


def _epoch_seconds(value: float) -> float | None:
    """What a number of seconds, milli-, micro- or nanoseconds since 1970 stands for, if it can be one."""
    if 1e9 <= value < 5e9:
        return float(value)
    for unit in (1e3, 1e6, 1e9):
        if 1e9 * unit <= value < 5e9 * unit:
            return value / unit
    return None


def _is_recent(instant: float, window: Window) -> bool:
    """A time stamp of a file, a row or a message: recent enough to be told from a random number."""
    return window.now - _YEAR <= instant <= window.now + _DAY


def _uuid_seconds(number: int, version: int) -> float:
    if version == 7:
        return (number >> 80) / 1e3
    high = number >> 64
    if version == 6:
        ticks = (high >> 16) << 12 | high & 0x0FFF
    else:
        ticks = (high & 0x0FFF) << 48 | (high >> 16 & 0xFFFF) << 32 | high >> 32
    return (ticks - 0x01B21DD213814000) / 1e7


def _significant(text: str) -> int:
    """How many significant digits a printed number has."""
    mantissa = text.lower().partition("e")[0].lstrip("-").replace(".", "")
    return len(mantissa.strip("0")) if mantissa.isdigit() else 0


# -- parts of texts -------------------------------------------------------------------------------


class Part(NamedTuple):
    """A piece of a text: volatile, or ordinary where `kind` is None."""

    text: str
    kind: Kind | None


class _Found(NamedTuple):
    start: int
    end: int
    kind: Kind | None  # None: recognised as ordinary, and no later finder may look into it


_Finder = Callable[[str, Window], Iterator[_Found]]


def in_text(text: str, window: Window) -> list[Part]:
    """The text cut into ordinary and volatile parts, in order. One ordinary part: nothing volatile."""
    parts: list[Part] = []
    for part in _split(text, window, 0):
        if part.kind is None and parts and parts[-1].kind is None:
            parts[-1] = Part(parts[-1].text + part.text, None)
        elif part.text:
            parts.append(part)
    return parts


def _split(text: str, window: Window, first: int) -> Iterator[Part]:
    """Cut by the finders from `first` on; what one of them leaves is cut by those after it."""
    if not text or first == len(_FINDERS) or is_ordinary_text(text):
        yield Part(text, None)
        return
    position = 0
    for start, end, kind in _FINDERS[first](text, window):
        yield from _split(text[position:start], window, first + 1)
        yield Part(text[start:end], kind)
        position = end
    yield from _split(text[position:], window, first + 1)


_UUID = re.compile(r"(?<![0-9A-Fa-f])[0-9A-Fa-f]{8}-(?:[0-9A-Fa-f]{4}-){3}[0-9A-Fa-f]{12}(?![0-9A-Fa-f])")


def _uuids(text: str, window: Window) -> Iterator[_Found]:
    for match in _UUID.finditer(text):
        yield _Found(*match.span(), in_uuid(UUID(match[0]), window))


def _times(form: re.Pattern[str], text: str, window: Window) -> Iterator[_Found]:
    """Times in one of the forms that they are written in: as exact as they are there."""
    for match in form.finditer(text):
        written = read(match)
        if written is None:  # 30 February
            continue
        instants = [each / 1e6 for each in written.instants]
        if any(window.meets(instant, written.length) for instant in instants):
            yield _Found(*match.span(), "clock")
        elif _stands_alone(match) and (
            form is not NUMBER or "." in match[0] or _is_recent(instants[0], window)
        ):
            yield _Found(*match.span(), None)


_DATED = re.compile(r"\d,?\s(?:at\s)?\d{1,2}:[0-5]\d")


def _spelled_times(text: str, window: Window) -> Iterator[_Found]:
    """Times with a date in words, which is looked for only where a time of day comes after a number."""
    if _DATED.search(text):
        yield from _times(SPELLED, text, window)


def _stands_alone(match: re.Match[str]) -> bool:
    """Whether no letter or digit touches the match: else it may be a piece of a longer token."""
    before, after = match.string[: match.start()][-1:], match.string[match.end() : match.end() + 1]
    return not before.isalnum() and not after.isalnum()


_DECIMAL = re.compile(r"(?<![A-Za-z0-9])(?<!\d\.)\d+\.\d{9,}(?:e[+-]?\d+)?(?![A-Za-z0-9])(?!\.\d)")


def _decimals(text: str, window: Window) -> Iterator[_Found]:
    for match in _DECIMAL.finditer(text):
        yield _Found(*match.span(), "random" if _significant(match[0]) >= 15 else None)


_TEMPORARY = re.compile(r"(?<![A-Za-z0-9])tmp([a-z0-9_]{8})(?![A-Za-z0-9])")


def _temporaries(text: str, window: Window) -> Iterator[_Found]:
    """Names that `tempfile` makes: a whole file name, or one that reads like no word."""
    for match in _TEMPORARY.finditer(text):
        start, end = match.span()
        is_file = text[start - 1 : start] in ("/", "\\") and text[end : end + 1] != "_"
        if is_file or DIGITS.search(match[1]) or usual_pairs(match[1])[0] < 0.8:
            yield _Found(start, end, "random")


_HEX = re.compile(r"(?<![0-9A-Za-z])(?:0x)?([0-9a-f]{16,}|[0-9A-F]{16,})(?![0-9A-Za-z])")


def _hexes(text: str, window: Window) -> Iterator[_Found]:
    for match in _HEX.finditer(text):
        number = match[1]
        if len(set(number)) > 4:  # else padding, or a pattern
            yield _Found(*match.span(), _kind_of_hex(number, window))


def _kind_of_hex(number: str, window: Window) -> Kind | None:
    """Random, but for a time-based UUID without its dashes."""
    value = UUID(number) if len(number) == 32 else None
    if value is None or value.version not in (1, 6, 7):
        return "random"
    instant = _uuid_seconds(value.int, value.version)
    if window.meets(instant):
        return "clock"
    return None if _is_recent(instant, window) else "random"


_BASE64 = re.compile(r"(?<![A-Za-z0-9+/.~])[A-Za-z0-9+/]{14,}={0,2}(?![A-Za-z0-9+/=~])")
_PATH = re.compile(r"^/|^[a-z]{3,}/|/[a-z]{3,}$")


def _base64s(text: str, window: Window) -> Iterator[_Found]:
    """Standard base64, which may hold slashes and so look like a path: as a whole, of whole quartets."""
    for match in _BASE64.finditer(text):
        token = match[0]
        if len(token) % 4 or len(token) < 16 or token.isalnum():
            continue
        if (token[-1] == "=" or not _PATH.search(token)) and looks_random(token.rstrip("=")):
            yield _Found(*match.span(), "random")


_TOKEN = re.compile(r"[A-Za-z0-9_+-]{16,}")
_LABEL = re.compile(r"(?:[a-z]{4,}|[A-Z][a-z]{3,}|[A-Z]{4,})[-_]")
_LABEL_AFTER = re.compile(r"[-_](?:[a-z]{4,}|[A-Z][a-z]{3,}|[A-Z]{4,})$")


def _tokens(text: str, window: Window) -> Iterator[_Found]:
    """Tokens of letters and digits of both cases, without the words that name them: `order-` + token."""
    for match in _TOKEN.finditer(text):
        start, end = _without_labels(text, *match.span())
        whole = looks_random(match[0])
        limit = 0.55 if whole or DIGITS.search(text, start, end) else 0.5
        if end - start >= 16 and looks_random(text[start:end], limit):
            yield _Found(start, end, "random")
        elif whole:
            yield _Found(*match.span(), "random")


def _without_labels(text: str, start: int, end: int) -> tuple[int, int]:
    while (label := _LABEL.match(text, start, end)) and usual_pairs(label[0])[0] > 0.8:
        start = label.end()
    while (label := _LABEL_AFTER.search(text, start, end)) and usual_pairs(label[0])[0] > 0.8:
        end = label.start()
    return start, end


_FINDERS: tuple[_Finder, ...] = (
    _uuids,
    partial(_times, DATE),
    _spelled_times,
    partial(_times, NUMBER),
    _decimals,
    _temporaries,
    _hexes,
    _base64s,
    _tokens,
)
"""From the most certain to the least: a text taken by one is out of reach of the next."""
