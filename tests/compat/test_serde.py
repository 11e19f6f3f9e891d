"""The faces of `langgraph.checkpoint.serde`: what is written comes back, and so does what LangGraph wrote."""

from __future__ import annotations

import base64
import importlib.util
import json
import pickle
import sys
from array import array
from contextlib import suppress
from datetime import datetime, timedelta
from pathlib import Path
from types import ModuleType
from typing import Any
from uuid import UUID

import numpy as np
import ormsgpack
import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, HumanMessage

from checkpointers import EncryptedSaver, MemorySaver
from flowfn import entrypoint, interrupt, task
from flowfn.encryption import KeyRing
from flowfn.errors import CorruptDataError, FlowError, SerializationError, UntrustedTypeError
from flowfn.serde import DEFAULT, Serde
from flowfn.values import MISSING, Command, Interrupt, Overwrite, Send
from graph_compat.checkpoint.serde.base import (
    CipherProtocol,
    SerializerCompat,
    SerializerProtocol,
    TypedSerde,
    as_serializer,
    maybe_add_typed_methods,
)
from graph_compat.checkpoint.serde.encrypted import EncryptedSerializer
from graph_compat.checkpoint.serde.event_hooks import register_serde_event_listener
from graph_compat.checkpoint.serde.jsonplus import InvalidModuleError, JsonPlusSerializer
from graph_compat.checkpoint.serde.types import ERROR, INTERRUPT, RESUME, SCHEDULED, TASKS, SendProtocol


def _load() -> ModuleType:
    """The module of the stored values, under the name that they were stored with."""
    path = Path(__file__).parent / "stored_values.py"
    spec = importlib.util.spec_from_file_location("stored_values", path)
    assert spec is not None
    assert spec.loader is not None
    module = sys.modules["stored_values"] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


values: Any = _load()
OWN = [values.Order, values.Point, values.Shade, values.Pair]
SERDE = JsonPlusSerializer()


# -- what LangGraph wrote -----------------------------------------------------------------------------


@pytest.mark.parametrize("name", values.PLAIN)
def test_safe_values_of_langgraph_are_read(name: str) -> None:
    """Standard values, messages and documents, of the very types that they were."""
    value = values.PLAIN[name]
    actual = SERDE.loads_typed(values.stored(name))
    assert (type(actual), actual) == (type(value), value)


@pytest.mark.parametrize("name", values.NAMED)
@pytest.mark.parametrize(
    "allowed",
    [OWN, [(cls.__module__, cls.__name__) for cls in OWN], True],
    ids=["classes", "names", "loaded"],
)
def test_allowed_types_of_langgraph_are_read(name: str, allowed: Any) -> None:
    """By class, by name, or all that are loaded."""
    serde = JsonPlusSerializer(allowed_msgpack_modules=allowed)
    assert serde.loads_typed(values.stored(name)) == values.NAMED[name]


def test_a_serializer_that_allows_more_is_another_one() -> None:
    """What its original refuses is still refused there."""
    name = next(iter(values.NAMED))
    strict = JsonPlusSerializer()
    wider = strict.with_msgpack_allowlist([type(values.NAMED[name])])
    assert wider.loads_typed(values.stored(name)) == values.NAMED[name]
    with pytest.raises(UntrustedTypeError):
        strict.loads_typed(values.stored(name))


@pytest.mark.parametrize("name", values.NAMED)
@pytest.mark.parametrize(
    "options", [{}, {"allowed_msgpack_modules": None}, {"allowed_msgpack_modules": []}], ids=str
)
def test_other_types_are_refused(name: str, options: Any) -> None:
    """G5: although they are loaded; the error shows what to pass. They never come back as dicts."""
    with pytest.raises(UntrustedTypeError, match=r"allowed_msgpack_modules=\[\('stored_values'"):
        JsonPlusSerializer(**options).loads_typed(values.stored(name))


@pytest.mark.parametrize("name", values.ARRAYS)
def test_arrays_of_langgraph_are_read(name: str) -> None:
    """With dtype, shape and order; writable."""
    actual, value = SERDE.loads_typed(values.stored(name)), values.ARRAYS[name]
    assert np.array_equal(actual, value)
    assert (actual.dtype, actual.flags.fnc, actual.flags.writeable) == (value.dtype, value.flags.fnc, True)


