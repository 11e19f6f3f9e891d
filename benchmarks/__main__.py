"""`python -m benchmarks [--quick] [--only W1] [--json FILE]`"""

import argparse
import json
import sys
from pathlib import Path

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
)
from benchmarks.harness import measure

FAMILIES = (sequential, parallel, resume, cached, graphs, agents, chat, many, imports, installs, memory)


def main() -> None:
    """Measure, print the table, and write the data where asked."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer tasks and rounds: a first look")
    parser.add_argument("--only", default="", metavar="TEXT", help="only workloads whose name starts so")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write all samples here")
    chosen = parser.parse_args()
    size, rounds = (100, 3) if chosen.quick else (1000, 5)
    cases = [case for family in FAMILIES for case in family.cases() if case.workload.startswith(chosen.only)]

    print(*(f"{key} {value}" for key, value in report.machine().items()), sep=" · ")
    print(f"{size} tasks, {rounds} rounds")
    results = measure(cases, size, rounds, progress)
    progress("")
    print(*report.table(results), "", report.FOOTNOTE, sep="\n")
    if chosen.json:
        chosen.json.write_text(json.dumps(report.data(results, size, rounds), indent=2) + "\n")


def progress(text: str) -> None:
    """One line that is overwritten, for people only."""
    if sys.stderr.isatty():
        print(f"\r\033[K{text}", end="", file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
