"""The connection that a program gave a saver or a store, which opens the same database for itself."""

from __future__ import annotations

import os
from typing import Any


class GivenConnection:
    """The attribute `conn`, for the program that gave it: to ask its database by, and to close."""

    def __set__(self, owner: Any, given: Any) -> None:
        if not isinstance(given, str | os.PathLike):
            owner.__dict__["conn"] = given

    def __get__(self, owner: Any, kind: type) -> Any:
        if owner is None:
            return self
        if "conn" not in owner.__dict__:
            name = kind.__name__
            raise AttributeError(
                f"this {name} was made of a path or a URL, and shows none of its own connections as conn:"
                f" make a connection and pass it, {name}(conn), to find it there"
            )
        return owner.__dict__["conn"]
