"""What a kept result is found by: the task's name, its arguments, its code and the constants behind it.

Rule: equal keys mean that the function would compute the same again, as far as can be told. Where an
argument can't be told from others of its type, there is no key, and nothing is kept.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from hashlib import sha256
from typing import Any, NamedTuple

from flowfn.caching.brought import brought_code
from flowfn.caching.entries import Made
from flowfn.definition import Definition
from flowfn.identity.digest import exact, render


class Key(NamedTuple):
    """`text` is the cache's key, empty where there is none; the rest is what it was made of."""

    text: str
    arguments: Mapping[str, Any]
    code: str

    @property
    def made(self) -> Made:
        """Its parts, as an entry describes them."""
        arguments = {name: _described(name, value) for name, value in self.arguments.items()}
        return Made(self.code, arguments)


def key_of(definition: Definition, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Key:
    """The key of a call. Its digest has 32 hexadecimal digits, behind the task's name and a colon."""
    policy = definition.cache
    assert policy is not None
    version = policy.version if policy.version is not None else definition.version
    if policy.key is not None:
        arguments = {"key": policy.key(*args, **kwargs)}
    elif definition.key is not None:
        arguments = definition.identifying(args, kwargs)
    else:
        arguments = definition.identifying(args, kwargs)
        if defaults := definition.parameters.defaults:
            arguments |= {name: value for name, value in defaults.items() if name not in arguments}
        arguments |= definition.contents
        for name in definition.ignore:
            arguments.pop(name, None)
        if version is None:
            arguments |= brought_code(arguments)
    code = f"version {version}" if version is not None else definition.dependencies.digest
    digested = exact(arguments)
    if digested.weak:
        return Key("", arguments, code)
    text = sha256(f"{definition.qualified}\0{code}\0".encode() + digested.exact).hexdigest()[:32]
    return Key(f"{definition.qualified}:{text}", arguments, code)


def weak_names(arguments: Mapping[str, Any]) -> list[str]:
    """The arguments that count by their type alone."""
    found = arguments.items()
    return [name for name, value in found if exact({name: value}).weak]


def _described(name: str, value: Any) -> tuple[str, bytes]:
    rendered = render({name: value}).partition("=")[2]
    return rendered, exact({name: value}).exact
