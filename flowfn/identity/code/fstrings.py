"""An f-string as one text on every Python.

Rule: a function's text is the same wherever it is read. `ast.unparse` quotes an f-string that has quotes in its
expressions otherwise on 3.12 than before, so that its text is made here.
"""

from __future__ import annotations

import ast
from typing import Any, Final

__all__ = ["FString"]

_QUOTES: Final = ("'", '"', '"""', "'''")


class FString(ast.expr):
    """An f-string, to stand in its place in a tree; what is inside it is replaced already.

    `id` is its text: by the name of its class, `ast.unparse` takes it for a name, and writes what that is.
    """

    _fields = ("values",)

    def __init__(self, node: ast.JoinedStr) -> None:
        super().__init__()
        self.values = node.values
        self.inside = "".join(map(_part, node.values))
        quote = next((each for each in _QUOTES if each not in self.inside), "'")
        self.id = f"f{quote}{self.inside}{quote}"
        ast.copy_location(self, node)


FString.__name__ = "Name"


def _part(value: Any) -> str:
    """A part between the quotes: what is written as it is, or an expression."""
    if isinstance(value, ast.Constant):
        return "".join(map(_escaped, str(value.value))).replace("{", "{{").replace("}", "}}")
    text = ast.unparse(value.value)
    conversion = "" if value.conversion == -1 else f"!{chr(value.conversion)}"
    form = "" if value.format_spec is None else f":{value.format_spec.inside}"
    return f"{{{' ' * text.startswith('{')}{text}{conversion}{form}}}"


def _escaped(character: str) -> str:
    if character != "\\" and character.isprintable():
        return character
    return character.encode("unicode_escape").decode("ascii")
