"""The forms of numpy's arrays and scalars, and of what draws random numbers.

Rule: the cells' bytes are taken where they say all: not where cells are objects, nor where numpy leaves bytes between
numbers, which hold anything. What draws counts by its seed, and not by how much was drawn: tasks draw from it, and
don't where they are replayed. Loaded for a program that has loaded numpy, and never loads it.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from flowfn.identity.forms.attributes import attributes_of
from flowfn.identity.forms.containers import mapping_form
from flowfn.identity.forms.leaves import LEAVES
from flowfn.identity.forms.notation import Field, Form, tagged
from flowfn.identity.names import qualified_name
from flowfn.python.loaded import loaded

if TYPE_CHECKING:
    from flowfn.identity.forms.canonical import Walk

__all__ = ["form_of"]


def form_of(cls: type) -> Form | None:
    """The form of the instances of a class of numpy's; None for any other class."""
    numpy = loaded("numpy")
    if numpy is None:
        return None
    if issubclass(cls, numpy.ndarray):
        return _array
    if issubclass(cls, numpy.generic):
        return _scalar
    drawing = (numpy.random.Generator, numpy.random.BitGenerator, numpy.random.SeedSequence)
    return _seeded if issubclass(cls, drawing) else None


def _array(walk: Walk, value: Any) -> Any:
    numpy = sys.modules["numpy"]
    if isinstance(value, numpy.ma.MaskedArray):
        parts = (numpy.asarray(value.data), numpy.ma.getmaskarray(value), numpy.asarray(value.fill_value))
        return tagged("masked", *(_array(walk, part) for part in parts))
    form = tagged("array", repr(value.dtype.descr), list(value.shape), _content(walk, value))
    if type(value) in (numpy.ndarray, numpy.memmap):
        return form
    return tagged("subclass", qualified_name(type(value)), form, mapping_form(walk, attributes_of(value)))


def _content(walk: Walk, value: Any) -> Any:
    """The cells; by field and in halves where numpy leaves bytes between them, which hold anything."""
    dtype, numpy = value.dtype, sys.modules["numpy"]
    if dtype.hasobject:
        return walk.walk(value.tolist(), Field(""))
    if not _is_padded(dtype):
        return value.tobytes()
    value = numpy.asarray(value)
    if dtype.names is not None:
        return [_content(walk, value[name]) for name in dtype.names]
    narrow = numpy.complex128 if dtype.kind == "c" else numpy.float64
    with numpy.errstate(all="ignore"):
        upper = value.astype(narrow)
        return [
            upper.tobytes(),
            numpy.where(numpy.isfinite(value), value - upper, 0).astype(narrow).tobytes(),
        ]


def _is_padded(dtype: Any) -> bool:
    if dtype.names is None:
        return dtype.base.char in "gG"
    fields = [dtype.fields[name][0] for name in dtype.names]
    return dtype.itemsize != sum(each.itemsize for each in fields) or any(map(_is_padded, fields))


def _scalar(walk: Walk, value: Any) -> Any:
    if value.dtype.names is not None or _is_padded(value.dtype):
        return _array(walk, sys.modules["numpy"].asarray(value))
    plain = value.item()
    content = walk.walk(plain, Field("")) if type(plain) in LEAVES else value.tobytes()
    return tagged("array", value.dtype.str, content)


def _seeded(walk: Walk, value: Any) -> Any:
    """What draws random numbers, by the seed that it was given; by type alone, where the system drew that itself."""
    generator = getattr(value, "bit_generator", value)
    seed = getattr(generator, "seed_seq", generator)
    entropy = getattr(seed, "entropy", None)
    if entropy is None or (type(entropy) is int and entropy.bit_length() > _GIVEN):
        return walk.by_type(value)
    walk.weak = name = qualified_name(type(value))
    given = {"entropy": entropy, "spawn_key": seed.spawn_key, "by": type(generator)}
    return tagged("object", name, walk.mapping(given))


_GIVEN = 96
"""Bits of a seed that somebody wrote; the system draws 128, another number in each process."""
