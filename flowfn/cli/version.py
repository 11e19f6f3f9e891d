"""`flowfn version`: what is installed."""

from __future__ import annotations

import platform
import sqlite3
from importlib.metadata import PackageNotFoundError, version

from flowfn.cli.options import Json
from flowfn.cli.terminal import output, print_json

_PARTS = ("pydantic", "ormsgpack", "psycopg", "cryptography", "langchain-core", "opentelemetry-api")


def command(as_json: Json = False) -> None:
    """Say which versions are installed. Of flowfn, and of what it works with."""
    found = {"flowfn-durable": _installed("flowfn-durable"), "python": platform.python_version()}
    found["sqlite"] = sqlite3.sqlite_version
    found |= {name: _installed(name) for name in _PARTS}
    if as_json:
        print_json(found)
        return
    for name, value in found.items():
        output().print(f"{name:<18}{value or 'not installed'}")


def _installed(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None
