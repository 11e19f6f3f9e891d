"""Section 5 as a table: which module may import what. The picture in the docs stays true because this fails.

A module without a row fails too: give it one, and draw it.
"""

import ast
import re
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import NamedTuple

import pytest

PACKAGES = ("flowfn", "graph_compat", "checkpointers")

NOUNS = {"flowfn.values", "flowfn.errors"}
IN_PLACE_OF_THE_STANDARD_LIBRARY = {"flowfn.python.cached_property"}
"""Like that library, for everyone."""

MAY_IMPORT: dict[str, set[str]] = {
    # A row speaks for the module and all below it; everyone may import their own package.
    "flowfn.type_variables": set(),
    "flowfn.values": {"flowfn.type_variables"},
    "flowfn.errors": set(),
    "flowfn.python": NOUNS,
    "flowfn.policies": NOUNS | {"flowfn.type_variables", "flowfn.options"},
    "flowfn.opening": {"flowfn.errors", "flowfn.python"},
    "flowfn.delta": {"flowfn.errors"},
    "flowfn.ports": {"flowfn.values", "flowfn.delta"},
    "flowfn.saver_around": {"flowfn.ports"},
    "flowfn.described": {"flowfn.ports"},
    "flowfn.instance_ids": set(),
    "flowfn.row_channels": set(),
    "flowfn.pregel": NOUNS | {"flowfn.policies", "flowfn.python.unicode", "flowfn.row_channels"},
    # What a call is, before and after it runs.
    "flowfn.options": NOUNS,
    "flowfn.identity": NOUNS | {"flowfn.python", "flowfn.rendering", "flowfn.report"},
    "flowfn.doubt": set(),
    "flowfn.rendering": set(),
    "flowfn.parameters": NOUNS | {"flowfn.python.annotations"},
    "flowfn.definition": NOUNS
    | {"flowfn.parameters", "flowfn.identity", "flowfn.doubt", "flowfn.options", "flowfn.config"}
    | {"flowfn.policies", "flowfn.python.annotations", "flowfn.python.parametrised"},
    "flowfn.report": set(),
    "flowfn.kinds": NOUNS | {"flowfn.python.loaded", "flowfn.serde"},
    "flowfn.events": {"flowfn.values", "flowfn.config", "flowfn.engine.calls.call", "flowfn.pregel"},
    # What a run is given.
    "flowfn.logs": {"flowfn.context"},
    "flowfn.validation": {"flowfn.python.meant", "flowfn.python.typed_dicts"},
    "flowfn.config": NOUNS | {"flowfn.executors.opening", "flowfn.options", "flowfn.python.unicode"},
    "flowfn.serde": NOUNS | {"flowfn.python", "flowfn.ports"},
    "flowfn.encryption": NOUNS | {"flowfn.ports", "flowfn.serde.format"},
    "flowfn.caching": NOUNS
    | {"flowfn.ports", "flowfn.definition", "flowfn.identity", "flowfn.futures", "flowfn.logs"}
    | {"flowfn.context", "flowfn.python", "flowfn.opening", "flowfn.policies", "flowfn.sqlite.file"},
    "flowfn.executors": NOUNS
    | {"flowfn.context", "flowfn.python", "flowfn.opening"}
    | {"flowfn.ports", "flowfn.runtime", "flowfn.serde"},
    "flowfn.context": {
        "flowfn.errors",
        "flowfn.python.forking",
        "flowfn.python.handling",
        "flowfn.definition",
        "flowfn.engine.calls.frame",
        "flowfn.runtime",
    },
    "flowfn.runtime": {"flowfn.context", "flowfn.type_variables"},
    "flowfn.futures": NOUNS | {"flowfn.context", "flowfn.engine.drive", "flowfn.python.unlocked"},
    # What a run does.
    "flowfn.engine": NOUNS
    | {"flowfn.pregel", "flowfn.ports", "flowfn.policies", "flowfn.context", "flowfn.futures"}
    | {
        "flowfn.identity",
        "flowfn.instance_ids",
        "flowfn.row_channels",
        "flowfn.definition",
        "flowfn.doubt",
        "flowfn.kinds",
        "flowfn.rendering",
        "flowfn.report",
        "flowfn.events",
    }
    | {
        "flowfn.config",
        "flowfn.caching",
        "flowfn.delta",
        "flowfn.described",
        "flowfn.executors",
        "flowfn.logs",
        "flowfn.python.inbox",
        "flowfn.python.lazy",
        "flowfn.python.recent",
        "flowfn.python.tally",
        "flowfn.runtime",
        "flowfn.validation",
    },
    "flowfn.hosts": NOUNS
    | {"flowfn.policies"}
    | {"flowfn.engine.drive", "flowfn.engine.calls.frame", "flowfn.futures", "flowfn.context", "flowfn.ports"}
    | {"flowfn.identity.code.compiled", "flowfn.identity.forms.attributes", "flowfn.identity.glance"}
    | {"flowfn.python"},
    # What a caller sees.
    "flowfn.invocation": NOUNS
    | {
        "flowfn.opening",
        "flowfn.caching.opening",
        "flowfn.events",
        "flowfn.streams",
        "flowfn.watching",
        "flowfn.runtime",
        "flowfn.definition",
        "flowfn.engine",
        "flowfn.hosts",
        "flowfn.pregel",
        "flowfn.ports",
        "flowfn.context",
        "flowfn.config",
    }
    | {
        "flowfn.identity",
        "flowfn.logs",
        "flowfn.options",
        "flowfn.serde",
        "flowfn.stores.opening",
        "flowfn.python",
        "flowfn.validation",
        "checkpointers",
    },
    "flowfn.streams": NOUNS
    | {
        "flowfn.config",
        "flowfn.row_channels",
        "flowfn.engine.ids",
        "flowfn.engine.calls.injection",
        "flowfn.engine.records.reader",
        "flowfn.events",
        "flowfn.options",
        "flowfn.pregel",
    },
    "flowfn.history": NOUNS
    | {
        "flowfn.config",
        "flowfn.described",
        "flowfn.engine",
        "flowfn.hosts.ids",
        "flowfn.instance_ids",
        "flowfn.row_channels",
        "flowfn.invocation",
        "flowfn.logs",
    }
    | {"flowfn.ports", "flowfn.pregel", "flowfn.rendering", "flowfn.report", "flowfn.streams"},
    # Those who watch runs.
    "flowfn.watching": NOUNS | {"flowfn.events", "flowfn.logs", "flowfn.python.lazy", "flowfn.python.loaded"},
    "flowfn.watching.calls": NOUNS
    | {
        "flowfn.events",
        "flowfn.python.forking",
        "flowfn.engine.calls.call",
        "flowfn.pregel",
        "flowfn.history",
        "flowfn.rendering",
    },
    "flowfn.watching.lines": NOUNS
    | {"flowfn.engine.calls.call", "flowfn.events", "flowfn.logs", "flowfn.watching"},
    "flowfn.watching.telemetry": NOUNS
    | {
        "flowfn.python.loaded",
        "flowfn.engine.calls.call",
        "flowfn.events",
        "flowfn.pregel",
        "flowfn.watching",
    },
    "flowfn.watching.progress": NOUNS
    | {
        "flowfn.events",
        "flowfn.python.forking",
        "flowfn.python.loaded",
        "flowfn.rendering",
        "flowfn.watching",
    },
    "flowfn.watching.tree": {"flowfn.history", "flowfn.rendering"},
    # Pictures of all that: data, and plain functions of it.
    "flowfn.drawing": NOUNS,
    "flowfn.drawing.sketch": {"flowfn.drawing", "flowfn.identity", "flowfn.functional.recorded"},
    "flowfn.drawing.journey": {"flowfn.drawing", "flowfn.history", "flowfn.rendering"},
    "flowfn.drawing.timeline": {"flowfn.drawing", "flowfn.history", "flowfn.rendering"},
    "flowfn.drawing.waits": {"flowfn.history", "flowfn.rendering"},
    "flowfn.thread": NOUNS
    | {
        "flowfn.history",
        "flowfn.config",
        "flowfn.drawing",
        "flowfn.hosts.ids",
        "flowfn.ports",
        "flowfn.report",
        "flowfn.workflow",
    },
    "flowfn.stateful": NOUNS
    | {
        "flowfn.history",
        "flowfn.config",
        "flowfn.engine",
        "flowfn.hosts.left_behind",
        "flowfn.hosts.streams",
        "flowfn.invocation",
        "flowfn.ports",
    },
    "flowfn.workflow": NOUNS
    | {"flowfn.history.due", "flowfn.options", "flowfn.pregel", "flowfn.runtime"}
    | {
        "flowfn.python.beside",
        "flowfn.python.event_loop",
        "flowfn.python.lazy",
        "flowfn.python.sifting",
        "flowfn.python.traceback",
        "flowfn.config",
        "flowfn.context",
        "flowfn.engine",
        "flowfn.hosts",
        "flowfn.ports",
    }
    | {"flowfn.invocation", "flowfn.stateful", "flowfn.streams", "flowfn.thread"},
    "flowfn.functional": NOUNS
    | {"flowfn.workflow", "flowfn.invocation", "flowfn.engine", "flowfn.hosts", "flowfn.pregel"}
    | {"flowfn.policies", "flowfn.context", "flowfn.futures", "flowfn.identity", "flowfn.definition"}
    | {"flowfn.config", "flowfn.caching", "flowfn.options", "flowfn.serde", "flowfn.validation"}
    | {
        "flowfn.drawing",
        "flowfn.python",
        "flowfn.executors.opening",
        "flowfn.stores.opening",
        "flowfn.logs",
        "flowfn.ports",
    }
    | {"flowfn.postgres.transacting", "flowfn.rendering", "flowfn.thread"}
    | {"flowfn.sqlite.file", "flowfn.sqlite.transacting", "flowfn.sqlite.under_way"},
    "flowfn.doctor": NOUNS
    | {"flowfn.config", "flowfn.engine", "flowfn.invocation", "flowfn.ports", "flowfn.report"}
    | {"flowfn.saver_around"},
    # What tests may hold: the real engine, on hosts and savers of a test's own.
    "flowfn.testing": NOUNS
    | {
        "flowfn.instance_ids",
        "flowfn.row_channels",
        "flowfn.context",
        "flowfn.definition",
        "flowfn.engine",
        "flowfn.identity",
        "flowfn.python.event_loop",
        "flowfn.hosts",
        "flowfn.saver_around",
        "flowfn.ports",
        "flowfn.policies",
    }
    | {"flowfn.functional", "flowfn.invocation", "flowfn.report", "flowfn.workflow", "checkpointers"},
    "flowfn.pytest_plugin": {"flowfn.testing"},
    "flowfn.__main__": {"flowfn.cli"},
    "flowfn.demo": NOUNS | {"flowfn", "checkpointers"},
    "flowfn.cli": NOUNS
    | {"flowfn", "flowfn.demo", "flowfn.definition", "flowfn.functional.entrypoint", "flowfn.functional.task"}
    | {"flowfn.caching", "flowfn.history", "flowfn.report"}
    | {"flowfn.doctor", "flowfn.workflow", "flowfn.invocation"}
    | {"flowfn.ports", "flowfn.events", "flowfn.serde"}
    | {
        "flowfn.config",
        "flowfn.drawing",
        "flowfn.hosts.ids",
        "flowfn.rendering",
        "flowfn.history",
        "flowfn.watching",
    }
    | {
        "checkpointers",
        "flowfn.encryption",
        "flowfn.sqlite.file",
        "flowfn.stores.opening",
        "graph_compat.importing",
    },
    "flowfn.sqlite": {"flowfn.python", "flowfn.errors"},
    "flowfn.postgres": {"flowfn.python", "flowfn.errors"},
    "flowfn.stores": NOUNS
    | {"flowfn.ports", "flowfn.serde", "flowfn.sqlite", "flowfn.postgres", "flowfn.python"}
    | {"flowfn.hosts.clock", "flowfn.opening"},
    "checkpointers": NOUNS
    | {
        "flowfn.delta",
        "flowfn.described",
        "flowfn.encryption",
        "flowfn.instance_ids",
        "flowfn.row_channels",
        "flowfn.python",
        "flowfn.logs",
        "flowfn.opening",
        "flowfn.ports",
        "flowfn.saver_around",
        "flowfn.serde",
        "flowfn.sqlite",
        "flowfn.postgres",
    },
    "graph_compat": NOUNS
    | {"flowfn.config", "flowfn.context", "flowfn.definition", "flowfn.invocation", "flowfn.identity"}
    | {
        "flowfn.python",
        "flowfn.events",
        "flowfn.functional.task",
        "flowfn.functional.wrapping",
        "flowfn.hosts.on_thread",
        "flowfn.logs",
        "flowfn.runtime",
        "flowfn.streams",
    }
    | {"flowfn.validation"}
    | {"flowfn", "flowfn.workflow", "flowfn.policies", "flowfn.pregel", "flowfn.ports", "flowfn.serde"}
    | {"flowfn.caching.redis", "flowfn.described", "flowfn.drawing", "flowfn.sqlite.file", "flowfn.stores"}
    | {"checkpointers", "graph_compat.importing.unfinished"},
    # Writes what the engine would have, and so has to know how it does.
    "graph_compat.importing.unfinished": NOUNS
    | {
        "flowfn.identity",
        "flowfn.engine.questions.waiting",
        "flowfn.engine.ids",
        "flowfn.instance_ids",
        "flowfn.row_channels",
        "flowfn.engine.questions.interrupts",
        "flowfn.engine.records.record",
        "flowfn.pregel",
        "flowfn.ports",
    },
    # The front door re-exports; it holds no logic, and only front ends come in through it.
    "flowfn": NOUNS
    | {"flowfn.functional", "flowfn.workflow", "flowfn.thread", "flowfn.report", "flowfn.runtime"}
    | {"flowfn.doubt", "flowfn.python.ending", "flowfn.python.lazy", "flowfn.policies", "flowfn.futures"}
    | {"flowfn.caching"},
}
EXACT = {"flowfn"}
"""Rows, and permissions, that don't speak for what is below them."""

