"""Where in a function's code a call stands, told by what its lines name and not by their numbers.

Rule: a call without arguments (`flowfn.uuid4()`) is told from others by the lines that lead to it, from its own out to
the function that it is recorded under. What is inserted around a line, or moved, changes it as little as the version of
Python, so that a comprehension is part of the code around it. Lines of libraries don't count, nor do those that one
generated, as a dataclass's `__init__` is, nor the one on which a decorator hands on to what it is around whatever it
was given, nor does the name of that function.
"""

from __future__ import annotations

import dis
import linecache
import sys
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from hashlib import sha256
from threading import RLock
from types import CodeType, FrameType, FunctionType
from typing import Any

from flowfn.identity.code.compiled import VARARGS, VARKEYWORDS, all_code
from flowfn.identity.code.fingerprint import reached
from flowfn.identity.code.named import COMPREHENSIONS, named_by_line
from flowfn.identity.code.unwrapping import code_of, unwrapped
from flowfn.python.forking import let_go_by_fork
from flowfn.python.project import is_own_module
from flowfn.python.script import MAIN, namespace_of

__all__ = ["all_stand", "body_of", "leading_to", "lines_of"]


def leading_to(frame: FrameType, outermost: CodeType | None, began: Sequence[FrameType] = ()) -> list[bytes]:
    """The lines that lead to a call which is being made in `frame`, its own first, out to that of `outermost`.

    `began` is what began the branch of asyncio code that this is, whether the loop runs it or, as eager tasks, what
    made it; and what waits for it as a part of itself, from the inside out. Where neither is under way there, as on a
    thread of the code's own, they lead out to a library's.
    """
    around = iter(began)
    first = next(around, None)
    is_around = False
    found: list[bytes] = []
    library: int | None = None
    line: int | None = None
    each: FrameType | None = frame
    while each is not None:
        line = each.f_lineno if line is None else line
        is_around = is_around or each is first
        outer = next(around, None) if is_around else each.f_back
        if each.f_code.co_name in COMPREHENSIONS and outer is not None:  # before Python 3.12
            each = outer
            continue
        if is_own_module(each.f_globals.get("__name__", "")):
            if _counts(each, outermost, line, is_first=not found):
                found.append(_lines(each.f_code, each.f_code is not outermost).get(line, b""))
        elif library is None:
            library = len(found)
        line = None
        if each.f_code is outermost:
            return found
        each = outer
    return found if is_around else found[:library]


def _counts(frame: FrameType, outermost: CodeType | None, line: int, *, is_first: bool) -> bool:
    code = frame.f_code
    if code is outermost:
        return True
    return not _is_generated(frame) and (is_first or line != _handing_on(code))


def _is_generated(frame: FrameType) -> bool:
    """Whether no file has its code, though one has its module's."""
    return frame.f_code.co_filename.startswith("<") and "__file__" in frame.f_globals


@lru_cache(maxsize=1024)
def _handing_on(code: CodeType) -> int | None:
    """The line on which a decorator's code calls what it captured with whatever it was given, and nothing else: it may
    be put on, or taken off, and the call stands where it stood. None where no line does so, or several do."""
    captured = {*code.co_freevars} - {"__class__"}
    if not captured or not code.co_flags & (VARARGS | VARKEYWORDS):
        return None
    lines: dict[int, set[str]] = {}
    for step in dis.get_instructions(code):
        if step.positions is not None and step.positions.lineno is not None:
            said = f"LOAD_DEREF {step.argval}" if step.opname == "LOAD_DEREF" else step.opname
            lines.setdefault(step.positions.lineno, set()).add(said)
    calls = {f"LOAD_DEREF {name}" for name in captured}
    found = [
        line
        for line, steps in lines.items()
        if "CALL_FUNCTION_EX" in steps and steps & calls and steps.isdisjoint(_OF_OTHERS)
    ]
    return found[0] if len(found) == 1 else None


_OF_OTHERS = ("LOAD_GLOBAL", "LOAD_NAME", "LOAD_ATTR", "LOAD_METHOD", "LOAD_SUPER_ATTR")


def body_of(function: Any) -> CodeType | None:
    """The code of a function under all its wrappers, if it has any."""
    return getattr(unwrapped(function), "__code__", None)


def lines_of(function: Any) -> frozenset[bytes]:
    """All lines of the project's code that a function is seen to lead to, by the names in it."""
    outermost = body_of(function)
    codes = (code for unit in reached(function) for code in _codes_of(unit))
    return frozenset(line for code in codes for line in _lines(code, code is not outermost).values())


def all_stand(lines: Iterable[bytes], reached: frozenset[bytes]) -> bool:
    """Whether the project still has all of these: among the lines that a function is seen to lead to, or in a module
    that is loaded, as what is called need have no name (a field's default, a method of what somebody was given)."""
    left = [line for line in lines if line not in reached]
    return not left or _lines_of_modules().issuperset(left)


_loaded: dict[str, Any] = {}
_of_modules: set[bytes] = set()
_modules_read = 0
_reading = let_go_by_fork(RLock())


def _lines_of_modules() -> set[bytes]:
    """The lines of the project's modules that have been loaded; read where an edit has made a call new."""
    global _modules_read
    with _reading:  # who comes meanwhile would miss what stands
        if len(sys.modules) == _modules_read:
            return _of_modules
        _modules_read = len(sys.modules)
        for name, module in list(sys.modules.items()):
            if _loaded.get(name) is not module:
                _loaded[name] = module
                _of_modules.update(_lines_of_module(name) if is_own_module(name) else ())
    return _of_modules


def _lines_of_module(name: str) -> frozenset[bytes]:
    """The lines of all functions in a module, as it is compiled; none where nothing is found to compile."""
    namespace = namespace_of(name)
    load, file = getattr(namespace.get("__loader__"), "get_code", None), namespace.get("__file__") or ""
    try:
        code = None if load is None or name in MAIN else load(name)
        code = code or compile("".join(linecache.getlines(file)), file, "exec", dont_inherit=True)
    except Exception:  # loaders may be anybody's
        return frozenset()
    return frozenset(line for each in all_code(code) for line in _lines_in(each, True).values())


def _codes_of(unit: Any) -> Iterator[CodeType]:
    """The code of a function, or of all methods of a class, and what is inside it."""
    if type(unit) is FunctionType:
        yield from all_code(unit.__code__)
        return
    for member in vars(unit).values():
        for code in code_of(member):
            yield from all_code(code)


@lru_cache(maxsize=1024)
def _lines(code: CodeType, named: bool) -> dict[int, bytes]:
    """`_lines_in`, kept: a loop asks on each of its turns."""
    return _lines_in(code, named)


def _lines_in(code: CodeType, named: bool) -> dict[int, bytes]:
    """The lines of a function's code, each by what it names; `named`: by the function's name as well."""
    name = code.co_name if named else ""
    texts = {number: "\n".join([name, *sorted(found)]) for number, found in named_by_line(code).items()}
    return {
        number: sha256(text.encode("utf-8", "surrogatepass")).digest()[:8] for number, text in texts.items()
    }
