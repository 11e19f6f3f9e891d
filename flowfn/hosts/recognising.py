"""Which of the recorded branches one is that code makes anew, and so its number.

Rule: a branch is told by the branch that made it, and by the call that it runs: the function, its arguments, and which
of equal calls it is. So it is the recorded one of the very same call; else that of a call which differs only in what
looks made anew each time (a deadline, a random id), in their order; else, as arguments may be others on each attempt
(a random choice), the one that came in its place among those of the function. Places say nothing once branches of the
function are seen to have moved, and one whose own number somebody has who came before is a new one. Those that are made
in one go are recognised together: one that is new takes no number by which another one is known.

A number says all of this in 121 bits, as it is stored with each call of its branch: few enough for that, and so many
that no two branches say the same by chance.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from hashlib import blake2b
from itertools import count

from flowfn.hosts.branch_calls import BranchCall

_EXACTS, _STEADIES, _PLACES = 1 << 48, 1 << 40, 1 << 32
"""How many there are of each part of a number."""

_TOLD = _EXACTS * _STEADIES * _PLACES
"""In all of these numbers, and above all others."""

_BY_CALL, _BY_PLACE = 1, 3
"""Where these keys are among those of a branch."""

_STRIDE = 0x9E3779B1
"""Between the parts of equal calls: odd, so that none comes again before all have come."""

_REMEMBERED = 10_000
"""Of how many calls it is known how often they were made: code may make branches for ever. What is forgotten and comes
again has the parts of the first one, and a place of its own."""


class Branch:
    """A branch of a frame's code."""

    __slots__ = ("function", "keys", "number")

    def __init__(self, number: int | None, function: str = "", keys: Sequence[int] = ()) -> None:
        self.number = number
        """None until it is recognised."""
        self.function = function
        """What it runs, and the number of the branch that made it."""
        self.keys = keys
        """What it may be recognised by, the surest first: that is its number, if it is a new one."""


class Recognition:
    """The branches that a frame's code makes, beside those that it had made."""

    def __init__(self, recorded: Callable[[], Iterable[int]]) -> None:
        self._recorded = recorded
        """The numbers of those that have left records, the earliest first."""
        self._known: Sequence[Mapping[int, Sequence[int]]] | None = None
        """The same by each of their keys."""
        self._made: dict[int, int] = {}
        """How many there are by what is said of them, the latest last."""
        self._taken: set[int] = set()
        """The recorded numbers that branches have."""
        self._moved: set[str] = set()
        """The functions of which some have been recognised in other places than theirs."""
        self.waiting: list[Branch] = []
        """Those that are yet to be recognised."""

    def add(self, maker: int, call: BranchCall) -> Branch:
        """A branch that the one of a number has made, and that is to be recognised."""
        exact, steady, place = _parts(maker)
        whole = _hash(f"{exact}/{call.function}({call.exact})")
        rest = _hash(f"~{steady}/{call.function}({call.exact if call.steady is None else call.steady})")
        function = _hash(f"{place}/{call.function}")
        nth = self._count(whole)
        keys = _keys(
            whole + nth * _STRIDE,
            rest + (nth if call.steady is None else self._count(rest)) * _STRIDE,
            function + self._count(function) * _STRIDE,
        )
        branch = Branch(None, f"{maker}/{call.function}", keys)
        self.waiting.append(branch)
        return branch

    def _count(self, said: int) -> int:
        self._made[said] = times = self._made.pop(said, 0) + 1
        if len(self._made) > _REMEMBERED:
            del self._made[next(iter(self._made))]
        return times

    def recognise(self) -> None:
        """Give numbers to those that wait for one."""
        waiting, self.waiting = self.waiting, []
        if self._known is None:
            self._known = _by_keys(self._recorded())
        for level, known in enumerate(self._known):
            for is_moved in (False, True):
                for branch in waiting:
                    if branch.number is None and (recorded := known.get(branch.keys[level])) is not None:
                        self._look_for(branch, level, recorded, is_moved=is_moved)
        for branch in waiting:
            if branch.number is None:
                self._renumber(branch)

    def _look_for(self, branch: Branch, level: int, recorded: Sequence[int], *, is_moved: bool) -> None:
        """Give a branch the first of these numbers that nobody has: that of its place, or where it has moved of any."""
        if level == _BY_PLACE and branch.function in self._moved:
            return
        place = branch.keys[_BY_PLACE]
        for number in recorded:
            if number not in self._taken and (is_moved or number % _PLACES == place):
                branch.number = number
                self._taken.add(number)
                break
        if branch.number is None and is_moved and level == _BY_CALL:
            self._renumber(branch)
        if branch.number is not None and is_moved:
            self._moved.add(branch.function)

    def _renumber(self, branch: Branch) -> None:
        """Give a branch a number that none of the recorded ones has."""
        branch.number = next(each for each in count(branch.keys[0]) if each not in self._taken)


def _keys(exact: int, steady: int, place: int) -> Sequence[int]:
    """By what a branch is found: by its whole number, and by each of its parts, of which there may be more bits."""
    parts = (exact % _EXACTS, steady % _STEADIES, place % _PLACES)
    return (_TOLD | (parts[0] * _STEADIES + parts[1]) * _PLACES + parts[2], *parts)


def _parts(number: int) -> Sequence[int]:
    """The exact, the steady, and the place; of a branch that wasn't noted as it was made, they are all the same."""
    if number < _TOLD:
        return number, number, number
    above, place = divmod(number - _TOLD, _PLACES)
    return *divmod(above, _STEADIES), place


def _by_keys(recorded: Iterable[int]) -> Sequence[Mapping[int, Sequence[int]]]:
    found = [defaultdict[int, list[int]](list) for _ in range(4)]
    for number in recorded:
        if number >= _TOLD:
            for key, numbers in zip((number, *_parts(number)), found, strict=True):
                numbers[key].append(number)
    return found


def _hash(said: str) -> int:
    return int.from_bytes(blake2b(said.encode("utf-8", "surrogatepass"), digest_size=8).digest())
