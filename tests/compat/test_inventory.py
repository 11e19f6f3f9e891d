"""graph_compat has every name of the inventory, and takes every call that LangGraph's signatures take.

What the parameters are is read from the installed LangGraph when the test runs; graph_compat's may have more, which
callers may leave out. Reaching for a name that's left out on purpose says so, with the reason.

    python -m tests.compat.test_inventory        prints what graph_compat lacks
"""

import importlib
import importlib.util
import inspect
import typing
import warnings
from collections.abc import Callable, Iterable, Mapping
from types import ModuleType
from typing import Any, NamedTuple

import pytest
from typing_extensions import is_typeddict

from .inventory import BASES, DIFFERENT, LEFT_OUT, METHODS, OWN, PUBLIC, SERVER
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
VAR = inspect.Parameter.VAR_KEYWORD
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
            if f"{full}.{name}".rstrip(".") in DIFFERENT:
                continue
            if theirs != ours and not _takes_as_much(full, name):
                found[f"{full}.{name}".rstrip(".")] = (theirs, ours)
    return found


def _takes_as_much(path: str, method: str) -> bool:
    """Whether graph_compat's side takes what LangGraph's does: the same parameters, or keys, and perhaps more."""
    try:
        theirs, ours = (library.find(path) for library in (THEIRS, OURS))
        theirs, ours = (getattr(value, method) if method else value for value in (theirs, ours))
    except (ImportError, AttributeError):
        return False
    if is_typeddict(theirs):
        return is_typeddict(ours) and theirs.__annotations__.keys() <= ours.__annotations__.keys()
    if choices := typing.get_args(theirs):
        return _names(choices) <= _names(typing.get_args(ours))
    if path in BASES:
        assert not issubclass(ours, Exception), f"take {path} out of BASES"
    elif isinstance(theirs, type) and issubclass(theirs, BaseException):
        names = {base.__name__ for base in ours.__mro__}
        if not {base.__name__ for base in theirs.__mro__} <= names:
            return False
    return takes(theirs, ours)


def _names(choices: Iterable[Any]) -> set[str]:
    return {getattr(choice, "__name__", str(choice)) for choice in choices}


def takes(theirs: Callable[..., Any], ours: Callable[..., Any]) -> bool:
    """Whether every call that fits one signature fits the other."""
    try:
        wanted, given = (inspect.signature(value).parameters for value in (theirs, ours))
    except (TypeError, ValueError):
        return _signature(theirs) == _signature(ours)
    rest = {p.kind for p in given.values()}
    for parameter in wanted.values():
        if parameter.kind in (parameter.VAR_KEYWORD, parameter.VAR_POSITIONAL):
            if parameter.kind not in rest:
                return False
        elif parameter.name not in given and parameter.kind == parameter.KEYWORD_ONLY and VAR in rest:
            continue
        elif parameter.name not in given or not _stands_for(parameter, given[parameter.name]):
            return False
    positional = [[name for name, p in side.items() if _is_positional(p)] for side in (wanted, given)]
    more = [p for name, p in given.items() if name not in wanted]
    return positional[1][: len(positional[0])] == positional[0] and all(
        p.default is not p.empty or p.kind in (p.VAR_KEYWORD, p.VAR_POSITIONAL) for p in more
    )


def _stands_for(theirs: inspect.Parameter, ours: inspect.Parameter) -> bool:
    if _is_positional(theirs) and not _is_positional(ours):
        return False
    if theirs.default is theirs.empty:
        return True
    defaults = [_parameter(p).partition("=")[2] for p in (theirs, ours)]
    return defaults[1] in ("...", defaults[0]) or defaults == ["...", "None"]


def _is_positional(parameter: inspect.Parameter) -> bool:
    return parameter.kind in (parameter.POSITIONAL_OR_KEYWORD, parameter.POSITIONAL_ONLY)


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
    """Importing a name that's left out, or making one of a class that libraries name, says which and why."""
    name = path.rpartition(".")[2]
    with pytest.raises(NotImplementedError, match=rf"{name}.*{LEFT_OUT[path]}") as raised:
        OURS.find(path)()
    assert isinstance(raised.value, ImportError)


def test_a_class_that_is_left_out_can_be_inherited_from() -> None:
    """Libraries derive from such classes when they are imported; what they derive can't be made either."""
    derived = type("Derived", (OURS.find("pregel.remote.RemoteGraph"),), {})
    with pytest.raises(NotImplementedError, match=SERVER):
        derived()


LANGCHAINS = {
    "config": "RunnableConfig",
    "graph.message": "BaseMessage BaseMessageChunk RemoveMessage convert_to_messages",
    "graph.state": "Runnable RunnableConfig",
    "prebuilt.chat_agent_executor": "AIMessage BaseChatModel BaseMessage BaseTool Runnable RunnableConfig SystemMessage"
    " ToolMessage",
    "prebuilt.tool_node": "AIMessage BaseTool InjectedToolArg RemoveMessage RunnableConfig ToolException ToolMessage",
}
"""Names of LangChain's that programs import from a module of LangGraph's that uses them."""


@pytest.mark.parametrize("path", LANGCHAINS)
def test_langchains_names_are_where_programs_import_them_from(path: str) -> None:
    """They are LangChain's own objects, under LangGraph's paths."""
    names = LANGCHAINS[path].split()
    assert [OURS.find(f"{path}.{name}") for name in names] == [
        THEIRS.find(f"{path}.{name}") for name in names
    ]


def test_what_takes_less_is_seen() -> None:
    """A parameter that's absent, moved, required, or of another default, isn't one that takes as much."""

    def theirs(a: Any, b: int = 1, *, c: None = None) -> None: ...
    def more(a: Any, b: int = 1, d: int = 2, *, c: None = None, e: int = 3) -> None: ...
    def absent(a: Any, *, c: None = None) -> None: ...
    def moved(b: int = 1, a: Any = 0, *, c: None = None) -> None: ...
    def required(a: Any, b: int = 1, *, c: None = None, e: int) -> None: ...
    def other(a: Any, b: int = 2, *, c: None = None) -> None: ...

    assert [takes(theirs, ours) for ours in (theirs, more, absent, moved, required, other)] == [
        *(True, True, False, False, False, False)
    ]


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
