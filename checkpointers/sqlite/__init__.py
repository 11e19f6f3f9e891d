"""Threads in an SQLite file.

- `saver` is what users hold; `schema` has the tables.
- `commits` says what one commit writes, and `heads` what need not be asked for it. `reading` reads; `threads` has their
  rows, and lends them; `pruning` forgets single checkpoints; `sources` keeps code.
- `checkpoints` is the row of one: `channel_maps` says where its values are, `values` and `writes` how they are kept,
  `checksums` what tells that a row rotted.
"""

from checkpointers.sqlite.saver import SqliteSaver

__all__ = ["SqliteSaver"]
