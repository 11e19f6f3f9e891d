"""Which types stored bytes may name, and how a name finds its type.

Rule: nothing is imported, called or created because data names it. A name is looked up in
`sys.modules`, attribute by attribute in the namespaces as they are, so that no module `__getattr__`
runs, or in what `allow` registered. Who asks says which classes will do.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextvars import ContextVar
from typing import Any, NamedTuple

from flowfn.errors import UntrustedTypeError
from flowfn.python.moved import note_name
from flowfn.python.parametrised import full_name, is_one_of_several, is_same, origin_of, parametrised
from flowfn.python.project import is_own_module
from flowfn.python.published import published
from flowfn.python.script import MAIN, named_in, namespace_of, script_name

_OF_LIBRARIES = {
    "langchain_core.messages.base": "TextAccessor",  # what `message.text` is
    "pendulum.date": "Date",
    "pendulum.datetime": "DateTime",
    "pendulum.duration": "Duration",
    "pendulum.time": "Time",
    "pendulum.tz.timezone": "FixedTimezone Timezone",
    "pydantic.networks": "AmqpDsn AnyHttpUrl AnyUrl AnyWebsocketUrl ClickHouseDsn CockroachDsn FileUrl FtpUrl HttpUrl "
    "KafkaDsn MariaDBDsn MongoDsn MySQLDsn NatsDsn PostgresDsn RedisDsn SnowflakeDsn WebsocketUrl",
    "pydantic.types": "ByteSize Secret SecretBytes SecretStr",
}

_TRUSTED = frozenset(f"{module}:{name}" for module, names in _OF_LIBRARIES.items() for name in names.split())
"""Classes of other libraries that need no registration: a value with methods, and nothing else."""


class Receiver(NamedTuple):
    """The process that reads what is written here: the name of its script, and the names registered there."""

    script: str
    allowed: frozenset[str]


receiver: ContextVar[Receiver | None] = ContextVar("flowfn.receiver", default=None)
"""On a worker, the run's: its script's classes came along by value, and are found there, and not here."""


def reference(cls: type) -> str:
    """The name that a class is stored under: `module:Qualified.name`.

    The running script's classes carry the script's own module name, so that running it and
    importing it agree. A generic model that was given its types has the generic one's, if annotations name it.
    """
    origin = origin_of(cls)
    if origin is not None and is_same(parametrised(origin.__module__, full := full_name(cls)), cls):
        return _name_in(origin.__module__, full)
    return _name_in(cls.__module__, cls.__qualname__)


def _name_in(module: str, qualname: str) -> str:
    return ":".join(published(script() if module in MAIN else module, qualname))


def script() -> str:
    """The name by which others would import the running script; `__main__` where there is none."""
    away = receiver.get()
    return script_name() if away is None else away.script


def _candidates(module: str) -> list[Mapping[str, Any]]:
    """Where a class of that module may be."""
    if module == script():
        return [namespace_of("__main__"), namespace_of(module)]
    return [namespace_of(module)]


def lookup(name: str) -> type | None:
    """The class of this name that is already there, or None."""
    module, _, qualname = name.partition(":")
    module, qualname = published(module, qualname)  # one that another Python wrote may not be
    for candidate in _candidates(module):
        found = named_in(candidate, qualname)
        if isinstance(found, type) and _agrees(found, module, qualname):
            return found
    return _annotated(module, qualname) if "[" in qualname else None


def _annotated(module: str, qualname: str) -> type | None:
    """The generic model that was given its types, if annotations name it so."""
    places = (*MAIN, module) if module == script() else (module,)
    return next((found for place in places if (found := parametrised(place, qualname)) is not None), None)


def _agrees(cls: type, module: str, qualname: str) -> bool:
    if published(cls.__module__, cls.__qualname__) == (module, qualname):
        return True
    return cls.__qualname__ == qualname and cls.__module__ in MAIN and module in (*MAIN, script())


def _came_along(cls: type) -> bool:
    """Whether it is the class of a script that isn't here, and its receiver would find it."""
    return receiver.get() is not None and cls.__module__ in MAIN and "<locals>" not in cls.__qualname__


