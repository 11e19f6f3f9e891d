"""Savers that were written for LangGraph, as flowfn's.

`adapting` says which they are, and `saver` is the adapter; `partly` is that of savers of flowfn's of which a subclass
reads in its own way. `reading` finds what the other has. `methods` calls the other's methods, whichever of them it has,
`rows` translates what they take and give, and `errors` says what goes wrong with them. Importing this brings no event
loop along.
"""

from typing import TYPE_CHECKING

from flowfn.python.lazy import lend

if TYPE_CHECKING:
    from checkpointers.foreign.adapting import adapted, is_foreign
    from checkpointers.foreign.saver import ForeignSaver

__all__ = ["ForeignSaver", "adapted", "is_foreign"]

_HOMES = {"ForeignSaver": ".saver", "adapted": ".adapting", "is_foreign": ".adapting"}

lend(__name__, _HOMES)
