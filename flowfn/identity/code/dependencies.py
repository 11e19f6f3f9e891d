"""What a function's result depends on beside its arguments, so that a kept result is known to be stale.

Rule: its code, that of the project's functions, tasks and classes that it names, be it by an object of the class or
in a container, and the constants that all of these name: values of closures, globals and class attributes that cannot
change in place, and of what libraries have the name, as `from math import floor` may become `from math import ceil`.
A value that can (a list, a connection) doesn't count itself, but by the line of its module that makes it (`assigned`);
so does a class that a call makes (`create_model(…)`, a factory's). What such a line names, and what bodies import,
counts as it is written (`texts`). A name that the code itself assigns doesn't count: a counter is no input. Of what a
class's body names a time or a random value counts by its line alone (`drawn`), as a class may be made with what nobody
uses. They `hold` as long as the names mean the same objects, and these have the code that they had; until then nothing
need be read again.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import lru_cache
from hashlib import sha256
from operator import is_
from types import CellType, FunctionType, ModuleType
from typing import Any

from flowfn.identity.code.assigned import (
    as_loaded,
    calls_that_change,
    line_changing,
    lines_calling,
    lines_making,
    lines_on_imported,
    source_of,
)
from flowfn.identity.code.classes import fields_of, members_of
from flowfn.identity.code.compiled import assigned_around, steps_of
from flowfn.identity.code.decorated import decorators_of
from flowfn.identity.code.drawn import is_drawn
from flowfn.identity.code.fingerprint import is_project_code, read
from flowfn.identity.code.functions import default_values
from flowfn.identity.code.held import Held
from flowfn.identity.code.scopes import parts_of_names
from flowfn.identity.code.source import Unit
from flowfn.identity.code.texts import Place, Texts, imported_by, named_by
from flowfn.identity.code.unwrapping import attribute, can_be_looked_at, content_of
from flowfn.identity.code.watch import Units
from flowfn.identity.constant import is_constant
from flowfn.identity.digest import exact, render
from flowfn.identity.names import has_its_name, module_name, qualified_name
from flowfn.python.cached_property import RENEWALS
from flowfn.python.parametrised import option
from flowfn.python.project import is_own, is_own_module
from flowfn.python.script import namespace_of

__all__ = ["Dependencies"]

_ASSIGNING = ("STORE_GLOBAL", "DELETE_GLOBAL", "STORE_DEREF")

_LONGEST = 500
"""Characters of a line of code that are shown."""

_Place = tuple[Any, str]
"""A namespace or cell, and the name in it."""

_Named = tuple[Any, Any, frozenset[tuple[str, ...]]]
"""A function or class, where it finds its names, and which names it has."""


_units = Units()


class Dependencies:
    """The code and the constants behind a function.

    `digest` has 32 hexadecimal digits; `units` are the reduced sources, by name; `constants` are the values
    that count, rendered, and the code of those that may change in place.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        walk, code = read(function)
        self.units = {
            qualified_name(each): unit.text for each, unit in walk.units.items() if unit is not None
        }
        self.constants: dict[str, str] = {}
        self._digests: set[bytes] = set()
        self._at: dict[tuple[int, str], _Place] = {}
        self._behind: list[Place] = []
        """What counts by the texts of files, and `_namespaces`: the modules whose code is known, by name."""
        self._namespaces: dict[str, Mapping[str, Any]] = {}
        self._stated = {
            id(each) for each, unit in walk.units.items() if unit is not None and "<" not in each.__qualname__
        }
        """The ids of what a statement at the top of a module made, whose text is all of it."""
        scopes = [*walk.scopes, *walk.methods]
        assigned = _assigned(scopes)
        self._look(function, walk.scopes, assigned, _stored(walk.scopes))
        stored = _stored(scopes)
        self._look(function, [*walk.methods, *walk.bodies], assigned, stored)
        for each, unit in walk.units.items():
            if isinstance(each, type):
                self._count_members(each, stored)
            if unit is not None:
                self._count_decorators(each, unit)
            if "<" not in each.__qualname__:
                self._count_changes(namespace_of(each.__module__), each.__qualname__.partition(".")[0])
        for name, hint in walk.hints.items():
            words = option(hint)
            self.constants[name] = _shown(
                words, counted := f"{name}: {words}".encode("utf-8", "surrogatepass")
            )
            self._digests.add(counted)
        if walk.scopes:
            self._count_calls(walk.scopes[0][0].__globals__)
        for each, _, _ in scopes:
            self._module(each.__globals__)
            self._behind += imported_by(each)
        self._count_behind()
        self._places = list(self._at.values())
        self._seen = list(_contents(self._places))
        self._code = _units.view(walk.units)
        self._held = Held(walk.opened.values())
        self._held_at = RENEWALS.last
        text = b"\0".join([code.encode(), *sorted(self._digests)])
        self.digest = sha256(text).hexdigest()[:32]

    @property
    def parts(self) -> dict[str, str]:
        """All that counts, in words: `code NAME` and `constant NAME`."""
        parts = {f"code {name}": text for name, text in self.units.items()}
        return parts | {f"constant {name}": text for name, text in self.constants.items()}

    @property
    def hold(self) -> bool:
        """Whether every name still means the object that was looked at, with the code that it had, or holds."""
        is_same = all(map(is_, _contents(self._places), self._seen)) and self._code.holds
        return is_same and (self._held_at is RENEWALS.last or self._holds_no_more())

    def _holds_no_more(self) -> bool:
        now = RENEWALS.last
        if is_all := self._held.is_all:
            self._held_at = now
        return is_all

    def _look(
        self, function: Any, scopes: Iterable[_Named], assigned: set[tuple[int, str]], stored: set[str]
    ) -> None:
        """Count the constants that functions and classes name, and note where their names lead."""
        for each, scope, chains in scopes:
            if each is not function and type(each) is FunctionType:
                self._count_defaults(each)
            of = "" if each is function else qualified_name(each)
            for chain in sorted(parts_of_names(chains)):
                if (id(scope.place(chain[0])), chain[0]) in assigned:
                    continue
                for place in _places(scope, chain):
                    self._at[id(place[0]), place[1]] = place
                if len(chain) == 1 or chain[-1] not in stored:
                    self._count_named(scope, chain, of, by_class=isinstance(each, type))

    def _count_named(self, scope: Any, chain: tuple[str, ...], of: str, *, by_class: bool) -> None:
        """Count what a dotted name means where `of` has it: the value, or else the line that makes it.

        A class needn't use what it is made with: of what is another value in each process the line is enough there.
        """
        name, found, holder = ".".join(chain), scope.resolve(chain), scope.holder(chain[0])
        made_at = _global(scope, chain, holder)
        if by_class and made_at is not None and is_constant(found) and is_drawn(found, *made_at):
            self._count_source(name, made_at, of)
            return
        if not can_be_looked_at(found):
            self._count_source(name, made_at, of)
            return
        is_root = len(chain) == 1 and holder is not None
        if is_root and made_at is not None and isinstance(found, ModuleType | type | FunctionType):
            self._count_changes(*made_at)
        if made_at is not None and "__getattr__" in made_at[0] and chain[-1] not in made_at[0]:
            self._behind.append((self._module(made_at[0]), chain[-1:]))
        if not self._count(name, found, is_root, of) and not self._counts_itself(found):
            self._count_source(name, made_at, of)

    def _count_defaults(self, function: FunctionType) -> None:
        """Count what a helper is given where its caller says nothing; the function's own are arguments."""
        for name, value in default_values(function):
            self._count(f"{qualified_name(function)}({name})", value, False)

    def _count_members(self, cls: type, stored: set[str]) -> None:
        """Count what a class's body, a decorator or others set: its text has only the names of what it was made of."""
        of = qualified_name(cls)
        for name, value in members_of(cls):
            if name not in stored:
                self._at[id(cls), name] = (vars(cls), name)
                self._count(f"{of}.{name}", value, False)
        for name, value in fields_of(cls):
            self._count(f"{of}.{name}", value, False)

    def _count_decorators(self, of: Any, unit: Unit) -> None:
        """Count what the decorators say of a function or class, and what they name, as it is written."""
        namespace = of.__globals__ if type(of) is FunctionType else namespace_of(of.__module__)
        if text := decorators_of(unit, namespace):
            source = source_of(namespace)
            text = text if source is None else as_loaded(text, source, None)
            self._count_text(f"decorators of {qualified_name(of)}", text, namespace)

    def _count_changes(self, namespace: Mapping[str, Any], name: str) -> None:
        """Count what a module gives a function, class or module that it has under a name."""
        if text := line_changing(namespace, name):
            self._count_text(
                f"{module_name(str(namespace.get('__name__')))}.{name}", text, namespace, besides=name
            )

    def _count_calls(self, namespace: Mapping[str, Any]) -> None:
        """Count what the function's own module does to what helpers name (`settings.configure(…)`), and calls of other
        modules where that changes what is named: a table, say, that these fill (`rates.load("eu")`)."""
        found = _contents([*self._at.values()])
        tables = [each for each in found if can_be_looked_at(each) and not is_constant(each)]
        named = {id(each) for each in tables}
        made = {id(each) for each in tables if not self._counts(each)}
        for name, text in [*lines_on_imported(namespace, lambda each: id(each) in made)]:
            if (id(namespace), name) not in self._at:
                own = module_name(str(namespace.get("__name__")))
                self._count_text(f"{own}.{name}", text, namespace, besides=name)
        calls = {
            called
            for called, there, changed in calls_that_change(namespace)
            if any((id(there), name) in self._at or id(there.get(name)) in named for name in changed)
        }
        if calls:
            name = module_name(str(namespace.get("__name__")))
            self._count_text(f"calls of {name}", lines_calling(namespace, calls), namespace)

    def _count_text(self, name: str, text: str, namespace: Mapping[str, Any], besides: str = "") -> None:
        """Count code of a module, and what it names but for one name, as it is written."""
        counted = f"{name}: {text}".encode("utf-8", "surrogatepass")
        self.constants[name] = _shown(text, counted)
        self._digests.add(counted)
        places = named_by(text, self._module(namespace))
        self._behind += [(module, chain) for module, chain in places if chain[0] != besides]

    def _count(self, name: str, value: Any, is_root: bool, of: str = "") -> bool:
        """Note what a name stands for, if that is a constant; `of` says in whose code, as each has names of its own."""
        if is_constant(value):
            if value is None and not is_root:  # nothing of the project's
                return True
            self.constants[name] = render({name: value}).partition("=")[2]
            found = exact({name: value})
            self._digests.add(f"{of}:{name}".encode() + found.exact)
            return True
        if _is_of_a_library(value):
            self.constants[name] = qualified_name(value)
            self._digests.add(f"{of}:{name} is {qualified_name(value)}".encode())
            return True
        return False

    def _counts_itself(self, value: Any) -> bool:
        """Whether it counts by code of its own, and its options count for nothing: not a class that a call made, nor a
        function that another one made, if that gave it what can't count itself, or what it has changed since."""
        if isinstance(value, type):
            return id(value) in self._stated
        if type(value) is FunctionType:
            is_changed = not assigned_around(value.__code__).isdisjoint(value.__code__.co_freevars)
            captured = _contents([(cell, "") for cell in value.__closure__ or ()])
            return not is_changed and all(map(self._counts, captured))
        return isinstance(value, _CODE) or attribute(value, "__flowfn__") is not None

    def _counts(self, value: Any) -> bool:
        if isinstance(value, type) and id(value) in self._stated:
            return True
        is_code = isinstance(value, _CODE) or is_project_code(value)
        return is_code or is_constant(value) or _is_of_a_library(value)

    def _count_source(self, name: str, place: _Place | None, of: str) -> bool:
        """Note the code that makes what a name stands for; False where that isn't known."""
        found = [] if place is None else lines_making(*place)
        if place is not None and not found:
            self._behind.append((self._module(place[0]), (place[1],)))
        if found:
            text = "\n".join(line for _, line in found)
            counted = f"{of}:{name} = {text}".encode("utf-8", "surrogatepass")
            self.constants[name] = _shown(text, counted)
            self._digests.add(counted)
            for namespace, line in found:
                self._behind += named_by(line, self._module(namespace))
        return bool(found)

    def _module(self, namespace: Mapping[str, Any]) -> str:
        """Note a module, by the name of it."""
        name = str(namespace.get("__name__"))
        self._namespaces[name] = namespace
        return name

    def _count_behind(self) -> None:
        """Count the texts of what lines name that make what can't count itself, and of what bodies import; and look
        at these again once their modules are loaded, or have run again."""
        found = Texts(self._behind, self._namespaces).found
        texts = {f"{module_name(module)}.{name}": text for (module, (name, *_)), text in found.items()}
        self._digests.update(
            f"{name}:{text}".encode("utf-8", "surrogatepass") for name, text in texts.items()
        )
        self.units = texts | self.units
        for module in {module for module, _ in found} - self._namespaces.keys():
            for place in ((sys.modules, module), (namespace_of(module), "__spec__")):
                self._at[id(place[0]), place[1]] = place


