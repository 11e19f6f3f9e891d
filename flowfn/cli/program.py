"""The program of a thread: its script, imported under the name that its records carry, and its workflow.

Guarantee: what stands under `if __name__ == "__main__"` doesn't run.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import sys
from collections.abc import Iterable
from itertools import takewhile
from pathlib import Path
from types import ModuleType
from typing import Any

from checkpointers import EncryptedSaver, SqliteSaver, open_saver
from flowfn.cli.database import Place, with_keys
from flowfn.cli.failures import Usage, WorkflowFailed
from flowfn.cli.workflows import AnyWorkflow, Workflows, distinct, looked_up
from flowfn.functional.entrypoint import Entrypoint
from flowfn.functional.task import Task
from flowfn.ports import Saver, ThreadRow

AnyTask = Task[Any, Any]


def find(target: str, row: ThreadRow) -> AnyWorkflow:
    """The workflow of `app.py`, or `app.py:name`, that a thread's run goes on with: its own, or the one named.

    Raises:
        Usage: there is no such file, it exits where it is imported, or there is no such workflow in it.
        WorkflowFailed: the script raised while it was imported.
    """
    file, name = _split(target)
    workflows = Workflows(_imported(_found(file), row.workflow))
    return workflows.named(name) if name else workflows.of_run(row)


def all_of(script: Path, recorded: Iterable[str]) -> Workflows:
    """The workflows of a script, under the names that their threads are recorded under.

    Raises:
        Usage: there is no such file.
        WorkflowFailed: it raised.
    """
    file = _found(script)
    own = (name for name in recorded if name.startswith(f"{_module_name(file, name)[0]}."))
    within = max(own, key=lambda name: len(_module_name(file, name)[0]), default="")
    return Workflows(_imported(file, within))


def readable(saver: Saver, workflows: Workflows) -> Saver:
    """A saver that reads what the workflows wrote: with the keys of theirs, if they encrypt and nobody gave others."""
    savers = (each._self_setup.checkpointer for each in workflows.found.values())
    own = next((each for each in savers if isinstance(each, EncryptedSaver)), None)
    return saver if own is None or isinstance(saver, EncryptedSaver) else EncryptedSaver(saver, own.keys)


def only(target: str) -> AnyWorkflow:
    """The workflow of `app.py:name`, or the only one of `app.py`.

    Raises:
        Usage: there is no such file, no such workflow in it, none at all, or several.
        WorkflowFailed: the script raised while it was imported.
    """
    file, name = _split(target)
    workflows = Workflows(imported(file))
    if name:
        return workflows.named(name)
    found = distinct(workflows.found.values())
    if len(found) == 1:
        return found[0]
    if not found:
        raise Usage(
            f"{file} has no workflow at its top level: a function under @entrypoint, or a compiled graph"
        )
    raise Usage(f"{file} has the workflows {workflows}: name one, as {file}:NAME")


def going_on(target: str, workflow: AnyWorkflow, saver: Saver | None) -> AnyWorkflow:
    """The workflow of a package's file as it goes by where that runs as a script, if it left something unfinished so;
    else as it was found. Its own saver is looked at where none is given.

    Raises:
        WorkflowFailed: the script raised while it was imported again, under its own name.
    """
    file = _found(_split(target)[0])
    within, name = f"{_module_name(file, '')[0]}.", workflow._self_setup.name
    if within == f"{file.stem}." or not name.startswith(within):
        return workflow
    if saver is None and (saver := workflow._self_setup.saver) is None:
        return workflow
    of_script = f"{file.stem}.{name.removeprefix(within)}"
    left = saver.unfinished(of_script, limit=1)
    return find(target, left[0]) if left else workflow


def on_database(workflow: AnyWorkflow, place: Place) -> AnyWorkflow:
    """The workflow on that database, whatever its checkpointer; a saver that has it open is kept."""
    own = workflow._self_setup.checkpointer
    if _is_on(own.saver if isinstance(own, EncryptedSaver) else own, place):
        return workflow
    encrypted = isinstance(own, EncryptedSaver)
    return keeping(workflow, EncryptedSaver(place, own.keys) if encrypted else with_keys(open_saver(place)))


def keeping(workflow: AnyWorkflow, saver: Saver) -> AnyWorkflow:
    """The workflow with another checkpointer; a graph's is set, as nobody else uses it in this process."""
    if isinstance(workflow, Entrypoint):
        return workflow.with_checkpointer(saver)
    graph: Any = workflow
    graph.checkpointer = saver
    return workflow


