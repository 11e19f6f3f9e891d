"""pandas: frames, series, indexes and scalars come back with every dtype, label and frequency."""

import subprocess
import sys
from datetime import timezone
from decimal import Decimal
from typing import Any

import pytest

from flowfn.serde import DEFAULT, CorruptDataError, SerializationError

pd: Any = pytest.importorskip("pandas")
np: Any = pytest.importorskip("numpy")


def nullable() -> Any:
    return pd.DataFrame(
        {
            "int": pd.array([1, None], dtype="Int8"),
            "unsigned": pd.array([1, None], dtype="UInt16"),
            "float": pd.array([1.5, None], dtype="Float32"),
            "bool": pd.array([True, None], dtype="boolean"),
            "string": pd.array(["a", None], dtype="string"),
            "category": pd.Categorical(["a", None], categories=["b", "a"], ordered=True),
            "period": pd.PeriodIndex(["2024-01", None], freq="M"),
            "interval": pd.arrays.IntervalArray.from_tuples([(0, 1), None]),
        }
    )


def of_pyarrow() -> Any:
    columns: dict[str, Any] = {
        "int64": [1, None],
        "uint8": [1, None],
        "float": [1.5, None],
        "double": [float("nan"), None],
        "bool": [True, None],
        "string": ["a", None],
        "large_string": ["a", None],
    }
    pyarrow = pytest.importorskip("pyarrow")
    arrays = {
        name: pyarrow.array(cells, type=pyarrow.type_for_alias(name)) for name, cells in columns.items()
    }
    return pd.DataFrame({name: pd.arrays.ArrowExtensionArray(array) for name, array in arrays.items()})


def instants_of_pyarrow() -> Any:
    pyarrow = pytest.importorskip("pyarrow")
    return pd.arrays.ArrowExtensionArray(pyarrow.array([0], type=pyarrow.timestamp("s")))


def timed() -> Any:
    naive = pd.to_datetime(["2024-10-27 00:30", "2024-10-27 01:30"])
    zoned = naive.tz_localize("UTC").tz_convert("Europe/Berlin")
    return pd.DataFrame(
        {"naive": naive, "zoned": zoned, "gone": [pd.NaT, naive[0]], "span": naive - naive[0]}
    )


def described() -> Any:
    value = pd.Series([1], name=("a", 1))
    value.attrs["unit"] = {"of": (1,)}
    return value.set_flags(allows_duplicate_labels=False)


FRAMES = {
    "mixed": lambda: pd.DataFrame({"a": [1, 2], "b": ["x", None], "c": [1.5, np.nan]}),
    "empty": lambda: pd.DataFrame(),
    "rows only": lambda: pd.DataFrame(index=[1, 2]),
    "columns only": lambda: pd.DataFrame(columns=["a"]),
    "named axes": lambda: pd.DataFrame({"a": [1]}, index=pd.Index(["q"], name="k")).rename_axis(columns="c"),
    "columns of one name": lambda: pd.DataFrame([[1, 2.5]], columns=["x", "x"]),
    "columns in levels": lambda: pd.DataFrame({("a", 1): [1], ("b", 2): ["z"]}),
    "columns of mixed types": lambda: pd.DataFrame({0: [1], "s": [2]}),
    "objects": lambda: pd.DataFrame(
        {"o": np.array([{"k": 1}, [1, 2], (3,), Decimal("1.1"), None, pd.NA, pd.NaT, b"b"], dtype=object)}
    ),
    "bytes and bytearrays": lambda: pd.DataFrame({"b": [b"x", bytearray(b"y")]}),
    "nullable": nullable,
    "of pyarrow": of_pyarrow,
    "times": timed,
}
SERIES = {
    "described": described,
    "empty": lambda: pd.Series([], dtype=object),
    "texts": lambda: pd.Series(["a", None]),
    "objects that are texts": lambda: pd.Series(["a"], dtype=object),
    "lists of one length": lambda: pd.Series([[1], [2]]),
    "timestamps as objects": lambda: pd.Series([pd.Timestamp("2024"), 1], dtype=object),
}
INDEXES = {
    "range": lambda: pd.RangeIndex(3, 9, 2, name="r"),
    "numbers": lambda: pd.Index([1.5]),
    "flags": lambda: pd.Index([True, False]),
    "objects": lambda: pd.Index(["a"], dtype=object),
    "nullable": lambda: pd.Index(pd.array([1, None], dtype="Int64")),
    "days": lambda: pd.date_range("2024", periods=3, freq="D", tz="Europe/Berlin"),
    "weeks": lambda: pd.date_range("2024", periods=3, freq="W-MON"),
    "spans": lambda: pd.timedelta_range("1s", periods=3),
    "quarters": lambda: pd.period_range("2024", periods=2, freq="Q"),
    "categories": lambda: pd.CategoricalIndex(["a", "b"]),
    "breaks": lambda: pd.IntervalIndex.from_breaks([0.5, 1, 2]),
    "zoned breaks": lambda: pd.IntervalIndex.from_breaks(pd.date_range("2024", periods=3, tz="UTC")),
    "levels": lambda: pd.MultiIndex.from_product([["a", "b"], [1, 2]], names=["x", None]),
    "no times": lambda: pd.Index([], dtype="datetime64[ns]"),
}
SCALARS = {
    "timestamp": lambda: pd.Timestamp("2024-01-01"),
    "zoned": lambda: pd.Timestamp("2024-01-01", tz="Europe/Berlin"),
    "second of two": lambda: pd.Timestamp("2024-10-27 01:30", tz="UTC").tz_convert("Europe/Berlin"),
    "offset": lambda: pd.Timestamp("2024-01-01", tz=timezone.utc),  # noqa: UP017
    "nanoseconds": lambda: pd.Timestamp(2**62 + 1, unit="ns"),
    "seconds": lambda: pd.Timestamp("1500-01-01").as_unit("s"),
    "timedelta": lambda: pd.Timedelta("1D").as_unit("ms"),
    "period": lambda: pd.Period("2024-03", freq="M"),
    "interval": lambda: pd.Interval(1, 2.5, closed="both"),
}


