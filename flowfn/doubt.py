"""What is known of a call that had started and not finished when its process died, and what may be said of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any


@dataclass(frozen=True)
class InDoubt:
    """A call in doubt, as `@task(in_doubt=verify)` is asked about it.

    `args` and `kwargs` are the call's own, `arguments` the same by parameter name. `idempotency_key` is what
    `current().idempotency_key` was when it ran. `started_at` (UTC) is when it last began; None where only the
    start of an older policy was noted.
    """

    name: str
    args: tuple[Any, ...]
    kwargs: Mapping[str, Any]
    arguments: Mapping[str, Any]
    idempotency_key: str
    thread_id: str
    started_at: datetime | None


@dataclass(frozen=True)
class Done:
    """It had happened: `value` is the call's result, and it doesn't run again."""

    value: Any = None


@dataclass(frozen=True)
class NotDone:
    """It hadn't happened: it runs again."""
