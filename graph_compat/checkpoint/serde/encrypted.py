"""LangGraph's `langgraph.checkpoint.serde.encrypted`: values encrypted, one by one.

The price, against `checkpointers.EncryptedSaver`: a value isn't bound to its place, so that who can write to
the database can move it; metadata, inline values and rows from before are plain, and are read as such.
"""

from __future__ import annotations

import os
from typing import Any

from graph_compat.checkpoint.serde.base import CipherProtocol, SerializerProtocol
from graph_compat.checkpoint.serde.jsonplus import JsonPlusSerializer

VARIABLE = "LANGGRAPH_AES_KEY"

_KEY_BYTES = (16, 24, 32)
_NONCE_BYTES = _TAG_BYTES = 16


class EncryptedSerializer:
    """Encrypts what another serializer gives; its tag gets a `+` and the cipher's name.

    Bytes whose tag has no `+` were stored before, and are read as they are.
    """

    def __init__(self, cipher: CipherProtocol, serde: SerializerProtocol | None = None) -> None:
        self.cipher = cipher
        self.serde = JsonPlusSerializer() if serde is None else serde

    def dumps_typed(self, obj: Any) -> tuple[str, bytes]:
        """The tag and the encrypted bytes of a value."""
        tag, data = self.serde.dumps_typed(obj)
        name, encrypted = self.cipher.encrypt(data)
        return f"{tag}+{name}", encrypted

    def loads_typed(self, data: tuple[str, bytes]) -> Any:
        """The value of a tag and encrypted bytes; raises what the cipher and the serializer raise."""
        tag, stored = data
        if "+" not in tag:
            return self.serde.loads_typed(data)
        inner, _, name = tag.partition("+")
        return self.serde.loads_typed((inner, self.cipher.decrypt(name, stored)))

    @classmethod
    def from_pycryptodome_aes(
        cls, serde: SerializerProtocol | None = None, **kwargs: Any
    ) -> EncryptedSerializer:
        """AES in EAX mode, by the package pycryptodome, as LangGraph has it.

        The key is `key=`, 16, 24 or 32 bytes, or the text of the environment variable `LANGGRAPH_AES_KEY`. What
        else is given goes to `AES.new`.

        Raises:
            ImportError: pycryptodome is not installed.
            ValueError: there is no key, or it has another length.
        """
        try:
            from Crypto.Cipher import AES
        except ImportError as error:
            raise ImportError("from_pycryptodome_aes needs pycryptodome: pip install pycryptodome") from error
        key = kwargs.pop("key", None) or _key_of_environment()
        if len(key) not in _KEY_BYTES:
            raise ValueError(f"The key has {len(key)} bytes. Pass one of 16, 24 or 32")
        return cls(_Aes(AES, key, {"mode": AES.MODE_EAX, **kwargs}), serde)


def _key_of_environment() -> bytes:
    text = os.environ.get(VARIABLE)
    if text is None:
        raise ValueError(f"{VARIABLE} environment variable is not set.")
    key = text.encode()
    if len(key) not in _KEY_BYTES:
        raise ValueError(f"{VARIABLE} must be 16, 24, or 32 bytes long.")
    return key


class _Aes:
    """Nonce, tag and text, one after the other; the nonce is 16 random bytes."""

    def __init__(self, aes: Any, key: bytes, options: dict[str, Any]) -> None:
        self._aes = aes
        self._key = key
        self._options = options

    def encrypt(self, plaintext: bytes) -> tuple[str, bytes]:
        cipher = self._aes.new(self._key, nonce=os.urandom(_NONCE_BYTES), **self._options)
        text, tag = cipher.encrypt_and_digest(plaintext)
        return "aes", cipher.nonce + tag + text

    def decrypt(self, ciphername: str, ciphertext: bytes) -> bytes:
        if ciphername != "aes":
            raise ValueError(f"Unsupported cipher: {ciphername!r}. Read it with the serializer that wrote it")
        start = _NONCE_BYTES + _TAG_BYTES
        nonce, tag = ciphertext[:_NONCE_BYTES], ciphertext[_NONCE_BYTES:start]
        cipher = self._aes.new(self._key, nonce=nonce, **self._options)
        opened: bytes = cipher.decrypt_and_verify(ciphertext[start:], tag)
        return opened
