"""flowfn: durable Python functions.

`@task` and `@entrypoint` turn functions into workflows that survive crashes, ask humans, and can be
watched, gone back in and forked.
"""

import flowfn.python.ending  # before the program can register handlers of its own
import flowfn.python.lazy
from flowfn.caching.memory import MemoryCache
from flowfn.doubt import Done, InDoubt, NotDone
from flowfn.errors import (
    AmbiguousAnswer,
    AsyncInBlockingRun,
    CacheError,
    CorruptDataError,
    DatabaseForbidden,
    DatabaseFull,
    DatabaseLocked,
    DatabaseReadOnly,
    DatabaseUnreachable,
    DatabaseVersion,
    EmptyCommand,
    FlowError,
    GraphRecursionError,
    Interrupted,
    InvalidAnswer,
    InvalidFilter,
    InvalidInput,
    InvalidNamespaceError,
    InvalidUpdateError,
    LeaseLost,
    NoCheckpointer,
    NonDeterminismError,
    NoPendingInterrupt,
    NotADatabase,
    RecordedError,
    RendererMissing,
    RunClosed,
    SaverError,
    SerializationError,
    TaskTimeout,
    ThreadBusy,
    UnknownCall,
    UnknownCheckpoint,
    UnknownThread,
    UnshippableError,
    UntrustedTypeError,
    WorkerDied,
)
from flowfn.functional.entrypoint import Entrypoint, entrypoint
from flowfn.functional.final import final
from flowfn.functional.joining import as_completed, gather
from flowfn.functional.recorded import interrupt, now, sleep, uuid4
from flowfn.functional.recorded import random as random  # by name: `import *` would hide the library's module
from flowfn.functional.task import Task, task
from flowfn.futures import Future
from flowfn.policies import CachePolicy, RetryPolicy, TimeoutPolicy
from flowfn.report import CallSummary, Difference, Report
from flowfn.runtime import Runtime, StreamWriter, current, get_config, get_store, get_stream_writer
from flowfn.thread import Thread
from flowfn.values import Command, Interrupt, Overwrite, PregelTask, Send, StateSnapshot
from flowfn.workflow import Workflow

flowfn.python.lazy.lend(
    __name__,
    modules=("drawing", "encryption", "executors", "serde", "stores", "testing"),
    elsewhere={
        "AsyncPostgresSaver": "checkpointers.PostgresSaver",
        "AsyncSqliteSaver": "checkpointers.SqliteSaver",
        "BaseStore": "flowfn.stores.BaseStore",
        "DaskExecutor": "flowfn.executors.DaskExecutor",
        "END": "graph_compat.graph.END",
        "EncryptedSaver": "checkpointers.EncryptedSaver",
        "InMemorySaver": "checkpointers.MemorySaver",
        "InMemoryStore": "flowfn.stores.InMemoryStore",
        "MemorySaver": "checkpointers.MemorySaver",
        "MessagesState": "graph_compat.graph.MessagesState",
        "PostgresSaver": "checkpointers.PostgresSaver",
        "PostgresStore": "flowfn.stores.PostgresStore",
        "ProcessExecutor": "flowfn.executors.ProcessExecutor",
        "RayExecutor": "flowfn.executors.RayExecutor",
        "START": "graph_compat.graph.START",
        "SqliteSaver": "checkpointers.SqliteSaver",
        "SqliteStore": "flowfn.stores.SqliteStore",
        "StateGraph": "graph_compat.graph.StateGraph",
        "open_saver": "checkpointers.open_saver",
    },
)

__version__ = "0.1.0"

__all__ = [
    "AmbiguousAnswer",
    "AsyncInBlockingRun",
    "CacheError",
    "CachePolicy",
    "CallSummary",
    "Command",
    "CorruptDataError",
    "DatabaseForbidden",
    "DatabaseFull",
    "DatabaseLocked",
    "DatabaseReadOnly",
    "DatabaseUnreachable",
    "DatabaseVersion",
    "Difference",
    "Done",
    "EmptyCommand",
    "Entrypoint",
    "FlowError",
    "Future",
    "GraphRecursionError",
    "InDoubt",
    "Interrupt",
    "Interrupted",
    "InvalidAnswer",
    "InvalidFilter",
    "InvalidInput",
    "InvalidNamespaceError",
    "InvalidUpdateError",
    "LeaseLost",
    "MemoryCache",
    "NoCheckpointer",
    "NoPendingInterrupt",
    "NonDeterminismError",
    "NotADatabase",
    "NotDone",
    "Overwrite",
    "PregelTask",
    "RecordedError",
    "RendererMissing",
    "Report",
    "RetryPolicy",
    "RunClosed",
    "Runtime",
    "SaverError",
    "Send",
    "SerializationError",
    "StateSnapshot",
    "StreamWriter",
    "Task",
    "TaskTimeout",
    "Thread",
    "ThreadBusy",
    "TimeoutPolicy",
    "UnknownCall",
    "UnknownCheckpoint",
    "UnknownThread",
    "UnshippableError",
    "UntrustedTypeError",
    "WorkerDied",
    "Workflow",
    "as_completed",
    "current",
    "entrypoint",
    "final",
    "gather",
    "get_config",
    "get_store",
    "get_stream_writer",
    "interrupt",
    "now",
    "sleep",
    "task",
    "uuid4",
]
