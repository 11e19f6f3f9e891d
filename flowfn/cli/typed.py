"""Words as they are typed, as the arguments of a function.

Rule: a word is text where the function's annotation asks for text, or for a decimal, which JSON's numbers would cut
short, else JSON where it is JSON, else text.
"""

from __future__ import annotations

import json
import types
import typing
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

from flowfn.definition import Definition


def arguments(words: Sequence[str], definition: Definition) -> tuple[list[Any], dict[str, Any]]:
    """`NAME=WORD` where the function has such a parameter, else by position."""
    parameters = {parameter.name: parameter for parameter in definition.parameters.of_caller}
    takes_any = any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters.values())
    by_position = [p for p in parameters.values() if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    rest = next((p for p in parameters.values() if p.kind is p.VAR_POSITIONAL), None)
    hints = definition.hints
    args: list[Any] = []
    kwargs: dict[str, Any] = {}
    for word in words:
        name, sign, given = word.partition("=")
        known = parameters.get(name)
        if (
            sign
            and name.isidentifier()
            and (takes_any if known is None else known.kind is not known.VAR_POSITIONAL)
        ):
            kwargs[name] = value(given, hints.get(name))
        else:
            place = by_position[len(args)] if len(args) < len(by_position) else rest
            args.append(value(word, None if place is None else hints.get(place.name)))
    return args, kwargs


def value(word: str, kind: Any = None) -> Any:
    """What a word says to a parameter of this annotation."""
    if kind is str or (_asks_for_text(kind) and word != "null"):
        return word
    try:
        return json.loads(word)
    except ValueError:
        return word


def _asks_for_text(kind: Any) -> bool:
    """Whether an annotation takes text, or nothing, and no other value: `str | None`, `Annotated[str, …]`, decimals."""
    if typing.get_origin(kind) is typing.Annotated:
        return _asks_for_text(typing.get_args(kind)[0])
    if typing.get_origin(kind) in (typing.Union, types.UnionType):
        return all(each is types.NoneType or _asks_for_text(each) for each in typing.get_args(kind))
    if typing.get_origin(kind) is typing.Literal:
        return all(isinstance(each, str) for each in typing.get_args(kind))
    return kind in (str, Decimal)
