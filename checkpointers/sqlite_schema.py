"""The tables of the SQLite saver.

- `thread`: one row each, with its last run and its lease. `touched` orders listings; the clock doesn't.
- `checkpoint`: `key` is the order of commits. `channels` maps each channel to `[version, key of value]`,
  without a key where it is empty, so that a checkpoint shares what did not change with its parent,
  whatever other branch gave the same number to its own version; or it has what differs from the map of
  the checkpoint of key `base` (`channel_maps.py`). A row whose `body` is NULL is named by
  writes alone so far, or was forgotten (`sqlite_pruning.py`).
- `value`: what channels held: whole, or what changed in the value of key `onto`; `write`: what tasks wrote, a
  log that is merged when read. Their `key` is the key of the checkpoint that they were put with times 2**32,
  plus a place under it: the rows of a checkpoint lie side by side, need no index, and a commit of writes
  dirties a single page.
- `source`: the code of functions by its digest, which is of all threads.
- `fence`: one row, the last token given out. Tokens never return, not even after a thread was deleted.
"""

from __future__ import annotations

from flowfn.sqlite.schema import Schema

IS_UNFINISHED = "status IN ('running', 'interrupted', 'failed')"
"""A query must spell it like this for its index to be used."""

_TABLES = f"""
CREATE TABLE thread (
    key INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    workflow TEXT NOT NULL DEFAULT '',
    call TEXT NOT NULL DEFAULT '',
    status TEXT NOT NULL DEFAULT 'done',
    token INTEGER NOT NULL DEFAULT 0,
    owner TEXT,
    expires REAL,
    created_at TEXT NOT NULL,
    updated_at TEXT NOT NULL,
    touched INTEGER NOT NULL DEFAULT 0
);
CREATE INDEX thread_touched ON thread (touched);
CREATE INDEX thread_unfinished ON thread (workflow, call) WHERE {IS_UNFINISHED};

CREATE TABLE checkpoint (
    key INTEGER PRIMARY KEY,
    thread INTEGER NOT NULL,
    namespace TEXT NOT NULL,
    id TEXT NOT NULL,
    parent TEXT,
    step INTEGER,
    source TEXT,
    created_at TEXT,
    body BLOB,
    metadata BLOB,
    channels TEXT,
    base INTEGER
);
CREATE UNIQUE INDEX checkpoint_id ON checkpoint (thread, id, namespace);
CREATE INDEX checkpoint_order ON checkpoint (thread, namespace);

CREATE TABLE value (key INTEGER PRIMARY KEY, data BLOB NOT NULL);

CREATE TABLE "write" (
    key INTEGER PRIMARY KEY,
    task TEXT NOT NULL,
    idx INTEGER NOT NULL,
    channel TEXT NOT NULL,
    data BLOB NOT NULL,
    path TEXT NOT NULL
);

CREATE TABLE fence (token INTEGER NOT NULL);
INSERT INTO fence VALUES (0);
"""

_DELTAS = """
ALTER TABLE value ADD COLUMN onto INTEGER;
"""


_SOURCES = """
CREATE TABLE source (digest TEXT PRIMARY KEY, data BLOB NOT NULL) WITHOUT ROWID;
"""

SCHEMA = Schema((_TABLES, _DELTAS, _SOURCES))
