"""Modules that are imported when something of them is first asked for."""

import inspect
from typing import Any

import pytest

from flowfn.python import lazy
from flowfn.python.lazy import Later


def test_a_module_is_looked_for_when_it_is_asked_for_something() -> None:
    """Until then its users have paid nothing for it."""
    later = Later("no.such.module")
    with pytest.raises(ModuleNotFoundError, match="no"):
        later.anything  # noqa: B018


def test_each_name_is_looked_up_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """From then on it costs what an attribute does."""
    imported: list[str] = []

    def noted(name: str) -> Any:
        imported.append(name)
        return math

    import math

    monkeypatch.setattr(lazy, "import_module", noted)
    later = Later("math")
    assert [later.sqrt(4), later.sqrt(9), later.pi] == [2, 3, math.pi]
    assert imported == ["math", "math"]


def test_a_name_that_there_is_not_is_told_as_of_the_module() -> None:
    """As an import of it would."""
    with pytest.raises(AttributeError, match="module 'math' has no attribute 'sqroot'"):
        Later("math").sqroot  # noqa: B018


def test_who_looks_at_all_names_of_a_module_imports_nothing() -> None:
    """As documentation tools and test runners do, who ask each what it wraps."""
    later: Any = Later("no.such.module")
    assert inspect.unwrap(later) is later
