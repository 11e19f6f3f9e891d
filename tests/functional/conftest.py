"""The worlds that a behaviour is specified in; see `tests/worlds.py`."""

from collections.abc import Iterator
from contextlib import closing, contextmanager

import pytest

from flowfn.ports import Saver

from ..worlds import KINDS, Kind, World


@contextmanager
def _world(request: pytest.FixtureRequest) -> Iterator[World]:
    kind: Kind = request.param
    saver: Saver = request.getfixturevalue(f"{kind.saver}_saver")
    with closing(World(kind, saver)) as made:
        yield made


@pytest.fixture(params=KINDS, ids=str)
def world(request: pytest.FixtureRequest) -> Iterator[World]:
    """Each world in turn."""
    with _world(request) as made:
        yield made


@pytest.fixture(params=[kind for kind in KINDS if kind.colour == "sync"], ids=str)
def sync_world(request: pytest.FixtureRequest) -> Iterator[World]:
    """Each world whose functions are sync."""
    with _world(request) as made:
        yield made


@pytest.fixture(params=[kind for kind in KINDS if kind.colour == "async"], ids=str)
def async_world(request: pytest.FixtureRequest) -> Iterator[World]:
    """Each world whose functions are async."""
    with _world(request) as made:
        yield made
