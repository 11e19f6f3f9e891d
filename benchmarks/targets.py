"""What flowfn is meant to reach of each workload, and whether it does.

Rule: a target is a part of LangGraph's figure, a multiple of the floor's, a plain number, or a multiple of what flowfn
takes in another workload; where there are several, all have to hold. A figure of a smaller run than the full one is
held against the same.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from benchmarks import chat, graphs, imports, installs, many, memory, parallel, peers, resume, sequential
from benchmarks.agents import ASYNCIO as AGENT_ASYNCIO
from benchmarks.agents import BLOCKING as AGENT_BLOCKING
from benchmarks.cached import DISK
from benchmarks.cached import WORKLOAD as CACHED

Lookup = Callable[[str, str], float | None]
"""The figure of a workload's subject, on the storage in question."""


@dataclass(frozen=True)
class Target:
    """An upper bound: `of` a subject's figure in the same workload, or of flowfn's own in another one, or by itself."""

    bound: float
    of: str = ""
    workload: str = ""

    def holds(self, figure: float, lookup: Lookup, own: str) -> bool | None:
        """Whether a figure is within it; None where what it is compared with wasn't measured."""
        if not self.of and not self.workload:
            return figure <= self.bound
        base = lookup(self.workload, own) if self.workload else lookup("", self.of)
        return None if base is None else figure <= self.bound * base

    def __str__(self) -> str:
        if self.workload:
            return f"≤ {self.bound:g} x {self.workload.rpartition(', ')[2]}"
        if not self.of:
            return f"≤ {self.bound:g}"
        return (
            f"≤ 1/{round(1 / self.bound)} of {self.of}" if self.bound < 1 else f"≤ {self.bound:g} x {self.of}"
        )


def part(number: int) -> Target:
    """One `number`th of LangGraph's figure."""
    return Target(1 / number, "LangGraph")


def floors(times: float) -> Target:
    """So many times the floor's figure."""
    return Target(times, "floor")


W5, W6, W7, W13, W14, _ = (workload.name for workload in graphs.WORKLOADS)
ONE, TEN_TIMES = resume.SIZES

TARGETS: Mapping[tuple[str, str], tuple[Target, ...]] = {
    (sequential.WORKLOAD, peers.NONE): (part(15),),
    (sequential.WORKLOAD, peers.MEMORY): (part(12),),
    (sequential.WORKLOAD, peers.PROCESS): (part(10),),
    (sequential.WORKLOAD, peers.POWER): (floors(1.6),),
    (sequential.WORKLOAD, peers.POSTGRES): (floors(1.5),),
    (parallel.BLOCKING, peers.NONE): (part(12),),
    (parallel.BLOCKING, peers.PROCESS): (part(12),),
    (parallel.BLOCKING, peers.POSTGRES): (part(10),),
    (parallel.ASYNCIO, peers.NONE): (part(12),),
    (parallel.ASYNCIO, peers.PROCESS): (part(12),),
    (parallel.ASYNCIO, peers.POSTGRES): (part(10),),
    (ONE, peers.PROCESS): (part(10), Target(20)),
    (TEN_TIMES, peers.PROCESS): (part(50), Target(200)),
    (CACHED, peers.MEMORY): (part(10),),
    (CACHED, DISK): (Target(40),),
    (W5, peers.NONE): (part(8),),
    (W5, peers.MEMORY): (part(15),),
    (W5, peers.PROCESS): (part(12),),
    (W5, peers.POSTGRES): (part(10),),
    (W6, peers.NONE): (part(5),),
    (W6, peers.PROCESS): (part(8),),
    (W7, peers.NONE): (part(6),),
    (W7, peers.PROCESS): (part(8),),
    (W13, peers.NONE): (part(5),),
    (W13, peers.PROCESS): (part(5),),
    (W14, peers.NONE): (part(5),),
    (W14, peers.PROCESS): (part(5),),
    (AGENT_BLOCKING, peers.NONE): (part(5),),
    (AGENT_BLOCKING, peers.PROCESS): (part(6),),
    (AGENT_ASYNCIO, peers.NONE): (part(5),),
    (AGENT_ASYNCIO, peers.PROCESS): (part(6),),
    (chat.LATE, peers.PROCESS): (part(10), Target(1.5, workload=chat.EARLY)),
    (chat.LATE, peers.POSTGRES): (part(8), Target(1.5, workload=chat.EARLY)),
    (chat.BYTES, peers.PROCESS): (Target(1.2),),
    (chat.BYTES, peers.POSTGRES): (Target(2),),
    (many.WORKLOAD, peers.PROCESS): (part(15),),
    (many.WORKLOAD, peers.POSTGRES): (part(12),),
    (imports.WORKLOAD, ""): (Target(100),),
    (installs.DISTRIBUTIONS, ""): (Target(12),),
    (installs.SIZE, ""): (Target(20),),
    (memory.WORKLOAD, peers.NONE): (Target(20),),
    (memory.WORKLOAD, peers.PROCESS): (Target(20),),
}
"""By workload and storage."""


@dataclass(frozen=True)
class Verdicts:
    """Which targets hold, of results as `report.data` has them."""

    figures: Mapping[tuple[str, str, str], float]

    def of(self, workload: str, storage: str, subject: str) -> Iterator[tuple[Target, bool | None]]:
        """Each target of one of flowfn's results, and whether it holds; nothing for another's."""
        figure = self.figures.get((workload, storage, subject))
        if figure is None or subject not in peers.OURS:
            return

        def lookup(other: str, name: str) -> float | None:
            return self.figures.get((other or workload, storage, name))

        for target in TARGETS.get((workload, storage), ()):
            yield target, target.holds(figure, lookup, subject)


def verdicts(results: list[dict[str, Any]]) -> Verdicts:
    """Of the results of a run."""
    return Verdicts(
        {
            (result["workload"], result["storage"], result["subject"]): result["figure"]
            for result in results
            if result["figure"] is not None
        }
    )
