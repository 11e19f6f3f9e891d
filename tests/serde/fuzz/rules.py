"""What must hold of any bytes that `Serde.loads`, or the reader of LangGraph's bytes, is given.

The rules: a value or one of three errors comes back; nothing is imported, opened for writing, started or
connected; what was loaded and can be stored again is the same bytes each time.
"""

from __future__ import annotations

import dataclasses
import enum
import importlib
import json
import random
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import pydantic

from flowfn.serde import (
    DEFAULT,
    CorruptDataError,
    SerializationError,
    TypeChangedError,
    UntrustedTypeError,
)
from graph_compat.checkpoint.serde.jsonplus import JsonPlusSerializer

GOLDEN = Path(__file__).parent.parent / "golden"
FOREIGN_GOLDEN = Path(__file__).parent.parent.parent / "compat" / "stored" / "values.json"
FOREIGN = JsonPlusSerializer(allowed_msgpack_modules=True)
REFUSALS = (CorruptDataError, TypeChangedError, UntrustedTypeError)
FORBIDDEN = (
    "os.system",
    "subprocess.Popen",
    "os.exec",
    "os.fork",
    "socket.connect",
    "os.remove",
    "os.rename",
)


@dataclasses.dataclass
class Record:
    """A dataclass that documents may name."""

    a: Any
    b: int = 0


class Shade(enum.Flag):
    """An enumeration that documents may name."""

    DARK = 1
    LIGHT = 2


class Pair(NamedTuple):
    """A named tuple that documents may name."""

    left: Any
    right: Any = None


class Model(pydantic.BaseModel):
    """A model that documents may name."""

    a: Any
    b: int = 0


class BrokenRule(Exception):
    """The serializer did what it never may."""


class Watch:
    """Sees what a load does to the process, by Python's own audit events."""

    def __init__(self) -> None:
        self.on = False
        self.seen: list[str] = []
        sys.addaudithook(self._hear)

    def _hear(self, event: str, arguments: tuple[Any, ...]) -> None:
        if not self.on:
            return
        if event == "import":
            # A zone's own data file lies in a package, which ZoneInfo imports by the checked name.
            if not str(arguments[0]).startswith("tzdata"):
                self.seen.append(f"imported {arguments[0]}")
        elif event == "open" and isinstance(arguments[1], str) and set(arguments[1]) & set("wax+"):
            self.seen.append(f"opened {arguments[0]!r} to write")
        elif event in FORBIDDEN:
            self.seen.append(event)


WATCH = Watch()


def check(data: bytes) -> None:
    """Load some bytes; raises `BrokenRule`, or the error that should not have come."""
    try:
        value = watched(DEFAULT.loads, data)
    except REFUSALS:
        return
    check_again(value, data)


def check_langgraph(data: bytes) -> None:
    """Read some bytes as LangGraph's msgpack, with every loaded type allowed; raises as `check` does."""
    with suppress(*REFUSALS):
        watched(FOREIGN.loads_typed, ("msgpack", data))


def watched(load: Callable[[Any], Any], data: Any) -> Any:
    """What a load gives; raises `BrokenRule` if it did more than load."""
    WATCH.seen.clear()
    WATCH.on = True
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of odd patterns and escapes
            return load(data)
    finally:
        WATCH.on = False
        if WATCH.seen:
            raise BrokenRule(f"loading {data!r} {', '.join(WATCH.seen)}")


def check_again(value: Any, data: bytes) -> None:
    """What was loaded has to stay what it is when it is stored again."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            stored = DEFAULT.dumps(value)
        except SerializationError:
            return  # such as a field whose value its class would never have taken
        if DEFAULT.dumps(DEFAULT.loads(stored)) != stored:
            raise BrokenRule(f"{data!r} loads to a value that does not keep its bytes")


def seeds() -> Iterator[bytes]:
    """A document of every type."""
    for path in sorted(GOLDEN.rglob("*.bin")):
        yield path.read_bytes()
    for value in (
        Record([1], 2),
        Shade(3),
        Pair(1, "x"),
        Model(a={"k": (1,)}),
        [ValueError("x", Shade.DARK)],
    ):
        yield DEFAULT.dumps(value)


def foreign_seeds() -> Iterator[bytes]:
    """What LangGraph wrote of many types."""
    for tag, text in json.loads(FOREIGN_GOLDEN.read_text()).values():
        if tag == "msgpack":
            yield bytes.fromhex(text).replace(b"stored_values", b"rules")
    for code, name in ((2, b"Record"), (5, b"Model"), (0, b"Shade"), (1, b"Pair")):
        payload = (
            b"\x93\xa5rules" + bytes([0xA0 + len(name)]) + name + (b"\x81\xa1a\x01", b"\x91\x01")[code < 2]
        )
        yield b"\xc7" + bytes([len(payload), code]) + payload


def load_libraries() -> None:
    """Import what documents may hold values of, and what those libraries import at first use."""
    for name in (
        "numpy",
        "pandas",
        "pydantic.networks",
        "langchain_core.messages",
        "langchain_core.documents",
    ):
        module = importlib.import_module(name)
        for lazy in module.__all__ if name.startswith("langchain_core") else ():
            getattr(module, lazy)
    for document in seeds():
        DEFAULT.loads(document)


def mutated(document: bytes, chance: random.Random) -> bytes:
    """A document with some bytes changed, cut out or doubled."""
    changed = bytearray(document)
    for _ in range(chance.randint(1, 4)):
        place = chance.randrange(len(changed) + 1)
        length = chance.randint(0, 3)
        piece = chance.choice([b"", bytes([chance.randrange(256)]), changed[place : place + 8]])
        changed[place : place + length] = piece
    return bytes(changed)


def smoke(documents: int) -> int:
    """A short, repeatable run without atheris; returns how many documents were loaded."""
    load_libraries()
    chance, loaded = random.Random(1), 0
    for rule, known in ((check, [*seeds()]), (check_langgraph, [*foreign_seeds()])):
        for document in known + [mutated(chance.choice(known), chance) for _ in range(documents)]:
            rule(document)
            loaded += 1
    return loaded
