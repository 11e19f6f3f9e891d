"""Print the traces of programs, and check that each is the same when it runs again.

    python -m tests.compat.show AREA[.py][::PROGRAM] ... [--library graph_compat] [--quiet]

A trace is printed once if both callers see the same. Exits with 1 if a program doesn't repeat itself, or
if the callers differ and the program doesn't say so.
"""

import argparse
import difflib
import sys
import traceback
from pathlib import Path

from .loading import CALLERS, LANGGRAPH, Name, mark, names, run


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("which", nargs="*", help="programs/AREA.py, AREA or AREA::PROGRAM; none means all")
    parser.add_argument("--library", default=LANGGRAPH)
    parser.add_argument("--quiet", action="store_true", help="print only what is wrong")
    options = parser.parse_args()
    chosen = [name for name in names() if not options.which or any(matches(name, w) for w in options.which)]
    if not chosen:
        parser.error(f"no program matches {options.which}")
    wrong = [name for name in chosen if not show(name, options.library, quiet=options.quiet)]
    print(f"{len(chosen)} programs, {len(wrong)} wrong", *wrong, sep="\n  ")
    return 1 if wrong else 0


def matches(name: Name, which: str) -> bool:
    area, _, program = which.partition("::")
    return Path(area).stem == name.area and program in ("", name.program)


def show(name: Name, library: str, *, quiet: bool) -> bool:
    """Whether the program is as it should be."""
    try:
        first, again = ({caller: run(name, library, caller) for caller in CALLERS} for _ in range(2))
    except Exception:
        print(f"== {name}\n{traceback.format_exc()}")
        return False
    blocking, asyncio = first.values()
    if not quiet:
        print(f"== {name}\n{blocking}")
    for caller in CALLERS:
        if first[caller] != again[caller]:
            print(f"== {name}: another trace the second time, {caller}\n{diff(first[caller], again[caller])}")
            return False
    if (blocking != asyncio) != bool(mark(name, "differs_by_caller")):
        print(f"== {name}: @differs_by_caller is {'missing' if blocking != asyncio else 'wrong'}")
        print(diff(blocking, asyncio))
        return False
    if blocking != asyncio and not quiet:
        print(f"-- asyncio\n{asyncio}")
    return True


def diff(before: str, after: str) -> str:
    return "\n".join(difflib.unified_diff(before.splitlines(), after.splitlines(), lineterm="", n=1))


if __name__ == "__main__":
    sys.exit(main())
