"""What the Postgres saver keeps in the schema `flowfn`.

- `thread`: one row each, with its last run and its lease, which ends at `expires` by the server's clock. An
  unfinished run is found by `sought`, a hash of its call, or of the workflow's name once its thread has had many
  `runs`. A listing sorts the rows by `touched`: an index of it would cost each run two entries.
- `checkpoint`: `key` is the order of commits; a row whose `said` is NULL is named by writes alone so far, or was
  forgotten (`pruning.py`). It has what the checkpoint says of itself, the places of its channels' values
  (`forms.py`), and the first value that it was put with; it shares what did not change with its parent.
  While the ids of a namespace ascend, as they mostly do, its rows are `ordered`: one is found by its id in a few looks
  (`flowfn.key_of`). Those from the first one on that doesn't follow, such as one of a machine whose clock is behind,
  are in an index of ids.
- `value`: the others that a checkpoint was put with. A value is whole, or what changed in the value of key `onto`; its
  bytes are as `packing.py` keeps them. Its key says with which checkpoint it was put, and so needs no index of those.
- `write`: what tasks wrote, a log that is merged when read; a row has all that a commit adds under a checkpoint.
- `source`: the code of functions by its digest, which is of all threads.
- `tick`: a sequence, of which keys of checkpoints and touches are taken, and the upper digits of tokens: the lower 20
  bits are random.

Names are stored by `flowfn.postgres.text`, since Postgres has no text with a NUL in it.
"""

from __future__ import annotations

from checkpointers.postgres.forms import ROOM
from flowfn.postgres.schema import Schema

_BEHIND = f"""
    SELECT coalesce(greatest((SELECT max(checkpoint) FROM flowfn.write), (SELECT max(key) / {ROOM} FROM flowfn.value))
            >= (SELECT last_value + is_called::integer FROM flowfn.tick), false)
        OR coalesce((SELECT max(thread) FROM flowfn.checkpoint)
            >= (SELECT last_value + is_called::integer FROM flowfn.thread_key_seq), false)"""
"""Whether new rows would take the keys of old ones, as indexes can tell in a moment."""

_CATCH_UP = """
    SELECT setval('flowfn.tick', greatest((SELECT last_value FROM flowfn.tick),
            (SELECT max(key) FROM flowfn.checkpoint), (SELECT max(greatest(token >> 20, touched)) FROM flowfn.thread))),
        setval('flowfn.thread_key_seq', greatest((SELECT last_value FROM flowfn.thread_key_seq),
            (SELECT max(key) FROM flowfn.thread))),
        setval('flowfn.write_key_seq', greatest((SELECT last_value FROM flowfn.write_key_seq),
            (SELECT max(key) FROM flowfn.write)))"""

SCHEMA = Schema("flowfn", "checkpointers.postgres", "migrations", behind=_BEHIND, catch_up=_CATCH_UP)