def _shown(text: str, counted: bytes) -> str:
    """Code for people; of a long table where it begins, and what tells it from others."""
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}… ({sha256(counted).hexdigest()[:8]})"


_CODE = (ModuleType, type(lru_cache(len)))


def _global(scope: Any, chain: tuple[str, ...], holder: Any) -> _Place | None:
    """The namespace of the module that a dotted name leads into, and the name there; None for what no module holds."""
    if len(chain) == 1:
        return None if holder is None or type(holder) is CellType else (holder, chain[0])
    module = scope.resolve(chain[:-1])
    is_module = issubclass(type(module), ModuleType)
    return (vars(module), chain[-1]) if is_module else None


def _is_of_a_library(value: Any) -> bool:
    """Whether it is a module, function or class of a library's, which stays what it is under its name."""
    if isinstance(value, ModuleType):
        return not is_own_module(value.__name__)
    return callable(value) and has_its_name(value) and not is_own(value)


def _assigned(scopes: list[_Named]) -> set[tuple[int, str]]:
    """The names that the code gives other values itself, by what holds them."""
    found: set[tuple[int, str]] = set()
    for _, scope, _ in scopes:
        for instruction in steps_of(scope.code):
            name = instruction.argval
            if instruction.opname in _ASSIGNING and (place := scope.place(name)) is not None:
                found.add((id(place), name))
    return found


def _stored(scopes: list[_Named]) -> set[str]:
    """The names of the attributes that the code gives other values itself."""
    instructions = (each for _, scope, _ in scopes for each in steps_of(scope.code))
    return {each.argval for each in instructions if each.opname == "STORE_ATTR"}


def _places(scope: Any, chain: tuple[str, ...]) -> Iterator[_Place]:
    """Where a dotted name leads: what holds its root, or will, and then modules and classes."""
    place = scope.place(chain[0])
    if place is not None:
        yield place, chain[0]
    for depth in range(1, len(chain)):
        namespace, name = scope.namespace(chain[:depth]), chain[depth]
        for each in namespace.__mro__ if isinstance(namespace, type) else (namespace,):
            if name in getattr(each, "__dict__", ()):
                yield vars(each), name
                break
        else:
            return


def _contents(places: list[_Place]) -> Iterator[Any]:
    return (content_of(each) if type(each) is CellType else each.get(name) for each, name in places)
