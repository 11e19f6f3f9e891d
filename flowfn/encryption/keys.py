"""The keys, and the two things done with them: sealing bytes to a place, and hiding names.

A sealed piece is `ENCRYPTED`, the length of the key's id, the id, a nonce, then AES-256-GCM's output. All that
comes before the output, and the place, are authenticated with it. Nonces are 96 random bits, so one key
should seal no more than 2**32 pieces; each *scope* (a thread, a cache) has a key of its own, derived with
HKDF, so that this bounds a thread and not a database.

A hidden name is deterministic (AES-256-SIV), so that equal names of one scope are found again: what it tells
is that two are equal, where a hash would let anybody try out guesses.
"""

from __future__ import annotations

import os
import re
from base64 import b64decode, b64encode, urlsafe_b64encode
from binascii import Error as NotBase64
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, NamedTuple

from flowfn.errors import DecryptionError, InvalidInput, PlaintextError, UnknownKeyError
from flowfn.serde.format import ENCRYPTED

VARIABLE = "FLOWFN_KEY"
"""The environment variable that `KeyRing.from_env` reads unless told otherwise."""

KEY_BYTES = 32
_NONCE_BYTES = 12
_OPENING = bytes([ENCRYPTED])
_ID = re.compile(r"[A-Za-z0-9_-]{1,64}")
_SCOPES = 1024  # whose derived keys are kept at hand
_MISSING = "Encryption needs the package cryptography: pip install 'flowfn-durable[encryption]'"


class _Ciphers(NamedTuple):
    """The derived keys of one scope under one key."""

    header: bytes
    data: Any
    names: Any


def place(*parts: str) -> bytes:
    """Where a piece belongs, as bytes that no other parts give."""
    return "".join(f"{len(part)}:{part}" for part in parts).encode("utf-8", "surrogatepass")


