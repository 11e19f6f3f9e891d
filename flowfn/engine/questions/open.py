"""The questions of a root run and of those nested in it: what waits for an answer, and what is brought along to others.

Rule: a run that asks nothing, and was taken up by nobody who had been asked, has none of this.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from flowfn.engine.runs.slots import Slots

if TYPE_CHECKING:
    from flowfn.engine.questions.offers import Offer
    from flowfn.engine.questions.waiting import Pending

_LEAST_PART = 32
"""With each list as long as this many times what is new in it, a thousand questions cost some 150 lists."""


class Questions:
    """What is asked and answered in the runs of one invocation."""

    __slots__ = ("before", "listing", "offered", "pending", "refused", "rejected", "unlisted")

    def __init__(self) -> None:
        self.before: Sequence[Pending] = ()
        """What the run waited for when it was taken up, but for what was asked at checkpoints that it left."""
        self.pending: list[Pending] = []
        """What was asked since, and waits."""
        self.unlisted: dict[int, Pending] = {}
        """Those of these that the thread's list of what it waits for doesn't have yet, each by its `id()`."""
        self.listing = Slots(1)
        """Whose turn it is to write that."""
        self.offered: list[Offer] = []
        """Of a run that goes back or was updated since it asked: answers to what its first superstep asks."""
        self.rejected: Exception | None = None
        """What was wrong with an answer, where that question waits again."""
        self.refused: set[str] = set()
        """The questions whose answers the code that asked them was told not to fit."""

    def ask(self, question: Pending) -> None:
        """A call under way waits for an answer."""
        self.pending.append(question)
        self.unlisted[id(question)] = question

    @property
    def list_is_due(self) -> bool:
        """Whether so much is new that it is worth a list, which has all."""
        unlisted = len(self.unlisted)
        return unlisted > 0 and unlisted * _LEAST_PART >= len(self.pending) - unlisted

    def put_in_order(self, places: Mapping[str, int]) -> None:
        """Put them into the order of the tasks that they were asked in, given by their `places`, whichever asked
        first; each once, though its task was tried again."""
        once = {question.itself: question for question in self.pending}.values()
        self.pending = sorted(once, key=lambda each: places.get(each.under[0][1], 0) if each.under else 0)

    def forget(self, thread: str, namespace: str, checkpoint: str | None) -> None:
        """A run has left the checkpoint at which these were asked in it; None, where the namespace is its own."""
        self.before = [q for q in self.before if not q.was_asked_at(thread, namespace, checkpoint)]
        for left in [q for q in self.pending if q.was_asked_at(thread, namespace, checkpoint)]:
            self.pending.remove(left)
            self.unlisted.pop(id(left), None)
