"""What the engine needs of the world, as protocols and the rows that cross them.

A *saver* keeps bytes: it never sees a value, a task or a policy, and it never decides anything
but who may write. The journal (`engine/records/journal.py`) makes the rows, orders them and reads them.

The contract of a saver, beyond the signatures (`checkpointers/conformance/` tests it):

- `commit` is atomic: all rows of one `Commit` become visible and durable together, or none does,
  and its lease is checked in the same transaction.
- Rows come back in the order in which they were committed.
- Methods may be called from any thread. They block; `inline` says whether so briefly that an
  event loop may wait for them, and that commits gain next to nothing by going together.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import partial
from types import MappingProxyType
from typing import Any, Literal, NamedTuple, Protocol, runtime_checkable

Status = Literal["running", "interrupted", "failed", "cancelled", "done"]
"""Of a thread's last run. `running` with no live owner means: it was killed."""

Standing = Literal[Status, "killed"]
"""A thread's status as people and programs are told it."""

Place = tuple[str, str]
"""Where a checkpoint is within its thread: its namespace and its id."""

UNFINISHED: tuple[Status, ...] = ("running", "interrupted", "failed")

configurable_here: ContextVar[Mapping[str, Any]] = ContextVar(
    "flowfn.configurable", default=MappingProxyType({})
)
"""What the call under way says in `configurable` beside the thread and the checkpoint: a saver that somebody else
wrote may go by it, to tell tenants apart, say."""


@contextmanager
def with_configurable(said: Mapping[str, Any]) -> Iterator[None]:
    """Have `configurable_here` say this."""
    token = configurable_here.set(said)
    try:
        yield
    finally:
        configurable_here.reset(token)


class WriteRow(NamedTuple):
    """One write of one task, under the checkpoint that its superstep started from.

    A second row of the same (task, index) replaces the first where the index is negative, and is
    ignored where it isn't: what was recorded stays.
    """

    task: str
    index: int  # type: ignore[assignment]  # shadows tuple.index, which nobody needs of a row
    channel: str
    value: bytes
    path: str = ""


row_of: Callable[[tuple[str, int, str, bytes, str]], WriteRow] = partial(tuple.__new__, WriteRow)
"""A row of all its parts, at a third of what calling the class costs: for who makes one for each call of a task."""


class Writes(NamedTuple):
    """Rows to add to one checkpoint."""

    namespace: str
    checkpoint: str
    rows: Sequence[WriteRow]


class Versioned(NamedTuple):
    """A channel's value: bytes, or None where the channel became empty, and its version.

    Put with one of `deltas` and no value, it is the value that the parent checkpoint has, changed. When
    loaded, `deltas` are the changes to make to `value`, the oldest first (`flowfn/delta.py`).
    """

    version: int
    value: bytes | None
    deltas: tuple[bytes, ...] = ()

    def whole(self) -> bytes | None:
        """The value of a loaded channel, with its deltas."""
        if self.value is None or not self.deltas:
            return self.value
        from flowfn.delta import applied

        return applied(self.value, self.deltas)


_NO_VALUES: Mapping[str, Versioned] = {}


class CheckpointRow(NamedTuple):
    """A checkpoint as a saver keeps it.

    When put, `values` holds the channels that changed since the parent; when loaded, every channel
    that `versions` names. `body` and `metadata` are opaque bytes to savers (`flowfn/described.py`), and
    `metadata` may be empty; `created_at` is ISO 8601, UTC.
    """

    namespace: str
    id: str
    parent: str | None
    step: int
    source: str
    created_at: str
    body: bytes
    metadata: bytes
    versions: Mapping[str, int]
    values: Mapping[str, Versioned] = _NO_VALUES


class Loaded(NamedTuple):
    """A checkpoint and the writes recorded under it, in the order in which they were committed."""

    thread: str
    checkpoint: CheckpointRow
    writes: Sequence[WriteRow]


Choice = Callable[[Loaded], bool]
"""Whether a checkpoint is wanted, by its head: it has no writes, and of its row no `body`, `versions` and `values`."""


class Lease(NamedTuple):
    """The right to write to a thread until a higher `token` is given out.

    `new`: the lease created the thread, so nothing is stored under it yet; False says nothing.
    """

    thread: str
    token: int
    new: bool = False


