"""What a value tells of ids and times: of the same ones, however it writes them."""

import uuid
from datetime import UTC, datetime, timedelta, timezone
from email.utils import format_datetime
from typing import Any

import pytest

from flowfn.identity.digest import leaf_text
from flowfn.identity.told import known_as, mentions_fractions, told_in

AT = datetime(2026, 11, 29, 14, 17, 43, 984_914, tzinfo=UTC)
ID = uuid.UUID("7d1f0a52-9c3b-4e8a-b0f7-2a6c1d9e5b84")
FRACTION = 0.1234567890123456
ELSEWHERE = timezone(timedelta(hours=-5, minutes=-30))

TIMES: dict[str, Any] = {
    "datetime": AT,
    "elsewhere": AT.astimezone(ELSEWHERE),
    "isoformat": AT.astimezone(ELSEWHERE).isoformat(),
    "Z": AT.strftime("%Y-%m-%dT%H:%M:%S.%fZ"),
    "compact": AT.strftime("%Y%m%d_%H%M%S%f"),
    "without a zone": AT.replace(tzinfo=None).isoformat(),
    "seconds": AT.timestamp(),
    "nanoseconds": 1_795_961_863_984_914_300,
    "in a text": f"made at {AT.timestamp()!r} by hand",
    "a key": {AT: 1},
}
IDS: dict[str, Any] = {
    "itself": ID,
    "text": str(ID),
    "upper": str(ID).upper(),
    "hex": ID.hex,
    "bytes": ID.bytes,
    "deep": [{"rows": ({"id": str(ID)},)}],
    "a key": {str(ID): 1},
    "a key of its own kind": {ID: 1},
    "in a set": {ID},
    "in a text": f"order-{ID}.json",
}


def tells(value: Any, leaf: Any) -> bool:
    return not told_in(value, fractions=False).isdisjoint(known_as(leaf_text(leaf)).keys)


@pytest.mark.parametrize("value", TIMES.values(), ids=TIMES)
@pytest.mark.parametrize(
    "leaf",
    [
        AT,
        AT.isoformat(),
        AT.timestamp(),
        int(AT.timestamp() * 1000),
        round(AT.timestamp(), 3),
        int(AT.timestamp()),
    ],
    ids=str,
)
def test_a_time_is_told_however_it_is_written(value: Any, leaf: Any) -> None:
    """Rule 4: in each unit that an argument may have it in."""
    assert tells(value, leaf)


@pytest.mark.parametrize("text", [AT.ctime(), format_datetime(AT), f"{AT:%B %d, %Y, %I:%M:%S %p}"])
def test_a_time_in_words_is_told_to_its_second(text: str) -> None:
    """Rule 4: as `ctime`, mails and people write it."""
    assert tells(text, int(AT.timestamp()))
    assert not tells(text, int(AT.timestamp()) + 2)
    assert known_as(text).keys == known_as(str(int(AT.timestamp()))).keys


@pytest.mark.parametrize("value", TIMES.values(), ids=TIMES)
def test_another_time_is_not_told(value: Any) -> None:
    """Rule 2: not one of ten microseconds later, nor, in its unit, one of the next second."""
    assert not tells(value, AT + timedelta(microseconds=10))
    assert not tells(value, int(AT.timestamp()) + 2)


@pytest.mark.parametrize("value", IDS.values(), ids=IDS)
@pytest.mark.parametrize("leaf", [ID, str(ID), ID.hex, ID.bytes], ids=str)
def test_an_id_is_told_however_it_is_written(value: Any, leaf: Any) -> None:
    """Rule 4: a UUID is its number."""
    assert tells(value, leaf)
    assert not tells(value, uuid.UUID(int=ID.int + 1))


@pytest.mark.parametrize("leaf", ["2026-11-29", "20261129", "2026-11-29T14:17", AT.date()], ids=str)
def test_a_day_or_a_minute_says_nothing_of_where_it_is_from(leaf: Any) -> None:
    """Rule 2: too many things are of the same day."""
    assert known_as(leaf_text(leaf)).keys == ()


@pytest.mark.parametrize(
    ("leaf", "surely"),
    [
        (AT, True),
        (1_795_961_863_984_914_300, True),
        (ID, True),
        (1_795_961_863_984, False),
        (1_795_961_863, False),
    ],
    ids=str,
)
def test_what_is_told_roughly_may_be_so_by_chance(leaf: Any, surely: bool) -> None:
    """Rule 3: a time that isn't told to the microsecond."""
    assert known_as(leaf_text(leaf)).surely == surely


def test_digits_in_a_token_are_no_time() -> None:
    """Rule 4: the id is told as a whole, and not what could be a time in it."""
    token = "b1795961863c4e8ab0f72a6c1d9e5b84"
    assert tells({"key": token}, token)


@pytest.mark.parametrize("value", [[FRACTION] * 3, {"score": FRACTION}], ids=["series", "score"])
def test_fractions_are_looked_for_where_they_are_sought(value: Any) -> None:
    """Rule 4: data holds many of them, and few calls are about one."""
    assert told_in(value, fractions=False) == set()
    assert told_in(value, fractions=True) == {str(FRACTION)}
    assert mentions_fractions([str(FRACTION)])
    assert not mentions_fractions([str(AT.timestamp()), str(ID), "2026-11-29"])