def test_langgraphs_own_types_become_flowfns() -> None:
    """`Command(resume=None)` is one without an answer."""
    found = {
        name: SERDE.loads_typed(values.stored(name))
        for name in ("send", "command", "update", "interrupt", "overwrite", "tuple", "error")
    }
    assert found == {
        "send": Send("n", {"a": 1}),
        "command": Command(resume=1, goto=("x",), update={"a": 1}),
        "update": Command(update={"a": 1}),
        "interrupt": Interrupt("v", "i"),
        "overwrite": Overwrite([1]),
        "tuple": [1, [2]],  # LangGraph has forgotten that
        "error": "ValueError('x')",
    }
    assert found["update"].resume is MISSING


def foreign(code: int, *parts: Any) -> tuple[str, bytes]:
    """What LangGraph would write for an extension."""
    return "msgpack", ormsgpack.packb(ormsgpack.Ext(code, ormsgpack.packb(list(parts))))


@pytest.mark.parametrize("allowed", [None, True], ids=["safe", "loaded"])
@pytest.mark.parametrize("code", range(6))
@pytest.mark.parametrize(
    ("module", "name"),
    [
        ("os", "system"),
        ("builtins", "eval"),
        ("subprocess", "Popen"),
        ("builtins", "open"),
        ("not_there", "X"),
    ],
)
def test_functions_and_foreign_classes_are_never_called(
    allowed: Any, code: int, module: str, name: str
) -> None:
    """CVE-2026-28277: LangGraph imports and calls what the row names."""
    with pytest.raises(UntrustedTypeError):
        JsonPlusSerializer(allowed_msgpack_modules=allowed).loads_typed(
            foreign(code, module, name, {}, "call")
        )
    assert "not_there" not in sys.modules


def test_methods_are_those_that_langgraph_writes() -> None:
    """A method of a safe class may do anything: `datetime.fromisoformat` is the one that is stored."""
    with pytest.raises(UntrustedTypeError, match=r"calls pathlib\.Path\.unlink"):
        SERDE.loads_typed(foreign(3, "pathlib", "Path", "/tmp/x", "unlink"))


def test_a_zone_that_is_a_path_is_refused() -> None:
    """A zone's name leads to a file."""
    with pytest.raises(CorruptDataError):
        SERDE.loads_typed(foreign(0, "zoneinfo", "ZoneInfo", "../../etc/passwd"))


def test_objects_in_objects_end_somewhere() -> None:
    """Neither a crash nor a RecursionError."""
    data = ormsgpack.packb(1)
    for depth in range(2_000):
        inner = ormsgpack.packb(["builtins", "frozenset", [ormsgpack.Fragment(data)]])
        data = ormsgpack.packb(ormsgpack.Ext(0, inner))
        if depth == 50:
            assert SERDE.loads_typed(("msgpack", data))
    with pytest.raises(CorruptDataError, match="nested deeper than 100"):
        SERDE.loads_typed(("msgpack", data))


@pytest.mark.parametrize("found", [[1, 0x7F], [[1], 0x7F], [None, 0x7F]])
def test_a_list_of_two_that_looks_like_a_stored_value_is_read_as_langgraphs(found: Any) -> None:
    """What stands beside LangGraph's bytes under the same tag is told from them by its first byte."""
    assert SERDE.loads_typed(("msgpack", ormsgpack.packb(found))) == found
    assert SERDE.loads_typed(SERDE.dumps_typed(found)) == found


def test_a_snapshot_of_a_delta_channel_says_so() -> None:
    """What isn't read yet is refused by name."""
    with pytest.raises(CorruptDataError, match="DeltaChannel"):
        SERDE.loads_typed(foreign(7, [1]))


