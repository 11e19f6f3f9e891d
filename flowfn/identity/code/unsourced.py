"""Code told by what it is compiled to: that whose source isn't found, or whose file was changed meanwhile.

Rule: constants and instructions count, and no line or place; what is said holds in every process of one Python minor
version.
"""

from __future__ import annotations

import sys
from types import CodeType
from typing import Any

from flowfn.identity.code.compiled import code_inside
from flowfn.identity.code.scopes import Chain

__all__ = ["instructions_of", "names_compiled_in", "text_of"]


def text_of(code: CodeType) -> str:
    """What stands for the source of code that has none: its instructions, and the Python that they are for."""
    return f"python {sys.version_info.major}.{sys.version_info.minor}\n{instructions_of(code)}"


def instructions_of(code: CodeType) -> str:
    """All that code, and what is inside it, is compiled to, but for where it stands."""
    names = (code.co_name, code.co_varnames, code.co_names, code.co_freevars, code.co_flags)
    constants = ", ".join(map(_constant, code.co_consts))
    return f"{names!r} {code.co_code.hex()} [{constants}]"


def _constant(value: Any) -> str:
    if isinstance(value, CodeType):
        return instructions_of(value)
    if isinstance(value, frozenset):
        return "{" + ", ".join(sorted(map(_constant, value))) + "}"
    if isinstance(value, tuple):
        return "(" + ", ".join(map(_constant, value)) + ")"
    return repr(value)


def names_compiled_in(code: CodeType) -> frozenset[Chain]:
    """All names, and all pairs of them: which is whose attribute cannot be seen."""
    names = [*code.co_names, *code.co_freevars]
    chains: set[Chain] = {(name,) for name in names}
    chains.update((root, name) for root in names for name in code.co_names)
    return frozenset(chains).union(*map(names_compiled_in, code_inside(code)))
