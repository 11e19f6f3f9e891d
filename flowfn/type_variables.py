"""Type variables that may be left out: `Interrupt` says what `Interrupt[Any]` does."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from typing_extensions import TypeVar

    AnswerT = TypeVar("AnswerT", default=Any)
    ContextT = TypeVar("ContextT", default=Any)
    KeyT = TypeVar("KeyT", default=Any)
else:  # spares a program that asks for no default the import of typing_extensions
    from typing import TypeVar

    AnswerT, ContextT, KeyT = map(TypeVar, ("AnswerT", "ContextT", "KeyT"))
