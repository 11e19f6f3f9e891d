"""What LangGraph had recorded of a step that had not ended, as flowfn's rows.

Rule: what a node wrote goes to the node of the same path, and a question to the node that asked it; LangGraph
wrote the paths beside them. What it finds by position alone belongs to nobody here: results of tasks within nodes
and entrypoints, and the answers before an open question. That runs, or is asked, again.
"""

from __future__ import annotations

import re
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from flowfn.engine.ids import call_id, node_path, node_scope
from flowfn.engine.questions.interrupts import NAME
from flowfn.engine.questions.waiting import Pending
from flowfn.engine.records.record import CallInfo, one_row
from flowfn.identity.digest import digest, render
from flowfn.identity.volatile import Window
from flowfn.instance_ids import task_uuid
from flowfn.ports import WriteRow, Writes
from flowfn.pregel.program import INTERRUPT, NO_WRITES, PULL, PUSH, RESUME
from flowfn.row_channels import CALL, QUESTION, RUN_TASK
from flowfn.values import Interrupt

_PULLED = re.compile(r"~__pregel_pull, (.+)", re.DOTALL)
_PUSHED = re.compile(r"~__pregel_push, (\d{10}), 0000000000")

_SENDS = "__pregel_tasks"

Spot = tuple[str, str]
"""A namespace of LangGraph's, and a checkpoint."""


class Wrote(NamedTuple):
    """One row of LangGraph's `writes`; `load` gives the value."""

    namespace: str
    checkpoint: str
    task: str
    path: str
    place: int
    channel: str
    load: Callable[[], Any]

    @property
    def spot(self) -> Spot:
        return self.namespace, self.checkpoint


@dataclass
class Taken:
    """What comes along: `items`, which hold `waiting` questions. `questions` and `tasks` are asked and run again."""

    items: list[Writes] = field(default_factory=list)
    waiting: int = 0
    questions: int = 0
    tasks: int = 0


class Unfinished:
    """The last step of a thread, of which `written` is all that was ever recorded."""

    def __init__(self, thread: str, written: Iterable[Wrote], dumps: Callable[[Any], bytes]) -> None:
        self._thread = thread
        self._dumps = dumps
        self._of: dict[Spot, dict[str, list[Wrote]]] = defaultdict(lambda: defaultdict(list))
        self._homes: dict[tuple[str, str], Wrote] = {}
        for wrote in written:
            self._of[wrote.spot][wrote.task].append(wrote)
            self._homes[wrote.namespace, wrote.task] = wrote

    def namespace(self, theirs: str) -> str:
        """A namespace with the ids of our own tasks, where it is known which nodes LangGraph's were."""
        ours: list[str] = []
        segments = theirs.split("|") if theirs else []
        for depth, segment in enumerate(segments):
            name, _, task = segment.rpartition(":")
            home = self._homes.get(("|".join(segments[:depth]), task)) if name else None
            path = None if home is None else _path(home.path)
            if home is not None and path is not None:
                task = task_uuid(self._thread, "|".join(ours), home.checkpoint, node_scope(path))
                segment = f"{name}:{task}"
            ours.append(segment)
        return "|".join(ours)

    def take(self, heads: Mapping[str, str]) -> Taken:
        """What comes along of the steps from these checkpoints, by namespace; the root's is among them."""
        taken = Taken()
        asked: dict[str, list[tuple[Wrote, Interrupt]]] = defaultdict(list)
        for spot in heads.items():
            for task, rows in self._of.get(spot, {}).items():
                if set(task) <= {"0", "-"}:
                    continue
                if any(row.place >= 0 for row in rows):
                    self._add_finished(taken, rows)
                else:
                    for row, interrupt in _questions(rows):
                        asked[interrupt.id].append((row, interrupt))
        in_order = sorted(
            asked.values(), key=lambda places: sorted((row.namespace, row.path) for row, _ in places)
        )
        waiting = [self._add_question(taken, places) for places in in_order if self._is_found(places)]
        taken.waiting, taken.questions = len(waiting), len(asked) - len(waiting)
        if waiting:
            data = self._dumps([tuple(pending) for pending in waiting])
            taken.items.append(Writes("", heads[""], [one_row(RUN_TASK, QUESTION, data)]))
        return taken

    def _add_finished(self, taken: Taken, rows: Sequence[Wrote]) -> None:
        wrote = [row for row in rows if row.place >= 0]
        path = _path(wrote[0].path)
        if path is None or any(_is_foreign(row.channel) for row in wrote):
            taken.tasks += 1
            return
        kept = [
            WriteRow(node_scope(path), index, row.channel, self._dumps(row.load()), node_path(path))
            for index, row in enumerate(sorted(wrote, key=lambda row: row.place))
        ]
        taken.items.append(Writes(self.namespace(wrote[0].namespace), wrote[0].checkpoint, kept))

    def _is_found(self, places: Sequence[tuple[Wrote, Interrupt]]) -> bool:
        """Whether it is known which node asked: one in each namespace from the root inwards, and nobody before."""
        rows = [row for row, _ in places]
        return (
            all(_path(row.path) is not None for row in rows)
            and len({row.namespace for row in rows}) == len(rows)
            and "" in [row.namespace for row in rows]
            and not any(each.channel == RESUME for row in rows for each in self._of[row.spot][row.task])
        )

    def _add_question(self, taken: Taken, places: Sequence[tuple[Wrote, Interrupt]]) -> Pending:
        """A question as if it had been asked here, under the id that LangGraph showed."""
        inwards = sorted(places, key=lambda place: place[0].namespace.count("|") + bool(place[0].namespace))
        under = tuple((self.namespace(row.namespace), _scope(row)) for row, _ in inwards)
        (asker, interrupt), (namespace, scope) = inwards[-1], under[-1]
        payload = {"value": interrupt.value}
        found = digest(payload, lambda: Window(time.time(), time.time, lambda: 0.0))
        task = call_id(scope, NAME, found.exact, 0)
        info = CallInfo(
            NAME, NAME, scope, found.skeleton, [list(leaf) for leaf in found.leaves], bool(found.weak),
            0, 0, time.time(), "", render(payload), "", "",
        )  # fmt: skip
        rows = [
            WriteRow(task, 0, CALL, self._dumps(list(info))),
            one_row(task, QUESTION, self._dumps(interrupt)),
        ]
        taken.items.append(Writes(namespace, asker.checkpoint, rows))
        return Pending(interrupt, namespace, asker.checkpoint, task, under)


def _questions(rows: Sequence[Wrote]) -> list[tuple[Wrote, Interrupt]]:
    return [
        (row, Interrupt(interrupt.value, interrupt.id))
        for row in rows
        if row.channel == INTERRUPT
        for interrupt in row.load()
    ]


def _path(theirs: str) -> tuple[Any, ...] | None:
    """The path of a node's task; None if it is a task's within a node, or there is none."""
    if pulled := _PULLED.fullmatch(theirs):
        return PULL, pulled[1]
    if pushed := _PUSHED.fullmatch(theirs):
        return PUSH, int(pushed[1])
    return None


def _scope(row: Wrote) -> str:
    path = _path(row.path)
    assert path is not None
    return node_scope(path)


def _is_foreign(channel: str) -> bool:
    """Whether a channel is LangGraph's own, and means nothing, or another thing, here."""
    return channel.startswith("__") and channel not in (_SENDS, NO_WRITES)
