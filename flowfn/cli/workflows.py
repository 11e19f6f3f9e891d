"""Which of a script's workflows is meant: the one that is named, or the one that a run is of.

Rule: a run goes on with the workflow of its recorded name that it is of, or with none. Graphs that nobody named share
one name, and so do the methods of all objects of a class: where that leaves several, nobody guesses.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from inspect import getattr_static
from pathlib import Path
from types import MethodType, ModuleType
from typing import Any

from flowfn.cli.failures import Usage
from flowfn.functional.entrypoint import Entrypoint
from flowfn.ports import ThreadRow
from flowfn.workflow import Workflow

AnyWorkflow = Workflow[Any, Any]
"""An entrypoint, or a graph."""


class Workflows:
    """Those at the top level of a script, by what they are called there; methods are those of the objects there."""

    def __init__(self, module: ModuleType) -> None:
        self._module = module
        self._file = Path(str(module.__file__)).name
        self.found = {
            name: each for called, thing in vars(module).items() for name, each in _within(called, thing)
        }

    def __str__(self) -> str:
        return _listed(self.found) or "none"

    def named(self, name: str) -> AnyWorkflow:
        """The one that is called so.

        Raises:
            Usage: there is none, or it is a method without an object.
        """
        owner, found = looked_up(self._module, name)
        if not isinstance(found, Workflow):
            raise Usage(f"{name!r} is no workflow of {self._module.__file__}: it has {self}")
        if isinstance(owner, type) and getattr_static(owner, name.rpartition(".")[2]) is found:
            raise Usage(f"{name!r} of {self._file} is a method: {_bound(name)}")
        return found

    def of_run(self, row: ThreadRow) -> AnyWorkflow:
        """The one that a thread's run goes on with.

        Raises:
            Usage: there is none, or there are several.
        """
        alike = {name: each for name, each in self.found.items() if each._self_setup.name == row.workflow}
        own = {name: each for name, each in alike.items() if each._is_of(row)}
        meant = _outermost(own)
        if len(found := distinct(meant.values())) == 1:
            return found[0]
        if not alike:
            raise Usage(self._missing(row.workflow))
        if not own:
            raise Usage(
                f"the run is of a {row.workflow!r} that was made with something else than {self._file}'s "
                f"{_listed(alike)}: make the same there, or name what is to go on with it all the same, as "
                f"{self._file}:{min(alike)}"
            )
        raise Usage(
            f"the run is of workflow {row.workflow!r}, and {self._file} has several of that name: name one of "
            f"{_listed(meant)}, as {self._file}:{min(meant)}. Graphs are told apart by compile(name=…)"
        )

    def _missing(self, recorded: str) -> str:
        within = recorded.removeprefix(f"{self._module.__name__}.")
        if isinstance(looked_up(self._module, within)[1], Workflow):
            return f"the run is of {within!r} of {self._file}, which is a method: {_bound(within)}"
        if "<locals>" in within:
            return (
                f"the run is of workflow {recorded!r}, which a function makes: have what it makes, with the same "
                f"arguments, at the top level of {self._file}"
            )
        ways = {"@entrypoint" if isinstance(each, Entrypoint) else "compile" for each in self.found.values()}
        keep = " or ".join(f"{way}(name={recorded!r})" for way in sorted(ways or {"@entrypoint"}))
        return (
            f"the run is of workflow {recorded!r}, and {self._file} has {self}: pass the script that defines it; where "
            f"it was renamed, keep its name with {keep}; or name what is to go on with it, as {self._file}:NAME"
        )


def distinct(workflows: Iterable[AnyWorkflow]) -> list[AnyWorkflow]:
    """Each once, whatever its names; a method of an object is one that has a name of its own, too."""
    return [*{_itself(each): each for each in workflows}.values()]


def _itself(workflow: AnyWorkflow) -> object:
    function = workflow.func if isinstance(workflow, Entrypoint) else None
    return function if isinstance(function, MethodType) else id(workflow)


def _within(called: str, thing: Any) -> Iterator[tuple[str, AnyWorkflow]]:
    """The workflow that a thing is, or those that it has as methods. A stand-in, such as Django's settings, isn't asked
    what it stands for."""
    if issubclass(type(thing), Workflow):
        yield called, thing
        return
    for cls in type(thing).__mro__:
        for name, member in vars(cls).items():
            if issubclass(type(member), Entrypoint):
                yield f"{called}.{name}", getattr(thing, name)


def looked_up(module: ModuleType, name: str) -> tuple[Any, Any]:
    """What a dotted name stands for, after what it is an attribute of; None where there is none."""
    owner: Any = None
    found: Any = module
    for part in name.split("."):
        owner, found = found, getattr(found, part, None)
    return owner, found


def _bound(method: str) -> str:
    owner, _, name = method.rpartition(".")
    return f"have an object at the top level, it = {owner}(…), whose workflow is it.{name}"


def _outermost(found: dict[str, AnyWorkflow]) -> dict[str, AnyWorkflow]:
    """Those that are no part of another, as a graph that is a node of another is."""
    setups = [each._self_setup for each in found.values()]
    parts = [
        part for setup in setups for node in setup.program.nodes if (part := setup.part(node)) is not None
    ]
    inner = {id(part.program) for part in parts}
    return {name: each for name, each in found.items() if id(each._self_setup.program) not in inner} or found


def _listed(names: Iterable[str]) -> str:
    return ", ".join(sorted(names))
