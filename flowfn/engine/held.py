"""Checkpoints that are committed with others, because nobody's work is lost without them.

Rule: two kinds of checkpoints need no commit of their own. What a nested run begins with comes again, with the call
that it is a part of, as long as nothing has run in it; so it goes with what is committed next in its namespace, or
within that, where ids are made of it. And how it ends is told by its call's record, where no code of anybody's runs in
between, and goes with that. A root run's input goes with what it is passed on to. Each goes with every commit that
needs it until one is made, so that none of several threads is ahead of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from flowfn.engine.backlog import Item

Place = tuple[str, tuple[Item, ...]]
"""What is held of a namespace."""


class Held(dict[str, Place]):
    """What one root run, and the runs nested in it, have made and not committed, by namespace.

    Threads share it without a lock: each place is put, and dropped, in one step, and one thread at a time adds to it.
    """

    __slots__ = ()

    def add(self, namespace: str, items: Sequence[Item], closed: Iterable[str] = ()) -> None:
        """Hold more of a namespace; and with it what is held of those of calls that are `closed` by it."""
        within = [item for name in closed for item in self.pop(name, ("", ()))[1]]
        _, before = self.get(namespace, ("", ()))
        self[namespace] = namespace, (*before, *within, *items)

    def due(self, namespaces: Iterable[str]) -> list[Place]:
        """What is to be committed with items of these namespaces, and before them."""
        around = dict.fromkeys(name for namespace in namespaces for name in _down_to(namespace))
        return [place for name in around if (place := self.get(name)) is not None]

    def drop(self, places: Iterable[Place]) -> None:
        """These are committed, unless something was added to them since."""
        for place in places:
            if self.get(place[0]) is place:
                self.pop(place[0], None)


def _down_to(namespace: str) -> Iterator[str]:
    """The namespaces around one, the outermost first, and itself."""
    end = namespace.find("|")
    while end >= 0:
        yield namespace[:end]
        end = namespace.find("|", end + 1)
    yield namespace