class Busy(NamedTuple):
    """Somebody alive holds the thread; `owner` says who, for people."""

    owner: str


class ThreadRow(NamedTuple):
    """A thread in a listing: its last run and who holds it.

    `owner` is None unless a live run holds the thread. `died` is who held it, and died before anything of that run was
    recorded, as with `durability="exit"` nothing is before its end: the rest of the row is of the run before. Times are
    ISO 8601, UTC.
    """

    id: str
    workflow: str
    call: str
    status: Status
    owner: str | None
    created_at: str
    updated_at: str
    died: str | None = None

    @property
    def standing(self) -> Standing:
        """Its status; `killed` where it is running and nobody alive runs it."""
        return "killed" if self.status == "running" and self.owner is None else self.status


_ON_THREAD = "thread/"


class Begin(NamedTuple):
    """Names the run that a thread now carries: which workflow, and the digest of its call."""

    workflow: str
    call: str

    @property
    def digest(self) -> str:
        """The digest of the call, on whichever thread it was made."""
        return self.call.removeprefix(_ON_THREAD)

    def on_thread(self) -> Begin:
        """The same call on a thread that has a past, or is a copy: no direct call goes on with its run, as what is
        remembered there is for who names the thread."""
        said = not self.call or self.call.startswith(_ON_THREAD)
        return self if said else self._replace(call=_ON_THREAD + self.call)


@dataclass(slots=True)
class Commit:
    """What one transaction adds to a thread.

    `lease` None means: an outsider's write (an import, a test), which no lease guards.
    `status` is the thread's from now on; `release` gives the lease back with it. `written` is called once the
    commit is durable, before anybody who waits for one hears of it, in the order of the commits.
    """

    thread: str
    lease: Lease | None = None
    items: list[CheckpointRow | Writes] = field(default_factory=list)
    begin: Begin | None = None
    status: Status | None = None
    release: bool = False
    written: Callable[[], None] | None = None


class Deserializer(Protocol):
    """Values from bytes."""

    def loads(self, data: bytes) -> Any: ...


class Serializer(Deserializer, Protocol):
    """Values to bytes and back."""

    def dumps(self, value: Any) -> bytes: ...


@runtime_checkable
class Saver(Protocol):
    """Keeps threads. One class per backend serves blocking and asyncio callers."""

    serde: Serializer

    @property
    def inline(self) -> bool:
        """Whether an event loop may call `commit(…, wait=False)` and the reads in place."""

    @property
    def keeps_deltas(self) -> bool:
        """Whether it takes values as deltas; if not, it is given each value whole."""

    def claim(self, thread: str, *, force: bool = False) -> Lease | Busy:
        """Take the lease of a thread, creating the thread if it is new.

        A lease held by nobody alive is free. `force` takes it from whoever holds it: the former
        holder's next commit raises `LeaseLost`.
        """

    def adopt(self, workflow: str, call: str) -> Lease | None:
        """Take the lease of the newest unfinished, unowned thread of this very call, if there is one."""

    def commit(self, commits: Sequence[Commit], *, wait: bool = True) -> list[Exception | None]:
        """Make each commit durable; for each, None or why it was refused.

        Commits that wait at the same time share one transaction where the backend can. One commit's
        refusal (`LeaseLost`) leaves the others. With `wait=False`, raises `BlockingIOError` at once,
        having done nothing, where the backend is busy with somebody else.
        """

    def release(self, lease: Lease) -> None:
        """Give a lease back. No error if it was lost."""

    def load(self, thread: str, namespace: str = "", checkpoint: str | None = None) -> Loaded | None:
        """The checkpoint of this id, or the one that was committed last; None if there is none."""

    def history(
        self,
        thread: str | None,
        namespace: str | None = "",
        *,
        before: str | None = None,
        limit: int | None = None,
        chosen: Choice | None = None,
    ) -> Iterator[Loaded]:
        """Checkpoints, the last committed first. None stands for all threads, or all namespaces.

        `before` names a checkpoint: only those committed before it. `chosen` is asked of each before its values and
        writes are read: only those of which it says True, and `limit` counts them alone.
        """

    def places(self, thread: str) -> list[Place]:
        """Where each checkpoint of a thread is, the last committed first."""

    def threads(self, *, limit: int | None = None) -> list[ThreadRow]:
        """All threads, the last updated first.

        One that was claimed, and left with nothing written, is no thread.
        """

    def unfinished(self, workflow: str, *, limit: int | None = None) -> list[ThreadRow]:
        """Those of them whose last run is of this workflow and has not ended, whoever runs it."""

    def thread(self, thread: str) -> ThreadRow | None:
        """One thread's row, or None if it is unknown."""

    def delete_thread(self, thread_id: str) -> None:
        """Forget a thread, whole. No error if it is unknown."""

    def close(self) -> None:
        """Release files, connections and leases. No error if closed already."""


