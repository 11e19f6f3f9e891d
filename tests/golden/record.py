"""Runs as this release leaves them, in a file that later ones have to finish: `python tests/golden/record.py`.

Each program of `programs.py` runs in a process of its own until that is killed, or waits. The file is named for the
version; until that is in the changelog as released, it is written anew when the format changes, and never after.
"""

from __future__ import annotations

import linecache
import os
import re
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from types import ModuleType
from typing import Any

FOLDER = Path(__file__).resolve().parent
REPO = FOLDER.parent.parent
MODULE = "golden_programs"


def programs() -> ModuleType:
    """The programs, under the names that stand in the files: no path of the machine that recorded them."""
    source = (FOLDER / "programs.py").read_text(encoding="utf-8")
    linecache.cache["programs.py"] = (
        len(source),
        None,
        source.splitlines(True),
        "programs.py",
    )  # whoever cleared it
    if MODULE not in sys.modules:
        module = sys.modules[MODULE] = ModuleType(MODULE)
        exec(compile(source, "programs.py", "exec"), module.__dict__)
    return sys.modules[MODULE]


def thread_of(name: str, saver: Any) -> Any:
    """The thread of a program."""
    workflow = programs().GOLDEN[name].workflow
    kept = workflow.compile(saver) if hasattr(workflow, "compile") else workflow.with_checkpointer(saver)
    return kept.thread(name)


def released() -> list[str]:
    """The versions in the changelog."""
    return re.findall(r"^## \[(\d[^]]*)\]", (REPO / "CHANGELOG.md").read_text(encoding="utf-8"), re.MULTILINE)


def leave(name: str, file: Path) -> None:
    """Run a program until it dies, fails or waits."""
    from checkpointers import SqliteSaver

    with suppress(ConnectionError), SqliteSaver(file) as saver:
        programs().GOLDEN[name].leave(thread_of(name, saver))


def make_anonymous(connection: sqlite3.Connection) -> None:
    """Take out what tells of the machine that records: owners, and paths in tracebacks, for others as long."""
    from checkpointers.sqlite.checksums import checksum

    connection.execute("UPDATE thread SET owner = '1@0@000000000000@golden@golden' WHERE owner IS NOT NULL")
    places = [place.encode() for place in (str(REPO), sys.prefix, sys.base_prefix)]
    for key, data, _ in connection.execute('SELECT * FROM "write"').fetchall():
        for here in places:
            data = data.replace(here, (b"/somewhere" * len(here))[: len(here)])
        connection.execute(
            'UPDATE "write" SET data = ?, crc = ? WHERE key = ?', (data, checksum((key, data)), key)
        )


def record(target: Path) -> None:
    """Write a file with all programs' runs."""
    from checkpointers import SqliteSaver

    with TemporaryDirectory() as folder:
        file = Path(folder, "runs.db")
        for name in programs().GOLDEN:
            environment = {**os.environ, programs().RECORDING: "1"}
            done = subprocess.run([sys.executable, __file__, name, file], env=environment, timeout=60)
            if done.returncode not in (0, -signal.SIGKILL):
                raise SystemExit(f"{name} ended with {done.returncode}")
        SqliteSaver(file).close()
        with closing(sqlite3.connect(file, isolation_level=None)) as connection:
            make_anonymous(connection)
            connection.execute("VACUUM")
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        target.write_bytes(file.read_bytes())


def main() -> None:
    import flowfn

    target = FOLDER / f"{flowfn.__version__}.sqlite"
    if flowfn.__version__ in released():
        raise SystemExit(f"{flowfn.__version__} is released: {target.name} stays as it is")
    record(target)
    print(f"{target.relative_to(REPO)}: {len(programs().GOLDEN)} runs, {target.stat().st_size} bytes")


if __name__ == "__main__":
    sys.path.insert(0, str(REPO))
    if sys.argv[1:]:
        leave(sys.argv[1], Path(sys.argv[2]))
    else:
        main()
