"""The reducing channel: every write is folded into the value, unless one replaces it.

Rule: a superstep may hold one `Overwrite`. It wins over every other write of that superstep,
whichever order they are in, so that parallel writers can't undo it.
"""

from __future__ import annotations

from collections import abc
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, NotRequired, Required, get_args, get_origin

from flowfn.errors import InvalidUpdateError
from flowfn.pregel.channels import UNCHANGED, Channel
from flowfn.values import MISSING, Overwrite

_CONCRETE: dict[Any, Callable[[], Any]] = {
    abc.Sequence: list,
    abc.MutableSequence: list,
    abc.Set: set,
    abc.MutableSet: set,
    abc.Mapping: dict,
    abc.MutableMapping: dict,
}
_MARK = "__overwrite__"


@dataclass(frozen=True, slots=True)
class Reducer(Channel):
    """Folds writes with `operator(value, write)`, from `typ()` or else from the first write.

    `typ` may be any annotation; one that can't be called without arguments starts the channel empty.
    Where `operator` is pure, so is the channel.
    """

    operator: Callable[[Any, Any], Any]
    typ: Any = Any
    _make: Callable[[], Any] | None = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_make", _factory(self.typ))

    def initial(self) -> Any:
        return MISSING if self._make is None else self._make()

    def update(self, name: str, cell: Any, writes: Sequence[Any]) -> Any:
        return folded(self.operator, name, cell, writes)


def folded(operator: Callable[[Any, Any], Any], name: str, cell: Any, writes: Sequence[Any]) -> Any:
    """The cell of the reducing channel of this operator, after writes."""
    value, overwritten = cell, False
    for write in writes:
        if is_overwrite(write):
            if overwritten:
                raise InvalidUpdateError(
                    "Can receive only one Overwrite value per super-step. "
                    f"Key '{name}' received several: let one node of the step write it."
                )
            value, overwritten = unwrapped(write), True
        elif not overwritten:
            value = write if value is MISSING else operator(value, write)
    return UNCHANGED if value is MISSING else value


def is_overwrite(write: Any) -> bool:
    """One of `Overwrite(v)`, `{"__overwrite__": v}` and `{"type": "__overwrite__", "value": v}`."""
    if isinstance(write, dict):
        return (len(write) == 1 and _MARK in write) or (write.get("type") == _MARK and "value" in write)
    return isinstance(write, Overwrite)


def unwrapped(write: Any) -> Any:
    """What an `Overwrite` puts in the value's place."""
    if isinstance(write, dict):
        return write["value"] if "value" in write else write[_MARK]
    return write.value


def _factory(typ: Any) -> Callable[[], Any] | None:
    """What makes an empty value of an annotation, or None. Tried once, when the channel is defined."""
    make: Any = _plain(typ)
    make = _CONCRETE.get(make, make) if isinstance(make, type) else make
    try:
        make()
    except Exception:
        return None
    return make  # type: ignore[no-any-return]


def _plain(typ: Any) -> Any:
    """`typ` without `Annotated`, `Required`, `NotRequired` and type arguments."""
    origin = get_origin(typ)
    if origin in (Annotated, Required, NotRequired):
        return _plain(get_args(typ)[0])
    return origin or typ