def where(saver: Saver) -> str:
    """The end of an error about a thread that isn't there: the file that was looked in, where a saver keeps threads in
    one, as a relative path may have meant another."""
    kept: Any = saver
    path = getattr(kept, "path", None) or getattr(getattr(kept, "saver", None), "path", None)
    return f". The database is {path}" if path and path != ":memory:" else ""


@runtime_checkable
class ClaimsTogether(Protocol):
    """What a saver may do besides: take many leases at once."""

    def claim_free(self, threads: Sequence[str]) -> Sequence[Lease | None]:
        """Take the leases of those threads that are new, or that nobody has; None for each other one.

        It waits for nobody. A thread that is named twice is taken once.
        """

    def release(self, lease: Lease) -> None:
        """As a saver's."""


@runtime_checkable
class SourceKeeper(Protocol):
    """What a saver may do besides: keep the source of functions, once per database, for reports to compare.

    `kept` are the digests that this process knows to be there.
    """

    kept: set[str]

    def keep_sources(self, sources: Mapping[str, bytes]) -> None:
        """Keep texts by their digests; what is there already stays."""

    def source(self, digest: str) -> bytes | None:
        """The text of this digest; None if it was never kept."""


class Cache(Protocol):
    """Keeps encoded results across runs. `ttl` is in seconds; None keeps for ever."""

    def get(self, key: str) -> bytes | None: ...

    def set(self, key: str, value: bytes, ttl: float | None = None) -> None: ...

    def clear(self, prefix: str = "") -> None: ...


