"""Which types LangGraph's stored bytes may name, and how one is made of what they hold.

Rule: a name is looked up in what is allowed; nothing is imported for it. LangGraph's bytes hold arguments, not
state, so an allowed class is *constructed* with them, as LangGraph does. That is why being loaded isn't
enough here, as it is for flowfn's own bytes: somebody has to have named the class.
"""

from __future__ import annotations

import collections
import dataclasses
import datetime
import decimal
import enum
import ipaddress
import pathlib
import re
import uuid
import zoneinfo
from collections.abc import Callable, Iterable
from typing import Any, Literal

from flowfn.errors import UntrustedTypeError
from flowfn.serde.names import lookup
from flowfn.serde.objects.kinds import is_model, is_namedtuple, is_record
from flowfn.values import MISSING, Command, Interrupt, Overwrite, Send
from graph_compat.checkpoint.serde.event_hooks import emit_serde_event

Named = tuple[str, ...] | type
"""A class, or the parts of its name: `("app.models", "Order")`."""

Make = Callable[..., Any]

_MESSAGES = ("langchain_core.messages.", "langchain_core.documents.")
_SECRETS = {("pydantic.types", "SecretStr"), ("pydantic.types", "SecretBytes")}


def _fields_only(cls: Any, **defaults: Any) -> Make:
    """Makes one of flowfn's values of LangGraph's arguments, of which it may have fewer."""
    names = [field.name for field in dataclasses.fields(cls)]

    def make(*args: Any, **kwargs: Any) -> Any:
        known = {name: value for name, value in kwargs.items() if name in names}
        return cls(*args, **defaults, **known) if args else cls(**{**defaults, **known})

    return make


def _command(**kwargs: Any) -> Command[Any]:
    """LangGraph's `Command`, whose `resume=None` is what flowfn calls `MISSING`."""
    given = {name: kwargs.get(name) for name in ("graph", "update")}
    resume, goto = kwargs.get("resume"), kwargs.get("goto")
    return Command(
        **given,
        resume=MISSING if resume is None else resume,
        goto=tuple(goto) if isinstance(goto, list) else (goto or ()),
    )


def _zone(key: str) -> zoneinfo.ZoneInfo:
    """A time zone; what is no name of one could lead to a file, or to an import."""
    if not re.fullmatch(r"[A-Za-z0-9_+-]+(/[A-Za-z0-9_+-]+)*", key):
        raise ValueError(f"{key!r} is not the name of a time zone")
    return zoneinfo.ZoneInfo(key)


_SAFE: dict[tuple[str, str], Make] = {
    **{("builtins", cls.__name__): cls for cls in (set, frozenset)},
    ("collections", "deque"): collections.deque,
    **{
        ("datetime", cls.__name__): cls
        for cls in (datetime.date, datetime.datetime, datetime.time, datetime.timedelta, datetime.timezone)
    },
    ("decimal", "Decimal"): decimal.Decimal,
    **{
        ("ipaddress", f"IPv{version}{kind}"): getattr(ipaddress, f"IPv{version}{kind}")
        for version in (4, 6)
        for kind in ("Address", "Interface", "Network")
    },
    **{
        (module, name): pathlib.Path
        for module in ("pathlib", "pathlib._local")
        for name in ("Path", "PosixPath")
    },
    **{
        (module, name): getattr(pathlib, name)
        for module in ("pathlib", "pathlib._local")
        for name in ("PurePath", "PurePosixPath", "PureWindowsPath")
    },
    ("re", "compile"): lambda pattern, flags=0: re.compile(pattern, flags & ~re.DEBUG),
    ("uuid", "UUID"): uuid.UUID,
    ("zoneinfo", "ZoneInfo"): _zone,
    ("langgraph.types", "Send"): _fields_only(Send),
    ("langgraph.types", "Command"): _command,
    ("langgraph.types", "Interrupt"): _fields_only(Interrupt, id=""),
    ("langgraph.types", "Overwrite"): _fields_only(Overwrite),
}


class Trusted:
    """The types that one serializer may construct.

    `allowed` are classes or names of classes beside the safe ones: standard values, LangGraph's `Send`,
    `Command` and such, and langchain-core's messages and documents. True stands for every enum, dataclass,
    named tuple and pydantic model that the program has loaded. `script` is the module that ran as the main one
    when its classes were stored, where it is another by now.
    """

    def __init__(self, allowed: Iterable[Named] | Literal[True] | None, script: str | None = None) -> None:
        self._everything = allowed is True
        self._script = script
        self._classes: dict[tuple[str, str], type] = {}
        self._names: set[tuple[str, str]] = set()
        for each in () if allowed is None or allowed is True else allowed:
            if isinstance(each, type):
                self._classes[each.__module__, each.__name__] = each
            else:
                *module, name = each
                self._names.add((".".join(module), name))

    def construct(self, module: Any, name: Any) -> Make:
        """What makes a value of this type. Raises `UntrustedTypeError`."""
        key = self._key(module, name)
        make = self.find(*key)
        if make is None:
            emit_serde_event({"kind": "msgpack_blocked", "module": key[0], "name": key[1]})
            raise UntrustedTypeError(
                f"What LangGraph stored names the type {key[0]}.{key[1]}, which is not allowed here; nothing was "
                f"imported or called. If you trust it, import {key[0]} and pass allowed_msgpack_modules="
                f"[({key[0]!r}, {key[1]!r})]"
            )
        return make

    def find(self, module: Any, name: Any) -> Make | None:
        """What makes a value of this type; None where it isn't allowed."""
        key = self._key(module, name)
        return _SAFE.get(key) or self._classes.get(key) or self._loaded(*key)

    def _key(self, module: Any, name: Any) -> tuple[str, str]:
        return (self._script if self._script and module == "__main__" else str(module), str(name))

    def _loaded(self, module: str, name: str) -> Make | None:
        """A class that the program has loaded, if it is one of those that may be made by their name."""
        found = lookup(f"{module}:{name}")
        if found is None or not (
            self._everything or (module, name) in self._names or _is_safe(module, found)
        ):
            return None
        return found if (module, name) in self._names or _is_storable(found) or _is_secret(found) else None


def _is_safe(module: str, cls: type) -> bool:
    return (module.startswith(_MESSAGES) and is_model(cls)) or _is_secret(cls)


def _is_secret(cls: type) -> bool:
    return (cls.__module__, cls.__name__) in _SECRETS


def _is_storable(cls: type) -> bool:
    kinds = (is_model, is_record, is_namedtuple)
    return issubclass(cls, enum.Enum) or any(is_one(cls) for is_one in kinds)
