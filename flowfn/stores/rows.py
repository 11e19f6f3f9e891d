"""What a store needs of a backend: rows, and a transaction's verbs on them.

Rule: a backend only fetches and keeps. What matches, what comes first and what has been overwritten is decided
in `store` for all of them; a backend may leave out early what can't match, and must not leave out what does.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from flowfn.stores.encoding import Encoded
from flowfn.stores.items import Namespace

Place = tuple[Namespace, str]
"""A namespace and a key: at most one row each."""


class Row(NamedTuple):
    """What is kept at a place. Times are seconds since the epoch; `ttl` is in minutes."""

    namespace: Namespace
    key: str
    value: Encoded
    created: float
    updated: float
    ttl: float | None = None
    expires: float | None = None

    @property
    def place(self) -> Place:
        """Where it is kept."""
        return self.namespace, self.key


class Rows(Protocol):
    """A transaction. `alive`: leave out what expired by then; None leaves out nothing."""

    def get(self, place: Place, alive: float | None) -> Row | None:
        """The row at a place."""

    def scan(self, prefix: Namespace, filter: Mapping[str, Any], alive: float | None) -> Iterator[Row]:
        """The rows of the namespaces that begin so and may pass the filter, the last put first."""

    def likest(
        self, query: bytes, prefix: Namespace, filter: Mapping[str, Any], alive: float | None
    ) -> Iterable[tuple[Place, float]]:
        """The rows that `scan` gives and that have vectors, with their scores, ranked by the rule of `ranking`."""

    def vectors(self, place: Place) -> Sequence[bytes]:
        """The vectors of the row at a place."""

    def namespaces(self, prefix: Namespace, alive: float | None) -> Iterable[Namespace]:
        """The namespaces that begin so and hold rows, in any order."""

    def put(self, row: Row, vectors: Sequence[bytes]) -> None:
        """Keep a row, in place of the one that is there, as the last put."""

    def delete(self, place: Place) -> None:
        """Forget the row at a place, if there is one."""

    def refresh(self, places: Iterable[Place], now: float) -> None:
        """Begin the time to live of those rows anew that have one."""

    def sweep(self, now: float) -> int:
        """Forget the rows that expired by now; how many there were."""
