"""An entrypoint's parameters: how calls and inputs become the one input that is stored, and back.

Rule: what is stored is the arguments by parameter name, with defaults left out, as their annotations make them. Two
calls are the same one if these are equal, however they were written.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MethodType
from typing import TYPE_CHECKING, Any, cast

from flowfn.definition import Definition
from flowfn.engine.runs.entering import Fresh
from flowfn.errors import InvalidInput
from flowfn.identity.digest import exact
from flowfn.identity.made_with.factories import given_to_factory, given_to_object, is_told
from flowfn.ports import Begin
from flowfn.python.cached_property import cached_property
from flowfn.python.lazy import Later
from flowfn.values import MISSING, Write

if TYPE_CHECKING:
    from flowfn import validation
else:
    validation = Later("flowfn.validation")

__all__ = ["START", "Shape"]

START = "__start__"
"""The channel of the input."""


class Shape:
    """An entrypoint's parameters: how calls and inputs become the one input that is stored, and back."""

    def __init__(self, definition: Definition) -> None:
        self.definition = definition
        self.parameters = definition.parameters.of_caller
        self.lone = self.parameters[0].name if len(self.parameters) == 1 else None

    @cached_property
    def hints(self) -> dict[str, Any]:
        """The annotations to validate by; empty where they can't be resolved."""
        found = self.definition.hints
        return {p.name: found[p.name] for p in self.parameters if p.name in found}

    @cached_property
    def _by_name(self) -> bool:
        """Whether each parameter can be passed by its name."""
        return all(p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY) for p in self.parameters)

    @cached_property
    def variadic(self) -> dict[str, str]:
        marks = {p.VAR_POSITIONAL: "*" for p in self.parameters} | {
            p.VAR_KEYWORD: "**" for p in self.parameters
        }
        return {p.name: marks[p.kind] for p in self.parameters if p.kind in marks}

    def fresh(self, args: Sequence[Any], kwargs: Mapping[str, Any], workflow: str) -> Fresh:
        """A direct call as the start of a run."""
        try:
            bound = self.checked(self.definition.parameters.bind(args, dict(kwargs)))
        except InvalidInput as error:
            self._note(error)
            raise
        return Fresh([Write(START, bound)], Begin(workflow, self.digest(bound)))

    def given(self, given: Any) -> tuple[list[Write], str]:
        """What an `invoke` input writes, and what makes two of them the same call."""
        bound = self.bound(given)
        return [Write(START, bound)], self.digest(bound)

    def writes(self, given: Any) -> list[Write]:
        """What an input writes."""
        return [Write(START, self.bound(given))]

    def bound(self, given: Any) -> dict[str, Any]:
        """An input by parameter name: the value of the only parameter, or a mapping of several.

        Raises:
            InvalidInput: it isn't that, or doesn't fit.
        """
        try:
            return self._bound(given)
        except InvalidInput as error:
            self._note(error)
            raise

    def _note(self, error: InvalidInput) -> None:
        """Say what to do where it may be the class that is missing among the arguments."""
        if self.parameters and self.parameters[0].name == "cls":
            error.add_note(
                f"If {self.definition.name!r} is a class method, write @entrypoint above @classmethod: since "
                "Python 3.13 that doesn't bind what it is above"
            )

    def _bound(self, given: Any) -> dict[str, Any]:
        lone = self.lone is not None and self.lone not in self.variadic
        if given is MISSING:
            return self.checked(self.definition.parameters.bind((), {}))
        if lone:
            return self._checked_lone(cast(str, self.lone), given)
        if not isinstance(given, Mapping):
            if not self.parameters:
                raise InvalidInput(
                    f"{self.definition.name!r} takes no input, and got {given!r}: leave it out"
                )
            names = ", ".join(p.name for p in self.parameters)
            raise InvalidInput(
                f"{self.definition.name!r} takes {len(self.parameters)} parameters ({names}), so its input is a "
                f"mapping of them, not {given!r}: write invoke({{{self.parameters[0].name!r}: …}}), or call it with "
                "arguments as the function, which thread(…) does as well"
            )
        return self.checked(self.definition.parameters.bind(*self.spread(given)))

    def _checked_lone(self, name: str, given: Any) -> dict[str, Any]:
        try:
            return self.checked({name: given})
        except ValueError as error:
            if isinstance(given, Mapping) and [*given] == [name]:
                error.add_note(
                    f"{self.definition.name!r} has one parameter, so its input is the value itself: write "
                    f"invoke(value), not invoke({{{name!r}: value}})"
                )
            raise

    def spread(self, given: Mapping[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """A mapping of parameters as arguments."""
        rest = dict(given)
        if self._by_name:
            return (), rest
        args: list[Any] = []
        for parameter in self.parameters:
            if parameter.kind is parameter.POSITIONAL_ONLY and parameter.name in rest:
                args.append(rest.pop(parameter.name))
            elif parameter.kind is parameter.VAR_POSITIONAL:
                args += [
                    rest.pop(p.name)
                    for p in self.parameters
                    if p.kind is p.POSITIONAL_OR_KEYWORD and p.name in rest
                ]
                args += rest.pop(parameter.name, ())
            elif parameter.kind is parameter.VAR_KEYWORD:
                rest.update(rest.pop(parameter.name, {}))
        return tuple(args), rest

    def checked(self, bound: dict[str, Any]) -> dict[str, Any]:
        """The arguments as their annotations.

        Raises:
            ValidationError: one doesn't fit.
        """
        if not self.hints:
            return bound
        return validation.arguments(self.definition.name, bound, self.hints, self.variadic)

    @cached_property
    def _given_before(self) -> str:
        """What tells its calls from those of another one that the same factory made, or of another object's method;
        empty if neither a factory nor an object is behind it."""
        function = self.definition.author_function
        given = given_to_factory(function)
        if isinstance(function, MethodType):
            given["self"] = given_to_object(function.__self__)
        return f"/{exact(given).exact.hex()}" if given else ""

    def digest(self, bound: Mapping[str, Any]) -> str:
        """What makes two calls the same call."""
        held = self.definition.held
        return exact({**held, **bound} if held else bound).exact.hex() + self._given_before

    def recorded_call(self, bound: Mapping[str, Any]) -> str:
        """What makes a recorded call the same call, as its arguments are restored now; empty where it may have been
        called with others besides: of what a partial holds, no more than the digest is kept."""
        function = self.definition.author_function
        is_kept = not self.definition.held or (type(function) is MethodType and is_told(function.__self__))
        return self.digest(bound) if is_kept else ""

    def is_of(self, begin: Begin) -> bool:
        """Whether a run of its name is its own: not another object's method's, nor that of what its factory made with
        something else."""
        _, _, given = begin.digest.partition("/")
        return given == self._given_before[1:]

    def shown(self, given: Mapping[str, Any]) -> Any:
        """The stored input as streams show it: of one parameter, its value."""
        return next(iter(given.values())) if len(given) == 1 else given
