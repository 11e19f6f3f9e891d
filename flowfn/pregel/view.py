"""Reading: the channels of a checkpoint as a mapping of what is available.

Rule: a key is there exactly while its channel is available; a value is worked out when it is read.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from flowfn.pregel.channels import Channel
from flowfn.pregel.program import Program
from flowfn.pregel.selection import MANY, Selection
from flowfn.values import MISSING, Checkpoint


class View(Mapping[str, Any]):
    """The available values of `cells`, a mapping as in `Checkpoint.values`: none of them is `MISSING`.

    `managed` are values of the step rather than of the state, such as the supersteps that remain.
    """

    __slots__ = ("_cells", "_channels", "_direct", "_managed")

    def __init__(
        self,
        channels: Mapping[str, Channel],
        cells: dict[str, Any],
        managed: Mapping[str, Any],
        direct: frozenset[str] = frozenset(),
    ) -> None:
        self._channels = channels
        self._cells = cells
        self._managed = managed
        self._direct = direct

    def get(self, name: str, default: Any = None) -> Any:
        channel = self._channels.get(name)
        if channel is None:
            return self._managed.get(name, default)
        cell = self._cells.get(name, MISSING)
        value = channel.get(channel.initial() if cell is MISSING else cell)
        return default if value is MISSING else value

    def pick(self, names: Collection[str]) -> dict[str, Any]:
        """Those of `names` that are available, with their values, in the order given."""
        cells, direct = self._cells, self._direct
        if len(names) >= MANY and type(names) is Selection and names.is_most(cells):
            return self._pick_many(names)
        found = {}
        for name in names:
            if name in cells and name in direct:
                found[name] = cells[name]
            elif (value := self.get(name, MISSING)) is not MISSING:
                found[name] = value
        return found

    def _pick_many(self, names: Selection) -> dict[str, Any]:
        found, count = names.spread(self._cells)
        for name in names.beyond(self._direct):
            value = self.get(name, MISSING)
            count += (value is not MISSING) - (found[name] is not MISSING)
            found[name] = value
        if count < len(names):
            return {name: value for name, value in found.items() if value is not MISSING}
        return found

    def __getitem__(self, name: str) -> Any:
        value = self.get(name, MISSING)
        if value is MISSING:
            raise KeyError(name)
        return value

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and self.get(name, MISSING) is not MISSING

    def __iter__(self) -> Iterator[str]:
        yield from (name for name in self._channels if name in self)
        yield from (name for name in self._managed if name not in self._channels)

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __repr__(self) -> str:
        return f"View({dict(self)})"


_NOTHING: Mapping[str, Any] = {}

EMPTY = View({}, {}, {})
"""A state without values."""


def view(program: Program, checkpoint: Checkpoint, managed: Mapping[str, Any] = _NOTHING) -> View:
    """The available values of a checkpoint; it reads through, so don't change the checkpoint under it."""
    return View(program.channels, checkpoint.values, managed, program.direct)


def shown(program: Program, state: View, keys: str | Sequence[str] | None = None) -> Any:
    """Values as a caller sees them: a mapping of the available ones among `keys`, or the value of one key.

    None stands for the program's stream channels.
    """
    if keys is None:
        keys = program.stream_channels[0] if program.lone else program.stream_channels
    if isinstance(keys, str):
        return state.get(keys)
    return state.pick(keys)


def values(program: Program, checkpoint: Checkpoint, channels: Collection[str]) -> dict[str, Any]:
    """Those of `channels` that are available, with their values, in the order given."""
    return view(program, checkpoint).pick(channels)
