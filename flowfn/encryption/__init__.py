"""Encryption of what is stored: AES-256-GCM, with a ring of keys.

Rule: every sealed piece is bound to its place. `EncryptedSaver` (in `checkpointers`) and `EncryptedCache`
know the places; `KeyRing` knows the keys; neither writes anything readable next to what it sealed but
what `docs/how-to/encryption.md` lists.
"""

from flowfn.encryption.cache import EncryptedCache
from flowfn.encryption.keys import KeyRing
from flowfn.errors import DecryptionError, PlaintextError, UnknownKeyError

__all__ = ["DecryptionError", "EncryptedCache", "KeyRing", "PlaintextError", "UnknownKeyError"]
