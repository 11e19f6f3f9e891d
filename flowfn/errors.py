"""Every error that flowfn raises, split by who is wrong.

Rule: a message says what happened, shows the value, and ends with what to write instead.
Control signals, which unwind user code and are not errors, are at the end: they derive from
`BaseException`, so that a user's `except Exception` cannot swallow them.
"""

from __future__ import annotations

from typing import Any

RECORDED_AS = "recorded_as"
"""The attribute of an error that says which calls' outcome it is; see `engine/replay/failing.py`. It isn't stored."""

RECORDED_TRACEBACK = "recorded_traceback"
"""The attribute of an error that came back from a record: the text of where it was raised."""

ADDED_TO_ERRORS = frozenset({RECORDED_AS, RECORDED_TRACEBACK})
"""What flowfn puts among an exception's attributes. It is no part of what the error says."""

STANDS_FOR = "__stands_for__"
"""The attribute of a class in whose place it is, as of an error's that couldn't be shown; see `serde/mute.py`."""


class FlowError(Exception):
    """Base of every error that flowfn raises."""


# -- the caller asked for something that cannot be ------------------------------------------------


class InvalidInput(FlowError, TypeError):
    """An input, a config or an option does not fit; nothing was recorded."""


class UnknownChannel(FlowError, ValueError):
    """A name that should be a channel's, and isn't."""


class EmptyUpdate(FlowError, ValueError):
    """An update of a state with nothing in it."""


class EmptyCommand(FlowError, ValueError):
    """A `Command` with nothing in it."""


class AsyncInBlockingRun(FlowError, TypeError):
    """An async function met a blocking caller."""


class InvalidNamespaceError(FlowError, ValueError):
    """What was passed as the namespace of a store isn't valid."""


class InvalidFilter(FlowError, ValueError):
    """A filter of a store, or a condition on namespaces, could never be met."""


class NoCheckpointer(FlowError, RuntimeError):
    """The call needs a past, and the workflow keeps none."""


class RendererMissing(FlowError, ImportError):
    """Nothing that is installed here can draw the picture."""


class UnknownThread(FlowError, LookupError):
    """Nothing was ever recorded under this thread id, or no thread was named to go on with."""


class UnknownPart(FlowError, ValueError, LookupError):
    """A namespace in which no program is nested."""


class UnknownCheckpoint(FlowError, LookupError):
    """The thread has no checkpoint of this id."""


class NoPendingInterrupt(FlowError, LookupError):
    """An answer to a question that nobody asked."""


class AmbiguousAnswer(FlowError, RuntimeError):
    """One plain answer, and several questions wait."""


class InvalidAnswer(FlowError, ValueError):
    """The answer does not fit the `type=` of its interrupt; the question is still open."""


class ThreadBusy(FlowError, RuntimeError):
    """Another live run holds the thread, and `on_busy` says not to wait, or an update or a fork met it.

    `left`: what is done once a run of this process has let go of the thread, where it was left and its code goes on.
    """

    left: Any = None


class RunClosed(FlowError, RuntimeError):
    """A task was called by code that outlived its run."""


# -- the workflow does something that cannot be right ---------------------------------------------


class NonDeterminismError(FlowError, RuntimeError):
    """A call could be a recorded one or a new one, or a node that is due is gone, and only the author knows.

    `report` is the divergence report of the attempt up to here.
    """

    def __init__(self, message: str, report: Any = None) -> None:
        super().__init__(message)
        self.report = report


class InvalidUpdateError(FlowError, ValueError):
    """A channel received writes that it cannot merge."""


class EmptyChannelError(FlowError, LookupError):
    """A channel was read before anything was written to it."""


class GraphRecursionError(FlowError, RecursionError):
    """The run took more supersteps than `recursion_limit`."""


class NestedTooDeep(FlowError, RecursionError):
    """Workflows are called inside workflows too deeply for the name of the place to be kept."""


class TaskTimeout(FlowError):
    """A task took longer than its `timeout`.

    `elapsed` and `timeout` are in seconds; `kind` is "run", or "idle" where it gave no sign of life.
    """

    def __init__(
        self,
        message: str = "",
        *,
        name: str = "",
        elapsed: float = 0.0,
        kind: str = "run",
        timeout: float = 0.0,
    ) -> None:
        super().__init__(message)
        self.name = name
        self.elapsed = elapsed
        self.kind = kind
        self.timeout = timeout


