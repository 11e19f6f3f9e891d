"""Pendulum's dates, times and zones, which extend Python's own."""

import pickle
from typing import Any

import pytest

from flowfn.serde import DEFAULT

pendulum: Any = pytest.importorskip("pendulum")


@pytest.mark.parametrize(
    "value",
    [
        pendulum.datetime(2024, 10, 27, 2, 30, tz="Europe/Paris", fold=1),
        pendulum.datetime(2024, 1, 1),
        pendulum.parse("2024-01-01T00:00:00+02:00"),
        pendulum.naive(2024, 1, 1),
        pendulum.date(2024, 2, 29),
        pendulum.time(1, 2, 3),
        pendulum.duration(years=1, months=2, days=3),
        pendulum.timezone("Europe/Paris"),
        pendulum.timezone(3600),
    ],
    ids=repr,
)
def test_they_come_back_as_they_were(value: Any) -> None:
    """G2: with their class, and with the zone that pendulum's own methods look for."""
    actual = DEFAULT.loads(DEFAULT.dumps(value))
    assert (type(actual), repr(actual)) == (type(value), repr(value))
    assert pickle.dumps(actual) == pickle.dumps(value)
    zone = getattr(value, "tzinfo", None)
    assert type(getattr(actual, "tzinfo", None)) is type(zone)
