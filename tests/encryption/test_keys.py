"""The ring: what is sealed opens at its place with its key, and nowhere else."""

import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flowfn.encryption import DecryptionError, EncryptedCache, KeyRing, PlaintextError, UnknownKeyError
from flowfn.encryption.keys import place
from flowfn.errors import CorruptDataError, InvalidInput
from flowfn.serde import DEFAULT

OLD, NEW = bytes(32), bytes(range(32))
RING = KeyRing({"new": NEW, "old": OLD})
HERE = place("write", "here")


@given(
    st.binary(max_size=300),
    st.text(max_size=5),
    st.lists(st.text(max_size=3)).map(lambda parts: place(*parts)),
)
def test_what_is_sealed_opens_at_its_place(data: bytes, scope: str, where: bytes) -> None:
    """Whatever the bytes, the scope and the place."""
    assert RING.open(RING.seal(data, scope, where), scope, where) == data


@given(st.lists(st.text(max_size=4)), st.lists(st.text(max_size=4)))
def test_places_of_other_parts_are_other_places(one: list[str], other: list[str]) -> None:
    """Joining could make ("ab", "c") and ("a", "bc") the same."""
    assert (place(*one) == place(*other)) == (one == other)


def test_the_same_bytes_are_sealed_differently_each_time() -> None:
    """Nonces are random: equal values don't show."""
    assert len({RING.seal(b"x", "s", HERE) for _ in range(100)}) == 100


def test_no_byte_may_change() -> None:
    """Of the key's id, the nonce, the text or the tag: each bit of each byte."""
    sealed = RING.seal(b"secret", "s", HERE)
    for index in range(len(sealed)):
        for bit in range(8):
            changed = bytearray(sealed)
            changed[index] ^= 1 << bit
            with pytest.raises(DecryptionError):
                RING.open(bytes(changed), "s", HERE)


def test_no_byte_may_be_missing_or_added() -> None:
    """A piece that was cut short, at every length, or grown."""
    sealed = RING.seal(b"secret", "s", HERE)
    for found in [sealed[:length] for length in range(len(sealed))] + [sealed + b"\0"]:
        with pytest.raises(DecryptionError):
            RING.open(found, "s", HERE)


@pytest.mark.parametrize(
    ("scope", "where"), [("other", HERE), ("s", place("write", "there")), ("s", b""), ("", HERE)]
)
def test_a_moved_piece_is_refused(scope: str, where: bytes) -> None:
    """Another thread, or another place in it."""
    with pytest.raises(DecryptionError, match="moved there from another place"):
        RING.open(RING.seal(b"x", "s", HERE), scope, where)


def test_the_first_key_seals_and_all_open() -> None:
    """Rotation: a new key goes in front."""
    before, after = KeyRing({"old": OLD}), KeyRing({"new": NEW, "old": OLD})
    assert after.open(before.seal(b"x", "s", HERE), "s", HERE) == b"x"
    with pytest.raises(UnknownKeyError, match=r"key 'new', and this ring has old.*Put 'new' back"):
        before.open(after.seal(b"x", "s", HERE), "s", HERE)


def test_another_key_of_the_same_id_is_refused() -> None:
    """The id is a name; the key decides."""
    with pytest.raises(DecryptionError, match="another key of that id"):
        KeyRing({"new": OLD}).open(RING.seal(b"x", "s", HERE), "s", HERE)


def test_plain_bytes_are_refused() -> None:
    """A row that somebody put there is no row."""
    for data in (b"", DEFAULT.dumps("x"), b"\xe1"):
        with pytest.raises(PlaintextError, match="not encrypted"):
            RING.open(data, "s", HERE)


def test_sealed_bytes_read_without_keys_say_so() -> None:
    """Not that they are corrupt, nor that a newer flowfn wrote them."""
    with pytest.raises(DecryptionError, match=r"encrypted with key 'new'.*EncryptedSaver.*FLOWFN_KEY"):
        DEFAULT.loads(RING.seal(b"x", "s", HERE))
    with pytest.raises(CorruptDataError):
        DEFAULT.loads(b"\xe1")


@given(st.text(max_size=40), st.text(max_size=4))
def test_hidden_names_come_back_and_are_the_same_each_time(name: str, scope: str) -> None:
    """So that a saver can look them up."""
    hidden = RING.hide(name, scope)
    assert (RING.reveal(hidden, scope), RING.hide(name, scope)) == (name, hidden)
    assert RING.hide(name, scope + "x") != hidden
    assert RING.reveal(RING.hide(name, scope, "old"), scope) == name


@pytest.mark.parametrize("change", [lambda h: h[:-1] + "x", lambda h: h + "x", lambda h: h[:8]])
def test_a_changed_name_is_refused(change: Callable[[str], str]) -> None:
    """A hidden name is authenticated: one that was changed doesn't open."""
    with pytest.raises(DecryptionError):
        RING.reveal(change(RING.hide("name", "s")), "s")


