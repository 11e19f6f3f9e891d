"""pandas: frames, series, indexes, extension arrays and scalars, where the program has loaded pandas.

Rule: pandas is never imported from here. All is stored as the numpy arrays, lists and names that it
consists of, column by column, and comes back with dtypes, index types, frequencies and `attrs` as they
were; a dtype that is not in this file is refused, never turned into another. What is restored is no
larger than its bytes: a part that pandas would expand has to be an array.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from typing import Any

from flowfn.errors import CorruptDataError, UntrustedTypeError
from flowfn.python.loaded import loaded
from flowfn.serde.containers import Builder
from flowfn.serde.format import Kind, Refused, mark
from flowfn.serde.leaves import Encoder
from flowfn.serde.names import Names

_FRAME = mark(Kind.PANDAS_FRAME)
_SERIES = mark(Kind.PANDAS_SERIES)
_INDEX = mark(Kind.PANDAS_INDEX)
_COLUMN = mark(Kind.PANDAS_COLUMN)
_SCALAR = mark(Kind.PANDAS_SCALAR)

_ARROW_TEXTS = ("string", "large_string")
_MASKED = {"b": "BooleanArray", "i": "IntegerArray", "u": "IntegerArray", "f": "FloatingArray"}


def encoder_of(cls: type) -> Encoder | None:
    """The encoder of a pandas class, or None if it is not one that can be stored."""
    pandas = loaded("pandas")
    if pandas is None or cls.__module__.partition(".")[0] != "pandas":
        return None
    encoder = _ENCODERS.get(cls.__name__)
    homes = (pandas, getattr(pandas, "arrays", None), getattr(getattr(pandas, "api", None), "typing", None))
    return encoder if any(getattr(home, cls.__name__, None) is cls for home in homes) else None


def parts(value: Any) -> Iterator[tuple[str, Any]]:
    """What of a pandas object may be why it can't be stored, and how its author writes it."""
    pandas: Any = sys.modules["pandas"]
    if isinstance(value, pandas.DataFrame):
        yield from ((f"[{name!r}]", value.iloc[:, place]) for place, name in enumerate(value.columns))
    elif isinstance(value, pandas.Series) and value.dtype == object:
        yield from ((f".iloc[{place}]", item) for place, item in enumerate(value))


def _pandas() -> Any:
    """pandas, where the program that reads has loaded it."""
    pandas = loaded("pandas")
    if pandas is None:
        raise UntrustedTypeError(
            "Stored data holds a pandas object, and nothing is imported for data. Import pandas"
        )
    return pandas


def _array(value: Any, kinds: str = "") -> Any:
    """A part that has to be a numpy array of one dimension, of one of these kinds of dtype."""
    numpy: Any = sys.modules.get("numpy")
    if numpy is None or type(value) is not numpy.ndarray or value.ndim != 1 or value.dtype.kind not in kinds:
        raise CorruptDataError("A part of a stored pandas object is not the array that it should be")
    return value


# -- columns ----------------------------------------------------------------------------------------


def _column(holder: Any) -> Any:
    """The values of a series or an index: as a numpy array where that says all of them."""
    numpy: Any = sys.modules["numpy"]
    if not isinstance(holder.dtype, numpy.dtype):
        return _extension(holder.array)
    values = holder.to_numpy()
    return [_COLUMN, "object", list(values)] if holder.dtype == object else values


def _extension(array: Any) -> list[Any]:
    name = type(array.dtype).__name__
    encode = _COLUMNS.get(name) or (_masked if hasattr(array.dtype, "numpy_dtype") else None)
    if encode is None:
        raise Refused(
            f"its dtype is {array.dtype}, which flowfn does not store. Convert it with astype(), "
            "or store the bytes of to_parquet()"
        )
    return [_COLUMN, *encode(array)]


def _masked(array: Any) -> list[Any]:
    return ["masked", *_numbers(array)]


def _numbers(array: Any) -> list[Any]:
    """Its numbers, with 0 where there is none, and where that is."""
    dtype = array.dtype.numpy_dtype
    return [array.to_numpy(dtype=dtype, na_value=dtype.type(0)), array.isna()]


def _arrow(array: Any) -> list[Any]:
    """pyarrow's numbers and texts; its other types are none of numpy's or Python's that says as much."""
    dtype = array.dtype
    if (kind := str(dtype.pyarrow_dtype)) in _ARROW_TEXTS:
        return ["arrow", kind, _texts_of(array)]
    if dtype.numpy_dtype.kind not in _MASKED:
        raise Refused(f"its dtype is {dtype}. Convert it with astype(), or convert_dtypes()")
    return ["arrow", "", *_numbers(array)]


def _category(array: Any) -> list[Any]:
    return ["category", array.codes.copy(), array.categories, array.ordered]


def _texts(array: Any) -> list[Any]:
    dtype = array.dtype
    return ["string", dtype.storage, dtype.na_value is sys.modules["pandas"].NA, _texts_of(array)]


