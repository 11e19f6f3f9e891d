"""Threads in a Postgres database.

`saver` is what users hold; `schema` and `migrations/` have the tables. `sending` writes commits: `commits` makes
statements of them where it is known what there is, else `looks` does after a look; `statements` has their SQL. `forms`
says how rows spell what they hold, `maps` where a checkpoint's values are. `reading` reads, `leases` lends threads,
`pruning` forgets single checkpoints.
"""

from checkpointers.postgres.saver import PostgresSaver

__all__ = ["PostgresSaver"]
