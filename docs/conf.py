"""How Sphinx builds the documentation: `python -m sphinx -W -b html docs build/docs` (extra `docs`).

Rule: pages are Markdown that also reads well in the repository, so only index pages have directives. What can be
taken from the code is: the reference from docstrings and `--help`, the cookbook's page from its scripts.
"""

import ast
import concurrent.futures
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.util.docutils import SphinxDirective
from typer.main import get_command
from typer.testing import CliRunner

REPO = Path(__file__).resolve().parent.parent
sys.path.append(str(REPO))  # last: an installed flowfn comes first

import flowfn  # noqa: E402
from flowfn.cli.app import app as command_line  # noqa: E402

project = "flowfn"
author = "flowfn contributors"
version = release = flowfn.__version__

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
html_theme = "furo"
html_title = f"flowfn {version}"
html_copy_source = False
html_show_copyright = False
html_static_path = ["_static"]
html_css_files = ["wide.css"]

myst_heading_anchors = 3
default_role = "code"  # docstrings have `names` in single backticks
autodoc_default_options = {"members": True}
autodoc_member_order = "groupwise"
autodoc_typehints = "none"  # the signature has what a reader needs; the rest is for type checkers
napoleon_google_docstring = True
napoleon_numpy_docstring = False


class Cookbook(SphinxDirective):
    """`{cookbook}`: each script of `cookbook/` under a heading, in order."""

    def run(self) -> list[nodes.Node]:
        found: list[nodes.Node] = []
        for script in sorted((REPO / "cookbook").glob("*.py")):
            self.env.note_dependency(str(script))
            source = script.read_text("utf-8")
            opening = (ast.get_docstring(ast.parse(source)) or "").partition("\n")[0]
            section = nodes.section(ids=[script.stem.replace("_", "-")], names=[script.stem])
            self.state.document.note_explicit_target(section)
            section += _title(f"{script.stem[:2]}  {opening.rstrip('.')}")
            section += nodes.literal_block(source, source, language="python")
            found.append(section)
        return found


def _title(text: str) -> nodes.title:
    """A heading whose `names` in backticks are code."""
    parts = enumerate(text.split("`"))
    inline = [nodes.literal(text=part) if place % 2 else nodes.Text(part) for place, part in parts]
    return nodes.title("", "", *inline)


class Commands(SphinxDirective):
    """`{commands}`: what each command of `flowfn` says of itself under `--help`."""

    def run(self) -> list[nodes.Node]:
        return [self._section(words) for words in commands(get_command(command_line), ())]

    def _section(self, words: tuple[str, ...]) -> nodes.Node:
        page = CliRunner().invoke(command_line, [*words, "--help"], prog_name="flowfn").stdout
        section = nodes.section(ids=["-".join(("flowfn", *words))])
        section += nodes.title(text=" ".join(("flowfn", *words)))
        section += nodes.literal_block(page, page, language="text")
        return section


def commands(command: Any, words: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    """The words of a command, and of those below it."""
    yield words
    for name, below in getattr(command, "commands", {}).items():
        yield from commands(below, (*words, name))


LINKS_OUT = [
    (re.compile(r"\]\((?:\.\./)+cookbook/(\w+)\.py\)"), r"](#\1)"),
    (re.compile(r"\]\((?:\.\./)+cookbook\)"), "](/cookbook.md)"),
    (re.compile(r"\]\((?:\.\./)+graph_compat/COMPATIBILITY\.md\)"), "](/reference/compatibility.md)"),
]
"""Where a link out of docs/, right in the repository, leads in what is built."""


def lead_links_to_pages(app: Any, name: str, source: list[str]) -> None:
    for pattern, target in LINKS_OUT:
        source[0] = pattern.sub(target, source[0])


def left_out(app: Any, what: str, name: str, obj: Any, skip: bool, options: Any) -> bool | None:
    """`flowfn` exports the errors, and `flowfn.errors` documents them. A `Future` is for its user what Python's is: the
    rest of it is between the engine and itself. The fields of a named tuple are in the text about it. What LangChain
    lends is in its own documents.
    """
    if type(obj).__name__ == "_tuplegetter":
        return True
    if isinstance(obj, type) and issubclass(obj, BaseException):
        return None if app.env.docname == "reference/errors" else True
    code = getattr(obj, "fget", obj)
    if (getattr(code, "__module__", None) or "").startswith("langchain_core"):
        return True
    owner = getattr(code, "__qualname__", "").rpartition(".")[0]
    return True if owner == "Future" and not hasattr(concurrent.futures.Future, name) else None


def leave_to_the_page(app: Any, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    """The page of `flowfn` itself opens with what its docstring says."""
    if name == "flowfn":
        lines.clear()


def setup(app: Any) -> None:
    app.add_directive("commands", Commands)
    app.add_directive("cookbook", Cookbook)
    app.connect("source-read", lead_links_to_pages)
    app.connect("autodoc-process-docstring", leave_to_the_page, priority=400)  # before napoleon's
    app.connect("autodoc-skip-member", left_out)