documents = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 2**40) | st.text(max_size=5) | st.binary(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=5)
        | st.dictionaries(st.text(max_size=3), inner, max_size=3)
        | st.tuples(
            st.integers(0, 9),
            st.sampled_from(
                ["builtins set", "datetime timedelta", "re compile", "langgraph.types Send", "uuid UUID"]
            ),
            inner,
        ).map(lambda found: ormsgpack.Ext(found[0], ormsgpack.packb([*found[1].split(), found[2]])))
    ),
    max_leaves=8,
)


@given(documents)
def test_any_msgpack_gives_a_value_or_an_error_of_flowfn(document: Any) -> None:
    """G5, section 6.6: whatever the codes and arguments."""
    with suppress(FlowError):
        SERDE.loads_typed(("msgpack", ormsgpack.packb(document)))


@given(st.sampled_from(list(values.PLAIN)), st.data())
def test_changed_bytes_give_a_value_or_an_error_of_flowfn(name: str, data: Any) -> None:
    """Of what LangGraph wrote, with some bytes changed."""
    tag, stored = values.stored(name)
    if tag != "msgpack":
        return
    changed = bytearray(stored)
    for place in data.draw(st.lists(st.integers(0, len(changed) - 1), min_size=1, max_size=3)):
        changed[place] = data.draw(st.integers(0, 255))
    with suppress(FlowError):
        SERDE.loads_typed(("msgpack", bytes(changed)))


# -- JSON of older versions ---------------------------------------------------------------------------


def lc(*id: str, **kwargs: Any) -> tuple[str, bytes]:
    return "json", json.dumps(
        {"v": {"lc": 1, "type": "constructor", "id": list(id), "kwargs": kwargs}}
    ).encode()


def test_messages_in_json_are_read() -> None:
    """LangChain names them by paths of its own."""
    stored = lc("langchain", "schema", "messages", "HumanMessage", content="hi", type="human")
    assert SERDE.loads_typed(stored) == {"v": HumanMessage("hi")}
    assert SERDE.loads_typed(("json", b'{"lc": 5, "a": [1]}')) == {"lc": 5, "a": [1]}


@pytest.mark.parametrize(
    ("id", "method", "args", "value"),
    [
        ("uuid UUID", None, [str(UUID(int=5))], UUID(int=5)),
        ("builtins set", None, [[1]], {1}),
        ("datetime timedelta", None, [1, 2, 3], timedelta(1, 2, 3)),
        ("datetime datetime", "fromisoformat", ["2024-05-04T06:32:42"], datetime(2024, 5, 4, 6, 32, 42)),
        ("langgraph types Send", None, ["n", 1], Send("n", 1)),
        ("langchain_core messages human HumanMessage", [None, "model_construct"], ["hi"], HumanMessage("hi")),
    ],
)
def test_standard_values_in_json_are_read(id: str, method: Any, args: list[Any], value: Any) -> None:
    """As those in msgpack are, without leave: G5."""
    named = {"lc": 2, "type": "constructor", "id": id.split(), "method": method, "args": args}
    assert SERDE.loads_typed(("json", json.dumps([named]).encode())) == [value]


def test_constructors_in_json_have_to_be_allowed() -> None:
    """By the parts of their name."""
    stored = lc("stored_values", "Point", x=1)
    with pytest.raises(InvalidModuleError, match="Refused to deserialize JSON constructor"):
        SERDE.loads_typed(stored)
    for allowed in ([("stored_values", "Point")], True):
        serde = JsonPlusSerializer(allowed_json_modules=allowed)  # type: ignore[arg-type]
        assert serde.loads_typed(stored) == {"v": values.Point(1)}
    with pytest.raises(InvalidModuleError):
        SERDE.loads_typed(lc("os", "system", command="true"))


def test_broken_json_is_corrupt() -> None:
    """Also where a constructor doesn't take what is there."""
    for data in (
        *(b"{", b"\xff", b"[" * 100_000, lc("langchain", "messages", "HumanMessage")[1]),
        lc("decimal", "Decimal", value="no number")[1],
    ):
        with pytest.raises((CorruptDataError, InvalidModuleError)):
            SERDE.loads_typed(("json", data))


