"""Classes that had another name when what is stored was written, as their program says."""

from __future__ import annotations

from weakref import WeakValueDictionary

__all__ = ["had_name", "note_name"]

_classes: WeakValueDictionary[str, type] = WeakValueDictionary()


def note_name(cls: type, name: str) -> None:
    """Note that a class was `module:Qualified.name` before."""
    _classes[name.replace(":", ".", 1)] = cls


def had_name(name: str) -> type | None:
    """The class that went by that name, module and qualified name; None where none is known to have."""
    return _classes.get(name)
