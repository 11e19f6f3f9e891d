"""Functions that already exist become tasks without being touched: `task(module.function)`.

A backup made of the standard library's `shutil`. It fails half way, because a file is missing. The
failure reaches the caller as it would without flowfn, and leaves the run resumable: once the file is
there, the same call copies that file alone, and goes on.

Output:
    copyfile keeps its signature: (src, dst, *, follow_symlinks=True)
    and shutil is as it was: True
    first try: No such file or directory: notes.txt
    second try: backup.zip has data.csv, notes.txt, todo.txt
    reused: 2 calls
"""

import inspect
import shutil
from pathlib import Path
from tempfile import TemporaryDirectory
from zipfile import ZipFile

from flowfn import RetryPolicy, entrypoint, gather, task

folder = TemporaryDirectory()
home = Path(folder.name)

copy = task(shutil.copyfile)
archive = task(retry_policy=RetryPolicy(max_attempts=3))(shutil.make_archive)


@entrypoint(checkpointer=home / "runs.db")
def backup(source: Path, names: list[str], target: Path) -> str:
    gather(copy(source / name, target / name) for name in names).result()
    return archive(str(target), "zip", target).result()


if __name__ == "__main__":
    print("copyfile keeps its signature:", inspect.signature(copy))
    print("and shutil is as it was:", shutil.copyfile is copy.func)

    source, target = home / "source", home / "backup"
    source.mkdir()
    target.mkdir()
    (source / "data.csv").write_text("year,sum\n1843,7\n")
    (source / "todo.txt").write_text("sleep\n")

    tonight = backup.thread("tonight")
    names = ["data.csv", "notes.txt", "todo.txt"]
    try:
        tonight(source, names, target)
    except FileNotFoundError as error:
        print(f"first try: {error.strerror}: {Path(error.filename).name}")

    (source / "notes.txt").write_text("found behind the sofa\n")
    made = Path(tonight(source, names, target))
    print(f"second try: {made.name} has {', '.join(sorted(ZipFile(made).namelist()))}")
    print(f"reused: {tonight.report.reused} calls")
