"""The source of a `__main__` that is no file: the cells of a notebook, the lines of a prompt, the text after `-c`.

Rule: of all that ran there, what gave a name its value last counts, and what was done to it in lines after that. A
cell that was edited and didn't run, or failed on the way, needn't be what gave the value: a line that spells the value
is believed first.
"""

from __future__ import annotations

import ast
import linecache
import re
import sys
from collections.abc import Iterator, Mapping
from typing import Any

from flowfn.identity.code.index import Index, index_of_text
from flowfn.python.script import namespace_of

__all__ = ["Cells", "spells"]

_PROMPT = re.compile(r"<(stdin|python-input)[->]")
"""What Python calls a line of its prompt; the source is there from Python 3.13 on."""

_COMMAND = re.compile(r"-[A-Za-z]*c")


class Cells:
    """What ran in a namespace, the latest last; it tells what a `Top` tells of a file."""

    is_older = True

    def __init__(self, namespace: Mapping[str, Any]) -> None:
        self._namespace = namespace
        self._cells = [*_cells(namespace)]

    @property
    def imports(self) -> dict[str, list[tuple[str, str]]]:
        """The names from other modules: from which, and what they are called there."""
        return {name: places for index in self._indexes("import") for name, places in index.imports.items()}

    @property
    def stars(self) -> list[str]:
        """The modules of which it has all names, the first first."""
        return [module for index in self._indexes("import") for module in index.stars]

    @property
    def given(self) -> set[str]:
        """The names that it gives a value of its own."""
        return {name for index in self._indexes("") for name in index.given}

    def assigned(self, name: str) -> str | None:
        """What made the value that a name has, reduced; None where nothing is seen to."""
        texts = self._ways_made(name)
        value = self._namespace.get(name)
        return next((text for text in texts if spells(text, value)), texts[0] if texts else None)

    def changed(self, name: str) -> str | None:
        """What gave parts of what a name has since that was made last, reduced."""
        found: list[str | None] = []
        for index in self._indexes(name):
            found = [*([] if index.makes(name) else found), index.changed(name)]
        return "\n".join(filter(None, found)) or None

    def makes(self, name: str) -> bool:
        """Whether what is assigned gives the name a value of its own: nothing else is taken for what made it."""
        return True

    def _ways_made(self, name: str) -> list[str]:
        """The assignments of a name, each with what was done to it afterwards, the latest first."""
        found: list[str] = []
        done: list[str] = []
        for index in reversed([*self._indexes(name)]):
            text = index.assigned(name)
            if text is None and name in index.imports:
                break
            if text is not None:
                done.insert(0, text)
                if index.makes(name):
                    found.append("\n".join(done))
                    done = []
        return found

    def _indexes(self, word: str) -> Iterator[Index]:
        """What those cells say that have a word."""
        return filter(None, (index_of_text(text) for text in self._cells if word in text))


def spells(text: str, value: Any) -> bool:
    """Whether a source is a literal, and of this value."""
    try:
        return bool(ast.literal_eval(text) == value)
    except Exception:  # no literal, or a value that can't be compared
        return False


def _cells(namespace: Mapping[str, Any]) -> Iterator[str]:
    """The texts that ran in the namespace of `__main__`, in their order."""
    history = namespace.get("_ih")  # IPython's, in notebooks too
    if isinstance(history, list):
        yield from (text for each in [*history] if isinstance(each, str) for text in _inside_magic(each))
    elif namespace is namespace_of("__main__"):
        yield from _command()
        for name, entry in [*linecache.cache.items()]:
            if _PROMPT.match(name) and len(entry) == 4:
                yield "".join(entry[2])


def _inside_magic(cell: str) -> Iterator[str]:
    """A cell; of one that begins with `%%time` or the like, as IPython writes it, what that runs."""
    yield cell
    if "run_cell_magic" in cell:
        try:
            calls = [each for each in ast.walk(ast.parse(cell)) if isinstance(each, ast.Call)]
        except SyntaxError:
            return
        for call in calls:
            texts = [each.value for each in call.args if isinstance(each, ast.Constant)]
            if (
                isinstance(call.func, ast.Attribute)
                and call.func.attr == "run_cell_magic"
                and len(texts) == 3
            ):
                yield str(texts[2])


def _command() -> Iterator[str]:
    """The text that Python was given after `-c`."""
    words = iter(sys.orig_argv[1:])
    for word in words:
        if word in ("-W", "-X"):  # the next word is what it is given
            next(words, None)
        elif _COMMAND.fullmatch(word):
            yield from [*words][:1]
        elif not word.startswith("-"):
            return