CLOCKS_AND_CHANCE = {"asyncio", "threading", "time", "random"}
IO = {"os", "io", "socket", "subprocess", "sqlite3", "pathlib", "tempfile", "shutil", "urllib"}

MUST_NOT: dict[str, set[str]] = {
    "flowfn.values": CLOCKS_AND_CHANCE | IO,
    "flowfn.errors": CLOCKS_AND_CHANCE | IO,
    "flowfn.policies": CLOCKS_AND_CHANCE - {"random"} | IO,
    "flowfn.pregel": CLOCKS_AND_CHANCE | IO,
    "flowfn.engine": CLOCKS_AND_CHANCE,
}

LAZY = {
    "pydantic",
    "tenacity",
    "cloudpickle",
    "cryptography",
    "diskcache",
    "numpy",
    "pandas",
    "rich",
    "typer",
    "psycopg",
    "IPython",
    "langchain_core",
    "opentelemetry",
    "cairosvg",
    "grandalf",
    "yaml",
}
"""What flowfn loads only inside the function that needs it."""

LOADING = {"flowfn.cli", "flowfn.postgres", "flowfn.watching.tree"}
"""But for these, which nobody imports without need."""

DRAWERS = {"utils", "util", "helpers", "misc", "common"}


class Import(NamedTuple):
    """One imported module; `loads`: importing the importer executes it; `runs`: some call of it does."""

    target: str
    line: int
    loads: bool
    runs: bool = True


