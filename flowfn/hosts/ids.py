"""Ids of threads and checkpoints: UUIDs of version 7, which sort by the time of their making.

They only name. What came first is told by the order of commits, never by an id: clocks go backwards.
"""

from __future__ import annotations

import sys


def new_id() -> str:
    """A fresh UUID of version 7, as text."""
    return _make()


if sys.version_info >= (3, 14):
    from uuid import uuid7

    def _make() -> str:
        return str(uuid7())

else:

    def _make() -> str:
        from uuid_utils import uuid7

        return str(uuid7())
