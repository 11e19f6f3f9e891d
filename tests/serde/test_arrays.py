"""numpy arrays and scalars come back with dtype, shape and order; objects never do."""

import subprocess
import sys
from typing import Any

import pytest

from flowfn.serde import DEFAULT, CorruptDataError, SerializationError

np: Any = pytest.importorskip("numpy")


@pytest.mark.parametrize(
    "dtype", ["?", "i1", "<u8", ">i4", "f2", "f8", "c16", "S3", "U4", "M8[ns]", "m8[3D]", "U0"]
)
@pytest.mark.parametrize("shape", [(), (0,), (3,), (2, 3), (2, 0, 2)])
@pytest.mark.parametrize("order", ["C", "F"])
def test_arrays_come_back(dtype: str, shape: tuple[int, ...], order: str) -> None:
    """Values, dtype, shape and memory order; writable, and the same bytes again."""
    value = np.zeros(shape, dtype, order)
    data = DEFAULT.dumps({"array": value})
    actual = DEFAULT.loads(data)["array"]
    assert np.array_equal(actual, value)
    assert (actual.dtype, actual.shape, actual.flags.fnc) == (value.dtype, value.shape, value.flags.fnc)
    assert actual.flags.writeable
    assert DEFAULT.dumps({"array": actual}) == data


@pytest.mark.parametrize(
    "text", ["np.float64(1.5)", "np.int8(3)", "np.bool_(True)", "np.str_('a')", "np.datetime64('2024-01-01')"]
)
def test_scalars_come_back_as_scalars(text: str) -> None:
    """A numpy number is not flattened into a Python one."""
    value = eval(text)
    actual = DEFAULT.loads(DEFAULT.dumps([value]))[0]
    assert (type(actual), actual, actual.dtype) == (type(value), value, value.dtype)


def test_views_come_back_by_value() -> None:
    """A strided view is stored as what it shows."""
    value = np.arange(10)[::3]
    assert np.array_equal(DEFAULT.loads(DEFAULT.dumps(value)), value)


def test_object_and_structured_arrays_are_refused() -> None:
    """They hold anything, and their loader runs code."""
    for value in (np.array([object()]), np.zeros(2, "i4,f8"), np.ma.masked_array([1])):
        with pytest.raises(SerializationError):
            DEFAULT.dumps({"a": value})


def test_an_array_with_bytes_too_many_is_corrupt() -> None:
    """The shape and the bytes have to agree."""
    data = DEFAULT.dumps(np.zeros(4, "i1"))
    with pytest.raises(CorruptDataError):
        DEFAULT.loads(data.replace(b"\x91\x04", b"\x91\x03"))


def test_numpy_is_not_imported_for_data() -> None:
    """G5: who wants arrays back imports numpy."""
    data = DEFAULT.dumps(np.zeros(2))
    code = (
        "import sys; from flowfn.serde import DEFAULT, UntrustedTypeError\n"
        f"try: DEFAULT.loads({data!r})\n"
        "except UntrustedTypeError as error: assert 'Import numpy' in str(error)\n"
        "assert 'numpy' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], env={"PYTHONPATH": ":".join(sys.path)}, check=True)
