"""SQLite files, for whatever keeps its data in one: savers and stores.

Rule: it knows connections, transactions, forks, the log and errors; it knows no table.

- `database`: transactions, for one owner of a file. `connections`: what is under them; `wal`: what moves the log.
  `file`: which file a name means, and whether this process may open it.
- `schema`: migrations. `errors`: SQLite's errors as flowfn's. `transacting`: a task's rows and its record as one;
  `under_way`: which of these transactions have not ended, and forks.
"""
