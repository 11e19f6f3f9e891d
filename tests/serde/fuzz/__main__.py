"""Coverage-guided fuzzing of `Serde.loads`, or with `--langgraph` of what reads LangGraph's bytes.

    python tests/serde/fuzz --seconds 1200         needs atheris (extra `fuzz`)
    python tests/serde/fuzz --replay crash-...     runs files of an earlier run again, without atheris

It begins with a document of every type that flowfn stores, keeps what reaches new code in `--corpus`, and
stops at the first document that breaks a rule of `rules.py`, takes ten seconds or 2 GiB; the document is
written to `crash-...`, `timeout-...` or `oom-...` in the working directory.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path


def fuzz(seconds: int, corpus: Path, langgraph: bool) -> None:
    """Run atheris, which ends the process."""
    import atheris

    with atheris.instrument_imports(include=["flowfn.serde", "graph_compat.checkpoint"]):
        import rules

    rules.load_libraries()
    corpus.mkdir(parents=True, exist_ok=True)
    for number, document in enumerate(rules.foreign_seeds() if langgraph else rules.seeds()):
        (corpus / f"seed-{number}").write_bytes(document)
    options = [f"-max_total_time={seconds}", "-timeout=10", "-rss_limit_mb=2048", "-max_len=4096"]
    atheris.Setup([sys.argv[0], *options, str(corpus)], rules.check_langgraph if langgraph else rules.check)
    atheris.Fuzz()


def replay(files: list[Path], langgraph: bool) -> None:
    """Check each file; the first one that breaks a rule raises."""
    import rules

    rules.load_libraries()
    for file in files:
        (rules.check_langgraph if langgraph else rules.check)(file.read_bytes())
        print(f"{file}: keeps the rules")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("--corpus", type=Path, default=Path("fuzz-corpus"))
    parser.add_argument("--replay", type=Path, nargs="+", metavar="FILE")
    parser.add_argument("--langgraph", action="store_true")
    given = parser.parse_args()
    if given.replay:
        replay(given.replay, given.langgraph)
    else:
        fuzz(given.seconds, given.corpus, given.langgraph)
