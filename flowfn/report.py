"""The divergence report: how a resumed run differed from its record, as data.

Recorded calls stand on the left, this attempt's on the right. A run that only went on where it
stopped has no differences. The report is a diff and its likely reasons: the code that was edited, the
part of the arguments that changed, and whether calls came in another order.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

Kind = Literal[
    "clock", "fields", "position", "code", "in_doubt", "rerun", "new", "doubt", "forbidden", "orphan", "weak"
]
"""What happened to the call:

`clock`: reused, differing only in the time. `fields`: reused, differing only in fields that a class has got since, or
in parameters, which are at their defaults, or in names of one member of an enum. `position`: reused by position, as
`on_divergence="reuse"` asks. `code`: reused, though its own code has changed. `in_doubt`: it had started and not
finished when the process died. `rerun`: run anew because its code changed. `new`: ran, and a recorded call of its name
in the same place was never asked for. `doubt`: refused, differing only in something random. `forbidden`: refused by
`on_divergence="error"`. `orphan`: recorded, and never asked for. `weak`: an argument has no digest.
"""


_SHOWN = 20
"""Differences that the text of a report shows."""


class CallSummary(NamedTuple):
    """One call, for people: `name(arguments)`, where it stands, as `file:line`, and its code's fingerprint.

    `code` is 16 hex digits, or `version …` where the author gave one.
    """

    name: str
    arguments: str
    site: str
    code: str = ""

    def __str__(self) -> str:
        return f"{self.name}({self.arguments})" + (f" at {self.site}" if self.site else "")


class Change(NamedTuple):
    """A part of the arguments that differs: its path, such as `order["lines"][0].sku`, and both values as texts.

    A value that one side doesn't have is shown as `-`.
    """

    path: str
    recorded: str
    current: str

    def __str__(self) -> str:
        return f"{self.path}: {self.recorded} → {self.current}"


class Difference(NamedTuple):
    """One row of the diff; `recorded` or `current` is None where that side has no such call.

    `cause` is the likely reason in words; `changes` are the parts of the arguments that differ, the first few.
    """

    kind: Kind
    recorded: CallSummary | None
    current: CallSummary | None
    cause: str = ""
    changes: tuple[Change, ...] = ()

    def __str__(self) -> str:
        left, right = str(self.recorded or "-"), str(self.current or "-")
        calls = left if left == right else f"{left} | {right}"
        return f"{self.kind}: {calls}" + (f" ({self.cause})" if self.cause else "")


class Edit(NamedTuple):
    """A function whose code isn't the recorded calls' any more: both fingerprints, and the diff of its source.

    `diff` is a unified diff of the source without comments, docstrings, decorators and annotations, of the
    function and of the project's functions that it names; empty where the recorded source isn't known.
    """

    name: str
    recorded: str
    current: str
    diff: str = ""

    def __str__(self) -> str:
        return f"the code of {self.name} changed ({self.recorded} → {self.current})"


@dataclass(slots=True)
class Report:
    """What an attempt reused and ran, and every difference from the record, in order.

    `reused` and `ran` count calls, `reordered` those of the reused ones that came earlier than recorded.
    `resumed` says whether there was a record to differ from. `edits` are the functions whose code changed.
    """

    resumed: bool = False
    reused: int = 0
    ran: int = 0
    differences: list[Difference] = field(default_factory=list)
    reordered: int = 0
    edits: list[Edit] = field(default_factory=list)

    def __bool__(self) -> bool:
        return bool(self.differences)

    def __iter__(self) -> Iterator[Difference]:
        return iter(self.differences)

    @property
    def first(self) -> Difference | None:
        """The first difference, or None."""
        return self.differences[0] if self.differences else None

    @property
    def orphans(self) -> list[CallSummary]:
        """The recorded calls that nobody asked for."""
        return [d.recorded for d in self.differences if d.kind == "orphan" and d.recorded is not None]

    @property
    def cause(self) -> str:
        """The likely reason of it all in words: code, else arguments, else order; empty where none is known."""
        if not self.differences:
            return ""
        if self.edits:
            return "; ".join(map(str, self.edits))
        changed = next((d for d in self.differences if d.changes), None)
        if changed is not None:
            return f"an argument changed: {changed.changes[0]}"
        if self.reordered:
            return f"calls came in another order ({self.reordered} of them earlier than recorded)"
        return next((d.cause for d in self.differences if d.cause), "")

    @property
    def differs(self) -> bool:
        """Whether anything is other than recorded; that a call is weak says no such thing."""
        return any(each.kind != "weak" for each in self.differences)

    @property
    def counts(self) -> str:
        """How many calls were reused, and how many ran, in words."""
        moved = f", {self.reordered} in another order" if self.reordered else ""
        return f"{self.reused} {'call' if self.reused == 1 else 'calls'} reused{moved}, {self.ran} run"

    @property
    def line(self) -> str:
        """The report in one line, as it is logged."""
        count = Counter(difference.kind for difference in self.differences)
        kinds = ", ".join(f"{number} {kind}" for kind, number in count.items())
        said = [kinds or "no differences", self.counts]
        if self.first is not None:
            said.append(f"first: {self.first}")
        if self.cause and self.cause != (self.first and self.first.cause):
            said.append(f"probable cause: {self.cause}")
        return "; ".join(said)

    def add(
        self,
        kind: Kind,
        recorded: CallSummary | None,
        current: CallSummary | None,
        cause: str = "",
        changes: tuple[Change, ...] = (),
    ) -> None:
        """Append one difference."""
        self.differences.append(Difference(kind, recorded, current, cause, changes))

    def to_data(self) -> dict[str, Any]:
        """Plain data, for storing and for JSON."""
        return {
            "resumed": self.resumed,
            "reused": self.reused,
            "ran": self.ran,
            "reordered": self.reordered,
            "differences": [
                [
                    d.kind,
                    list(d.recorded) if d.recorded else None,
                    list(d.current) if d.current else None,
                    d.cause,
                    [list(change) for change in d.changes],
                ]
                for d in self.differences
            ],
            "edits": [list(edit) for edit in self.edits],
        }

    @classmethod
    def from_data(cls, data: dict[str, Any]) -> Report:
        """The inverse of `to_data`; it also reads what earlier versions wrote."""
        rows = [
            Difference(
                kind,
                CallSummary(*left) if left else None,
                CallSummary(*right) if right else None,
                cause,
                tuple(Change(*change) for changes in more for change in changes),
            )
            for kind, left, right, cause, *more in data["differences"]
        ]
        edits = [Edit(*edit) for edit in data.get("edits", ())]
        return cls(data["resumed"], data["reused"], data["ran"], rows, data.get("reordered", 0), edits)

    def __str__(self) -> str:
        """The whole diff as text: what was reused and ran, a line per difference, the cause, the edited code."""
        lines = [self.counts]
        lines += [f"  {each}" for each in self.differences[:_SHOWN]]
        if len(self.differences) > _SHOWN:
            lines.append(f"  … and {len(self.differences) - _SHOWN} more")
        if self.cause:
            lines.append(f"probable cause: {self.cause}")
        lines += [edit.diff for edit in self.edits if edit.diff]
        return "\n".join(lines)
