"""Amendments: what updates of a state from outside a run come to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from flowfn.pregel.apply import Batch
from flowfn.values import Source, StateUpdate, Write


@dataclass(frozen=True, slots=True)
class Amendment:
    """What updates of a state come to: writes to apply as one superstep.

    `gives_up` says that what was due is given up; `copies` that the new checkpoint stands beside the old one
    rather than after it; `records` are writes to keep as those of the old checkpoint's tasks, by their paths;
    `then` are updates of the new checkpoint.
    """

    batches: Sequence[Batch]
    source: Source = "update"
    gives_up: bool = False
    copies: bool = False
    records: Mapping[tuple[Any, ...], Sequence[Write]] = field(default_factory=dict)
    then: Sequence[StateUpdate] = ()
