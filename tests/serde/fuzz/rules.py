"""What must hold of any bytes that `Serde.loads` is given, as one function that a fuzzer calls.

The rules: a value or one of three errors comes back; nothing is imported, opened for writing, started or
connected; what was loaded and can be stored again is the same bytes each time.
"""

from __future__ import annotations

import dataclasses
import enum
import importlib
import random
import sys
import warnings
from collections.abc import Iterator
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

GOLDEN = Path(__file__).parent.parent / "golden"
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
    WATCH.seen.clear()
    WATCH.on = True
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of odd patterns and escapes
            value = DEFAULT.loads(data)
    except REFUSALS:
        return
    finally:
        WATCH.on = False
        if WATCH.seen:
            raise BrokenRule(f"loading {data!r} {', '.join(WATCH.seen)}")
    check_again(value, data)


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


def load_libraries() -> None:
    """Import what documents may hold values of, and what those libraries import at first use."""
    for name in ("numpy", "pandas", "langchain_core.messages", "langchain_core.documents"):
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
    chance, known = random.Random(1), list(seeds())
    for document in known:
        check(document)
    for _ in range(documents):
        check(mutated(chance.choice(known), chance))
    return len(known) + documents