def _is_on(saver: object, place: Place) -> bool:
    if not isinstance(saver, SqliteSaver) or not isinstance(place, Path):
        return False
    return os.path.exists(saver.path) and os.path.samefile(saver.path, place)


def imported(script: Path) -> ModuleType:
    """A script, imported under its own name.

    Raises:
        Usage: there is no such file.
        WorkflowFailed: it raised.
    """
    return _imported(_found(script), "")


def find_task(target: str) -> AnyTask:
    """The task of `app.py:name`.

    Raises:
        Usage: there is no such file, or no such task in it.
        WorkflowFailed: the script raised while it was imported.
    """
    file, name = _split(target)
    if not name:
        raise Usage(f"{target!r} names no task: write SCRIPT:NAME, such as app.py:fetch")
    module = imported(file)
    _, found = looked_up(module, name)
    if not isinstance(found, Task):
        tasks = ", ".join(sorted(name for name, each in vars(module).items() if isinstance(each, Task)))
        raise Usage(f"{name!r} is no task of {module.__file__}: it has {tasks or 'none'}")
    return found


def _found(script: Path) -> Path:
    if not script.is_file():
        raise Usage(f"there is no file {str(script)!r}: pass the script of your program, such as app.py")
    return script.resolve()


def _split(target: str) -> tuple[Path, str]:
    """`app.py:name` in two. A colon within the path, as of a drive on Windows, isn't one of ours."""
    file, colon, name = target.rpartition(":")
    return (Path(file), name) if colon and name.replace(".", "_").isidentifier() else (Path(target), "")


def _imported(file: Path, recorded: str) -> ModuleType:
    name, root = _module_name(file, recorded)
    known = sys.modules.get(name)
    if known is not None:
        if getattr(known, "__file__", None) and os.path.samefile(str(known.__file__), file):
            return known
        raise Usage(f"{file.name} has the name of the module {name!r}, loaded already: rename the script")
    sys.path.insert(0, str(root))
    if root != file.parent:  # where code looks that runs as a script of its own, too
        sys.path.append(str(file.parent))
    try:
        return _executed(name, file) if name == file.stem else importlib.import_module(name)
    except SystemExit as end:
        raise Usage(
            f"{file} called sys.exit({end.code!r}) while it was imported: "
            "put what it does as a script under `if __name__ == '__main__':`"
        ) from end
    except Exception as error:
        raise WorkflowFailed(f"{file} can't be imported") from error


def _module_name(file: Path, recorded: str) -> tuple[str, Path]:
    """What a file is called in records, and the folder that it is imported from.

    The recorded workflow's name begins with it: a script goes by its stem, and one that ran as part of a package by its
    dotted name. Where nothing is recorded of it, a file of a package is taken for a part of that, if it can be imported
    as such.
    """
    parts = file.with_suffix("").parts
    for depth in range(len(parts) - 1, 1, -1):
        name = ".".join(parts[-depth:])
        if recorded.startswith(f"{name}."):
            return name, file.parents[depth - 1]
    if recorded.startswith(f"{file.stem}."):
        return file.stem, file.parent
    within = [*takewhile(_is_package, file.parents)]
    root = file.parents[len(within)]
    package = sys.modules.get(within[-1].name) if within else None
    if "." in file.stem or (package is not None and not _is_of(package, within[-1])):
        return file.stem, file.parent
    return ".".join(file.with_suffix("").relative_to(root).parts), root


def _is_package(folder: Path) -> bool:
    """Whether modules in a folder are parts of a package, by a name that can be written."""
    return folder.name.isidentifier() and (folder / "__init__.py").is_file()


def _is_of(package: ModuleType, folder: Path) -> bool:
    """Whether a package that is loaded is the one in a folder."""
    return any(
        os.path.isdir(each) and os.path.samefile(each, folder) for each in getattr(package, "__path__", ())
    )


def _executed(name: str, file: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, file)
    if spec is None or spec.loader is None:
        raise Usage(f"{file} is no Python file: pass the script that defines the workflow")
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
