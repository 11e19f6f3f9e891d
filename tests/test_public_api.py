"""The public names, spelled out: adding or removing one is a decision, and shows in the diff of this file."""

import ast
import importlib
import sys
from pathlib import Path
from typing import Any

import pytest

PACKAGES = ("flowfn", "checkpointers", "flowfn.caching", "flowfn.executors", "flowfn.stores")

BY_NAME = {"flowfn": ["random"]}
"""Public as well, and not taken by `from flowfn import *`: it would hide a module of Python's."""

PUBLIC = {
    "flowfn": [
        "AmbiguousAnswer",
        "AsyncInBlockingRun",
        "CacheError",
        "CachePolicy",
        "CallSummary",
        "Command",
        "CorruptDataError",
        "DatabaseForbidden",
        "DatabaseFull",
        "DatabaseLocked",
        "DatabaseReadOnly",
        "DatabaseUnreachable",
        "DatabaseVersion",
        "Difference",
        "Done",
        "EmptyCommand",
        "Entrypoint",
        "FlowError",
        "Future",
        "GraphRecursionError",
        "InDoubt",
        "Interrupt",
        "Interrupted",
        "InvalidAnswer",
        "InvalidFilter",
        "InvalidInput",
        "InvalidNamespaceError",
        "InvalidUpdateError",
        "LeaseLost",
        "MemoryCache",
        "NoCheckpointer",
        "NoPendingInterrupt",
        "NonDeterminismError",
        "NotADatabase",
        "NotDone",
        "Overwrite",
        "PregelTask",
        "RecordedError",
        "RendererMissing",
        "Report",
        "RetryPolicy",
        "RunClosed",
        "Runtime",
        "SaverError",
        "Send",
        "SerializationError",
        "StateSnapshot",
        "StreamWriter",
        "Task",
        "TaskTimeout",
        "Thread",
        "ThreadBusy",
        "TimeoutPolicy",
        "UnknownCall",
        "UnknownCheckpoint",
        "UnknownThread",
        "UnshippableError",
        "UntrustedTypeError",
        "WorkerDied",
        "Workflow",
        "as_completed",
        "current",
        "entrypoint",
        "final",
        "gather",
        "get_config",
        "get_store",
        "get_stream_writer",
        "interrupt",
        "now",
        "sleep",
        "task",
        "uuid4",
    ],
    "flowfn.drawing": ["CurveStyle", "Edge", "Graph", "MermaidDrawMethod", "Node", "NodeStyles"],
    "checkpointers": [
        "CheckpointSaver",
        "CheckpointTuple",
        "EncryptedSaver",
        "ForeignSaver",
        "MemorySaver",
        "PostgresSaver",
        "SqliteSaver",
        "export_thread",
        "import_thread",
        "open_saver",
    ],
    "flowfn.caching": [
        "DiskCache",
        "Explanation",
        "MemoryCache",
        "RedisCache",
        "TaskCache",
        "default_cache",
        "open_cache",
    ],
    "flowfn.executors": ["DaskExecutor", "ProcessExecutor", "RayExecutor", "open_executor"],
    "flowfn.encryption": [
        "DecryptionError",
        "EncryptedCache",
        "KeyRing",
        "PlaintextError",
        "UnknownKeyError",
    ],
    "flowfn.stores": [
        "BaseStore",
        "Embeddings",
        "GetOp",
        "InMemoryStore",
        "IndexConfig",
        "InvalidFilter",
        "InvalidNamespaceError",
        "Item",
        "ListNamespacesOp",
        "MatchCondition",
        "Op",
        "PostgresStore",
        "PutOp",
        "Result",
        "SearchItem",
        "SearchOp",
        "SqliteStore",
        "TTLConfig",
        "ensure_embeddings",
        "open_store",
    ],
    "flowfn.testing": [
        "CrashReport",
        "VirtualClock",
        "always_replay",
        "crash_everywhere",
        "disk_full",
        "fail",
        "inject",
        "latency",
        "lost_lease",
    ],
}