class StepTimeout(FlowError, TimeoutError):
    """A superstep took longer than the graph's `step_timeout`."""


class RecordedError(FlowError, RuntimeError):
    """Stands for a recorded error whose own type cannot be restored.

    `type_name` is that type, as `module:Qualified.name`; the message opens with it.
    """

    type_name: str = ""


# -- values that cannot be stored or restored -----------------------------------------------------


class SerializationError(FlowError, TypeError):
    """A value cannot be stored.

    `path` is where inside the value, such as `result["rows"][3].lock`.
    """

    def __init__(self, message: str, path: str = "") -> None:
        super().__init__(message)
        self.path = path


class UntrustedTypeError(FlowError, TypeError):
    """Stored bytes name a type that is not allowed; nothing was imported or called."""


class TypeChangedError(FlowError, TypeError):
    """A stored value no longer fits its class: a field was removed, a required one added, or its kind is another."""


class CorruptDataError(FlowError, ValueError):
    """Stored bytes are not what flowfn writes."""


class NewerFormatError(CorruptDataError):
    """The bytes were written by a newer flowfn."""


class DecryptionError(CorruptDataError):
    """Encrypted bytes don't open: they were changed, moved from another place, or need another key."""


class UnknownKeyError(DecryptionError):
    """The bytes were encrypted with a key that was not given; the message has its id."""


class PlaintextError(DecryptionError):
    """The bytes are not encrypted where only encrypted ones are read."""


# -- the backend ----------------------------------------------------------------------------------


class SaverError(FlowError, RuntimeError):
    """The checkpointer, or the store, could not do its work; what was committed before stays readable."""


class DatabaseLocked(SaverError):
    """Another process kept the database locked for longer than the saver or store waits."""


class DatabaseReadOnly(SaverError):
    """The database cannot be written to."""


class DatabaseFull(SaverError):
    """The disk, or the database's size limit, is full."""


class DatabaseVersion(SaverError):
    """The database was written by a newer flowfn."""


class NotADatabase(SaverError):
    """The file is not a database, or not one of flowfn's."""


class DatabaseUnreachable(SaverError):
    """The database server can't be reached, or doesn't let this user in."""


class DatabaseForbidden(SaverError):
    """The database's user lacks a privilege."""


class LeaseLost(SaverError):
    """Another run took the thread over; this one may write no more."""


class WorkerDied(FlowError, ConnectionError):
    """The worker that ran a task died, or was lost, before it had a result: a failed attempt, which may be retried."""


class UnshippableError(FlowError, TypeError):
    """A task, or what it was called with, can't be sent to a worker, or can't be loaded there."""


class CacheError(FlowError, RuntimeError):
    """A cache can't be used, or can't be asked that. A run takes a failing cache as a miss, and logs it."""


# -- what a direct call of a workflow raises ------------------------------------------------------


class UnknownCall(FlowError, LookupError):
    """A call is named that isn't there, or several go by the name."""


class Interrupted(FlowError):
    """A directly called workflow waits for answers.

    `interrupts` are the open questions, `thread_id` names the run that asks them.
    """

    def __init__(self, message: str, interrupts: tuple[Any, ...] = (), thread_id: str = "") -> None:
        super().__init__(message)
        self.interrupts = interrupts
        self.thread_id = thread_id


# -- control signals ------------------------------------------------------------------------------


class Signal(BaseException):
    """Base of what unwinds user code without being an error."""


class Suspended(Signal):
    """Unwinds user code when `interrupt()` has no answer yet; `args[0]` holds its questions."""

    def __init__(self, interrupts: Any = ()) -> None:
        super().__init__(interrupts)


class Drained(Signal):
    """Ends a run between two supersteps, as `RunControl.request_drain` asked; it can be resumed.

    `reason` is what the asker gave.
    """

    def __init__(self, reason: str = "shutdown") -> None:
        super().__init__(f"Graph drained: {reason}")
        self.reason = reason


class Cancelled(Signal):
    """Unwinds user code whose run was cancelled or taken over."""


class Stopped(Signal):
    """Ends an attempt on a worker whose future was cancelled."""
