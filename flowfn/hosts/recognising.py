"""Which of the recorded branches one is that code makes anew, and so its number.

Rule: a branch is told by the branch that made it, and by the call that it runs: the function, its arguments, and which
of equal calls it is. So it is the recorded one of the very same call; else that of a call which differs only in what
objects hold, which may have changed, or in what looks made anew each time (a deadline, a random id), or in both, in
their order; else, as arguments may be others on each attempt (a random choice), the one that came in its place among
those of the function. Places say nothing once branches of the function are seen to have moved, and one whose own number
somebody has who came before is a new one. Those that are made in one go are recognised together: one that is new takes
no number by which another one is known.

A number says all of this in 201 bits, as it is stored with each call of its branch: few enough for that, and so many
that no two branches say the same by chance.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from hashlib import blake2b
from itertools import count
from weakref import WeakValueDictionary

from flowfn.hosts.branch_calls import BranchCall

_BITS = (48, 40, 40, 40, 32)
"""Of each part of a number: of what is said of the call, in all ways (`BranchCall.said`), the surest first; and of the
place."""

_MASKS = tuple((1 << bits) - 1 for bits in _BITS)
_SHIFTS = tuple(sum(_BITS[place:]) for place in range(1, len(_BITS) + 1))

_PLACE = len(_BITS)
"""Where that key is among those of a branch, after that by the whole number."""

_TOLD = 1 << sum(_BITS)
"""In all of these numbers, and above all others."""

_STRIDE = 0x9E3779B1
"""Between the parts of equal calls: odd, so that none comes again before all have come."""

_BY = 0xC2B2AE3D27D4EB4F
"""Between the parts of those that other branches have made."""

_REMEMBERED = 10_000
"""Of how many calls it is known how often they were made: code may make branches for ever. What is forgotten and comes
again has the parts of the first one, and a place of its own."""


class Branch:
    """A branch of a frame's code."""

    __slots__ = ("__weakref__", "function", "keys", "number")

    def __init__(self, number: int | None, function: str = "", keys: Sequence[int] = ()) -> None:
        self.number = number
        """None until it is recognised."""
        self.function = function
        """What it runs, and the number of the branch that made it; of one that only awaits a call, the id of that."""
        self.keys = keys
        """What it may be recognised by, the surest first: that is its number, if it is a new one."""


class Recognition:
    """The branches that a frame's code makes, beside those that it had made."""

    def __init__(self, recorded: Callable[[], Iterable[int]]) -> None:
        self._recorded = recorded
        """The numbers of those that have left records, the earliest first."""
        self._known: _Known | None = None
        """The same, once somebody has asked for them."""
        self._made: dict[tuple[int, int], int] = {}
        """How many there are by what is said of them and of their maker, the latest last."""
        self.taken: set[int] = set()
        """The recorded numbers that branches have."""
        self.more: WeakValueDictionary[int, Branch] = WeakValueDictionary()
        """Those that are surely new, by their numbers, as long as they last: others of their function have been
        recognised, so that it is no other one that an edit has renamed."""
        self._again: set[str] = set()
        """The functions of these others."""
        self._moved: set[str] = set()
        """The functions of which some have been recognised in other places than theirs."""
        self.waiting: list[Branch] = []
        """Those that are yet to be recognised."""

    def add(self, maker: int, call: BranchCall) -> Branch:
        """A branch that the one of a number has made, and that is to be recognised."""
        parts: list[int] = []
        heard: dict[str | None, tuple[int, int]] = {}
        for by, said in zip(_parts(maker), (*call.said, None), strict=True):
            if said not in heard:
                hashed = _hash(f"{call.function}({said})")
                heard[said] = hashed, self._count((hashed, by))
            hashed, nth = heard[said]
            parts.append(hashed + by * _BY + nth * _STRIDE)
        branch = Branch(None, f"{maker}/{call.function}", _keys(parts))
        self.waiting.append(branch)
        return branch

    def _count(self, said: tuple[int, int]) -> int:
        self._made[said] = times = self._made.pop(said, 0) + 1
        if len(self._made) > _REMEMBERED:
            del self._made[next(iter(self._made))]
        return times

    def recognise(self) -> None:
        """Give numbers to those that wait for one."""
        waiting, self.waiting = self.waiting, []
        if self._known is None:
            self._known = _Known(self._recorded())
        left = waiting if self._known.numbers else []
        for level in range(1 + len(_BITS)):
            left = [branch for branch in left if branch.number is None]
            known = self._known.by(level) if left else {}
            for is_moved in (False, True):
                for branch in left:
                    if branch.number is None and (recorded := known.get(branch.keys[level])) is not None:
                        self._look_for(branch, level, recorded, is_moved=is_moved)
        for branch in waiting:
            if branch.number is None:
                self._renumber(branch)
            elif branch.number in self.taken:
                self._again.add(branch.function)
        for branch in waiting if self._again else ():
            if (
                branch.number is not None
                and branch.number not in self.taken
                and branch.function in self._again
            ):
                self.more[branch.number] = branch

    def _look_for(self, branch: Branch, level: int, recorded: Sequence[int], *, is_moved: bool) -> None:
        """Give a branch the first of these numbers that nobody has: that of its place, or where it has moved of any."""
        if level == _PLACE and branch.function in self._moved:
            return
        place = branch.keys[_PLACE]
        for number in recorded:
            if number not in self.taken and (is_moved or number & _MASKS[-1] == place):
                branch.number = number
                self.taken.add(number)
                break
        if branch.number is None and is_moved and 0 < level < _PLACE:
            self._renumber(branch)
        if branch.number is not None and is_moved:
            self._moved.add(branch.function)

    def _renumber(self, branch: Branch) -> None:
        """Give a branch a number that none of the recorded ones has."""
        branch.number = next(each for each in count(branch.keys[0]) if each not in self.taken)


class _Known:
    """The numbers of branches that have left records, the earliest first."""

    def __init__(self, recorded: Iterable[int]) -> None:
        self.numbers = [number for number in recorded if number >= _TOLD]
        self._by: dict[int, Mapping[int, Sequence[int]]] = {}

    def by(self, level: int) -> Mapping[int, Sequence[int]]:
        """The same by one of their keys: by most of these nobody looks for any."""
        if level not in self._by:
            found = defaultdict[int, list[int]](list)
            for number in self.numbers:
                found[_parts(number)[level - 1] if level else number].append(number)
            self._by[level] = found
        return self._by[level]


def _keys(parts: Iterable[int]) -> Sequence[int]:
    """By what a branch is found: by its whole number, and by each of its parts, of which there may be more bits."""
    number, keys = 1, []
    for part, bits, mask in zip(parts, _BITS, _MASKS, strict=True):
        keys.append(part & mask)
        number = number << bits | keys[-1]
    return number, *keys


def _parts(number: int) -> Sequence[int]:
    """Those of a number; of a branch that wasn't noted as it was made, they are all the same."""
    if number < _TOLD:
        return (number,) * len(_BITS)
    return [number >> shift & mask for shift, mask in zip(_SHIFTS, _MASKS, strict=True)]


def _hash(said: str) -> int:
    return int.from_bytes(blake2b(said.encode("utf-8", "surrogatepass"), digest_size=8).digest())
