"""The parameters of a function, and how a call's arguments are bound to them.

Rule: arguments fit, or don't, as Python says; the engine fills what the function names and its caller leaves out.
"""

from __future__ import annotations

import inspect
import reprlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from flowfn.errors import InvalidInput
from flowfn.python.annotations import signature_of
from flowfn.python.cached_property import cached_property

__all__ = ["INJECTED", "Parameters"]

INJECTED = ("previous", "config", "runtime", "store", "writer")
"""Parameters that the engine fills where the function names them and the caller doesn't."""

_OURS = {
    "config": ("RunnableConfig", "dict", "Mapping"),
    "runtime": ("Runtime",),
    "store": ("Store", "BaseStore"),
    "writer": ("StreamWriter", "Callable"),
}


class Parameters:
    """The parameters of one function: `name` is what errors call it, `lent` what a decorator of ours fills."""

    def __init__(self, function: Callable[..., Any], name: str, lent: tuple[str, ...] = ()) -> None:
        self._function = function
        self._name = name
        self._lent = lent

    @cached_property
    def signature(self) -> inspect.Signature:
        try:
            return signature_of(self._function)
        except ValueError:  # a builtin that doesn't tell its parameters takes any
            return inspect.signature(_anything)

    @cached_property
    def injected(self) -> tuple[str, ...]:
        """Those that the caller needn't fill."""
        found = (p for name, p in self.signature.parameters.items() if name in INJECTED)
        return (*(p.name for p in found if _is_ours(p)), *self._lent)

    @cached_property
    def of_caller(self) -> tuple[inspect.Parameter, ...]:
        """Those that the caller fills."""
        return tuple(p for p in self.signature.parameters.values() if p.name not in self.injected)

    @cached_property
    def defaults(self) -> dict[str, Any]:
        """The default of each that has one and that the caller may fill."""
        return {p.name: p.default for p in self.of_caller if p.default is not p.empty}

    def has_default(self, name: str) -> bool:
        """Whether one may be left out."""
        return self.signature.parameters[name].default is not inspect.Parameter.empty

    def bind(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> dict[str, Any]:
        """The arguments by parameter name, without defaults.

        Raises:
            InvalidInput: they don't fit the signature.
        """
        plain = self._plain
        if plain is None or len(args) > len(plain[0]):
            return self._bind_slowly(args, kwargs)
        by_position, names, required, enough = plain
        bound = dict(zip(by_position, args, strict=False))
        if not kwargs and len(args) == enough:
            return bound
        if kwargs:
            if not (kwargs.keys() <= names.keys() and bound.keys().isdisjoint(kwargs)):
                return self._bind_slowly(args, kwargs)
            bound |= kwargs
            bound = {name: bound[name] for name in names if name in bound}
        return bound if required <= bound.keys() else self._bind_slowly(args, kwargs)

    @cached_property
    def _plain(self) -> tuple[tuple[str, ...], dict[str, None], frozenset[str], int] | None:
        """Names by position, all names in their order, those that a caller must fill, and how many arguments fill
        all by position, -1 where none can; None if it takes `*args` or such."""
        parameters = self.signature.parameters
        if any(p.kind not in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY) for p in parameters.values()):
            return None
        by_position = tuple(name for name, p in parameters.items() if p.kind is p.POSITIONAL_OR_KEYWORD)
        required = frozenset(p.name for p in self.of_caller if p.default is p.empty)
        enough = len(by_position) if required <= frozenset(by_position) else -1
        return by_position, dict.fromkeys(parameters), required, enough

    def _bind_slowly(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> dict[str, Any]:
        left_out = {name: None for name in self.injected if name not in kwargs}
        by_position = [p for p in self.signature.parameters.values() if p.kind is p.POSITIONAL_OR_KEYWORD]
        for parameter in by_position[: len(args)]:
            left_out.pop(parameter.name, None)
        try:
            bound = self.signature.bind(*args, **kwargs, **left_out).arguments
        except TypeError as error:
            raise InvalidInput(
                f"{self._name}{self.signature} can't be called with {_shown(args, kwargs)}: {error}"
            ) from None
        return {name: value for name, value in bound.items() if name not in left_out}

    # -- decorators that fill some --------------------------------------------------------------

    def taken(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> dict[str, Any]:
        """`bind`; or the arguments of the outermost decorator, where that fills some of the function's parameters.

        Raises:
            InvalidInput: they fit neither.
        """
        try:
            return self.bind(args, kwargs)
        except InvalidInput as error:
            outermost = self._outermost
            if outermost is None or not (_names_any(outermost) or self._are_too_few(args, kwargs)):
                raise
            try:
                return outermost.bind(*args, **kwargs).arguments
            except TypeError:
                raise error from None

    @cached_property
    def _outermost(self) -> inspect.Signature | None:
        """What the outermost of its decorators takes."""
        function = self._function
        return signature_of(function, follow_wrapped=False) if hasattr(function, "__wrapped__") else None

    def _are_too_few(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> bool:
        """Whether arguments that don't fit lack no more than some, which a decorator may fill."""
        try:
            self.signature.bind_partial(*args, **kwargs)
        except TypeError:
            return False
        return True


def _names_any(signature: inspect.Signature) -> bool:
    """Whether a decorator has parameters of its own, and doesn't just hand on whatever it is given."""
    return any(p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD) for p in signature.parameters.values())


def _is_ours(parameter: inspect.Parameter) -> bool:
    """Whether a parameter of that name is the engine's to fill: unannotated, or annotated as its type."""
    if parameter.name == "previous" or parameter.annotation is parameter.empty:
        return parameter.kind is not parameter.POSITIONAL_ONLY
    annotation = parameter.annotation
    text = annotation if isinstance(annotation, str) else getattr(annotation, "__name__", str(annotation))
    return annotation is Any or text == "Any" or any(word in text for word in _OURS[parameter.name])


def _anything(*args: Any, **kwargs: Any) -> None:
    """Has the signature of what tells none."""


def _shown(args: Sequence[Any], kwargs: Mapping[str, Any]) -> str:
    shown = [*(reprlib.repr(value) for value in args), *(f"{k}={reprlib.repr(v)}" for k, v in kwargs.items())]
    return f"({', '.join(shown)})"
