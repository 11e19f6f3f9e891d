"""The fixtures `crash_everywhere`, `always_replay` and `virtual_clock`; pytest finds them by itself.

`pytest --flowfn-kill` makes each `crash_everywhere` kill real processes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from flowfn.testing import CrashReport, VirtualClock


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add `--flowfn-kill`."""
    group = parser.getgroup("flowfn", "durable functions")
    group.addoption(
        "--flowfn-kill",
        action="store_true",
        help="the fixture crash_everywhere kills child processes (SIGKILL)",
    )


@pytest.fixture
def crash_everywhere(pytestconfig: pytest.Config) -> Callable[..., CrashReport]:
    """`flowfn.testing.crash_everywhere`; under `--flowfn-kill`, with `kill=True`."""
    from flowfn.testing import crash_everywhere

    return partial(crash_everywhere, kill=pytestconfig.getoption("flowfn_kill"))


@pytest.fixture
def always_replay() -> Callable[..., Any]:
    """`flowfn.testing.always_replay`."""
    from flowfn.testing import always_replay

    return always_replay


@pytest.fixture
def virtual_clock() -> Iterator[VirtualClock]:
    """The time of all runs of the test: whoever sleeps moves it, and nobody waits."""
    from flowfn.testing import VirtualClock

    with VirtualClock() as clock:
        yield clock
