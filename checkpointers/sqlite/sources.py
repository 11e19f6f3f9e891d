"""The texts of functions, by their digests: they are of all threads."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping

Cursor = sqlite3.Cursor


def keep_sources(db: Cursor, sources: Mapping[str, bytes]) -> None:
    """Add the texts that aren't there."""
    db.executemany("INSERT OR IGNORE INTO source VALUES (?, ?)", sources.items())


def source(db: Cursor, digest: str) -> bytes | None:
    """The text of a digest."""
    found = db.execute("SELECT data FROM source WHERE digest = ?", (digest,)).fetchone()
    return None if found is None else found[0]
