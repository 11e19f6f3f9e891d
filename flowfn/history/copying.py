"""A thread begun as a copy of another: of a checkpoint, of what was recorded under it, and of the runs nested in that.

Rule: ids are of their thread and checkpoint, so that a copy has its own: those of checkpoints are new, and those of
tasks and questions follow from them. What nested runs remember between calls is copied as it was at the checkpoint, and
what they have come to since then under a head.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import dropwhile

from flowfn.config import RunConfig
from flowfn.described import body_of, metadata_of, to_body, to_metadata
from flowfn.engine.ids import remembers
from flowfn.engine.questions.waiting import Pending, read_pending
from flowfn.engine.records.ledger import Ledger
from flowfn.engine.records.record import one_row
from flowfn.errors import InvalidInput, UnknownCheckpoint
from flowfn.history.changing import alone, commit
from flowfn.history.rewinding import rewound
from flowfn.history.state import load
from flowfn.history.supersteps import node_tasks
from flowfn.hosts.ids import new_id
from flowfn.instance_ids import task_uuid
from flowfn.ports import (
    Begin,
    CheckpointRow,
    Commit,
    Loaded,
    Place,
    Saver,
    Status,
    ThreadRow,
    Versioned,
    WriteRow,
    Writes,
)
from flowfn.row_channels import QUESTION, RUN_TASK

WAITS: Status = "cancelled"
"""Of a copy that goes on when it is told to: no call of the workflow adopts it."""


def copy_to(saver: Saver, where: RunConfig, thread: str, before: str | None = None) -> None:
    """Start a thread with a copy of a checkpoint, of what was recorded under it, and of the runs nested in its calls.

    Open questions are the copy's own, under other ids. With `before`, the copy is of where the last run was before it
    made that call: an id, a name, or `name#2` for the second of that name.

    Raises:
        UnknownCheckpoint: there is nothing to copy.
        DecryptionError: it is encrypted, and the saver has no key.
        UnknownCall: `before` is no call of the run, or several.
        InvalidInput: the thread exists already.
    """
    if saver.thread(thread) is not None:
        raise _taken(thread)
    loaded = load(saver, where)
    if loaded is None:
        raise UnknownCheckpoint(f"thread {where.thread_id!r} has no checkpoint to copy: check the thread_id")
    saver.serde.loads(loaded.checkpoint.body)  # sealed to its place, it would be of no use in another
    old = saver.thread(loaded.thread)
    begin = None if old is None else Begin(old.workflow, old.call).on_thread()
    copy, status = (
        _copied(saver, loaded, thread, old) if before is None else _rewound(saver, loaded, thread, before)
    )
    with alone(saver, thread) as lease:
        if saver.load(thread) is not None:  # it came to be meanwhile
            raise _taken(thread)
        commit(saver, Commit(thread, lease, copy.items, begin, status, release=True))


def _copied(saver: Saver, loaded: Loaded, thread: str, old: ThreadRow | None) -> tuple[_Copy, Status]:
    """A copy of a checkpoint with all that was recorded under it, and how it stands."""
    asked = read_pending(saver.serde, loaded.writes)
    copy = _copy_of(saver, loaded, thread, loaded.writes)
    copy.remember_since(all_of_them=True)
    if not asked:
        return copy, _status(saver, loaded, old)
    waiting = copy.asked_alike(loaded.thread, asked)
    if not waiting:
        return copy, WAITS
    row = one_row(RUN_TASK, QUESTION, saver.serde.dumps([tuple(question) for question in waiting]))
    copy.items.append(Writes("", copy.spots["", loaded.checkpoint.id][1], [row]))
    return copy, "interrupted"


def _rewound(saver: Saver, head: Loaded, thread: str, before: str) -> tuple[_Copy, Status]:
    """A copy of where the last run was before it made a call, and how it stands."""
    loaded, writes = rewound(saver, head, before)
    copy = _copy_of(saver, loaded, thread, writes)
    copy.remember_since(all_of_them=False)
    return copy, WAITS


def _copy_of(saver: Saver, loaded: Loaded, thread: str, writes: Sequence[WriteRow]) -> _Copy:
    """A copy of a checkpoint with these of its rows, and of what nested runs remembered when it was made."""
    copy = _Copy(saver, thread, _since(saver, loaded))
    for memory in _memories(saver, loaded):
        copy.remember(memory)
    copy.add(loaded, [write for write in writes if write.task != RUN_TASK])
    return copy


def _taken(thread: str) -> InvalidInput:
    return InvalidInput(
        f"thread {thread!r} exists already: fork to another thread_id, or to none for a new one"
    )


def _status(saver: Saver, loaded: Loaded, old: ThreadRow | None) -> Status:
    """How the copy of a checkpoint stands: as its thread does there, where that has stopped, or by what is due."""
    head = saver.load(loaded.thread)
    is_head = head is not None and head.checkpoint.id == loaded.checkpoint.id
    if is_head and old is not None and old.status != "running":
        return old.status
    due = node_tasks(loaded, Ledger(loaded.writes, saver.serde), saver.serde, is_last=True)
    return WAITS if due or loaded.checkpoint.source == "input" else "done"


def _since(saver: Saver, loaded: Loaded) -> list[Loaded]:
    """The checkpoints of runs nested under a thread's head, the newest first; under others all have ended."""
    found: list[Loaded] = []
    for each in saver.history(loaded.thread, None):
        if not each.checkpoint.namespace:
            return found if each.checkpoint.id == loaded.checkpoint.id else []
        found.append(each)
    return []


