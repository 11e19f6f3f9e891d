"""The stored form: a msgpack array of the value and of `END`; two extensions carry all other types.

Rule: a number given out here is never given out again, and never changes its meaning; golden files
in `tests/serde/golden` hold every release to it.

- The first byte says which form it is. Value and frame are written by one call and read by one: a long value is
  copied neither then nor then, which would take longer than all the rest. The first format, which is still read, was
  the byte 1 before the value's own document.
- A *leaf* is an extension whose payload is a value on its own, such as a date: its code says which.
- A *composite* is an array whose first element is the extension `MARK`, whose payload is a `Kind`:
  `(1, [2])` is the array `MARK(TUPLE), 1, [2]`. Composites nest as arrays do, in one msgpack
  document, so that msgpack's own depth limits hold for all of a value, when it is written and when
  hostile bytes are read.

A mapping is a msgpack map where every key is a `str`, else the composite `MAP`.
"""

from __future__ import annotations

from enum import IntEnum, unique

import ormsgpack

FIRST = 0x01
CURRENT = 0x92
PICKLED = 0x50
TAGGED = 0x54
ENCRYPTED = 0xE1
"""How bytes open: those of the first format, those that are written now, and those that have another form."""

END = 0x7F
"""What follows the value, one byte of msgpack as well: msgpack ignores what comes after a document."""

OPTIONS = (
    ormsgpack.OPT_PASSTHROUGH_BIG_INT
    | ormsgpack.OPT_PASSTHROUGH_DATACLASS
    | ormsgpack.OPT_PASSTHROUGH_DATETIME
    | ormsgpack.OPT_PASSTHROUGH_ENUM
    | ormsgpack.OPT_PASSTHROUGH_SUBCLASS
    | ormsgpack.OPT_PASSTHROUGH_TUPLE
    | ormsgpack.OPT_PASSTHROUGH_UUID
)
"""All that msgpack would flatten comes to our encoders. `OPT_NON_STR_KEYS` is left out on purpose:
it turns enum, UUID, datetime and `str` subclass keys into plain ones without a word."""


@unique
class Leaf(IntEnum):
    """Extension codes of values that contain no others."""

    BIG_INT = 1
    COMPLEX = 2
    SURROGATES = 3
    BYTEARRAY = 4
    DATETIME = 5
    DATE = 6
    TIME = 7
    TIMEDELTA = 8
    UUID = 9
    DECIMAL = 10
    PATH = 11
    SINGLETON = 12
    IP = 13
    ZONE = 14
    MARK = 15
    NDARRAY = 16
    NUMPY_SCALAR = 17
    URL = 18


@unique
class Kind(IntEnum):
    """What a composite is."""

    TUPLE = 1
    SET = 2
    FROZENSET = 3
    MAP = 4
    RANGE = 5
    SLICE = 6
    ZONED_DATETIME = 7
    ZONED_TIME = 8
    TIMEZONE = 9
    FRACTION = 10
    PATTERN = 11
    DEQUE = 12
    DEFAULTDICT = 13
    ORDERED_DICT = 14
    COUNTER = 15
    ENUM = 16
    DATACLASS = 17
    NAMEDTUPLE = 18
    PYDANTIC = 19
    EXCEPTION = 20
    OBJECT = 21
    PANDAS_FRAME = 22
    PANDAS_SERIES = 23
    PANDAS_INDEX = 24
    PANDAS_COLUMN = 25
    PANDAS_SCALAR = 26


KINDS = {bytes([kind]): kind for kind in Kind}


def mark(kind: Kind) -> ormsgpack.Ext:
    """The first element of every composite of this kind."""
    return ormsgpack.Ext(int(Leaf.MARK), bytes([kind]))


class Refused(Exception):
    """An encoder's reason why a value cannot be stored; `Serde.dumps` adds where it is."""
