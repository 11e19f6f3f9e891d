"""What any test may ask for: a Python process of its own that imports the very flowfn under test, and a database.

Postgres is part of the suite: where no server can be had, its tests fail. `FLOWFN_NO_POSTGRES=1` leaves them out.
"""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

import flowfn
from checkpointers import MemorySaver, PostgresSaver, SqliteSaver
from flowfn.ports import Saver

from .postgres_database import Database, new_database
from .postgres_server import shared_server
from .worlds import KINDS, Kind, World

REPO = Path(__file__).resolve().parent.parent
INSTALLED = Path(next(iter(flowfn.__path__))).resolve().parent

# A busy machine must not fail an example for having taken long: timings never decide a test. The examples are the
# same on each run, so that a failure is of the change at hand; FLOWFN_EXPLORE=1 looks for new ones.
settings.register_profile(
    "untimed",
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
    derandomize="FLOWFN_EXPLORE" not in os.environ,
)
settings.load_profile("untimed")

RunPython = Callable[..., subprocess.CompletedProcess[str]]


def pytest_report_header() -> str:
    return f"flowfn: {INSTALLED / 'flowfn'}"


_FIRST = {"test_costs.py", "test_memory.py", "test_benchmarks.py", "test_repo.py"}
"""Files whose tests take long, and longer the more is alive in their process, as they have the collector look through
all of it. At the end they would keep one worker at work while the others have nothing left."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Have the longest tests begin first."""
    items.sort(key=lambda item: item.path.name not in _FIRST)


@pytest.fixture
def repo() -> Path:
    """The checkout's directory."""
    return REPO


@pytest.fixture(scope="session")
def installed() -> Path:
    """The directory that flowfn was imported from: the checkout, or site-packages."""
    return INSTALLED


@pytest.fixture
def run_python(tmp_path: Path) -> RunPython:
    """Run `python ARGUMENTS` in a temporary directory, without input; the finished process."""

    def run(*arguments: str | Path, **environment: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, *map(str, arguments)],
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": str(INSTALLED), **environment},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
        )

    return run


@pytest.fixture(scope="session")
def postgres_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The URL of a Postgres server whose user may create databases, one for all workers of the session."""
    if os.environ.get("FLOWFN_NO_POSTGRES") == "1":
        pytest.skip("FLOWFN_NO_POSTGRES=1")
    folder = tmp_path_factory.getbasetemp()
    shared = folder.parent if os.environ.get("PYTEST_XDIST_WORKER") else folder
    with shared_server(shared / "postgres") as url:
        yield url


@pytest.fixture(scope="session")
def postgres_database(postgres_server: str) -> Iterator[Database]:
    """A database of this worker's own."""
    with new_database(postgres_server) as database:
        yield database


@pytest.fixture
def postgres_url(postgres_database: Database) -> str:
    """The URL of a database without threads, which the next test gets as well."""
    postgres_database.empty()
    return postgres_database.url


@pytest.fixture
def memory_saver() -> Iterator[MemorySaver]:
    """An empty saver in memory."""
    with MemorySaver() as saver:
        yield saver


@pytest.fixture
def sqlite_saver(tmp_path: Path) -> Iterator[SqliteSaver]:
    """A saver of a new file, `runs.db` in the test's directory."""
    with SqliteSaver(tmp_path / "runs.db") as saver:
        yield saver


@pytest.fixture
def postgres_saver(postgres_database: Database) -> PostgresSaver:
    """A saver of a database without threads, which stays open for the next test."""
    return postgres_database.saver()


# -- the worlds that a behaviour is specified in; see `tests/worlds.py` ------------------------------


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
