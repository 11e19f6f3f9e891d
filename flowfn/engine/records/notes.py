"""What rides on the next commit, whichever call makes it, and costs none of its own.

Such as that a call has started: what runs alone when the process dies leaves no trace, and simply runs again.
"""

from __future__ import annotations

from collections.abc import Sequence

from flowfn.ports import WriteRow, Writes


class Note:
    """That a call was made; `durable` once its row is known to be committed.

    `order` is the number that what came of it was last given among the outcomes of the run; 0 before.
    """

    __slots__ = ("checkpoint", "durable", "namespace", "order", "row")

    def __init__(self, namespace: str, checkpoint: str, row: WriteRow) -> None:
        self.namespace = namespace
        self.checkpoint = checkpoint
        self.row = row
        self.durable = False
        self.order = 0


class Notes(dict[tuple[str, ...], Note]):
    """Those that nobody has committed yet, by what they note, and where: tasks of one id are in any nested run, and are
    others in each. Each note is taken by one commit."""

    __slots__ = ()

    def take(self) -> list[Note]:
        """All of them, the newest first, but for those that another thread's commit has taken meanwhile."""
        taken = []
        while self:
            try:
                taken.append(self.popitem()[1])
            except KeyError:
                break
        return taken


def grouped(notes: Sequence[Note]) -> list[Writes]:
    """Notes as rows, by the checkpoint that they belong to."""
    places: dict[tuple[str, str], list[WriteRow]] = {}
    for note in notes:
        places.setdefault((note.namespace, note.checkpoint), []).append(note.row)
    return [Writes(namespace, checkpoint, rows) for (namespace, checkpoint), rows in places.items()]
