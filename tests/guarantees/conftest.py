"""Programs to edit between a kill and the resume."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from .editing import Edited, EditedScript


@pytest.fixture(autouse=True)
def raced() -> Iterator[None]:
    """Threads take turns as often as they can, so that what depends on which of them is first shows."""
    usual = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(usual)


@pytest.fixture(autouse=True)
def no_app() -> Iterator[None]:
    """The module `app` is forgotten after each test, for others that have one of that name."""
    yield
    sys.modules.pop("app", None)


@pytest.fixture
def edited(tmp_path: Path) -> Edited:
    """Versions of a program as modules of this process."""
    return Edited(tmp_path)


@pytest.fixture(params=["module", "script"])
def versions(request: pytest.FixtureRequest, tmp_path: Path, installed: Path) -> Edited:
    """Versions of a program: as modules of this process, and as a script that is killed and run again."""
    return Edited(tmp_path) if request.param == "module" else EditedScript(tmp_path, installed)
