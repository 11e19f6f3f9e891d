"""Where flowfn keeps threads: in memory, in an SQLite file, or in a Postgres database; each of them encrypted.

Importing this is cheap: a backend's driver is imported when its saver is first named.
"""

from typing import TYPE_CHECKING

from flowfn.python.lazy import lend

if TYPE_CHECKING:
    from checkpointers.base import CheckpointSaver
    from checkpointers.encrypted import EncryptedSaver
    from checkpointers.foreign import ForeignSaver
    from checkpointers.memory import MemorySaver
    from checkpointers.opening import open_saver
    from checkpointers.postgres import PostgresSaver
    from checkpointers.run_file import export_thread, import_thread
    from checkpointers.sqlite import SqliteSaver
    from checkpointers.tuples import CheckpointTuple

__all__ = [
    "CheckpointSaver",
    "CheckpointTuple",
    "EncryptedSaver",
    "ForeignSaver",
    "MemorySaver",
    "PostgresSaver",
    "SqliteSaver",
    "export_thread",
    "import_thread",
    "open_saver",
]

_HOMES = {
    "CheckpointSaver": ".base",
    "CheckpointTuple": ".tuples",
    "EncryptedSaver": ".encrypted",
    "ForeignSaver": ".foreign",
    "MemorySaver": ".memory",
    "PostgresSaver": ".postgres",
    "SqliteSaver": ".sqlite",
    "export_thread": ".run_file",
    "import_thread": ".run_file",
    "open_saver": ".opening",
}

_LANGGRAPHS = {
    "AsyncPostgresSaver": "checkpointers.PostgresSaver",
    "AsyncSqliteSaver": "checkpointers.SqliteSaver",
    "InMemorySaver": "checkpointers.MemorySaver",
}
"""What LangGraph calls savers, and which one that is here, for blocking and asyncio callers alike."""

lend(__name__, _HOMES, elsewhere=_LANGGRAPHS)