Sources = dict[str, str]
"""Module name to source; a package goes by its own name."""


# -- reading ----------------------------------------------------------------------------------------------


def sources(root: Path) -> Sources:
    """All modules of the three packages under `root`."""
    found = {}
    for package in PACKAGES:
        for path in sorted((root / package).rglob("*.py")):
            parts = path.relative_to(root).with_suffix("").parts
            found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path.read_text("utf-8")
    return found


def packages_in(modules: Sources) -> set[str]:
    """The modules that have modules below them."""
    return {".".join(name.split(".")[:depth]) for name in modules for depth in range(1, name.count(".") + 1)}


def imports(name: str, modules: Sources) -> Iterator[Import]:
    """Every import of a module, wherever it stands: in functions and under TYPE_CHECKING too."""
    known = set(modules) | packages_in(modules)
    package = name if name in packages_in(modules) or name in PACKAGES else name.rpartition(".")[0]

    def visit(node: ast.AST, loads: bool, runs: bool = True) -> Iterator[Import]:
        if isinstance(node, ast.Import):
            yield from (Import(alias.name, node.lineno, loads, runs) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = absolute(node, package)
            for alias in node.names:
                below = f"{base}.{alias.name}"
                yield Import(below if below in known else base, node.lineno, loads, runs)
        elif isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            for child in node.body:
                yield from visit(child, False, False)
            for child in node.orelse:
                yield from visit(child, loads, runs)
        else:
            inside = loads and not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
            for child in ast.iter_child_nodes(node):
                yield from visit(child, inside, runs)

    yield from visit(ast.parse(modules[name]), True)


def absolute(node: ast.ImportFrom, package: str) -> str:
    """The module that `from … import` names, relative dots resolved against `package`."""
    if not node.level:
        return node.module or ""
    parts = package.split(".")
    base = parts[: len(parts) - node.level + 1]
    return ".".join([*base, *filter(None, [node.module])])


# -- judging ----------------------------------------------------------------------------------------------


def covers(row: str, module: str) -> bool:
    return module == row or (row not in EXACT and module.startswith(f"{row}."))


def row_of(module: str) -> str | None:
    """The most specific row of the table that speaks for a module."""
    return max((row for row in MAY_IMPORT if covers(row, module)), key=len, default=None)


def breaches(modules: Sources) -> list[str]:
    """Every import that the table doesn't allow, and every module that it doesn't know."""
    found = []
    for name in modules:
        row = row_of(name)
        if row is None:
            found.append(f"{name} has no row in MAY_IMPORT")
            continue
        allowed = MAY_IMPORT[row] | {row} | IN_PLACE_OF_THE_STANDARD_LIBRARY
        for target, line, *_ in imports(name, modules):
            ours = target.split(".")[0] in PACKAGES
            if ours and not any(covers(permission, target) for permission in allowed):
                found.append(f"{name}:{line} imports {target}, which {row} may not")
    return found


def impurities(modules: Sources) -> list[str]:
    """Every clock, thread, chance or I/O where the table forbids it."""
    return [
        f"{name}:{line} imports {target}"
        for name in modules
        for row, forbidden in MUST_NOT.items()
        if covers(row, name)
        for target, line, *_ in imports(name, modules)
        if target.split(".")[0] in forbidden
    ]


def eager(modules: Sources) -> list[str]:
    """Every heavy library that importing flowfn, without its command line, would load."""
    return [
        f"{name}:{line} imports {target}"
        for name in modules
        if name.split(".")[0] == "flowfn" and not any(covers(row, name) for row in LOADING)
        for target, line, loads, _ in imports(name, modules)
        if loads and target.split(".")[0] in LAZY
    ]


def cycle(modules: Sources) -> list[str]:
    """One import cycle, lazy imports included, as the modules along it; empty if there is none.

    Imports for types alone don't count: nothing has to be read first to understand them.
    """
    graph = {
        name: {i.target for i in imports(name, modules) if i.runs} & set(modules) - {name} for name in modules
    }
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return list(error.args[1])
    return []


def left_out(modules: Sources) -> list[str]:
    """Every module that isn't on its room's front page, where that is a map: a list of the files."""
    found = []
    for room in sorted(packages_in(modules) & set(modules)):
        page = ast.get_docstring(ast.parse(modules[room])) or ""
        if any(line.startswith("- ") for line in page.splitlines()):
            inside = (name.rpartition(".") for name in sorted(modules))
            files = [file for around, _, file in inside if around == room]
            found += [f"{room} leaves out {file}" for file in files if f"`{file}`" not in page]
    return found


def layers(page: str) -> list[str]:
    """The modules and rooms at the top of flowfn that a page's tables name in their first column."""
    rows = [line.split("|")[1] for line in page.splitlines() if line.startswith("| `flowfn/")]
    return sorted(re.findall(r"`(?:flowfn/)?([a-z_]+)(?:/|[.]py)`", " ".join(rows)))


# -- the project ------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def project() -> Sources:
    return sources(Path(__file__).resolve().parent.parent)


def test_every_import_is_in_the_table(project: Sources) -> None:
    """Section 5: each package imports only what its row allows, and every module has a row."""
    assert breaches(project) == []


def test_what_decides_neither_waits_nor_guesses(project: Sources) -> None:
    """Section 5, rules 1 and 2: no clock, thread or chance in pregel/ and engine/; no I/O in pregel/."""
    assert impurities(project) == []


def test_no_module_imports_itself_round_a_corner(project: Sources) -> None:
    """The modules have an order in which to be read: no import cycle, lazy imports included."""
    assert cycle(project) == []


def test_heavy_libraries_are_imported_where_they_are_used(project: Sources) -> None:
    """Section 7: no heavy library at the top level of a flowfn module."""
    assert eager(project) == []


def test_no_module_is_a_drawer(project: Sources) -> None:
    """A module is named for what is in it: none is called utils, helpers or the like."""
    mirrored = "graph_compat.utils"  # the module paths of graph_compat are LangGraph's
    ours = [name for name in project if not covers(mirrored, name)]
    assert [name for name in ours if DRAWERS & {part.strip("_") for part in name.split(".")}] == []


def test_a_map_of_a_room_shows_all_of_it(project: Sources) -> None:
    """Where a package's docstring lists its files, it lists every one."""
    assert left_out(project) == []


def test_the_layers_show_all_of_flowfn() -> None:
    """The table of layers in CONTRIBUTING names every module and room at the top of flowfn, and nothing else."""
    repo = Path(__file__).resolve().parent.parent
    there = {path.stem for path in (repo / "flowfn").iterdir() if path.suffix == ".py" or path.is_dir()}
    assert layers((repo / "CONTRIBUTING.md").read_text("utf-8")) == sorted(
        there - {"__init__", "__pycache__"}
    )


# -- the checks can fail ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "source",
    [
        "import flowfn.engine.runs.run",
        "from flowfn.engine.runs import run",
        "from ..engine.runs.run import go",
        "def f():\n    from flowfn.engine.runs.run import go",
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from flowfn.engine.runs.run import go",
        "import flowfn",
    ],
)
def test_a_forbidden_import_is_found_in_every_shape(source: str) -> None:
    """Absolute, relative, from a package, in a function, under TYPE_CHECKING, or by the front door."""
    modules = {"flowfn": "", "flowfn.pregel.plan": source, "flowfn.engine.runs.run": "", "flowfn.pregel": ""}
    assert len(breaches(modules)) == 1


