"""Section 5 and G2: what was stored comes back with the same value and the same type."""

import re
import subprocess
import sys
from collections import Counter, OrderedDict, defaultdict, deque
from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal
from fractions import Fraction
from ipaddress import ip_address, ip_interface, ip_network
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import Any
from uuid import UUID
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter

from flowfn.identity.digest import exact
from flowfn.serde import DEFAULT, Serde
from flowfn.values import MISSING, Command, Interrupt, Overwrite, Send

texts = st.text(st.characters(exclude_categories=()), max_size=8)  # lone surrogates too
numbers = st.integers() | st.floats() | st.complex_numbers() | st.decimals(allow_nan=False) | st.fractions()
zones = st.sampled_from([None, UTC, timezone(timedelta(hours=-3), "here"), ZoneInfo("Europe/Berlin")])
times = st.dates() | st.datetimes(timezones=zones) | st.times() | st.timedeltas()
hashable_leaves = (
    st.none()
    | st.booleans()
    | numbers
    | texts
    | st.binary(max_size=8)
    | st.uuids()
    | times
    | st.ip_addresses()
)
hashables = st.recursive(
    hashable_leaves,
    lambda inner: st.tuples(inner, inner) | st.frozensets(inner, max_size=3),
    max_leaves=6,
)
leaves = hashables | st.binary(max_size=4).map(bytearray)
values = st.recursive(
    leaves,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.lists(inner, max_size=4).map(tuple)
        | st.dictionaries(hashables, inner, max_size=4)
        | st.dictionaries(texts, inner, max_size=4)
        | st.dictionaries(texts, inner, max_size=2).map(OrderedDict)
        | st.dictionaries(hashables, inner, max_size=2).map(lambda found: defaultdict(list, found))
        | st.lists(inner, max_size=3).map(lambda items: deque(items, 5))
        | st.sets(hashables, max_size=4)
        | st.builds(Send, node=texts, arg=inner)
        | st.builds(Interrupt, value=inner, id=texts)
    ),
    max_leaves=20,
)


@given(values)
def test_any_value_comes_back_the_same(same: Any, value: Any) -> None:
    """A value built of supported types comes back equal and of the same types, in every part."""
    assert same(DEFAULT.loads(DEFAULT.dumps(value)), value)


@given(values)
def test_what_was_loaded_gives_the_same_bytes_again(value: Any) -> None:
    """Section 4: digests of arguments are digests of these bytes, before and after a restart."""
    data = DEFAULT.dumps(value)
    assert DEFAULT.dumps(DEFAULT.loads(data)) == data


@pytest.mark.parametrize(
    "value",
    [
        None,
        True,
        2**63,
        2**64 - 1,
        2**64,
        -(2**63) - 1,
        10**400,
        0.0,
        -0.0,
        float("inf"),
        complex(-0.0, 1.5),
        "",
        "ä€😀",
        "\ud800",
        {"\udfff": "\ud800"},
        b"\xc4\xc5",
        bytearray(b"\xc4"),
        [bytearray(b"x"), {"k": bytearray(b"y")}, (bytearray(b"z"), b"z")],
        (1, (2, [3, ()])),
        {1: "int", "1": "str", 1.5: "float", None: 0, (1, 2): [3], b"k": 1, UUID(int=1): 2},
        {True: "bool"},
        {"z": 1, "a": 2},
        {1, "1", (2,), frozenset({3})},
        frozenset(),
        range(3, -5, -2),
        range(2**70),
        slice(1, None, 2),
        date(1, 1, 1),
        datetime(2024, 10, 27, 2, 30, fold=1, tzinfo=ZoneInfo("Europe/Berlin")),
        datetime(2024, 1, 1, 0, 0, 0, 7),
        datetime(2024, 1, 1, tzinfo=UTC),
        datetime(2024, 1, 1, fold=1),
        time(1, 2, 3, 4, tzinfo=timezone(timedelta(hours=1), "X")),
        time(1, fold=1),
        timedelta(-999999999, 1, 2),
        UTC,
        timezone(timedelta(minutes=90)),
        ZoneInfo("UTC"),
        UUID("12345678123456781234567812345678"),
        Decimal("-0.00"),
        Decimal("1E+50"),
        Decimal("Infinity"),
        Fraction(-3, 7),
        Path("a/b"),
        PurePosixPath("/x"),
        PureWindowsPath("c:\\x"),
        re.compile(r"a+(?P<n>b)", re.IGNORECASE | re.VERBOSE),
        re.compile(rb"a"),
        ip_address("10.0.0.1"),
        ip_address("fe80::1%eth0"),
        ip_interface("10.0.0.1/24"),
        ip_network("2001:db8::/32"),
        deque([1, 2], maxlen=2),
        deque(),
        defaultdict(list, {1: [2]}),
        defaultdict(None, {"a": 1}),
        OrderedDict([("b", 1), ("a", 2)]),
        Counter({"x": 2, 3: -1}),
        Command(resume=1, goto=("a", Send("b", 2))),
        Overwrite([1]),
        ...,
        NotImplemented,
    ],
    ids=lambda value: type(value).__name__,
)
def test_each_type_comes_back_the_same(same: Any, value: Any) -> None:
    """Each type of the standard library that flowfn stores, at its edges."""
    data = DEFAULT.dumps(value)
    actual = DEFAULT.loads(data)
    assert same(actual, value)
    assert DEFAULT.dumps(actual) == data


