"""graph_compat has every name of the inventory, with LangGraph's signatures.

What the parameters are is read from the installed LangGraph when the test runs. Reaching for a name that's left
out on purpose says so, with the reason.

    python -m tests.compat.test_inventory        prints what graph_compat lacks
"""

import importlib
import importlib.util
import inspect
import typing
import warnings
from collections.abc import Mapping
from types import ModuleType
from typing import Any, NamedTuple

import pytest
from typing_extensions import is_typeddict

from .inventory import EVENTS, LEFT_OUT, METHODS, OWN, PUBLIC
from .loading import GRAPH_COMPAT, LANGGRAPH
from .trace import Mask, render


class Inventory(NamedTuple):
    """One library's side of the inventory."""

    library: str

    def module(self, path: str) -> ModuleType:
        return importlib.import_module(f"{self.library}.{path}")

    def has_module(self, path: str) -> bool:
        try:
            return importlib.util.find_spec(f"{self.library}.{path}") is not None
        except ModuleNotFoundError:
            return False

    def find(self, path: str) -> Any:
        """The object at `module.name`; deprecated ones without their warning."""
        module, _, name = path.rpartition(".")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)
            return getattr(self.module(module), name)


THEIRS, OURS = Inventory(LANGGRAPH), Inventory(GRAPH_COMPAT)
COMPARED = [path for path in PUBLIC if THEIRS.has_module(path)]
"""The modules of the distributions that are installed."""


def absent(path: str) -> list[str]:
    """The public names of a module that graph_compat lacks."""
    if all(f"{path}.{name}" in LEFT_OUT for name in PUBLIC[path].split()):
        return []
    if not OURS.has_module(path):
        return [path]
    return [full for full in _kept(path) if not _has(OURS, full)]


def differences(path: str) -> dict[str, tuple[str, str]]:
    """The names of a module and their methods of which the shapes differ: LangGraph's and graph_compat's."""
    found = {}
    for full in _kept(path):
        if full in OWN:
            continue
        for name in ("", *METHODS.get(full, "").split()):
            theirs, ours = (shape(library, full, name) for library in (THEIRS, OURS))
            if theirs != ours:
                found[f"{full}.{name}".rstrip(".")] = (theirs, ours)
    return found


def shape(library: Inventory, path: str, method: str = "") -> str:
    """What a caller sees of a name: its parameters with their kinds and defaults, or its fields, choices or value."""
    try:
        value = library.find(path)
        value = getattr(value, method) if method else value
    except (ImportError, AttributeError):
        return "absent"
    value = getattr(value, "__value__", value)  # of an alias
    if is_typeddict(value):
        return f"keys {sorted(value.__annotations__)}"
    if typing.get_origin(value) is typing.Annotated:
        return f"annotated {typing.get_args(value)[0].__name__}"
    if choices := typing.get_args(value):
        return Mask()(f"one of {sorted(getattr(choice, '__name__', str(choice)) for choice in choices)}")
    if isinstance(value, str | set | frozenset | tuple | Mapping):
        return render(value, Mask())
    if isinstance(value, type) and issubclass(value, BaseException):
        return f"{' < '.join(base.__name__ for base in value.__mro__)}: {_signature(value)}"
    return _signature(value)


def _signature(value: Any) -> str:
    try:
        parameters = inspect.signature(value).parameters.values()
    except (TypeError, ValueError):
        return "no signature"
    return ", ".join(map(_parameter, parameters))


def _parameter(parameter: inspect.Parameter) -> str:
    match parameter.default:
        case parameter.empty:
            default = ""
        case None | bool() | int() | float() | str() | tuple() | type():
            default = f"={render(parameter.default, Mask())}"
        case _:  # a function or a mark, which callers leave alone
            default = "=..."
    return f"{parameter.kind.description} {parameter.name}{default}"


def _kept(path: str) -> list[str]:
    return [f"{path}.{name}" for name in PUBLIC[path].split() if f"{path}.{name}" not in LEFT_OUT]


def _has(library: Inventory, path: str) -> bool:
    try:
        library.find(path)
    except (ImportError, AttributeError):
        return False
    return True


@pytest.mark.parametrize("path", COMPARED)
def test_the_inventory_is_langgraphs(path: str) -> None:
    """Every name of the inventory is in LangGraph, and every name that LangGraph declares public is in it."""
    names = set(PUBLIC[path].split())
    assert [full for name in sorted(names) if not _has(THEIRS, full := f"{path}.{name}")] == []
    assert set(getattr(THEIRS.module(path), "__all__", ())) - names == set()


@pytest.mark.parametrize("path", [path for path in METHODS if path.rpartition(".")[0] in COMPARED])
def test_the_methods_are_langgraphs(path: str) -> None:
    """Every method of the inventory is one of LangGraph's."""
    assert [name for name in METHODS[path].split() if not hasattr(THEIRS.find(path), name)] == []


@pytest.mark.parametrize("path", PUBLIC)
def test_no_name_is_absent(path: str) -> None:
    """graph_compat has LangGraph's module paths, and in each its public names."""
    assert absent(path) == []


@pytest.mark.parametrize("path", COMPARED)
def test_signatures_are_langgraphs(path: str) -> None:
    """Parameters have LangGraph's names, kinds and defaults."""
    assert differences(path) == {}


@pytest.mark.parametrize("path", LEFT_OUT)
def test_what_is_left_out_says_so(path: str) -> None:
    """Reaching for a name that's left out raises an error with the name and the reason, not one about imports."""
    name = path.rpartition(".")[2]
    with pytest.raises(NotImplementedError, match=rf"{name}.*{LEFT_OUT[path]}"):
        OURS.find(path)


def test_the_third_version_of_events_says_so() -> None:
    """Asking a graph for stream events v3 raises what reaching for their classes does."""
    builder = OURS.find("graph.StateGraph")(dict)
    builder.add_node("node", lambda state: state)
    builder.set_entry_point("node")
    with pytest.raises(NotImplementedError, match=EVENTS):
        builder.compile().stream_events({}, version="v3")


def test_a_difference_is_seen() -> None:
    """The comparison of shapes isn't blind: a default, a key, a choice and an absent name show."""
    assert shape(THEIRS, "types.Send") == (
        "positional or keyword node, positional or keyword arg, keyword-only timeout=None"
    )
    assert shape(THEIRS, "types.Durability") == "one of ['async', 'exit', 'sync']"
    assert "keys ['" in shape(THEIRS, "types.TaskPayload")
    assert shape(THEIRS, "graph.END") == "'__end__'"
    assert shape(THEIRS, "errors.EmptyInputError").startswith("EmptyInputError < Exception < BaseException")
    assert shape(THEIRS, "types.Nope") == "absent"


if __name__ == "__main__":
    for module in PUBLIC:
        for full in absent(module):
            print(f"absent: {full}")
    for module in COMPARED:
        for full, (theirs, ours) in differences(module).items():
            if ours != "absent":
                print(f"{full}\n  theirs: {theirs}\n  ours:   {ours}")
