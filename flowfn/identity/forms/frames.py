"""The form of pandas' frames, series, indexes and arrays.

Rule: pandas' own hash is taken where it tells values apart. It takes objects as texts and missing ones as one
value, times in an index as numbers and -0.0 as 0.0, looks at no names, and at no category without a cell: what it
leaves out is added, where there is any. Loaded for a program that has loaded numpy, as pandas does, and never loads
either.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from flowfn.identity.forms.notation import Field, Form, tagged
from flowfn.python.loaded import loaded

if TYPE_CHECKING:
    from flowfn.identity.forms.canonical import Walk

__all__ = ["form_of"]

Inside = Callable[[Any, str], Any]
"""Gives the form of a value that is found at a step."""


def form_of(cls: type) -> Form | None:
    """The form of the instances of a frame's, a series', an index's or an array's class; None for any other class."""
    pandas = loaded("pandas")
    if pandas is None:
        return None
    kinds = (pandas.DataFrame, pandas.Series, pandas.Index)
    if issubclass(cls, kinds):
        return _frame
    return _array if issubclass(cls, pandas.api.extensions.ExtensionArray) else None


def _frame(walk: Walk, value: Any) -> Any:
    parts = _parts(value, lambda item, step: walk.walk(item, Field(step)))
    return tagged("frame", type(value).__name__, *parts)


def _array(walk: Walk, value: Any) -> Any:
    """An array of pandas' as the series of its values: its own state has caches, and numbers where it has none."""
    return tagged("subclass", type(value).__name__, _frame(walk, sys.modules["pandas"].Series(value)), {})


def _parts(value: Any, walk: Inside) -> list[Any]:
    """The names, types and content of its columns, and its index."""
    columns = getattr(value, "columns", None)
    named = list(columns) if columns is not None else getattr(value, "name", None)
    types_ = [str(each) for each in value.dtypes] if columns is not None else str(value.dtype)
    objects = {place: each for place, each in _of_type(value, "object").items() if _holds_objects(each)}
    index = value if hasattr(value, "levels") else getattr(value, "index", None)
    levels = _levels(index)
    left_out = {
        "objects": [_cells(walk, each) for each in objects.values()],
        "categories": [_categories(walk, each) for each in _of_type(value, "category").values()],
        "index": _index(walk, index),
        "labels": _labels(walk, levels),
        "negative zeros": _negative_zeros(value, levels),
        "column names": _names(walk, columns),
        "attrs": walk(getattr(value, "attrs", None) or None, ".attrs"),
        "metadata": _metadata(walk, value),
    }
    more = {name: form for name, form in left_out.items() if form}
    parts = [walk(named, ".columns"), types_, _hashes(value, objects)]
    return [*parts, more] if more else parts


def _metadata(walk: Inside, value: Any) -> dict[str, Any]:
    """What a class that extends pandas' declares to be part of its instances; a series has its name there."""
    names = [name for name in getattr(value, "_metadata", ()) if name not in ("_name", "name")]
    return {name: walk(getattr(value, name, None), f".{name}") for name in names}


def _of_type(value: Any, dtype: str) -> dict[int, Any]:
    """The columns of a type, by their places; a series or an index is its only one."""
    if value.ndim == 1:
        return {0: value} if str(value.dtype) == dtype else {}
    return {place: value.iloc[:, place] for place, each in enumerate(value.dtypes) if str(each) == dtype}


def _holds_objects(column: Any) -> bool:
    """Whether cells may be anything: not where all of them are texts, nor in an index of several levels."""
    infer = sys.modules["pandas"].api.types.infer_dtype
    return not hasattr(column, "levels") and infer(column, skipna=False) not in ("string", "empty")


def _hashes(value: Any, objects: dict[int, Any]) -> bytes:
    """The hash of each row, with its label, without the columns that hold objects."""
    if objects and value.ndim == 1:
        value = value.index.to_series() if hasattr(value, "index") else value[:0]
    elif objects:
        value = value.iloc[:, [place for place in range(value.shape[1]) if place not in objects]]
    hashes: bytes = sys.modules["pandas"].util.hash_pandas_object(value).to_numpy().tobytes()
    return hashes


def _cells(walk: Inside, column: Any) -> Any:
    return walk(column.tolist(), "[…]")


def _categories(walk: Inside, column: Any) -> list[Any]:
    known = column.dtype
    form = [walk(known.categories.tolist(), ".categories"), bool(known.ordered)]
    if str(known.categories.dtype) == "object" and _holds_objects(known.categories):
        form.append(getattr(column, "cat", column).codes.astype("int64").tolist())
    return form


def _index(walk: Inside, index: Any) -> list[Any]:
    """Its names, and the objects that it holds; nothing of one that has neither."""
    if index is None:
        return []
    names = list(index.names)
    cells = [_cells(walk, each) for each in _of_type(index, "object").values() if _holds_objects(each)]
    return [walk(names, ".index.names"), *cells] if cells or names != [None] * len(names) else []


def _labels(walk: Inside, levels: list[Any]) -> list[Any]:
    """The types of an index' levels where those are no whole numbers or texts, their categories, and their objects."""
    types_ = [str(each.dtype) for each in levels]
    form: list[Any] = [] if _HASHED_APART.issuperset(types_) else [types_]
    form += [_categories(walk, each) for each in levels if str(each.dtype) == "category"]
    if len(levels) > 1:
        form += [
            _cells(walk, each) for each in levels if str(each.dtype) == "object" and _holds_objects(each)
        ]
    return form


_HASHED_APART = frozenset({"int64", "object", "str"})
"""Types whose labels have other hashes than those of another one of them."""


def _negative_zeros(value: Any, levels: list[Any]) -> bytes:
    """Which numbers of columns and labels are -0.0; nothing where none is."""
    numpy = sys.modules["numpy"]
    columns = [value] if value.ndim == 1 else [value.iloc[:, place] for place in range(value.shape[1])]
    numbers = [_numbers(each) for each in (*columns, *levels) if getattr(each.dtype, "kind", "") in "fc"]
    found = [numpy.signbit(each) & (each == 0) for each in numbers]
    return b"".join(numpy.packbits(each).tobytes() for each in found) if any(map(numpy.any, found)) else b""


def _numbers(column: Any) -> Any:
    """The numbers of a column of any precision, those that aren't there as nan; a complex one as two."""
    numpy = sys.modules["numpy"]
    if column.dtype.kind == "c":
        column = column.to_numpy()
        return numpy.stack([column.real, column.imag])
    return column.to_numpy(dtype="float64", na_value=float("nan"))


def _levels(index: Any) -> list[Any]:
    return [] if index is None else [index.get_level_values(place) for place in range(index.nlevels)]


def _names(walk: Inside, columns: Any) -> Any:
    """What the levels of the columns are called; nothing where they are not."""
    names = [] if columns is None else list(columns.names)
    return walk(names, ".columns.names") if names != [None] * len(names) else None
