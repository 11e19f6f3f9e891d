"""The serializer: typed, deterministic, and safe to read from bytes that anybody could have written.

Rule: `serde.Serde` is the one door; `pack` and `unpack` are its two directions, `format` what they
agree on, `names` what may be restored. `PickleSerde` is a second door, for who asks for it by name.
"""

from flowfn.errors import (
    CorruptDataError,
    NewerFormatError,
    SerializationError,
    TypeChangedError,
    UntrustedTypeError,
)
from flowfn.serde.pickled import PickleSerde
from flowfn.serde.serde import DEFAULT, Serde, allow

__all__ = [
    "DEFAULT",
    "CorruptDataError",
    "NewerFormatError",
    "PickleSerde",
    "Serde",
    "SerializationError",
    "TypeChangedError",
    "UntrustedTypeError",
    "allow",
]
