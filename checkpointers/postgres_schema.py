"""What the Postgres saver keeps in the schema `flowfn`.

- `thread`: one row each, with its last run and its lease, which ends at `expires` by the server's clock.
- `checkpoint`: `place` is the order of commits; a row without one is named by writes alone so far. `channels`,
  `versions` and `stored` are parallel: each channel's version and the key of its value, NULL where it is
  empty, so that a checkpoint shares what did not change with its parent.
- `value`: what channels held; `write`: what tasks wrote, a log that is merged when read.
- `source`: the code of functions by its digest, which is of all threads.
- `tick`: a sequence, of which tokens, places and touches are taken.

Names are stored by `flowfn.postgres.text`, since Postgres has no text with a NUL in it.
"""

from __future__ import annotations

from flowfn.postgres.schema import Schema

SCHEMA = Schema("flowfn", "checkpointers")
