"""numpy arrays and scalars, where the program has loaded numpy.

Rule: numpy is never imported from here, and only dtypes that are plain numbers, texts, bytes or
times are stored: an object array is a container of anything, and its loader runs code.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from ormsgpack import Ext, packb, unpackb

from flowfn.errors import CorruptDataError, UntrustedTypeError
from flowfn.python.loaded import loaded
from flowfn.serde.format import Leaf, Refused
from flowfn.serde.leaves import Encoder

_DTYPE = re.compile(r"[<>|](b1|[iu][1248]|f[248]|c(8|16)|[SU]\d{1,9}|[mM]8(\[\d*[A-Za-z]+\])?)")


def encoder_of(cls: type) -> Encoder | None:
    """The encoder of a numpy class, or None if it is not one that can be stored."""
    numpy = loaded("numpy")
    if numpy is None:
        return None
    if cls is numpy.ndarray:
        return _encode_array
    return _encode_scalar if issubclass(cls, numpy.generic) else None


def _dtype(value: Any) -> str:
    text: str = value.dtype.str
    if not _DTYPE.fullmatch(text):
        raise Refused(
            f"its dtype is {value.dtype}. Convert it to a dtype of numbers, or store value.tolist()"
        )
    return text


def _encode_array(value: Any) -> Ext:
    order = "F" if value.flags.fnc else "C"
    header = packb([_dtype(value), order, list(value.shape)])
    return Ext(int(Leaf.NDARRAY), len(header).to_bytes(2, "big") + header + value.tobytes(order))


def _encode_scalar(value: Any) -> Ext:
    return Ext(int(Leaf.NUMPY_SCALAR), _dtype(value).encode() + b"\0" + value.tobytes())


def _load_array(data: bytes) -> Any:
    split = 2 + int.from_bytes(data[:2], "big")
    dtype, order, shape = unpackb(data[2:split])
    return array_of(dtype, order, tuple(shape), data[split:])


def array_of(dtype: str, order: str, shape: tuple[int, ...], raw: bytes) -> Any:
    """A new array of these bytes, which may come from anybody. `order` is "C" or "F"."""
    return _array(dtype, order, shape, raw).copy(order=order)


def _load_scalar(data: bytes) -> Any:
    dtype, _, raw = data.partition(b"\0")
    return _array(dtype.decode(), "C", (), raw)[()]


def _array(dtype: str, order: str, shape: tuple[int, ...], raw: bytes) -> Any:
    numpy = loaded("numpy")
    if numpy is None:
        raise UntrustedTypeError(
            "Stored data holds a numpy array, and nothing is imported for data. Import numpy"
        )
    if not _DTYPE.fullmatch(dtype):
        raise CorruptDataError(f"{dtype!r} is not a dtype that flowfn stores")
    array = numpy.ndarray(shape, numpy.dtype(dtype), buffer=raw, order=order)
    if array.nbytes != len(raw):
        raise CorruptDataError("A stored array has more bytes than its shape")
    return array


DECODERS: dict[int, Callable[[bytes], Any]] = {Leaf.NDARRAY: _load_array, Leaf.NUMPY_SCALAR: _load_scalar}
