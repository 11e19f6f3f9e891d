"""Savers that were written for LangGraph, as flowfn's.

`saver` is the adapter; `methods` calls the other's methods, whichever of them it has, `rows` translates what they take
and give, and `errors` says what goes wrong with them. Importing this brings no event loop along.
"""

from typing import TYPE_CHECKING

from flowfn.lazy import lazily

if TYPE_CHECKING:
    from checkpointers.foreign.saver import ForeignSaver, adapted, is_foreign

__all__ = ["ForeignSaver", "adapted", "is_foreign"]

__getattr__, __dir__ = lazily(__name__, dict.fromkeys(__all__, ".saver"))
