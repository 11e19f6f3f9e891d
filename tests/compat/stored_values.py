"""Values that LangGraph's own serializer wrote, as bytes in `stored/values.json`.

`python tests/compat/stored_values.py` writes that file anew, where LangGraph is installed.
"""

import dataclasses
import datetime
import decimal
import enum
import ipaddress
import json
import pathlib
import re
import uuid
import zoneinfo
from collections import deque
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pydantic
from langchain_core.documents import Document
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage

FILE = Path(__file__).parent / "stored" / "values.json"


class Order(pydantic.BaseModel):
    item: str
    more: "Order | None" = None


@dataclasses.dataclass
class Point:
    x: int
    y: Any = None


class Shade(enum.Enum):
    DARK = "d"


class Pair(NamedTuple):
    left: int


CALL = {"name": "f", "args": {"x": 1}, "id": "c", "type": "tool_call"}
PLAIN: dict[str, Any] = {
    "none": None,
    "bytes": b"b",
    "bytearray": bytearray(b"b"),
    "one": 1,
    "containers": {"a": [1, 2.5, "ä", True, None, b"x"], 3: {"b": {}}},
    "set": {1, 2},
    "frozenset": frozenset({"a"}),
    "deque": deque([1, 2]),
    "datetime": datetime.datetime(2024, 1, 2, 3, tzinfo=datetime.UTC),
    "date": datetime.date(2024, 1, 2),
    "time": datetime.time(3, 4, 5, 6),
    "timedelta": datetime.timedelta(1, 2, 3),
    "timezone": datetime.timezone(datetime.timedelta(hours=1)),
    "zone": zoneinfo.ZoneInfo("Europe/Berlin"),
    "uuid": uuid.UUID(int=5),
    "decimal": decimal.Decimal("-1.50"),
    "path": pathlib.Path("a/b"),
    "pattern": re.compile("a+", re.IGNORECASE),
    "address": ipaddress.ip_address("10.0.0.1"),
    "network": ipaddress.ip_network("2001:db8::/32"),
    "messages": [
        HumanMessage("hi", id="1"),
        AIMessage("a", id="2", tool_calls=[CALL]),
        ToolMessage("t", tool_call_id="c", id="3"),
    ],
    "document": Document("p", metadata={"s": 1}),
}
NAMED: dict[str, Any] = {
    "model": Order(item="a", more=Order(item="b")),
    "dataclass": Point(1, Point(2, {3})),
    "enum": [Shade.DARK],
    "namedtuple": {"p": Pair(1)},
}
ARRAYS: dict[str, Any] = {
    "array": np.arange(6, dtype="<i8").reshape(2, 3),
    "fortran": np.asfortranarray(np.ones((2, 3))),
}


def stored(name: str) -> tuple[str, bytes]:
    """The tag and the bytes of a value."""
    tag, text = json.loads(FILE.read_text())[name]
    return tag, bytes.fromhex(text)


def write() -> None:
    """Have LangGraph write them all."""
    from langgraph.checkpoint.serde.encrypted import EncryptedSerializer
    from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
    from langgraph.types import Command, Interrupt, Overwrite, Send

    theirs = {
        "send": Send("n", {"a": 1}),
        "command": Command(resume=1, goto=["x"], update={"a": 1}),
        "update": Command(update={"a": 1}),
        "interrupt": Interrupt("v", id="i"),
        "overwrite": Overwrite([1]),
        "tuple": (1, (2,)),
        "error": ValueError("x"),
    }
    serde = JsonPlusSerializer()
    found = {name: serde.dumps_typed(value) for name, value in {**PLAIN, **NAMED, **ARRAYS, **theirs}.items()}
    found["encrypted"] = EncryptedSerializer.from_pycryptodome_aes(key=b"k" * 16).dumps_typed({"a": [1]})
    lines = (f'{json.dumps(name)}: ["{tag}", "{bytes(data).hex()}"]' for name, (tag, data) in found.items())
    FILE.write_text("{\n" + ",\n".join(lines) + "\n}\n")


if __name__ == "__main__":
    import stored_values  # not __main__, so that the classes are named as the tests name them

    stored_values.write()
