"""The divergence report: how a resumed run differed from its record, as data.

Recorded calls stand on the left, this attempt's on the right. A run that only went on where it
stopped has no differences.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

Kind = Literal[
    "clock", "position", "code", "in_doubt", "rerun", "new", "doubt", "forbidden", "orphan", "weak"
]
"""What happened to the call:

`clock`: reused, differing only in the time. `position`: reused by position, as `on_divergence="reuse"`
asks. `code`: reused, though its own code has changed. `in_doubt`: it had started and not finished when
the process died. `rerun`: run anew because its code changed. `new`: ran, and a recorded call of its name
in the same place was never asked for. `doubt`: refused, differing only in something random. `forbidden`: refused by
`on_divergence="error"`. `orphan`: recorded, and never asked for. `weak`: an argument has no digest.
"""


class CallSummary(NamedTuple):
    """One call, for people: `name(arguments)` and where it stands, as file:line."""

    name: str
    arguments: str
    site: str

    def __str__(self) -> str:
        return f"{self.name}({self.arguments})" + (f" at {self.site}" if self.site else "")


class Difference(NamedTuple):
    """One row of the diff; `recorded` or `current` is None where that side has no such call."""

    kind: Kind
    recorded: CallSummary | None
    current: CallSummary | None
    cause: str = ""

    def __str__(self) -> str:
        left, right = self.recorded or "-", self.current or "-"
        return f"{self.kind}: {left} | {right}" + (f" ({self.cause})" if self.cause else "")


@dataclass(slots=True)
class Report:
    """What an attempt reused and ran, and every difference from the record, in order.

    `reused` and `ran` count calls. `resumed` says whether there was a record to differ from.
    """

    resumed: bool = False
    reused: int = 0
    ran: int = 0
    differences: list[Difference] = field(default_factory=list)

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

    def add(
        self, kind: Kind, recorded: CallSummary | None, current: CallSummary | None, cause: str = ""
    ) -> None:
        """Append one difference."""
        self.differences.append(Difference(kind, recorded, current, cause))

    def to_data(self) -> dict[str, Any]:
        """Plain data, for storing and for JSON."""
        return {
            "resumed": self.resumed,
            "reused": self.reused,
            "ran": self.ran,
            "differences": [
                [
                    d.kind,
                    list(d.recorded) if d.recorded else None,
                    list(d.current) if d.current else None,
                    d.cause,
                ]
                for d in self.differences
            ],
        }

    @classmethod
    def from_data(cls, data: dict[str, Any]) -> Report:
        """The inverse of `to_data`."""
        rows = [
            Difference(
                kind, CallSummary(*left) if left else None, CallSummary(*right) if right else None, cause
            )
            for kind, left, right, cause in data["differences"]
        ]
        return cls(data["resumed"], data["reused"], data["ran"], rows)

    def __str__(self) -> str:
        head = f"{self.reused} calls reused, {self.ran} run"
        return "\n".join([head, *(f"  {difference}" for difference in self.differences)])
