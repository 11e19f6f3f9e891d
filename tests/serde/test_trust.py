"""G5: restoring imports nothing and calls nothing that the data names."""

import subprocess
import sys
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from types import ModuleType
from typing import Any, Generic, TypeVar

import ormsgpack
import pydantic
import pytest

from flowfn.serde import DEFAULT, Serde, SerializationError, UntrustedTypeError
from flowfn.serde.format import Kind, Leaf

PARTS = {Kind.ENUM: 1, Kind.DATACLASS: 1, Kind.NAMEDTUPLE: 1, Kind.PYDANTIC: 4, Kind.OBJECT: 2}


def forged(kind: Kind, *parts: Any) -> bytes:
    """The bytes of a composite that `dumps` would never write."""
    opening = ormsgpack.Ext(int(Leaf.MARK), bytes([kind]))
    return b"\x01" + ormsgpack.packb([opening, *parts])


T = TypeVar("T")


class Page(pydantic.BaseModel, Generic[T]):
    items: list[T]


@dataclass
class Known:
    a: int


class Unregistered:
    pass


class Shade(Enum):
    DARK = 1


def test_a_module_that_data_names_is_never_imported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A module on the path whose import leaves a mark stays unimported."""
    flag = tmp_path / "imported"
    (tmp_path / "planted_module.py").write_text(
        f"open({str(flag)!r}, 'w').close()\n"
        "from dataclasses import dataclass\n"
        "@dataclass\nclass Evil:\n    a: int\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    with pytest.raises(UntrustedTypeError, match="planted_module:Evil"):
        DEFAULT.loads(forged(Kind.DATACLASS, "planted_module:Evil", {"a": 1}))
    assert (flag.exists(), "planted_module" in sys.modules) == (False, False)


def test_the_getattr_of_a_module_is_not_called(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lazy modules import on attribute access."""
    asked: list[str] = []
    module = ModuleType("lazy_module")
    module.__getattr__ = asked.append  # type: ignore[method-assign,assignment]
    monkeypatch.setitem(sys.modules, "lazy_module", module)
    with pytest.raises(UntrustedTypeError):
        DEFAULT.loads(forged(Kind.DATACLASS, "lazy_module:Thing.Inner", {}))
    assert asked == []


@pytest.mark.parametrize("kind", PARTS)
@pytest.mark.parametrize(
    "name",
    [
        "subprocess:Popen",
        "os:system",
        "builtins:eval",
        "os:path.join",
        "",
        ":",
        "x",
        "sys:modules.os",
        7,
        None,
    ],
)
def test_what_is_loaded_but_not_of_the_kind_is_untrusted(kind: Kind, name: Any) -> None:
    """Functions, modules and classes without a storable kind are never touched."""
    with pytest.raises(UntrustedTypeError, match="which is not allowed here"):
        DEFAULT.loads(forged(kind, name, *[{}] * PARTS[kind]))


def test_a_plain_class_needs_registration_although_it_is_loaded() -> None:
    """Only kinds that hold plain state are accepted by name."""
    data = forged(Kind.OBJECT, f"{__name__}:Unregistered", None, {"a": 1})
    with pytest.raises(UntrustedTypeError, match=r"flowfn\.serde\.allow\(Unregistered\)"):
        DEFAULT.loads(data)
    assert Serde().allow(Unregistered).loads(data).a == 1


def test_an_imported_name_is_not_the_definition() -> None:
    """A class is found where it is defined, not in each module that imports it."""
    with pytest.raises(UntrustedTypeError):
        DEFAULT.loads(forged(Kind.DATACLASS, "flowfn.ports:dataclass", {}))


def test_a_renamed_class_is_restored_under_its_old_name() -> None:
    """The remedy that the error offers."""
    data = forged(Kind.DATACLASS, "old.module:OldName", {"a": 1})
    with pytest.raises(UntrustedTypeError, match=r"allow\(NewName, as_='old\.module:OldName'\)"):
        Serde().loads(data)
    assert Serde().allow(Known, as_="old.module:OldName").loads(data) == Known(1)


def test_a_class_that_its_module_no_longer_has_is_said_to_be_gone() -> None:
    """The module is imported already, so that importing it is no way out: the class went, or has another name."""
    stored = Serde().dumps(Known(1)).replace(b":Known", b":Knowm")
    with pytest.raises(UntrustedTypeError, match=r"is imported, and has no such class\. Put it back"):
        Serde().loads(stored)


def test_a_refused_type_inside_a_value_is_not_turned_into_a_dict() -> None:
    """G5: an unknown type raises, wherever it is."""
    data = DEFAULT.dumps({"rows": [Known(1)]}).replace(b":Known", b":Knowm")
    with pytest.raises(UntrustedTypeError, match=":Knowm"):
        DEFAULT.loads(data)


def test_registering_anything_but_one_class_per_name_is_an_error() -> None:
    """The message shows what to write."""
    with pytest.raises(TypeError, match=r"allow\(Known\)"):
        Serde().allow(Known(1))  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="once per class"):
        Serde().allow(Known, Shade, as_="a:B")
    with pytest.raises(ValueError, match="module:QualifiedName"):
        Serde().allow(Known, as_="Known")


SCRIPT = """
import sys
from dataclasses import dataclass
from pathlib import Path
from flowfn.serde import DEFAULT

@dataclass
class Job:
    n: int

if __name__ == "__main__" and sys.argv[1] == "write":
    Path(sys.argv[2]).write_bytes(DEFAULT.dumps(Job(3)))
elif __name__ == "__main__":
    assert DEFAULT.loads(Path(sys.argv[2]).read_bytes()) == Job(3)
"""


def test_a_scripts_own_classes_are_found_when_it_runs_again_or_is_imported(tmp_path: Path) -> None:
    """Section 4: `__main__` is resolved to the script's own module name."""
    script, data = tmp_path / "my_script.py", tmp_path / "data"
    script.write_text(SCRIPT)
    env = {"PYTHONPATH": ":".join([str(tmp_path), *sys.path])}
    for code in (
        [str(script), "write", str(data)],
        [str(script), "read", str(data)],
        ["-m", "my_script", "read", str(data)],
        [
            "-c",
            "import sys, my_script; from flowfn.serde import DEFAULT;"
            "assert DEFAULT.loads(open(sys.argv[1], 'rb').read()) == my_script.Job(3)",
            str(data),
        ],
    ):
        subprocess.run([sys.executable, "-W", "ignore", *code], env=env, check=True)


def test_bytes_that_stay_here_may_be_of_a_local_class() -> None:
    """A serializer whose bytes never leave the process restores instances of a class made inside a function."""

    @dataclass
    class Point:
        x: int

    serde = Serde(stays_here=True)
    assert serde.loads(serde.dumps([Point(1)])) == [Point(1)]


def test_bytes_that_stay_here_may_be_of_a_model_that_was_given_its_types() -> None:
    """Elsewhere the class would not be found: pydantic makes it when code asks for it."""
    serde = Serde(stays_here=True)
    page = Page[int](items=[1])
    actual = serde.loads(serde.dumps(page))
    assert (type(actual), actual) == (Page[int], page)


def test_two_local_classes_of_a_name_are_told_apart() -> None:
    """The second is refused, as the bytes couldn't say which of them they mean."""

    def make() -> Any:
        @dataclass
        class Point:
            x: int

        return Point(1)

    serde = Serde(stays_here=True)
    serde.dumps(make())
    with pytest.raises(SerializationError, match="made inside a function"):
        serde.dumps(make())
