"""Options that take one of a few words: a typo must not silently mean something else."""

from __future__ import annotations

import typing
from typing import Any

from flowfn.errors import InvalidInput


def check_option(name: str, value: Any, words: Any, beside: str = "") -> None:
    """Refuse a word that an option doesn't have; None leaves the option as it is. `beside`: what else it may be.

    Raises:
        InvalidInput: lists the words that it has.
    """
    if value is None:
        return
    known = typing.get_args(words)
    if value not in known:
        listed = ", ".join(repr(word) for word in known)
        raise InvalidInput(f"{name}={value!r} is unknown: write one of {listed}{beside}")