def test_missing_keeps_its_identity() -> None:
    """`MISSING` is compared with `is`, before and after a restart."""
    assert DEFAULT.loads(DEFAULT.dumps([MISSING]))[0] is MISSING


def test_the_fold_and_the_zone_of_a_datetime_are_kept() -> None:
    """Equality of datetimes ignores fold and zone, and a wrong instant would follow."""
    value = datetime(2024, 10, 27, 2, 30, fold=1, tzinfo=ZoneInfo("Europe/Berlin"))
    actual = DEFAULT.loads(DEFAULT.dumps(value))
    assert (actual.fold, actual.tzinfo.key) == (1, "Europe/Berlin")


@pytest.mark.parametrize("text", ["2024-01-01T00:00:00Z", "2024-01-01T00:00:00+02:00"])
@pytest.mark.parametrize("read", ["pydantic", "dateutil"])
def test_a_librarys_zone_of_one_offset_comes_back_as_a_timezone(read: Any, text: str) -> None:
    """With its name, as the same argument of a call; both put zones of their own into what they read."""
    parser: Any = pytest.importorskip("dateutil.parser")
    value = TypeAdapter(datetime).validate_python(text) if read == "pydantic" else parser.parse(text)
    actual = DEFAULT.loads(DEFAULT.dumps(value))
    assert (actual, actual.tzname() or "", type(actual.tzinfo)) == (
        value,
        value.tzname() or actual.tzname(),
        timezone,
    )
    assert DEFAULT.dumps(actual) == DEFAULT.dumps(value)
    assert exact({"at": actual}).exact == exact({"at": value}).exact
    clock = DEFAULT.loads(DEFAULT.dumps(value.timetz()))
    assert (clock, clock.utcoffset()) == (value.timetz(), value.utcoffset())


def test_the_order_of_a_dict_is_kept() -> None:
    """A dict is a sequence of pairs."""
    assert list(DEFAULT.loads(DEFAULT.dumps({"b": 1, 2: 2, "a": 3}))) == ["b", 2, "a"]


def test_equal_sets_are_equal_bytes_in_every_process() -> None:
    """Section 4: hashes of strings differ between processes, and digests must not."""
    value = "{*'abcdefgh', 1, (2, frozenset('xyz'))}"
    code = f"from flowfn.serde import DEFAULT; print(DEFAULT.dumps({value}).hex())"
    seeds = ("1", "2")
    found = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={"PYTHONHASHSEED": seed, "PYTHONPATH": ":".join(sys.path)},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in seeds
    }
    assert len(found) == 1


def test_lists_of_floats_whose_bytes_look_like_buffers_come_back() -> None:
    """The search for flattened buffers has false alarms, which cost time and nothing else."""
    value = {"vector": [index / 7 for index in range(500)], "zone": (1.5, "ā")}
    assert DEFAULT.loads(DEFAULT.dumps(value)) == value


def test_deep_values_come_back() -> None:
    """The limit is msgpack's, not the caller's recursion limit."""
    value: Any = 1
    for _ in range(120):
        value = [(value,)]
    assert DEFAULT.loads(DEFAULT.dumps(value)) == value


def test_threads_may_share_a_serializer() -> None:
    """What one call finds out about its value is not seen by another."""
    from concurrent.futures import ThreadPoolExecutor

    serde = Serde()
    rows = [[(index, {index: "\ud800"}, bytearray(b"x"))] for index in range(200)]
    with ThreadPoolExecutor(4) as pool:
        actual = list(pool.map(lambda row: serde.loads(serde.dumps(row)), rows))
    assert actual == rows
