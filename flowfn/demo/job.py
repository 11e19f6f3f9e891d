"""The workflow of the demo: measure Python files in parallel, see who imports whom, ask, write a report.

Ordinary functions with two decorators. Nothing here knows that the process is going to be killed.
"""

import ast
import os
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from flowfn import entrypoint, gather, interrupt, task

Section = Literal["largest", "imported", "undocumented"]

ROWS = 10
"""How many modules each section of the report lists."""


@dataclass(frozen=True)
class Module:
    """What one source file holds; all zero where it is no Python that this Python can read."""

    name: str
    readable: bool = False
    lines: int = 0
    functions: int = 0
    classes: int = 0
    documented: int = 0
    imports: tuple[str, ...] = ()


@dataclass(frozen=True)
class Summary:
    """The report in figures."""

    report: str
    files: int
    unreadable: int
    lines: int
    functions: int
    classes: int
    imports: int


@task
def measure(folder: str, file: str) -> Module:
    """Parse one file and count what is in it."""
    name = _module_name(file)
    source = Path(folder, file).read_bytes()
    try:
        tree = ast.parse(source, filename=file)
    except (SyntaxError, ValueError):
        return Module(name, lines=source.count(b"\n"))
    nodes = list(ast.walk(tree))
    functions = [node for node in nodes if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    classes = [node for node in nodes if isinstance(node, ast.ClassDef)]
    documented = sum(
        ast.get_docstring(node, clean=False) is not None for node in [tree, *functions, *classes]
    )
    return Module(name, True, source.count(b"\n"), len(functions), len(classes), documented, _imported(nodes))


@task
def cross_reference(modules: list[Module]) -> dict[str, int]:
    """How many of the modules import each of them, the most imported first."""
    names = {module.name for module in modules}
    importers = Counter(name for module in modules for name in module.imports if name in names)
    return dict(sorted(importers.items(), key=lambda item: (-item[1], item[0])))


@task
def write_report(modules: list[Module], importers: dict[str, int], first: Section, path: str) -> Summary:
    """Write the report as Markdown; a reader never sees half of it."""
    summary = _summary(modules, path)
    draft = Path(path + ".draft")
    draft.write_text("\n".join(_lines(summary, modules, importers, first)), "utf-8")
    os.replace(draft, path)
    return summary


@entrypoint(checkpointer=os.environ.get("FLOWFN_DB", "runs.db"))
def index_library(folder: str, files: list[str], report: str) -> Summary:
    """Index the source files of a folder, and write the report that a human wants."""
    modules = gather(*[measure(folder, file) for file in files]).result()  # in parallel, recorded one by one
    importers = cross_reference(modules).result()
    question = f"{len(modules)} files are measured. Which section shall the report open with?"
    first: Section = interrupt(question, key="first section", type=Section)  # may take days
    return write_report(modules, importers, first, report).result()


# -- plain functions --------------------------------------------------------------------------------------


def _module_name(file: str) -> str:
    return file.removesuffix(".py").removesuffix("/__init__").replace("/", ".")


def _imported(nodes: Iterable[ast.AST]) -> tuple[str, ...]:
    """The modules that a file names in its imports, each once; relative ones left out."""
    found: set[str] = set()
    for node in nodes:
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            found.add(node.module)
    return tuple(sorted(found))


def _summary(modules: Sequence[Module], path: str) -> Summary:
    return Summary(
        report=path,
        files=len(modules),
        unreadable=sum(not module.readable for module in modules),
        lines=sum(module.lines for module in modules),
        functions=sum(module.functions for module in modules),
        classes=sum(module.classes for module in modules),
        imports=sum(len(module.imports) for module in modules),
    )


def _lines(
    summary: Summary, modules: Sequence[Module], importers: Mapping[str, int], first: Section
) -> list[str]:
    sections = _sections(modules, importers)
    order = [first, *(name for name in sections if name != first)]
    head = [
        "# The Python standard library",
        "",
        f"{summary.files} files, {summary.lines} lines, {summary.classes} classes, "
        f"{summary.functions} functions, {summary.imports} imports; {summary.unreadable} unreadable files.",
    ]
    return head + [line for name in order for line in ["", f"## {name}", "", *sections[name]]] + [""]


def _sections(modules: Sequence[Module], importers: Mapping[str, int]) -> dict[str, list[str]]:
    largest = sorted(modules, key=lambda module: (-module.lines, module.name))
    bare = sorted(modules, key=lambda module: (module.documented - _documentable(module), module.name))
    return {
        "largest": [f"- `{m.name}`: {m.lines} lines" for m in largest[:ROWS]],
        "imported": [f"- `{name}`: by {count} files" for name, count in list(importers.items())[:ROWS]],
        "undocumented": [
            f"- `{m.name}`: {_documentable(m) - m.documented} of {_documentable(m)} without a docstring"
            for m in bare[:ROWS]
        ],
    }


def _documentable(module: Module) -> int:
    """The module itself, its classes and its functions."""
    return (1 + module.classes + module.functions) if module.readable else 0
