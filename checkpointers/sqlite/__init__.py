"""Threads in an SQLite file.

`saver` is what users hold; `schema` has the tables, and `rows` what one transaction does to them: `channel_maps` says
where a checkpoint's values are, `values` and `writes` how they are kept, `checksums` what tells that a row rotted.
`pruning` forgets single checkpoints.
"""

from checkpointers.sqlite.saver import SqliteSaver

__all__ = ["SqliteSaver"]
