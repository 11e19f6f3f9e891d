"""W11: what an installation adds to an empty environment: distributions, and MB of files. Only with `--install`.

Each sample is a fresh environment that pip fills, from wherever it is set up to find packages.
"""

import os
import shutil
import subprocess
import venv
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path

from benchmarks.harness import Case

DISTRIBUTIONS, SIZE = "W11 install, distributions", "W11 install, size"
UNITS = {DISTRIBUTIONS: "distributions", SIZE: "MB"}
REPO = Path(__file__).resolve().parent.parent
PACKAGES = {
    "flowfn": [str(REPO)],
    "LangGraph": ["langgraph", "langgraph-checkpoint-sqlite"],
    "DBOS": ["dbos"],
}


def cases() -> Iterator[Case]:
    """The count, then the size."""
    for workload, unit in UNITS.items():
        for subject, packages in PACKAGES.items():
            yield Case(workload, "", subject, unit, "", partial(run, workload, packages), rounds=1)


def run(workload: str, packages: Sequence[str], directory: Path, size: int) -> float:
    """Of the checkout's own, what a built wheel holds; `constraints.txt` says which versions."""
    target = directory / "environment"
    venv.create(target, with_pip=True)
    (site,) = target.glob("lib/python*/site-packages")
    empty = measured(workload, site)
    python = str(target / "bin" / "python")
    constraints = str(REPO / "constraints.txt")
    install = [python, "-m", "pip", "install", "-q", "-c", constraints, *packages]
    done = subprocess.run(install, env={**os.environ, "PYTHONPATH": ""}, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError((done.stderr.strip().splitlines() or ["pip failed"])[-1])
    full = measured(workload, site)
    shutil.rmtree(target)
    return full - empty


def measured(workload: str, site: Path) -> float:
    if workload == DISTRIBUTIONS:
        return len(list(site.glob("*.dist-info")))
    return sum(path.stat().st_size for path in site.rglob("*") if path.is_file()) / 1e6
