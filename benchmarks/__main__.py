"""Measure flowfn, its peers and the floor side by side, and say which targets hold.

`python -m benchmarks` takes some minutes, most of them the peers'; `--quick` less than one.
"""

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from benchmarks import (
    agents,
    cached,
    chat,
    graphs,
    imports,
    installs,
    many,
    memory,
    parallel,
    report,
    resume,
    sequential,
    stores,
)
from benchmarks.harness import measure

FAMILIES = (sequential, parallel, resume, cached, graphs, agents, chat, many, stores, imports, memory)


def main() -> None:
    """Measure or read figures, print them, and write them where asked."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="few tasks, one round: does it work?")
    parser.add_argument("--only", default="", metavar="TEXT", help="only workloads whose name starts so")
    parser.add_argument("--install", action="store_true", help="also what installing each adds, by pip")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write all samples here")
    parser.add_argument(
        "--table", type=Path, metavar="FILE", help="measure nothing; print FILE's as Markdown"
    )
    parser.add_argument(
        "--page", type=Path, metavar="FILE", help="put the Markdown table between FILE's marks"
    )
    chosen = parser.parse_args()
    if chosen.table:
        run = json.loads(chosen.table.read_text())
        print(report.markdown(run), end="")
    else:
        run = measured(chosen)
    if chosen.page:
        report.rewrite(chosen.page, run)


def measured(chosen: argparse.Namespace) -> dict[str, Any]:
    """The run that was asked for, printed and written."""
    size, rounds = (50, 1) if chosen.quick else (1000, 5)
    families = (*FAMILIES, installs) if chosen.install else FAMILIES
    cases = [case for family in families for case in family.cases() if case.workload.startswith(chosen.only)]
    results = measure(cases, size, rounds, progress, warm_up=not chosen.quick)
    progress("")
    run = report.data(results, size, rounds)
    if chosen.json:
        chosen.json.write_text(json.dumps(run, indent=2) + "\n")
    print(report.heading(run), *report.text(run), "", report.FOOTNOTE, sep="\n")
    return run


def progress(text: str) -> None:
    """One line that is overwritten, for people only."""
    if sys.stderr.isatty():
        print(f"\r\033[K{text}", end="", file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
