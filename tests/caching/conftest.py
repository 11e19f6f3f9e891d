"""A cache of each kind, empty, and a folder of a user's own code."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from redis import Redis

from flowfn.caching import DiskCache, MemoryCache, RedisCache

from ..redis_server import server

KINDS = ("memory", "disk", "redis")


@pytest.fixture(scope="session")
def redis_server() -> Iterator[str]:
    """The URL of a Redis server of this session's own."""
    if os.environ.get("FLOWFN_NO_REDIS") == "1":
        pytest.skip("FLOWFN_NO_REDIS=1")
    with server() as url:
        yield url


@pytest.fixture
def redis_url(redis_server: str) -> str:
    """The URL of an empty database."""
    with Redis.from_url(redis_server) as client:
        client.flushdb()
    return redis_server


@pytest.fixture(params=KINDS)
def cache(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Any]:
    """An empty cache of each kind."""
    if request.param == "memory":
        yield MemoryCache()
    else:
        yield from shared(request.param, request, tmp_path)


@pytest.fixture(params=("disk", "redis"))
def shared_cache(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Any]:
    """An empty cache of each kind that processes share."""
    yield from shared(request.param, request, tmp_path)


def shared(kind: str, request: pytest.FixtureRequest, folder: Path) -> Iterator[Any]:
    makers = {
        "disk": lambda: DiskCache(folder / "cache"),
        "redis": lambda: RedisCache(request.getfixturevalue("redis_url")),
    }
    made: Any = makers[kind]()
    yield made
    made.close()