class Names:
    """The registered types of one serializer, and those of `parent`."""

    def __init__(self, parent: Names | None = None) -> None:
        self._parent = parent
        self._allowed: dict[str, type] = {}

    def allow(self, cls: type, name: str | None = None) -> None:
        """Register a class under its own name, and under the `name` that old data has for it."""
        if not isinstance(cls, type):
            raise TypeError(f"allow() takes classes, not {cls!r}. Write allow({type(cls).__name__})")
        if name is not None and ":" not in name:
            raise ValueError(f"as_={name!r} is not a stored name. Write as_='module:QualifiedName'")
        self._allowed[reference(cls)] = cls
        if (origin := origin_of(cls)) is not None:  # its name depends on which annotations the process has
            self._allowed[_name_in(cls.__module__, cls.__qualname__)] = cls
            self._allowed[_name_in(origin.__module__, full_name(cls))] = cls
        if name is not None:
            self._allowed[name] = cls
            note_name(cls, name)

    def allowed(self, name: str) -> type | None:
        """The class registered under this name, or None."""
        found = self._allowed.get(name)
        if found is None and self._parent is not None:
            return self._parent.allowed(name)
        return lookup(name) if found is None and name in _TRUSTED else found

    def registered(self) -> frozenset[str]:
        """The names of the registered types."""
        return frozenset(self._allowed) | (self._parent.registered() if self._parent else frozenset())

    def is_allowed(self, cls: type) -> bool:
        """Whether this very class is registered, here or where it will be read."""
        name, away = reference(cls), receiver.get()
        return self.allowed(name) is cls or (away is not None and name in away.allowed)

    def knows(self, cls: type) -> bool:
        """Whether this very class, or a model that was made of the same types, would be found again by its name."""
        name = reference(cls)
        found = self.allowed(name) or (None if is_one_of_several(cls) else lookup(name))
        return is_same(found, cls) or _came_along(cls)

    def find(self, name: Any, fits: Callable[[type], bool]) -> type:
        """The class that data may have under this name.

        Raises `UntrustedTypeError` if there is none, or `fits` does not take it.
        """
        found = self.named(name)
        if found is not None and fits(found):
            return found
        raise UntrustedTypeError(_untrusted(name))

    def named(self, name: Any) -> type | None:
        """The class that is registered under this name, or there, of whichever kind; None if there is none."""
        return (self.allowed(name) or lookup(name)) if isinstance(name, str) else None


def made_by_code(cls: type) -> bool:
    """Whether it exists once code has run: made inside a function, or a pydantic model that was given its types."""
    return "<locals>" in cls.__qualname__ or origin_of(cls) is not None


class NamesOfThisProcess(Names):
    """The types of a serializer whose bytes never leave this process: classes that code makes register themselves.

    A second class of the same name is refused while the first is registered: bytes couldn't say which they mean.
    """

    def knows(self, cls: type) -> bool:
        if made_by_code(cls) and self.allowed(reference(cls)) is None:
            self.allow(cls)
        return super().knows(cls)


class Found(Names):
    """The types of `names` while one value is restored: each name is looked up once."""

    def __init__(self, names: Names) -> None:
        super().__init__(names)
        self._found: dict[Any, type] = {}

    def find(self, name: Any, fits: Callable[[type], bool]) -> type:
        key = (name, fits) if type(name) is str else None
        found = self._found.get(key)
        if found is None:
            found = self._found[key] = super().find(name, fits)
        return found


def _untrusted(name: Any) -> str:
    shown = str(name)[:200]
    module, _, qualname = shown.partition(":")
    cls = qualname.rpartition(".")[2] or "TheType"
    if any(_candidates(module)) and is_own_module(module) and "<" not in qualname and lookup(shown) is None:
        return (
            f"Stored data names the type {shown!r}, which is not allowed here: {module} is imported, and has no such "
            "class. Put it back, if only for reading what was stored. "
            f"If it was renamed or moved: flowfn.serde.allow(TheClass, as_={shown!r})"
        )
    return (
        f"Stored data names the type {shown!r}, which is not allowed here; nothing was imported. "
        f"If you trust it, import {module} before loading, or register it: flowfn.serde.allow({cls}). "
        f"If it was renamed: flowfn.serde.allow(NewName, as_={shown!r})"
    )