# -- what is written here -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "tag"),
    [
        (None, "null"),
        (b"b", "bytes"),
        (bytearray(b"b"), "bytearray"),
        (1, "msgpack"),
        ((1, (2, {3})), "msgpack"),
        ({"m": [AIMessage("a")], "p": values.Point(1, values.Shade.DARK)}, "msgpack"),
        (2**100, "msgpack"),
        ("\ud800", "msgpack"),
        (Command(resume=1), "msgpack"),
    ],
    ids=str,
)
def test_values_come_back_as_they_were(value: Any, tag: str) -> None:
    """Under LangGraph's tags; also what its own serializer changes or refuses."""
    stored = SERDE.dumps_typed(value)
    actual = SERDE.loads_typed(stored)
    assert (stored[0], type(actual), actual) == (tag, type(value), value)


def test_what_cannot_be_stored_is_a_type_error() -> None:
    """As in LangGraph; it is flowfn's, with the place."""
    with pytest.raises(TypeError) as caught:
        SERDE.dumps_typed({"f": [len]})
    assert isinstance(caught.value, SerializationError)
    assert caught.value.path == '["f"][0]'


def test_pickle_needs_the_fallback_and_the_class() -> None:
    """It is never unrestricted."""
    serde = JsonPlusSerializer(pickle_fallback=True, allowed_msgpack_modules=[array])
    with pytest.raises(SerializationError, match="_array_reconstructor"):
        serde.dumps_typed([array("i", [1])])
    stored = ("pickle", pickle.dumps(values.Point(1)))
    assert JsonPlusSerializer(pickle_fallback=True, allowed_msgpack_modules=OWN).loads_typed(
        stored
    ) == values.Point(1)
    with pytest.raises(UntrustedTypeError):
        JsonPlusSerializer(pickle_fallback=True).loads_typed(stored)
    with pytest.raises(NotImplementedError, match="Unknown serialization type: pickle"):
        SERDE.loads_typed(stored)


def test_a_hook_reads_extensions_in_its_own_way() -> None:
    """LangGraph's parameter for that."""
    serde = JsonPlusSerializer(__unpack_ext_hook__=lambda code, data: (code, len(data)))
    assert serde.loads_typed(foreign(0, "a", "B")) == (0, 5)


def test_listeners_hear_of_what_was_refused() -> None:
    """Until they unregister; one that raises stops nobody."""
    heard: list[Any] = []

    def broken(event: Any) -> None:
        raise RuntimeError

    ends = [register_serde_event_listener(listener) for listener in (broken, heard.append)]
    for _ in range(2):
        with pytest.raises(UntrustedTypeError):
            SERDE.loads_typed(foreign(0, "os", "system", "true"))
        for end in ends:
            end()
    assert heard == [{"kind": "msgpack_blocked", "module": "os", "name": "system"}]


# -- encryption ---------------------------------------------------------------------------------------


def test_langgraphs_encrypted_values_are_read() -> None:
    """AES-EAX by pycryptodome: nonce, tag, text."""
    serde = EncryptedSerializer.from_pycryptodome_aes(key=b"k" * 16)
    assert serde.loads_typed(values.stored("encrypted")) == {"a": [1]}
    tag, data = serde.dumps_typed({"a": (1,)})
    assert (tag, serde.loads_typed((tag, data))) == ("msgpack+aes", {"a": (1,)})
    assert serde.loads_typed(SERDE.dumps_typed("plain")) == "plain"


def test_changed_or_foreign_bytes_do_not_open() -> None:
    """Each byte; another key; another cipher."""
    serde = EncryptedSerializer.from_pycryptodome_aes(key=b"k" * 32)
    tag, data = serde.dumps_typed("secret")
    assert b"secret" not in data
    for index in range(len(data)):
        changed = data[:index] + bytes([data[index] ^ 1]) + data[index + 1 :]
        with pytest.raises(ValueError, match="MAC"):
            serde.loads_typed((tag, changed))
    with pytest.raises(ValueError, match="MAC"):
        EncryptedSerializer.from_pycryptodome_aes(key=b"x" * 32).loads_typed((tag, data))
    with pytest.raises(ValueError, match="Unsupported cipher"):
        serde.loads_typed(("msgpack+rot13", data))


