"""Errors whose own class can't show them once they are restored, since it looks at what couldn't be stored.

Rule: such an error is still caught by its class, and says what it said when it was raised. It is of a subclass that is
made without running any code of the class.
"""

from __future__ import annotations

from typing import Any

from flowfn.errors import STANDS_FOR


class Mute:
    """What `str()` and `repr()` of such an error come to."""

    __slots__ = ()

    said = ""

    def __init_subclass__(cls, **_: Any) -> None:
        """Comes before that of the error's class, which isn't told."""

    def __str__(self) -> str:
        return self.said

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.said!r})"


def muted(cls: type, said: str) -> type:
    """A class of that name, for an error of `cls` that said so."""
    names = {
        "__module__": cls.__module__,
        "__qualname__": cls.__qualname__,
        "__slots__": (),
        "said": said,
        STANDS_FOR: cls,
    }
    return type.__new__(type(cls), cls.__name__, (Mute, cls), names)


def own_class(error: BaseException) -> type:
    """The class of an error, as its author wrote it."""
    cls = type(error)
    return cls.__bases__[1] if issubclass(cls, Mute) else cls