def test_a_module_without_a_row_is_found() -> None:
    """The picture names every module."""
    assert breaches({"flowfn.sideboard": ""}) == ["flowfn.sideboard has no row in MAY_IMPORT"]


def test_a_cycle_through_a_function_is_found() -> None:
    """A lazy import doesn't hide a cycle."""
    modules = {
        "flowfn.serde": "def f():\n    import flowfn.caching",
        "flowfn.caching": "import flowfn.serde",
    }
    assert sorted(set(cycle(modules))) == ["flowfn.caching", "flowfn.serde"]


def test_a_file_that_a_map_leaves_out_is_found() -> None:
    """A page without a list is no map."""
    room = '"""A room.\n\n- `door`: the way in.\n"""'
    modules = {
        "flowfn.room": room,
        "flowfn.room.door": "",
        "flowfn.room.window": "",
        "flowfn": '"""No map."""',
    }
    assert left_out(modules) == ["flowfn.room leaves out window"]


def test_the_layers_of_a_page_are_found() -> None:
    """Files and rooms count, wherever they stand in the first column, and nothing of the second one."""
    page = "`flowfn/ports.py`\n\n| | |\n|---|---|\n| `flowfn/values.py`, `engine/` | see `flowfn/cli/` |\n| `docs/` | |"
    assert layers(page) == ["engine", "values"]


def test_a_clock_in_the_engine_is_found() -> None:
    """`engine/` may not read the clock, not even in a function."""
    assert impurities({"flowfn.engine.runs.run": "def f():\n    import time"}) == [
        "flowfn.engine.runs.run:2 imports time"
    ]


def test_a_heavy_import_counts_only_where_it_loads() -> None:
    """At the top level, also in a try; not in a function, under TYPE_CHECKING or in the command line."""
    modules = {
        "flowfn": "try:\n    import numpy\nexcept ImportError:\n    pass",
        "flowfn.serde": "def f():\n    import pydantic",
        "flowfn.caching": "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import diskcache",
        "flowfn.cli": "import rich",
    }
    assert eager(modules) == ["flowfn:2 imports numpy"]
