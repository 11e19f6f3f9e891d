"""Going back: a caller names checkpoints that the run, and those nested in it, are to go on from once more.

Rule: a nested run that remembers finds what was there when the checkpoint around it was made, until it has gone on from
that.
"""

from __future__ import annotations


class GoingBack:
    """Where the runs of one invocation go back to."""

    __slots__ = ("copies", "gone_on", "to")

    def __init__(self, to: dict[str, str]) -> None:
        self.to = to
        """The checkpoints, by namespace, of which each run takes its own; the root's stays, as up to there nested runs
        remember."""
        self.copies: dict[str, tuple[str, str]] = {}
        """Where it is answered at an older checkpoint: of each branch's first one, by its id, the namespace and the
        checkpoint that it is a copy of. Calls have other ids there, and what is nested in them other namespaces."""
        self.gone_on: set[str] = set()
        """The namespaces of runs that remember, in which it has gone on from what they found."""

    @property
    def inside(self) -> bool:
        """Whether runs inside these are to go back, which haven't done so yet."""
        return any(self.to)
