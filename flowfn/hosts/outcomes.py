"""What a saver says of commits.

Rule: there is always something for each. Who has left a commit to another thread, or to the end of a turn, waits until
he is told: a saver that says nothing of it, as a mock does, would keep him waiting for ever.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from flowfn.ports import Commit, Saver


def outcomes(saver: Saver, commits: Sequence[Commit], *, wait: bool = True) -> Sequence[BaseException | None]:
    """Make commits; for each, None or why it isn't made.

    Raises:
        BlockingIOError: the saver is busy, and this isn't to `wait`; none is made.
    """
    try:
        said = saver.commit(commits, wait=wait)
        if len(said) != len(commits):
            raise TypeError(
                f"{type(saver).__name__}.commit() returned {said!r} for {len(commits)} commits: it has to return a "
                "list with None for each that is made, and for any other its error"
            )
    except BaseException as error:
        if not wait and isinstance(error, BlockingIOError):
            raise
        return [error] * len(commits)
    return said