@pytest.mark.parametrize("package", PUBLIC)
def test_all_is_what_is_promised(package: str) -> None:
    """`__all__` is exactly the promised names, in order."""
    assert sorted(importlib.import_module(package).__all__) == PUBLIC[package]
    assert list(importlib.import_module(package).__all__) == sorted(importlib.import_module(package).__all__)


@pytest.mark.parametrize("package", PUBLIC)
def test_every_public_name_is_there(package: str) -> None:
    """Each promised name can be imported, and `dir()` shows it."""
    module = importlib.import_module(package)
    names = PUBLIC[package] + BY_NAME.get(package, [])
    assert [name for name in names if not hasattr(module, name)] == []
    assert set(names) <= set(dir(module))


@pytest.mark.parametrize("package", PUBLIC)
def test_a_star_hides_no_module(package: str) -> None:
    """`from flowfn import *` below `import random` leaves that what it was."""
    taken = set(importlib.import_module(package).__all__)
    assert taken & sys.stdlib_module_names == set()


@pytest.mark.parametrize("package", ["flowfn.serde", *(each for each in PUBLIC if "flowfn." in each)])
def test_a_public_package_is_an_attribute(run_python: Any, package: str) -> None:
    """After `import flowfn` alone: messages say what to write by the full name, as in `flowfn.serde.allow(Order)`."""
    code = f"import flowfn, sys\nprint('flowfn.serde' in sys.modules, {package}.__name__, hasattr(flowfn, 'tsak'))"
    assert run_python("-c", code).stdout.split() == ["False", package, "False"]


@pytest.mark.parametrize("package", PUBLIC)
def test_every_public_thing_is_documented(package: str) -> None:
    """Each public class and function has a docstring."""
    module = importlib.import_module(package)
    things = {name: getattr(module, name) for name in PUBLIC[package] + BY_NAME.get(package, [])}
    plain = [name for name, thing in things.items() if getattr(thing, "__module__", "").startswith(PACKAGES)]
    assert [name for name in plain if not things[name].__doc__] == []


def test_the_front_door_holds_no_logic(installed: Path) -> None:
    """`flowfn/__init__.py` imports and lists; it defines nothing."""
    tree = ast.parse((installed / "flowfn" / "__init__.py").read_text(encoding="utf-8"))
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.If, ast.For, ast.While, ast.Try)
    assert [ast.unparse(node) for node in tree.body if isinstance(node, kinds)] == []
    assigned = [
        ast.unparse(target) for node in tree.body if isinstance(node, ast.Assign) for target in node.targets
    ]
    assert assigned == ["__version__", "__all__"]


def test_what_is_imported_is_listed(installed: Path) -> None:
    """Every name that `flowfn/__init__.py` imports is public."""
    tree = ast.parse((installed / "flowfn" / "__init__.py").read_text(encoding="utf-8"))
    imported = {
        alias.asname or alias.name for n in tree.body if isinstance(n, ast.ImportFrom) for alias in n.names
    }
    assert imported == {*PUBLIC["flowfn"], *BY_NAME["flowfn"]}


@pytest.mark.parametrize(
    ("package", "name", "meant"),
    [
        ("flowfn", "SqliteSaver", "from checkpointers import SqliteSaver"),
        ("flowfn", "InMemorySaver", "from checkpointers import MemorySaver"),
        ("flowfn", "StateGraph", "from graph_compat.graph import StateGraph"),
        ("checkpointers", "AsyncPostgresSaver", "from checkpointers import PostgresSaver"),
    ],
)
def test_a_name_that_is_elsewhere_is_refused_with_what_to_write(package: str, name: str, meant: str) -> None:
    """By an import and by a look alike; and who asks whether it is there is told that it isn't."""
    said = f"{name} is not in {package}: write {meant}"
    with pytest.raises(ImportError) as imported:
        exec(f"from {package} import {name}", {})
    with pytest.raises(AttributeError) as looked_at:
        getattr(importlib.import_module(package), name)
    assert (str(imported.value), str(looked_at.value)) == (said, said)
    assert not hasattr(importlib.import_module(package), name)
    exec(meant, {})
