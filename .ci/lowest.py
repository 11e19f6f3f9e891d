"""Print a constraint for each library that flowfn runs on: the lowest version that `pyproject.toml` promises.

What a user has already installed decides which version pip leaves in place, so a lower bound is a promise as well.
"""

import tomllib
from collections.abc import Iterator
from pathlib import Path

from packaging.requirements import Requirement

PYPROJECT = Path(__file__).resolve().parent.parent / "pyproject.toml"
EXTRAS = ("cli", "draw", "encryption", "otel", "postgres", "redis")


def requirements() -> Iterator[Requirement]:
    """What flowfn depends on, with the extras that a user's program runs on."""
    project = tomllib.loads(PYPROJECT.read_text("utf-8"))["project"]
    for group in (project["dependencies"], *(project["optional-dependencies"][extra] for extra in EXTRAS)):
        yield from map(Requirement, group)


def lowest(requirement: Requirement) -> str:
    """The version after `>=`."""
    [version] = [clause.version for clause in requirement.specifier if clause.operator == ">="]
    return version


if __name__ == "__main__":
    for each in requirements():
        print(f"{each.name}=={lowest(each)}")
