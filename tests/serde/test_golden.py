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
from urllib.error import URLError
from uuid import UUID
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd
import pytest
from langchain_core.documents import Document
from langchain_core.messages import AIMessage, AIMessageChunk, HumanMessage, RemoveMessage, ToolMessage
from pydantic import BaseModel, HttpUrl, MongoDsn, ValidationError

from flowfn.serde import DEFAULT
from flowfn.values import MISSING, Command, Interrupt, Send, Write

FOLDERS = {name: Path(__file__).parent / "golden" / name for name in ("v1", "v2")}
FOLDER = FOLDERS["v2"]
NEWER = {FOLDERS["v1"] / "urls.bin"}
"""What no earlier format had."""

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
    "urls": [HttpUrl("https://ä.example/b?c=1"), MongoDsn("mongodb://one:1,two:2/db")],
    "values": [MISSING, Interrupt(1, "id", "key"), Send("node", (1,)), Command(resume=1), Write("c", 2)],
}


@pd.option_context("mode.string_storage", "python")
def _frame() -> pd.DataFrame:
    """Its texts are Python's, whether or not there is a pyarrow for pandas to keep them in."""
    return pd.DataFrame(
        {
            "int": np.array([1, 2], "<i8"),
            "object": np.array([{"a": 1}, None], dtype=object),
            "nullable": pd.array([1, None], dtype="Int64"),
            "text": pd.array(["a", None], dtype=pd.StringDtype("python", na_value=np.nan)),
            "category": pd.Categorical(["a", None], categories=["b", "a"]),
            "zoned": pd.DatetimeIndex(np.array([0, 1], "<M8[ns]"), tz="Europe/Berlin"),
            "period": pd.PeriodIndex(["2024-01", "2024-02"], freq="M"),
        },
        index=pd.MultiIndex.from_tuples([("a", 1), ("b", 2)], names=["x", None]),
    )


TABLES: dict[str, Any] = {
    "arrays": [np.arange(6, dtype="<i4").reshape(2, 3), np.array(["a", "bc"], "<U2"), np.float32(0.5)],
    "frame": _frame(),
    "series": pd.Series(np.array([1.5, -0.0]), index=pd.RangeIndex(2), name=("a", 1)),
    "instants": [
        pd.Timestamp(5, unit="ns", tz="UTC"),
        pd.Timedelta(7, unit="ns"),
        pd.Period("2024", freq="Y"),
    ],
}
MESSAGES = [
    HumanMessage("hi", id="1"),
    AIMessage("a", tool_calls=[{"name": "f", "args": {"x": 1}, "id": "c", "type": "tool_call"}]),
    AIMessageChunk("b"),
    ToolMessage("t", tool_call_id="c"),
    RemoveMessage(id="1"),
    Document("p", metadata={"s": 1}),
    AIMessage("a").text,
]


@pytest.fixture(params=FOLDERS.values(), ids=FOLDERS)
def folder(request: pytest.FixtureRequest) -> Path:
    """Where the files of each format are."""
    found = request.param
    assert isinstance(found, Path)
    return found


@pytest.mark.parametrize("name", GOLDEN)
def test_a_golden_file_loads_to_the_value_that_was_stored(same: Any, name: str, folder: Path) -> None:
    """Section 5: every format that was ever written is read."""
    if (file := folder / f"{name}.bin") in NEWER:
        pytest.skip("the format that stores it is newer")
    assert same(DEFAULT.loads(file.read_bytes()), GOLDEN[name])


@pytest.mark.parametrize("name", TABLES)
def test_golden_arrays_and_frames_load_to_what_was_stored(name: str, folder: Path) -> None:
    """They have no equality of one answer, so what is compared is what they are stored as."""
    assert DEFAULT.dumps(DEFAULT.loads((folder / f"{name}.bin").read_bytes())) == DEFAULT.dumps(TABLES[name])


def test_golden_messages_load_to_what_was_stored(folder: Path) -> None:
    """Not to the same bytes: a later langchain-core may have more fields."""
    found = DEFAULT.loads((folder / "messages.bin").read_bytes())
    assert (found, [type(each) for each in found]) == (MESSAGES, [type(each) for each in MESSAGES])


@pytest.mark.parametrize("name", GOLDEN | TABLES)
def test_this_format_is_written_as_it_was(name: str) -> None:
    """Section 4: digests that were recorded stay what they are, until the format does."""
    assert DEFAULT.dumps((GOLDEN | TABLES)[name]) == (FOLDER / f"{name}.bin").read_bytes()


def test_a_golden_exception_loads(folder: Path) -> None:
    """Exceptions have no equality, so their parts are compared."""
    error = DEFAULT.loads((folder / "exception.bin").read_bytes())
    assert (type(error), error.args, error.filename, error.__notes__) == (
        FileNotFoundError,
        (2, "No such file"),
        "name",
        ["note"],
    )


def test_golden_errors_of_other_kinds_load() -> None:
    """A `ValidationError`, an error inside another, and one that looks at what couldn't be stored."""
    invalid, outer, refused = DEFAULT.loads((FOLDER / "errors.bin").read_bytes())
    (detail,) = invalid.errors()
    assert (type(invalid), invalid.title, detail["type"], detail["loc"]) == (
        ValidationError,
        "Order",
        "int_parsing",
        ("cents",),
    )
    assert (type(outer), repr(outer.reason)) == (URLError, "ConnectionRefusedError(111, 'refused')")
    assert (isinstance(refused, Refused), str(refused)) == (True, "status 418")


class Order(BaseModel):
    cents: int


class Refused(Exception):
    """Says what it holds, which can't be stored."""

    def __init__(self, response: Any) -> None:
        super().__init__("refused")
        self.response = response

    def __str__(self) -> str:
        return f"status {self.response.status}"


class Response:
    status = 418

    def __repr__(self) -> str:
        return "<response>"


def _errors() -> list[BaseException]:
    found: list[BaseException] = [URLError(ConnectionRefusedError(111, "refused")), Refused(Response())]  # type: ignore[arg-type]
    try:
        Order.model_validate({"cents": "many"})
    except ValidationError as error:
        found.insert(0, error.with_traceback(None))
    return found


def _exception() -> BaseException:
    error = FileNotFoundError(2, "No such file", "name")
    error.add_note("note")
    return error


if __name__ == "__main__":
    FOLDER.mkdir(parents=True, exist_ok=True)
    OTHERS = {"messages": MESSAGES, "exception": _exception(), "errors": _errors()}
    for stem, content in {**GOLDEN, **TABLES, **OTHERS}.items():
        if not (path := FOLDER / f"{stem}.bin").exists():
            path.write_bytes(DEFAULT.dumps(content))
