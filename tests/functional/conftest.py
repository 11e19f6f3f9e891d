"""The worlds that a behaviour is specified in; see `tests/worlds.py`."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from checkpointers import MemorySaver, SqliteSaver

from ..worlds import KINDS, Kind, World


def _world(kind: Kind, directory: Path) -> World:
    return World(kind, MemorySaver() if kind.saver == "memory" else SqliteSaver(directory / "runs.db"))


@pytest.fixture(params=KINDS, ids=str)
def world(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[World]:
    """Each world in turn."""
    made = _world(request.param, tmp_path)
    yield made
    made.close()


@pytest.fixture(params=[kind for kind in KINDS if kind.colour == "sync"], ids=str)
def sync_world(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[World]:
    """Each world whose functions are sync."""
    made = _world(request.param, tmp_path)
    yield made
    made.close()


@pytest.fixture(params=[kind for kind in KINDS if kind.colour == "async"], ids=str)
def async_world(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[World]:
    """Each world whose functions are async."""
    made = _world(request.param, tmp_path)
    yield made
    made.close()
