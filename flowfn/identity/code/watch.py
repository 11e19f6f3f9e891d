"""How long what was read of code holds: until a function or class that it leads to is edited.

Rule: each is looked at once after each renewal, by which each run begins, however many functions lead to it. What was
edited since code was read is told by its number among all edits that were found.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Mapping
from threading import RLock
from types import ModuleType
from typing import TYPE_CHECKING, Any, NamedTuple
from weakref import ReferenceType, WeakKeyDictionary, ref

from flowfn.identity.code.meaning import Change
from flowfn.identity.code.seen import Seen, seen
from flowfn.python.cached_property import RENEWALS
from flowfn.python.forking import let_go_by_fork

if TYPE_CHECKING:
    from flowfn.identity.code.scopes import Chain

__all__ = ["Graph", "Units", "View", "Walked"]


class Walked(NamedTuple):
    """What was read on a way through code: of each function and class what it leads to, its module for a class, and of
    those that have names where they find them, and which."""

    leads: Mapping[Any, Iterable[Any]]
    named: Mapping[Any, tuple[Any, frozenset[Chain]]]


class _Look:
    """The last look at a function or class. `edited` is the number of its last edit."""

    __slots__ = ("at", "edited", "leads", "seen", "unit")

    def __init__(self, unit: Any) -> None:
        self.unit: ReferenceType[Any] = ref(unit)
        self.seen: Seen
        self.leads: list[_Look] = []
        self.at: object = None
        self.edited = 0


class View:
    """The code behind a function, as it was when it was read."""

    def __init__(self, watch: Units, roots: list[_Look]) -> None:
        self._watch = watch
        self._roots = roots
        self._at: object = None
        self._edits = watch.edits

    @property
    def holds(self) -> bool:
        """Whether nothing that it leads to was edited; it may lead to more by now."""
        if self._at is RENEWALS.last and self._edits == self._watch.edits:
            return True
        with self._watch.lock:
            now = RENEWALS.last
            self._watch.look(self._roots, now)
            edits = self._watch.edits
            if edits != self._edits and any(
                each.edited > self._edits for each in self._watch.reached(self._roots)
            ):
                return False
            self._at, self._edits = now, edits
            return True


class Units:
    """Functions and classes by themselves, without what their names mean. One that is gone was edited."""

    def __init__(self) -> None:
        self.lock = let_go_by_fork(RLock())
        self.edits = 0
        """How many were found."""
        self._looks: WeakKeyDictionary[Any, _Look] = WeakKeyDictionary()

    def view(self, units: Iterable[Any]) -> View:
        """What these are now."""
        with self.lock:
            roots = [self._looks.get(each) or self._first(each) for each in units]
            self.look(roots, RENEWALS.last)
            return View(self, roots)

    def look(self, looks: Iterable[_Look], now: object) -> None:
        """Look at these, and at what they lead to, if that wasn't done yet at this time."""
        waiting = [*looks]
        while waiting:
            each = waiting.pop()
            if each.at is not now:
                each.at = now
                change = each.seen.change
                if change:
                    self._again(each, change)
                waiting += each.leads

    def reached(self, looks: Iterable[_Look]) -> set[_Look]:
        """These, and all that they lead to."""
        found, waiting = set[_Look](), [*looks]
        while waiting:
            each = waiting.pop()
            if each not in found:
                found.add(each)
                waiting += each.leads
        return found

    def _first(self, unit: Any) -> _Look:
        look = self._looks[unit] = _Look(unit)
        look.seen = seen(unit)
        return look

    def _again(self, look: _Look, change: Change) -> None:
        """Take a function or class for what it is now."""
        self._count(look)
        unit = look.unit()
        if unit is not None:
            look.seen = seen(unit)

    def _count(self, look: _Look) -> None:
        self.edits += 1
        look.edited = self.edits


class Graph(Units):
    """Functions and classes with what their names mean and lead to, as `walk` reads it from one of them on to those
    that are known already. What is gone was no edit: whatever led to it leads elsewhere."""

    def __init__(self, walk: Callable[[Any, Container[Any]], Walked]) -> None:
        super().__init__()
        self._walk = walk

    def view_of(self, walked: Walked, roots: Iterable[Any]) -> View:
        """What was read on the way from these."""
        with self.lock:
            self._note(walked)
            return self.view(roots)

    def _note(self, walked: Walked) -> None:
        """Note what wasn't known yet; how what was known has changed is still to be found."""
        new = [each for each in walked.leads if each not in self._looks]
        for each in new:
            self._first(each)
        for each in new:
            self._take(self._looks[each], each, walked)

    def _again(self, look: _Look, change: Change) -> None:
        unit = look.unit()
        if unit is None:
            look.leads = []
            return
        if change is Change.EDIT:
            self._count(look)
        if isinstance(unit, ModuleType):
            look.seen = seen(unit)
            return
        walked = self._walk(unit, self._looks)
        self._note(walked)
        self._take(look, unit, walked)

    def _take(self, look: _Look, unit: Any, walked: Walked) -> None:
        look.seen = seen(unit, *walked.named.get(unit, ()))
        leads = dict.fromkeys(walked.leads[unit])
        look.leads = [self._looks.get(each) or self._first(each) for each in leads]
