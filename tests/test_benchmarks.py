"""The benchmarks run and are right. How fast anything is, no test says."""

import json
import os
from pathlib import Path
from typing import Any

import pytest


@pytest.mark.timeout(600)
def test_every_subject_that_is_installed_gives_a_figure(
    run_python: Any, installed: Path, repo: Path, tmp_path: Path
) -> None:
    """Each workload checks its own result, and one that raises or is wrong is reported as failed: none is."""
    path = os.pathsep.join([str(installed), str(repo)])
    done = run_python("-m", "benchmarks", "--quick", "--json", "figures.json", PYTHONPATH=path)
    assert done.returncode == 0, done.stderr
    results = json.loads((tmp_path / "figures.json").read_text())["results"]
    assert [result for result in results if result["error"]] == []
    assert {
        result["workload"] for result in results if result["subject"] == "floor" and result["figure"]
    } == {
        "W1 sequential tasks",
        "W2 parallel tasks, blocking",
        "W2 parallel tasks, asyncio",
        "W3 resume, all calls recorded",
        "W4 cached calls",
        "W5 sequential nodes",
        "W6 sequential nodes, 500 keys",
        "W7 fan-out of Sends",
        "W8 agent of 20 rounds, asyncio",
        "W8 agent of 20 rounds, blocking",
        "W9 chat, a late turn",
        "W9 chat, its file",
        "W11 import",
    }