def test_the_key_comes_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """With LangGraph's words where there is none."""
    monkeypatch.delenv("LANGGRAPH_AES_KEY", raising=False)
    with pytest.raises(ValueError, match="LANGGRAPH_AES_KEY environment variable is not set"):
        EncryptedSerializer.from_pycryptodome_aes()
    monkeypatch.setenv("LANGGRAPH_AES_KEY", "short")
    with pytest.raises(ValueError, match="must be 16, 24, or 32 bytes long"):
        EncryptedSerializer.from_pycryptodome_aes()
    monkeypatch.setenv("LANGGRAPH_AES_KEY", "k" * 16)
    assert EncryptedSerializer.from_pycryptodome_aes().loads_typed(values.stored("encrypted")) == {"a": [1]}


class Reverse:
    """A cipher of a user's own."""

    def encrypt(self, plaintext: bytes) -> tuple[str, bytes]:
        return "reverse", plaintext[::-1]

    def decrypt(self, ciphername: str, ciphertext: bytes) -> bytes:
        assert ciphername == "reverse"
        return ciphertext[::-1]


class Json:
    """A serializer of a user's own, without tags."""

    def dumps(self, obj: Any) -> bytes:
        return base64.b64encode(DEFAULT.dumps(obj))

    def loads(self, data: bytes) -> Any:
        return DEFAULT.loads(base64.b64decode(data))


def test_the_protocols_are_what_they_say() -> None:
    """Checked by the methods that are there."""
    assert isinstance(Reverse(), CipherProtocol)
    assert isinstance(SERDE, SerializerProtocol)
    assert not isinstance(Json(), SerializerProtocol)
    assert isinstance(Send("n", 1), SendProtocol)
    assert maybe_add_typed_methods(SERDE) is SERDE
    assert (ERROR, SCHEDULED, INTERRUPT, RESUME, TASKS) == (
        "__error__", "__scheduled__", "__interrupt__", "__resume__", "__pregel_tasks",
    )  # fmt: skip


def test_a_serializer_without_tags_gets_them() -> None:
    """The tag is the name of the value's class."""
    typed = maybe_add_typed_methods(Json())
    assert isinstance(typed, SerializerCompat)
    tag, data = typed.dumps_typed({"a": 1})
    assert (tag, typed.loads_typed((tag, data))) == ("dict", {"a": 1})


@pytest.mark.parametrize(
    "serde",
    [SERDE, EncryptedSerializer(Reverse()), EncryptedSerializer.from_pycryptodome_aes(key=b"k" * 16), Json()],
    ids=lambda serde: type(serde).__name__,
)
@pytest.mark.parametrize("encrypted", [False, True])
def test_a_serializer_of_langgraphs_kind_serves_a_saver(serde: Any, encrypted: bool) -> None:
    """Results, questions and answers go through it; flowfn's encryption may lie around it."""
    saver: Any = MemorySaver(serde=as_serializer(serde))
    if encrypted:
        saver = EncryptedSaver(saver, KeyRing({"k": bytes(32)}))

    @task
    def double(number: int) -> tuple[int, str]:
        return number * 2, "secret"

    @entrypoint(checkpointer=saver)
    def flow(number: int) -> Any:
        return double(number).result(), interrupt({"ok?": number})

    assert flow.invoke(4, thread_id="t")["__interrupt__"][0].value == {"ok?": 4}
    assert flow.invoke(Command(resume="yes"), thread_id="t") == ((8, "secret"), "yes")
    if isinstance(serde, EncryptedSerializer):
        kept = [row.value for loaded in saver.history("t") for row in loaded.writes]
        assert kept
        assert not any(b"secret" in value for value in kept)


def test_what_was_stored_before_a_tag_is_read_after() -> None:
    """A database goes on when a serializer with tags is put in."""
    assert TypedSerde(SERDE).loads(DEFAULT.dumps((1,))) == (1,)
    with pytest.raises(CorruptDataError, match="serializer of LangGraph's kind"):
        Serde().loads(TypedSerde(SERDE).dumps(1))
    for cut in (b"T", b"T\x09msg"):
        with pytest.raises(CorruptDataError):
            TypedSerde(SERDE).loads(cut)
