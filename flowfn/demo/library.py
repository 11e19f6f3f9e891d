"""The real input of the demo: the source files of the Python that runs it."""

import sysconfig
from pathlib import Path

from flowfn.errors import InvalidInput

_NOT_THE_LIBRARY = {"site-packages", "dist-packages", "__pycache__"}


def source_files(largest: int | None = None) -> tuple[str, list[str]]:
    """The folder of the standard library, and its `.py` files relative to it, in alphabetical order.

    All of them, or the `largest` so many.

    Raises:
        InvalidInput: there are none, or fewer than one is asked for.
    """
    if largest is not None and largest < 1:
        raise InvalidInput(f"--files {largest}: ask for at least one file, or leave it out for all")
    folder = Path(sysconfig.get_path("stdlib"))
    found = [path.relative_to(folder) for path in folder.rglob("*.py") if path.is_file()]
    files = sorted(path.as_posix() for path in found if not _NOT_THE_LIBRARY.intersection(path.parts))
    if not files:
        raise InvalidInput(
            f"{folder} holds no source files: run the demo with a Python that has its library's"
        )
    if largest is not None:
        by_size = sorted(files, key=lambda file: -Path(folder, file).stat().st_size)
        files = sorted(by_size[:largest])
    return str(folder), files
