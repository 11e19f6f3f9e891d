"""What a shell completes, and what is installed."""

import json
from pathlib import Path
from typing import Any

import pytest

import flowfn as package


def completed(flowfn: Any, monkeypatch: pytest.MonkeyPatch, line: str) -> list[str]:
    monkeypatch.setenv("_FLOWFN_COMPLETE", "complete_zsh")
    monkeypatch.setenv("_TYPER_COMPLETE_ARGS", line)
    out: str = flowfn().out
    return out.splitlines()


def test_thread_ids_are_offered(flowfn: Any, shop: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Those that begin so, with their workflow and status."""
    found = " ".join(completed(flowfn, monkeypatch, "flowfn show as"))
    assert '"asks-1":"app.order, interrupted"' in found
    assert "paid" not in found


def test_without_a_database_nothing_is_offered(
    flowfn: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Completion is silent: an error would land in the line that is typed."""
    monkeypatch.chdir(tmp_path)
    assert not any("asks" in line for line in completed(flowfn, monkeypatch, "flowfn show as"))


def test_versions(flowfn: Any) -> None:
    """Of flowfn and of what it works with; null for what isn't installed."""
    found = json.loads(flowfn("version", "--json").out)
    assert found["flowfn-durable"] == package.__version__ if hasattr(package, "__version__") else True
    assert {"python", "sqlite", "pydantic", "psycopg"} <= found.keys()
    assert "flowfn-durable" in flowfn("version").out
