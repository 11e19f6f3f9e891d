"""The folder that a process works in, from which relative paths lead."""

from __future__ import annotations

import os

from flowfn.errors import InvalidInput

__all__ = ["from_here"]


def from_here(path: str) -> str:
    """Where a path leads now, links left as they are; an absolute one is itself.

    Raises:
        InvalidInput: the path is relative, and the folder was deleted since the process went there.
    """
    if os.path.isabs(path):
        return path
    try:
        return os.path.join(os.getcwd(), path)
    except FileNotFoundError as error:
        raise InvalidInput(
            f"{path!r} leads nowhere: the folder that this process works in was deleted. Name the whole path, or go to "
            "another folder first: os.chdir(…)"
        ) from error