class KeyRing:
    """Keys by id: the first one seals, all of them open.

    `keys` maps ids (letters, digits, `-` and `_`) to keys of 32 bytes, as `bytes` or as the base64 text that
    `KeyRing.new_key()` gives. To rotate, put a new key first and keep the old ones while anything that
    they sealed is to be read. Threads may share a ring.

    Raises:
        InvalidInput: an id or a key is not one.
        ImportError: cryptography is not installed.
    """

    def __init__(self, keys: Mapping[str, bytes | str]) -> None:
        try:
            from cryptography.exceptions import InvalidTag
        except ImportError as error:
            raise ImportError(_MISSING) from error
        self._refusals = (InvalidTag, ValueError)  # ValueError: cut short, or no base64
        if not keys:
            raise InvalidInput("A KeyRing needs a key. Write KeyRing({'2026': KeyRing.new_key()})")
        self._keys = {_checked_id(id): _checked_key(id, key) for id, key in keys.items()}
        self._ciphers = lru_cache(_SCOPES)(self._derive)

    def __repr__(self) -> str:
        return f"KeyRing of {', '.join(self._keys)}"

    @property
    def ids(self) -> tuple[str, ...]:
        """The ids of the keys, the one that seals first."""
        return tuple(self._keys)

    @classmethod
    def new_key(cls) -> str:
        """A new random key, as base64 text. Whoever has it reads everything; who lost it, nothing."""
        return b64encode(os.urandom(KEY_BYTES)).decode()

    @classmethod
    def from_env(cls, name: str = VARIABLE) -> KeyRing:
        """The ring that an environment variable holds: `ID:KEY`, or several of them with commas between.

        Raises:
            InvalidInput: it is not set, or holds something else.
        """
        text = os.environ.get(name, "")
        pairs = [part.strip().partition(":") for part in text.split(",") if part.strip()]
        if not pairs or not all(key for _, _, key in pairs):
            raise InvalidInput(
                f"{name} holds no keys. Set it to ID:KEY, KEY being what KeyRing.new_key() gives"
            )
        if len({id for id, _, _ in pairs}) < len(pairs):
            raise InvalidInput(f"{name} has two keys of one id. Give each key an id of its own")
        return cls({id: key for id, _, key in pairs})

    # -- bytes --------------------------------------------------------------------------------------

    def seal(self, data: bytes, scope: str, where: bytes) -> bytes:
        """Encrypt bytes with the first key, bound to a scope and to a place within it."""
        ciphers = self._ciphers(self.ids[0], scope)
        nonce = os.urandom(_NONCE_BYTES)
        sealed: bytes = ciphers.data.encrypt(nonce, data, ciphers.header + where)
        return ciphers.header + nonce + sealed

    def open(self, data: bytes, scope: str, where: bytes) -> bytes:
        """The bytes that were sealed for this place.

        Raises:
            PlaintextError: they were never sealed.
            UnknownKeyError: their key is not on the ring.
            DecryptionError: they were changed, sealed for another place, or with another key of this id.
        """
        id = key_id(data)
        if id not in self._keys:
            raise self._unknown(id)
        ciphers = self._ciphers(id, scope)
        start = len(ciphers.header) + _NONCE_BYTES
        try:
            opened: bytes = ciphers.data.decrypt(
                data[len(ciphers.header) : start], data[start:], ciphers.header + where
            )
        except self._refusals:
            raise _refused(id, scope) from None
        return opened

    # -- names --------------------------------------------------------------------------------------

    def hide(self, name: str, scope: str, id: str | None = None) -> str:
        """A name that only the ring can read, the same each time; with the first key unless `id` says another."""
        id = id or self.ids[0]
        sealed = self._ciphers(id, scope).names.encrypt(name.encode("utf-8", "surrogatepass"), None)
        return f"{id}.{urlsafe_b64encode(sealed).decode()}"

    def reveal(self, hidden: str, scope: str) -> str:
        """The name that was hidden. Raises as `open` does."""
        id, dot, text = hidden.partition(".")
        if not dot:
            raise _plain(f"The name {hidden!r} is")
        if id not in self._keys:
            raise self._unknown(id)
        try:
            name: bytes = self._ciphers(id, scope).names.decrypt(b64decode(text, b"-_", validate=True), None)
        except self._refusals:
            raise _refused(id, scope) from None
        return name.decode("utf-8", "surrogatepass")

    def _derive(self, id: str, scope: str) -> _Ciphers:
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM, AESSIV
        from cryptography.hazmat.primitives.hashes import SHA256
        from cryptography.hazmat.primitives.kdf.hkdf import HKDFExpand

        def key(purpose: str, length: int) -> bytes:
            return HKDFExpand(SHA256(), length, place("flowfn", purpose, scope)).derive(self._keys[id])

        header = _OPENING + bytes([len(id)]) + id.encode()
        return _Ciphers(header, AESGCM(key("data", KEY_BYTES)), AESSIV(key("names", 2 * KEY_BYTES)))

    def _unknown(self, id: str) -> UnknownKeyError:
        return UnknownKeyError(
            f"The stored bytes are encrypted with key {id!r}, and this ring has {', '.join(self._keys)}. "
            f"Put {id!r} back on the KeyRing, after the key that is to be written with"
        )


def key_id(data: bytes) -> str:
    """The id of the key that sealed some bytes. Raises `PlaintextError` if none did."""
    if data[:1] != _OPENING or len(data) < 2:
        raise _plain("The stored bytes are")
    return data[2 : 2 + data[1]].decode("ascii", "replace")


def _plain(what: str) -> PlaintextError:
    return PlaintextError(
        f"{what} not encrypted, and only what is encrypted is read here: it was stored without keys, or put "
        "there by somebody else. Read it without keys, or start a new database"
    )


def _refused(id: str, scope: str) -> DecryptionError:
    return DecryptionError(
        f"Stored bytes of {scope!r} don't open with key {id!r}: they were changed, moved there from another "
        "place, or encrypted with another key of that id. Restore them from a backup, or give the right key"
    )


def _checked_id(id: str) -> str:
    if isinstance(id, str) and _ID.fullmatch(id):
        return id
    raise InvalidInput(
        f"{id!r} is not an id of a key. Use up to 64 letters, digits, '-' and '_', such as '2026'"
    )


def _checked_key(id: str, key: bytes | str) -> bytes:
    try:
        found = b64decode(key, validate=True) if isinstance(key, str) else bytes(key)
    except (NotBase64, ValueError, TypeError):
        found = b""
    if len(found) != KEY_BYTES:
        raise InvalidInput(
            f"The key {id!r} is not {KEY_BYTES} bytes, or base64 of them. Make one with KeyRing.new_key()"
        )
    return found
