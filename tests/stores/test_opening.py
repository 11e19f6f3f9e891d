"""What may be written as `store=`."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from flowfn import entrypoint
from flowfn.errors import InvalidInput
from flowfn.stores import InMemoryStore, SqliteStore, open_store


@pytest.fixture(autouse=True)
def in_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Relative paths end up in a folder of the test's own."""
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize(
    "target", ["items.db", Path("items.db"), "sqlite:///items.db", "sqlite:////{}/items.db"]
)
def test_a_path_and_a_url_name_a_file(target: Any, tmp_path: Path) -> None:
    """Three slashes are relative, four absolute."""
    if isinstance(target, str):
        target = target.format(str(tmp_path).lstrip("/"))
    with open_store(target) as store:
        assert isinstance(store, SqliteStore)
        assert (tmp_path / "items.db").exists()


def test_a_file_that_is_open_is_the_same_store(tmp_path: Path) -> None:
    """However it is spelled; once closed, a new one."""
    first = open_store("items.db")
    assert open_store(tmp_path / "items.db") is first
    first.close()
    with open_store("items.db") as second:
        assert second is not first


def test_memory_is_new_each_time() -> None:
    """Two workflows with `memory://` share nothing."""
    assert isinstance(open_store("memory://"), InMemoryStore)
    assert open_store("memory://") is not open_store("memory://")


def test_an_object_is_itself() -> None:
    """A store of one's own, a dict, None: nothing is wrapped."""
    for target in (InMemoryStore(), {"my": "own"}, None):
        assert open_store(target) is target


@pytest.mark.parametrize("target", [5, True, b"items.db", "", InMemoryStore])
def test_what_can_be_no_store_is_refused(target: Any) -> None:
    """A number, a class or no name is a slip, and is refused where it is written."""
    refused = rf"^{re.escape(repr(target))} is not a store\. Pass a store, a path"
    with pytest.raises(InvalidInput, match=refused):
        open_store(target)
    with pytest.raises(InvalidInput, match=refused):
        entrypoint(store=target)


@pytest.mark.parametrize("target", ["redis://x", "sqlite://", "memory://x"])
def test_another_url_is_refused(target: str) -> None:
    """A URL of another kind is refused with what to pass."""
    with pytest.raises(InvalidInput, match=r"is not a store\. Pass a store, a path"):
        open_store(target)
