"""Bytes of every released format still load: a database outlives the flowfn that wrote it.

`python tests/serde/test_golden.py` writes the files that are not there yet; one that is there is
never written again.
"""

import re
from collections import Counter, OrderedDict, defaultdict, deque
from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal
from fractions import Fraction
from ipaddress import ip_network
from pathlib import Path, PurePosixPath
from typing import Any
from uuid import UUID
from zoneinfo import ZoneInfo

import pytest

from flowfn.serde import DEFAULT
from flowfn.values import MISSING, Command, Interrupt, Send, Write

FOLDER = Path(__file__).parent / "golden" / "v1"
GOLDEN: dict[str, Any] = {
    "plain": {"none": None, "bool": True, "ints": [0, -1, 2**63], "float": -0.5, "str": "ä", "bytes": b"\0"},
    "numbers": [2**80, -(2**80), 1 + 2j, Decimal("-1.50"), Fraction(-1, 3)],
    "texts": ["\ud800", bytearray(b"b"), re.compile("a+", re.IGNORECASE)],
    "times": [
        datetime(2024, 1, 2, 3, 4, 5, 6),
        datetime(2024, 1, 2, tzinfo=UTC),
        datetime(2024, 10, 27, 2, 30, fold=1, tzinfo=ZoneInfo("Europe/Berlin")),
        date(2024, 1, 2),
        time(3, 4, fold=1),
        timedelta(-1, 2, 3),
        timezone(timedelta(hours=1), "X"),
    ],
    "addresses": [UUID(int=5), PurePosixPath("a/b"), ip_network("10.0.0.0/8"), ZoneInfo("UTC")],
    "containers": [(1, ()), {1, "a", frozenset({(2,)})}, {1: {"a": 2}, (3,): 4}, range(3), slice(1, 2)],
    "collections": [deque([1], 2), defaultdict(list, {1: [2]}), OrderedDict(a=1), Counter("aab")],
    "values": [MISSING, Interrupt(1, "id", "key"), Send("node", (1,)), Command(resume=1), Write("c", 2)],
}


@pytest.mark.parametrize("name", GOLDEN)
def test_a_golden_file_loads_to_the_value_that_was_stored(same: Any, name: str) -> None:
    """Section 5: every format that was ever written is read."""
    assert same(DEFAULT.loads((FOLDER / f"{name}.bin").read_bytes()), GOLDEN[name])


@pytest.mark.parametrize("name", GOLDEN)
def test_this_format_is_written_as_it_was(name: str) -> None:
    """Section 4: digests that were recorded stay what they are, until the version byte changes."""
    assert DEFAULT.dumps(GOLDEN[name]) == (FOLDER / f"{name}.bin").read_bytes()


def test_a_golden_exception_loads() -> None:
    """Exceptions have no equality, so their parts are compared."""
    error = DEFAULT.loads((FOLDER / "exception.bin").read_bytes())
    assert (type(error), error.args, error.filename, error.__notes__) == (
        FileNotFoundError,
        (2, "No such file"),
        "name",
        ["note"],
    )


def _exception() -> BaseException:
    error = FileNotFoundError(2, "No such file", "name")
    error.add_note("note")
    return error


if __name__ == "__main__":
    FOLDER.mkdir(parents=True, exist_ok=True)
    for stem, content in {**GOLDEN, "exception": _exception()}.items():
        if not (path := FOLDER / f"{stem}.bin").exists():
            path.write_bytes(DEFAULT.dumps(content))