def again(value: Any) -> Any:
    """A value after a round trip, whose bytes are the same again."""
    data = DEFAULT.dumps({"value": value})
    actual = DEFAULT.loads(data)["value"]
    assert type(actual) is type(value)
    assert DEFAULT.dumps({"value": actual}) == data
    return actual


@pytest.mark.parametrize("name", FRAMES)
def test_frames_come_back(name: str) -> None:
    """Values, dtypes, both axes and their names."""
    value = FRAMES[name]()
    pd.testing.assert_frame_equal(again(value), value, check_exact=True)


@pytest.mark.parametrize("name", SERIES)
def test_series_come_back(name: str) -> None:
    """Values, dtype, labels, `attrs` and flags."""
    value = SERIES[name]()
    actual = again(value)
    pd.testing.assert_series_equal(actual, value, check_exact=True)
    assert (actual.attrs, actual.flags) == (value.attrs, value.flags)


@pytest.mark.parametrize("name", INDEXES)
def test_indexes_come_back(name: str) -> None:
    """Type, values, names and frequency."""
    value = INDEXES[name]()
    actual = again(value)
    pd.testing.assert_index_equal(actual, value, exact=True)
    assert (actual.names, getattr(actual, "freq", None)) == (value.names, getattr(value, "freq", None))


@pytest.mark.parametrize("name", SCALARS)
def test_scalars_come_back(name: str) -> None:
    """With unit, zone and fold; a `Timestamp` is no `datetime`."""
    value = SCALARS[name]()
    actual = again(value)
    assert (actual, repr(actual)) == (value, repr(value))
    assert [getattr(actual, part, None) for part in ("unit", "fold")] == [
        getattr(value, part, None) for part in ("unit", "fold")
    ]


def test_what_stands_for_nothing_keeps_its_identity() -> None:
    """`NA` and `NaT` are compared with `is`."""
    assert again([pd.NA, pd.NaT])[0] is pd.NA
    assert again([pd.NA, pd.NaT])[1] is pd.NaT


def test_extension_arrays_come_back() -> None:
    """Outside of a frame, too."""
    for value in (pd.array([1, None]), pd.array(["a", None]), pd.Categorical([1, 2])):
        pd.testing.assert_extension_array_equal(again(value), value)


def test_what_was_loaded_is_not_shared_with_anything() -> None:
    """A caller may write into it."""
    actual = again(pd.DataFrame({"a": [1, 2]}))
    actual.loc[0, "a"] = 5
    assert actual["a"].tolist() == [5, 2]


@pytest.mark.parametrize(
    ("make", "path", "remedy"),
    [
        (lambda: pd.DataFrame({"s": pd.arrays.SparseArray([0, 1])}), "['s']", r"astype\(\)"),
        (lambda: pd.DataFrame({"o": [1, object()]}), "['o'].iloc[1]", "does not know how to restore it"),
        (
            lambda: pd.DataFrame({"t": instants_of_pyarrow()}),
            "['t']",
            r"astype\(\)",
        ),
        (lambda: pd.DataFrame({"a": [1]}).groupby("a"), "", "Convert it to one"),
        (
            lambda: pd.date_range(
                "2024", periods=2, freq=pd.offsets.CustomBusinessDay(holidays=["2024-01-02"])
            ),
            "",
            r"Set index\.freq = None",
        ),
    ],
    ids=["sparse", "object", "of pyarrow", "groupby", "frequency"],
)
def test_what_cannot_be_restored_is_refused(make: Any, path: str, remedy: str) -> None:
    """The error names the column, and says what to write."""
    with pytest.raises(SerializationError, match=remedy) as caught:
        DEFAULT.dumps(make())
    assert caught.value.path == path


def test_a_part_that_pandas_would_expand_is_corrupt() -> None:
    """A few bytes may not become gigabytes: a range as the side of intervals is no array."""
    honest = DEFAULT.dumps(pd.IntervalIndex.from_breaks([0, 1]))
    column, ranged = (
        DEFAULT.dumps(value).removeprefix(b"\x92").removesuffix(b"\x7f")
        for value in (np.array([0]), pd.RangeIndex(2**60))
    )
    assert honest.count(column) == 1
    with pytest.raises(CorruptDataError):
        DEFAULT.loads(honest.replace(column, ranged))


def test_pandas_is_not_imported_for_data() -> None:
    """G5: who wants frames back imports pandas."""
    data = DEFAULT.dumps(pd.DataFrame({"a": ["x"]}))
    code = (
        "import sys, numpy; from flowfn.serde import DEFAULT, UntrustedTypeError\n"
        f"try: DEFAULT.loads({data!r})\n"
        "except UntrustedTypeError as error: assert 'Import pandas' in str(error)\n"
        "assert 'pandas' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], env={"PYTHONPATH": ":".join(sys.path)}, check=True)