def _texts_of(array: Any) -> list[str | None]:
    return [None if gone else text for text, gone in zip(array, array.isna(), strict=True)]


def _zoned(array: Any) -> list[Any]:
    return ["zoned", array.dtype.unit, array.dtype.tz, array.asi8]


def _periods(array: Any) -> list[Any]:
    return ["period", array.dtype.name.removeprefix("period[").removesuffix("]"), array.asi8]


def _intervals(array: Any) -> list[Any]:
    return ["interval", array.closed, _column(array.left), _column(array.right)]


_COLUMNS: dict[str, Callable[[Any], list[Any]]] = {
    "CategoricalDtype": _category,
    "StringDtype": _texts,
    "DatetimeTZDtype": _zoned,
    "PeriodDtype": _periods,
    "IntervalDtype": _intervals,
    "ArrowDtype": _arrow,
}


def _build_column(items: list[Any], _: Names) -> Any:
    _, name, *parts = items
    return _BUILD_COLUMN[name](_pandas(), *parts)


def _load_objects(pandas: Any, values: list[Any]) -> Any:
    if type(values) is not list:
        raise CorruptDataError("A stored column of objects holds no list")
    column = sys.modules["numpy"].empty(len(values), dtype=object)
    for place, value in enumerate(values):  # all at once, a list of lists would become a table
        column[place] = value
    return column


def _load_masked(pandas: Any, values: Any, mask: Any) -> Any:
    cls = getattr(pandas.arrays, _MASKED[_array(values, "biuf").dtype.kind])
    return cls(values, _array(mask, "b"))


def _load_arrow(pandas: Any, kind: str, *parts: Any) -> Any:
    pyarrow = loaded("pyarrow")
    if pyarrow is None:
        raise UntrustedTypeError(
            "Stored data holds a pandas object with pyarrow's columns, and nothing is imported for data. Import pyarrow"
        )
    if kind in _ARROW_TEXTS:
        made = pyarrow.array(_checked_texts(*parts), type=getattr(pyarrow, kind)())
    else:
        values, mask = parts
        made = pyarrow.array(_array(values, "biuf"), mask=_array(mask, "b"))
    return pandas.arrays.ArrowExtensionArray(made)


def _load_category(pandas: Any, codes: Any, categories: Any, ordered: Any) -> Any:
    dtype = pandas.CategoricalDtype(categories, bool(ordered))
    return pandas.Categorical.from_codes(_array(codes, "i"), dtype=dtype)


def _load_texts(pandas: Any, storage: str, as_na: Any, texts: list[str | None]) -> Any:
    dtype = pandas.StringDtype(storage, na_value=pandas.NA if as_na else float("nan"))
    return pandas.array(_checked_texts(texts), dtype=dtype)


def _checked_texts(texts: list[str | None]) -> list[str | None]:
    if not {str, type(None)}.issuperset(map(type, texts)):
        raise CorruptDataError("A stored column of texts holds something else")
    return texts


def _load_zoned(pandas: Any, unit: str, zone: Any, instants: Any) -> Any:
    naive = pandas.DatetimeIndex(_array(instants, "i").view(f"M8[{unit}]"))
    return naive.tz_localize("UTC").tz_convert(zone).array


def _load_periods(pandas: Any, frequency: str, ordinals: Any) -> Any:
    return pandas.PeriodIndex.from_ordinals(_array(ordinals, "i"), freq=frequency).array


def _load_intervals(pandas: Any, closed: str, left: Any, right: Any) -> Any:
    for side in (left, right):
        if type(side) is pandas.RangeIndex:
            raise CorruptDataError("A side of stored intervals is not an array")
    return pandas.arrays.IntervalArray.from_arrays(left, right, closed=closed)


_BUILD_COLUMN: dict[str, Callable[..., Any]] = {
    "object": _load_objects,
    "masked": _load_masked,
    "arrow": _load_arrow,
    "category": _load_category,
    "string": _load_texts,
    "zoned": _load_zoned,
    "period": _load_periods,
    "interval": _load_intervals,
}


# -- indexes ----------------------------------------------------------------------------------------


def _index(value: Any) -> list[Any]:
    return [_INDEX, "plain", value.name, _column(value), _frequency(value)]


def _range(value: Any) -> list[Any]:
    return [_INDEX, "range", value.name, value.start, value.stop, value.step]


def _multi(value: Any) -> list[Any]:
    codes = [sys.modules["numpy"].asarray(code) for code in value.codes]
    return [_INDEX, "multi", list(value.names), list(value.levels), codes]


def _frequency(index: Any) -> str | None:
    """The frequency of an index of times; that of periods is part of their dtype."""
    freq = None if index.dtype.kind not in "mM" else index.freq
    if freq is None:
        return None
    text: str = freq.freqstr
    try:
        same = sys.modules["pandas"].tseries.frequencies.to_offset(text) == freq
    except ValueError:
        same = False
    if not same:
        raise Refused(f"its frequency, {freq!r}, cannot be told from its name. Set index.freq = None")
    return text