class Host(Protocol):
    """How a run waits and where its user code runs (`flowfn/hosts/`).

    The engine awaits these. A blocking host answers by blocking and never suspends.
    """

    workers: int
    """How many threads its sync code has at most."""

    def began(self) -> None:
        """The run begins that this was made for."""

    def ended(self) -> None:
        """It has ended: nothing of it need be kept."""

    def holds_thread(self, leave: Callable[[], None]) -> None:
        """A run that this drives, be it inside another one, holds a thread of its own.

        `leave`, which is kept weakly, gives that back: `leave_what_cannot_go_on` calls it.
        """

    def holds_no_more(self, leave: Callable[[], None]) -> None:
        """That run has ended."""

    def goes_on(self) -> bool:
        """Whether what runs here may wait; not where the event loop is gone whose coroutines are closed."""

    def on_threads(self) -> Sequence[Any]:
        """The futures of what goes on upon threads beside the event loop, whether or not anybody waits for it."""

    def leave_what_cannot_go_on(self) -> int:
        """Have the runs of this process left whose event loops were closed: nobody wakes them any more, and until they
        are collected they would hold their threads. How many it has left by now, whoever had them left."""

    def now(self) -> float:
        """Seconds since the epoch."""

    def since(self) -> tuple[float, float]:
        """From when on a time among the arguments of a run that begins now counts as read off a clock for it, and what
        `elapsed` said then."""

    def elapsed(self) -> float:
        """Seconds since some moment: they only go on, whatever the clock is set to."""

    def new_id(self, after: str = "") -> str:
        """A fresh id; ids of one process sort in the order in which they were made, and come behind that of `after`."""

    def future(self, job: Any) -> Any:
        """A future whose job nobody runs yet."""

    def start(self, future: Any) -> None:
        """Have the job run concurrently, unless somebody who waits takes it first."""

    def apart(self, coroutine: Any) -> Awaitable[Any]:
        """Run a coroutine in place, in a context of its own: what it sets in context variables ends with it."""

    async def on_fresh_stack(self, coroutine: Any) -> Any:
        """Run a coroutine to its end upon a stack of its own, and in a context of its own."""

    async def settle(self, futures: Any) -> None:
        """Wait until each future has ended, whatever came of it; run what nobody has taken."""

    async def settle_within(self, seconds: float, futures: Any, late: Any) -> None:
        """`settle`, in tasks that can be stopped, and call `late` if it takes longer: while it does, where it can."""

    async def let_stop(self, futures: Any) -> None:
        """Wait until what was cancelled has ended: its clean-up is not cut off, and does not outlive the run."""

    async def join(self, future: Any) -> None:
        """Wait for a future, running its job in place where nobody has taken it."""

    async def until_placeable(self, future: Any) -> None:
        """Suspend until a held call can be placed: all branches of the current code wait, or the one for which it is
        held has come, or won't."""

    def place_when_decided(self, frame: Any, future: Any) -> None:
        """Have a call that is held for one branch of a frame's code placed once that has come, or won't."""

    def branch(self, frame: Any) -> int:
        """Which branch of a frame's code is current, in the order in which they were made; 0 for the first."""

    def branch_began(self, frame: Any) -> Any:
        """The Python frames of what began the current branch, and of what waits for it; nothing for the first."""

    def turn_of(self, frame: Any, order: float, place: float) -> Any:
        """What suspends a branch until it may hear of an outcome, whose order among those of the run that is, and which
        was given that place before it was committed; None where it may at once."""

    def handed(self, frame: Any) -> frozenset[tuple[str, str]]:
        """The failed calls, by namespace and id, whose errors were handled where a frame's current branch was made."""

    def handled_by_maker(self, frame: Any) -> BaseException | None:
        """The error that code handles, at this moment, which has begun the thread or the asyncio task that runs."""

    def is_cancelled(self, frame: Any) -> bool:
        """Whether somebody has cancelled what runs a frame's code since `count_cancellations`."""

    def count_cancellations(self, frame: Any) -> None:
        """Take the cancellations that a frame's code has met until now for its own: it has gone on from them."""

    async def let_branches_go_on(self, frame: Any) -> None:
        """Let concurrent code of the same frame make its next call."""

    async def call(self, function: Any, args: Any, kwargs: Any, timeout: Any) -> Any:
        """Call sync user code; `timeout` in seconds, or None."""

    async def call_async(self, function: Any, args: Any, kwargs: Any, timeout: Any) -> Any:
        """Await async user code; `timeout` in seconds, or a `TimeoutPolicy`, or None."""

    def soon(self, function: Any) -> None:
        """Call something of ours after what is due at once."""

    async def sleep(self, seconds: float) -> None: ...

    async def rest(self, seconds: float, over: Any) -> None:
        """`sleep` between two attempts; where nobody could cancel that, it ends once the future `over` is done."""

    async def claim_free(self, saver: Saver, thread: str) -> Lease | None:
        """Take the lease of a free thread together with others that are due; one that nobody waits for any more is
        given back. None where it isn't free, or leases are taken one by one."""

    async def commit(self, saver: Saver, commit: Commit, settles: Any = None) -> None:
        """Make one commit durable, together with others that are due.

        `settles`: the future of the job that awaits this, if the job has nothing to do after it but to settle that.
        """

    async def blocking(self, function: Any, *args: Any, undo: Any = None) -> Any:
        """Call something of ours that may block for a while.

        If whoever waits is cancelled, it goes on, and `undo`, which must not raise, gets what it returns.
        """

    async def on_saver(self, saver: Saver, function: Any, undo: Any = None) -> Any:
        """`blocking` for what a saver does. While many wait for it no further runs begin; see `hosts/admission.py`."""

    async def wait(self, future: Any) -> None:
        """Wait for a future that has no job."""

    def look_after(self, stalling: Any) -> None:
        """Call `stalling.wake` from time to time, from now on until it returns False."""

    def background(self, function: Any) -> None:
        """Run something, which must not raise, beside the run."""


class EventLoopHost(Host, Protocol):
    """A host on an event loop."""

    @property
    def threads(self) -> Host:
        """Where sync functions go, beside the loop."""