def test_a_plain_name_is_refused() -> None:
    """And one whose key is gone says which."""
    with pytest.raises(PlaintextError):
        RING.reveal("0" * 32, "s")
    with pytest.raises(UnknownKeyError, match="'gone'"):
        RING.reveal("gone.AAAA", "s")


@pytest.mark.parametrize(
    "keys",
    [
        {},
        {"": OLD},
        {"a b": OLD},
        {"a.b": OLD},
        {"x" * 65: OLD},
        {"a": b"short"},
        {"a": bytes(16)},
        {"a": "not base64!"},
        {"a": ""},
        {"a": None},
        {7: OLD},
    ],
    ids=str,
)
def test_what_is_no_key_is_refused(keys: Any) -> None:
    """Before anything is written with it."""
    with pytest.raises(InvalidInput):
        KeyRing(keys)


def test_keys_are_not_shown() -> None:
    """In logs and errors a ring is its ids."""
    key = KeyRing.new_key()
    assert repr(KeyRing({"a": key, "b": OLD})) == "KeyRing of a, b"
    with pytest.raises(InvalidInput) as caught:
        KeyRing({"a": key[:-4]})
    assert key[:-4] not in str(caught.value)


def test_new_keys_are_keys() -> None:
    """Of 32 random bytes each."""
    first, second = KeyRing.new_key(), KeyRing.new_key()
    assert first != second
    assert KeyRing({"a": first}).ids == ("a",)


def test_the_environment_holds_a_ring(monkeypatch: pytest.MonkeyPatch) -> None:
    """`ID:KEY`, with commas between; the first one seals."""
    old, new = KeyRing.new_key(), KeyRing.new_key()
    monkeypatch.setenv("FLOWFN_KEY", f"new:{new}, old:{old}")
    ring = KeyRing.from_env()
    assert ring.ids == ("new", "old")
    assert ring.open(KeyRing({"old": old}).seal(b"x", "s", HERE), "s", HERE) == b"x"


@pytest.mark.parametrize(
    "text", ["", "  ", "justakey", "a:", ":", "a:xx", "a:{key},a:{key}", "a:{key};b:{key}"]
)
def test_an_environment_without_keys_is_refused(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    """Writing plaintext because of a typing error would be the worst answer."""
    monkeypatch.setenv("FLOWFN_KEY", text.format(key=KeyRing.new_key()))
    with pytest.raises(InvalidInput):
        KeyRing.from_env()


def test_cryptography_is_needed_for_a_ring_alone() -> None:
    """Importing flowfn's encryption loads nothing; the error names the extra."""
    code = (
        "import sys; from flowfn.encryption import KeyRing\n"
        "assert 'cryptography' not in sys.modules\n"
        "sys.modules['cryptography'] = None\n"
        "try: KeyRing({'a': bytes(32)})\n"
        "except ImportError as error: assert 'flowfn-durable[encryption]' in str(error)\n"
        "else: raise SystemExit('no error')"
    )
    subprocess.run([sys.executable, "-c", code], env={"PYTHONPATH": ":".join(sys.path)}, check=True)


class Plain:
    """A cache that shows what it keeps."""

    def __init__(self) -> None:
        self.kept: dict[str, bytes] = {}

    def get(self, key: str) -> bytes | None:
        return self.kept.get(key)

    def set(self, key: str, value: bytes, ttl: float | None = None) -> None:
        self.kept[key] = value

    def clear(self, prefix: str = "") -> None:
        self.kept = {key: value for key, value in self.kept.items() if not key.startswith(prefix)}


def test_a_cache_keeps_nothing_readable_but_names() -> None:
    """Neither the value nor the digest, which anybody could compare with that of a guess."""
    inner = Plain()
    EncryptedCache(inner, RING).set("mod.fetch:0123", b"secret")
    (key,) = inner.kept
    assert key.startswith("mod.fetch:new.")
    assert "0123" not in key
    assert b"secret" not in inner.kept[key]


def test_entries_of_an_old_key_are_found() -> None:
    """And `clear` works by name."""
    inner = Plain()
    EncryptedCache(inner, KeyRing({"old": OLD})).set("mod.fetch:0123", b"kept")
    cache = EncryptedCache(inner, RING)
    assert (cache.get("mod.fetch:0123"), cache.get("mod.fetch:4567")) == (b"kept", None)
    cache.clear("mod.fetch:")
    assert cache.get("mod.fetch:0123") is None


def test_an_entry_that_was_moved_or_put_there_is_refused() -> None:
    """It would be another call's result."""
    inner = Plain()
    cache = EncryptedCache(inner, RING)
    cache.set("a:1", b"one")
    cache.set("a:2", b"two")
    first, second = inner.kept
    inner.kept[first], inner.kept[second] = inner.kept[second], b"plain"
    for key in ("a:1", "a:2"):
        with pytest.raises(DecryptionError):
            cache.get(key)
