"""What an onlooker knows of all lives of a workflow: which calls ran, which were recorded, what its body returned."""

from __future__ import annotations

from collections import Counter
from collections.abc import Set
from typing import TYPE_CHECKING, Any, NamedTuple

from flowfn.instance_ids import instance_id
from flowfn.ports import Commit, Writes
from flowfn.row_channels import ANSWER, RETURN, RUN_TASK

if TYPE_CHECKING:
    from flowfn.engine.calls.call import Call
    from flowfn.report import Report


class Execution(NamedTuple):
    """A call whose function was called: who it is, how people call it, and where it was called.

    `alike` is what it has in common with the same call of another life, in which the clock may have gone on.
    """

    key: str
    label: str
    site: str
    alike: str

    def __str__(self) -> str:
        return f"{self.label} at {self.site}" if self.site else self.label

    def among(self, same: Set[str]) -> str:
        """What it has in common with the same call of another life, where these labels are of calls of both.

        A time before the run, such as a file's, is one of the run's own to a life that begins soon after it, and to a
        later one it isn't: but it is the same.
        """
        return self.label if self.label in same else self.alike


class Onlooker:
    """Watches the lives of one job. All that it is told of is told it in order."""

    def __init__(self) -> None:
        self.executions: list[Execution] = []
        self.recorded: set[str] = set()
        self.repeated: list[Execution] = []
        """What ran though its result was recorded."""
        self.returned: list[Any] = []
        """What the body returned, life by life, as it comes back from where it is stored."""
        self.reports: list[Report] = []
        self.cut_off: list[Execution] = []
        """The calls that were under way when the process died."""

    def runs(self, execution: Execution) -> None:
        """A function is about to be called."""
        self.executions.append(execution)
        if execution.key in self.recorded:
            self.repeated.append(execution)

    def was_recorded(self, keys: set[str]) -> None:
        """These calls' results are durable."""
        self.recorded |= keys

    def returns(self, value: Any) -> None:
        """The workflow's own function has returned."""
        self.returned.append(value)

    def resumes(self, report: Report) -> None:
        """The body begins; the report will say how it differs from the record."""
        self.reports.append(report)

    def counts(self, same: Set[str]) -> Counter[str]:
        """How often each call ran, by what is alike in lives that have these labels both."""
        return Counter(execution.among(same) for execution in self.executions)

    def labels(self) -> Counter[str]:
        """How often each call ran, by what people call it."""
        return Counter(execution.label for execution in self.executions)

    def cut(self) -> None:
        """The process has died: what has no record was under way, and what it had yet to ask for is no orphan."""
        del self.reports[-1:]
        self.cut_off = [e for e in self.executions if e.key not in self.recorded]

    def place(self, alike: str, same: Set[str]) -> str:
        """What people call a call, and where it was called; "" where it never ran."""
        return next((str(execution) for execution in self.executions if execution.among(same) == alike), "")


def same_labels(one: Onlooker, other: Onlooker) -> Set[str]:
    """What people call the calls that ran in the lives of both."""
    return one.labels().keys() & other.labels().keys()


def execution_of(call: Call) -> Execution:
    """A call as an onlooker keeps it."""
    run = call.run
    key = instance_id(run.thread, run.namespace, run.checkpoint.id, call.task)
    if call.parent is None:
        return Execution(key, call.definition.name, "", call.definition.name)
    label, digested = f"{call.info.name}({call.info.arguments})", call.digest
    if digested is None or digested.skeleton is None or all(leaf.kind != "clock" for leaf in digested.leaves):
        return Execution(key, label, call.site, label)
    others = [leaf.text for leaf in digested.leaves if leaf.kind != "clock"]
    return Execution(key, label, call.site, " ".join((call.info.name, digested.skeleton.hex(), *others)))


def recorded_in(commit: Commit) -> set[str]:
    """The calls whose results a commit has.

    An error is none: until the code that called is known to have gone on after it, the task may run again.
    """
    return {
        instance_id(commit.thread, item.namespace, item.checkpoint, row.task)
        for item in commit.items
        if isinstance(item, Writes)
        for row in item.rows
        if row.task != RUN_TASK and (row.channel in (RETURN, ANSWER) or (row.path and row.index >= 0))
    }