def _build_index(items: list[Any], _: Names) -> Any:
    pandas = _pandas()
    _, form, name, *parts = items
    if form == "range":
        start, stop, step = parts
        return pandas.RangeIndex(start, stop, step, name=name)
    if form == "multi":
        levels, codes = parts
        return pandas.MultiIndex(levels, [_array(code, "i") for code in codes], names=name)
    values, frequency = parts
    index = pandas.Index(_values(values), dtype=values.dtype, name=name, copy=False)
    if frequency is not None:
        index.freq = frequency
    return index


def _values(column: Any) -> Any:
    """A column that was read: an array, of numpy or of pandas, and nothing that would be made one."""
    numpy: Any = sys.modules.get("numpy")
    arrays = (numpy.ndarray, _pandas().api.extensions.ExtensionArray)
    if not isinstance(column, arrays) or column.ndim != 1:
        raise CorruptDataError("A stored column is not an array of one dimension")
    return column


# -- frames and series ------------------------------------------------------------------------------


def _frame(value: Any) -> list[Any]:
    columns = [_column(value.iloc[:, place]) for place in range(value.shape[1])]
    return [_FRAME, columns, value.index, value.columns, *_described(value)]


def _series(value: Any) -> list[Any]:
    return [_SERIES, _column(value), value.index, value.name, *_described(value)]


def _described(value: Any) -> list[Any]:
    return [dict(value.attrs), value.flags.allows_duplicate_labels]


def _build_frame(items: list[Any], _: Names) -> Any:
    pandas = _pandas()
    _, columns, index, names, attrs, duplicates = items
    series = {place: _to_series(column, index) for place, column in enumerate(columns)}
    frame = pandas.DataFrame(series, index=_label(index))
    frame.columns = _label(names)
    return _describe(frame, attrs, duplicates)


def _build_series(items: list[Any], _: Names) -> Any:
    _, column, index, name, attrs, duplicates = items
    return _describe(_to_series(column, index, name), attrs, duplicates)


def _to_series(column: Any, index: Any, name: Any = None) -> Any:
    values = _values(column)
    return _pandas().Series(values, index=_label(index), dtype=values.dtype, name=name, copy=False)


def _label(index: Any) -> Any:
    if not isinstance(index, _pandas().Index):
        raise CorruptDataError("The labels of a stored pandas object are no index")
    return index


def _describe(value: Any, attrs: Any, duplicates: Any) -> Any:
    if attrs:
        value.attrs = attrs
    if not duplicates:
        value.flags.allows_duplicate_labels = False
    return value


# -- scalars ----------------------------------------------------------------------------------------


def _timestamp(value: Any) -> list[Any]:
    return [_SCALAR, "Timestamp", value.asm8, value.tz]


def _timedelta(value: Any) -> list[Any]:
    return [_SCALAR, "Timedelta", value.asm8]


def _period(value: Any) -> list[Any]:
    return [_SCALAR, "Period", value.ordinal, value.freqstr]


def _interval(value: Any) -> list[Any]:
    return [_SCALAR, "Interval", value.left, value.right, value.closed]


def _build_scalar(items: list[Any], _: Names) -> Any:
    pandas = _pandas()
    _, name, *parts = items
    if name == "Timestamp":
        instant, zone = parts
        moment = pandas.Timestamp(instant)
        return moment if zone is None else moment.tz_localize("UTC").tz_convert(zone)
    if name == "Period":
        ordinal, frequency = parts
        return pandas.Period(ordinal=ordinal, freq=frequency)
    if name in ("Timedelta", "Interval"):
        return getattr(pandas, name)(*parts)
    return {"NaT": pandas.NaT, "NA": pandas.NA}[name]


_ENCODERS: dict[str, Encoder] = {
    "DataFrame": _frame,
    "Series": _series,
    "RangeIndex": _range,
    "MultiIndex": _multi,
    **dict.fromkeys(("Index", "DatetimeIndex", "TimedeltaIndex", "PeriodIndex"), _index),
    **dict.fromkeys(("CategoricalIndex", "IntervalIndex"), _index),
    **dict.fromkeys(("BooleanArray", "Categorical", "FloatingArray", "IntegerArray"), _extension),
    **dict.fromkeys(("IntervalArray", "PeriodArray", "StringArray", "ArrowStringArray"), _extension),
    "ArrowExtensionArray": _extension,
    "Timestamp": _timestamp,
    "Timedelta": _timedelta,
    "Period": _period,
    "Interval": _interval,
    "NaTType": lambda value: [_SCALAR, "NaT"],
    "NAType": lambda value: [_SCALAR, "NA"],
}

BUILDERS: dict[Kind, Builder] = {
    Kind.PANDAS_FRAME: _build_frame,
    Kind.PANDAS_SERIES: _build_series,
    Kind.PANDAS_INDEX: _build_index,
    Kind.PANDAS_COLUMN: _build_column,
    Kind.PANDAS_SCALAR: _build_scalar,
}
