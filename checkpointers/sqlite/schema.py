"""The tables of the SQLite saver.

- `thread`: one row each, with its last run and its lease. `touched` orders listings; the clock doesn't.
- `checkpoint`: `key` is the order of commits. `id`, `parent` and `created_at` have a short spelling
  (`short_forms.py`), and a parent that is there is its key. `channels` maps each channel to a
  version and the key of a value, or a value of a few bytes, or nothing where it is empty, so that a checkpoint shares
  what did not change with its parent, whatever other branch gave the same number to its own version; or it has what
  differs from the map of the checkpoint of key `base` (`channel_maps.py`). A row whose `body` is NULL is named by
  writes alone so far, or was forgotten (`pruning.py`).
- `value`: what channels held: whole, or what changed in the value of key `onto`; deflated where `beside` isn't NULL;
  as many small ones in a row as `members` says (`values.py`). `write`: what tasks wrote, a log that is merged
  when read (`writes.py`). Their `key` is the key of the checkpoint that they were put with times 2**32, plus
  a place under it: a checkpoint's rows lie side by side, need no index, and a commit of writes dirties a single page.
- `source`: the code of functions by its digest, which is of all threads.
- `crc`: in these three, the checksum of the row (`checksums.py`).
- `fence`: one row: the last token given out, and the last key of a checkpoint that was forgotten. Neither returns,
  not even after a thread was deleted.
"""

from __future__ import annotations

import json
from typing import Any

from checkpointers.short_forms import short_id, short_time
from checkpointers.sqlite.channel_maps import Bases, ChannelMap
from checkpointers.sqlite.checksums import checksum
from checkpointers.sqlite.writes import bundles
from flowfn.ports import WriteRow
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

_SHORT = """
CREATE TABLE short (
    key INTEGER PRIMARY KEY,
    thread INTEGER NOT NULL,
    namespace TEXT NOT NULL,
    id NOT NULL,
    parent,
    step INTEGER,
    source TEXT,
    created_at,
    body BLOB,
    metadata BLOB,
    channels BLOB,
    base INTEGER
);
INSERT INTO short SELECT
    key, thread, namespace, short_id(id),
    coalesce((
        SELECT of.key FROM checkpoint AS of WHERE of.thread = checkpoint.thread AND of.id = checkpoint.parent
        AND of.namespace = checkpoint.namespace AND of.body IS NOT NULL), short_id(parent)),
    step, source, short_time(created_at), body, metadata,
    short_map(key, channels, base, (SELECT of.channels FROM checkpoint AS of WHERE of.key = checkpoint.base)), base
    FROM checkpoint;
DROP TABLE checkpoint;
ALTER TABLE short RENAME TO checkpoint;
CREATE UNIQUE INDEX checkpoint_id ON checkpoint (thread, id, namespace);
CREATE INDEX checkpoint_order ON checkpoint (thread, namespace);
ALTER TABLE value ADD COLUMN beside INTEGER;
ALTER TABLE fence ADD COLUMN forgotten INTEGER NOT NULL DEFAULT 0;
"""


def _short_map(key: int, channels: str | None, base: int | None, bases: str | None) -> bytes | None:
    """A map as `channel_maps` keeps it, of the JSON that it was before."""
    if channels is None:
        return None
    changes: dict[str, Any] = json.loads(channels)
    if base is None or bases is None:
        return ChannelMap(changes).as_bytes(key)[0]
    whole, _ = ChannelMap(json.loads(bases)).as_bytes(base)
    return ChannelMap(changes, Bases().read(base, whole)).difference(key)


_BUNDLES = """
CREATE TABLE bundle (key INTEGER PRIMARY KEY, data BLOB NOT NULL, crc INTEGER NOT NULL);
INSERT INTO bundle SELECT key, bundle(task, idx, channel, data, path), 0 FROM "write";
DROP TABLE "write";
ALTER TABLE bundle RENAME TO "write";
UPDATE "write" SET crc = checksum(key, data);
ALTER TABLE value ADD COLUMN members INTEGER;
ALTER TABLE value ADD COLUMN crc INTEGER;
UPDATE value SET crc = checksum(key, data, onto, beside, members);
ALTER TABLE checkpoint ADD COLUMN crc INTEGER;
UPDATE checkpoint SET crc = checksum(
    key, thread, namespace, id, parent, step, source, created_at, body, metadata, channels, base)
WHERE body IS NOT NULL;
"""


def _bundle(*write: Any) -> bytes:
    """A row of one write."""
    (data,) = bundles([WriteRow(*write)])
    return data


_TINY = """
SELECT 'a map may have values in it';
"""
"""What there is already is read as before; a flowfn that expects keys alone must not read what comes."""

SCHEMA = Schema(
    (_TABLES, _DELTAS, _SOURCES, _SHORT, _BUNDLES, _TINY),
    functions={
        "bundle": _bundle,
        "checksum": lambda *columns: checksum(columns),
        "short_id": lambda id: None if id is None else short_id(id),
        "short_time": lambda time: None if time is None else short_time(time),
        "short_map": _short_map,
    },
)