def _memories(saver: Saver, loaded: Loaded) -> Iterator[Loaded]:
    """What each nested run remembered when a checkpoint was made, the oldest first."""
    made = ("", loaded.checkpoint.id)
    last: dict[str, str] = {}
    for namespace, id in dropwhile(lambda place: place != made, saver.places(loaded.thread)):
        if remembers(namespace):
            last.setdefault(namespace, id)
    for namespace, id in reversed(last.items()):
        if (memory := saver.load(loaded.thread, namespace, id)) is not None:
            yield memory


class _Copy:
    """What a copy is made of, and where in it each checkpoint went, and each call that runs may be nested in."""

    def __init__(self, saver: Saver, thread: str, since: Sequence[Loaded]) -> None:
        self.saver = saver
        self.thread = thread
        self.since = since
        self.nested = {each.checkpoint.namespace: each for each in reversed(since)}
        self.items: list[CheckpointRow | Writes] = []
        self.spots: dict[Place, Place] = {}
        self.calls: dict[str, str] = {}

    def add(
        self,
        loaded: Loaded,
        writes: Sequence[WriteRow],
        namespace: str = "",
        parents: Mapping[str, str] | None = None,
    ) -> None:
        """Copy a checkpoint into a namespace, with these of its rows, and the runs that were nested under it."""
        old, id = loaded.checkpoint, new_id()
        self.spots[old.namespace, old.id] = namespace, id
        values = {name: Versioned(each.version, each.whole()) for name, each in old.values.items()}
        row = old._replace(namespace=namespace, id=id, parent=None, values=values)
        body = body_of(old, self.saver.serde)
        if body.call in self.calls:
            said = to_body(body._replace(call=self.calls[body.call]), old.versions, old.versions)
            row = row._replace(body=self.saver.serde.dumps(said))
        if parents is None:
            row = row._replace(source="fork")
        else:
            known = to_metadata({**metadata_of(old, self.saver.serde), "parents": parents})
            row = row._replace(metadata=self.saver.serde.dumps(known))
        self.items += [row, Writes(namespace, id, writes)]
        for task in _tasks(self.saver, loaded, writes):
            was = task_uuid(loaded.thread, old.namespace, old.id, task)
            now = self.calls[was] = task_uuid(self.thread, namespace, id, task)
            for name, below in self.nested.items():
                around, called, number = name.rpartition(f":{was}")
                if called and (not number or number[1:].isdecimal()):
                    segment = around.removeprefix(old.namespace).removeprefix("|")
                    inside = "|".join(filter(None, [namespace, f"{segment}:{now}{number}"]))
                    self.add(below, below.writes, inside, {**(parents or {}), namespace: id})

    def remember(self, memory: Loaded) -> None:
        """Copy what a nested run remembers: of a call that is copied, as that one's; of another as one before."""
        row = memory.checkpoint
        around = metadata_of(row, self.saver.serde)["parents"].items()
        self.add(memory, memory.writes, row.namespace, dict(self.spots.get(each, each) for each in around))

    def remember_since(self, *, all_of_them: bool) -> None:
        """Copy what nested runs have remembered since the checkpoint, in the calls that are copied or in all."""
        last: dict[tuple[str, str | None], Loaded] = {}
        for each in reversed(self.since):
            row = each.checkpoint
            if remembers(row.namespace):
                place = row.namespace, body_of(row, self.saver.serde).call
                last.pop(place, None)
                last[place] = each
        for (_, call), memory in last.items():
            if all_of_them or call in self.calls:
                self.remember(memory)

    def asked_alike(self, thread: str, asked: Sequence[Pending]) -> list[Pending]:
        """The questions that a run on a thread waits for, as its copy will ask them.

        None where one was asked in a run that isn't copied: then the copy has to ask first.
        """
        if any((question.namespace, question.checkpoint) not in self.spots for question in asked):
            return []
        return [question.on(thread, self.thread, self.spots) for question in asked]


def _tasks(saver: Saver, loaded: Loaded, writes: Sequence[WriteRow]) -> Iterator[str]:
    """The tasks under a checkpoint that runs may be nested in: calls that have rows, and the nodes that are due."""
    ledger = Ledger(writes, saver.serde)
    yield from ledger.records
    yield from (node.scope for node in node_tasks(loaded, ledger, saver.serde, is_last=True))
