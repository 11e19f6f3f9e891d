"""PickleSerde: what the default serializer refuses, of types that were named, and nothing else."""

import os
import pickle
import re
from array import array
from typing import Any

import pytest

from checkpointers import MemorySaver
from flowfn import entrypoint, task
from flowfn.serde import DEFAULT, CorruptDataError, PickleSerde, SerializationError, UntrustedTypeError

CALLS: list[str] = []


class Plain:
    def __init__(self, number: int) -> None:
        self.number = number

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Plain) and self.number == other.number

    __hash__ = None  # type: ignore[assignment]


class Evil:
    def __reduce__(self) -> Any:
        return (CALLS.append, ("called",))


class System:
    def __reduce__(self) -> Any:
        return (os.system, ("true",))


def test_what_the_default_stores_is_not_pickled() -> None:
    """Digests, exceptions and the engine's own records stay what they are."""
    for value in ({"a": (1, {2})}, ValueError("x"), None):
        assert PickleSerde().dumps(value) == DEFAULT.dumps(value)


def test_allowed_types_come_back() -> None:
    """Inside of plain containers too."""
    serde = PickleSerde(allow=[Plain])
    value = {"rows": [Plain(1), {2}, (Plain(3),)]}
    assert serde.loads(serde.dumps(value)) == value


def test_a_function_that_rebuilds_may_be_allowed() -> None:
    """`array` is rebuilt by a function of its module."""
    from array import _array_reconstructor  # type: ignore[attr-defined]

    serde = PickleSerde(allow=[array, _array_reconstructor])
    assert serde.loads(serde.dumps([array("i", [1, 2])])) == [array("i", [1, 2])]


def test_what_could_not_be_read_again_is_not_written() -> None:
    """The error has the default serializer's place and reason, and what to allow."""
    with pytest.raises(
        SerializationError, match=r"value\[0\] is of type .*Plain.*PickleSerde\(allow=\[Plain"
    ) as caught:
        PickleSerde().dumps([Plain(1)])
    assert caught.value.path == "[0]"


@pytest.mark.parametrize(
    "value", [Evil(), System(), Plain(1), len, eval], ids=lambda value: type(value).__name__
)
def test_what_is_not_allowed_is_neither_imported_nor_called(value: Any) -> None:
    """G5: a pickle that names anything else is refused by that name."""
    with pytest.raises(UntrustedTypeError, match="nothing was imported or called"):
        PickleSerde(allow=[re.Pattern]).loads(b"P" + pickle.dumps(value))
    assert CALLS == []


def test_a_module_that_a_pickle_names_is_not_imported() -> None:
    """Not even to look whether the class is there."""
    with pytest.raises(UntrustedTypeError, match=r"not_there\.Thing"):
        PickleSerde().loads(b"Pcnot_there\nThing\n.")


@pytest.mark.parametrize(
    "name", ["Plain.__init__.__globals__", "Plain.__init__", "Plain.__subclasses__", "os.system"]
)
def test_a_dotted_name_does_not_lead_past_the_list(name: str) -> None:
    """An allowed class's attributes are not allowed with it."""
    module, dotted = __name__.encode(), name.encode()
    forged = [
        b"P\x80\x04\x8c%c%b\x8c%c%b\x93." % (len(module), module, len(asked), asked)
        for asked in (b"Plain", dotted)
    ]
    serde = PickleSerde(allow=[Plain])
    assert serde.loads(forged[0]) is Plain
    with pytest.raises(UntrustedTypeError):
        serde.loads(forged[1])


def test_bytes_that_are_no_pickle_are_corrupt() -> None:
    """Cut short, changed, or with a reference to outside."""
    data = PickleSerde(allow=[Plain]).dumps(Plain(1))
    for broken in (b"P", data[:-1], b"Pxx", b"PK\x05Q."):
        with pytest.raises(CorruptDataError):
            PickleSerde(allow=[Plain]).loads(broken)


def test_the_default_serializer_says_what_a_pickle_is() -> None:
    """Whoever takes PickleSerde away learns what to put back."""
    with pytest.raises(CorruptDataError, match=r"PickleSerde\(allow=\[\.\.\.\]\)"):
        DEFAULT.loads(PickleSerde(allow=[Plain]).dumps(Plain(1)))


def test_what_is_no_class_is_refused() -> None:
    """When it is made, not when it is read."""
    with pytest.raises(TypeError, match="classes and functions"):
        PickleSerde(allow=["Plain"])


def test_a_workflow_stores_with_it() -> None:
    """Recorded results come from the saver's serializer."""
    ran = []

    @task
    def make(number: int) -> Plain:
        ran.append(number)
        return Plain(number)

    @entrypoint(checkpointer=MemorySaver(serde=PickleSerde(allow=[Plain])))
    def flow(number: int) -> Plain:
        return make(number).result()

    assert flow.invoke(3, thread_id="t") == Plain(3)
    assert flow.get_state(thread_id="t").values == Plain(3)
