"""A dict that is kept in a file, for `InMemorySaver(factory=…)`.

Rule: the file holds what the dict was at the last `sync`, whole, whenever the process dies.
"""

from __future__ import annotations

import os
import pickle
import tempfile
from collections import defaultdict
from pathlib import Path
from typing import Any, TypeVar

K = TypeVar("K")
V = TypeVar("V")


class PersistentDict(defaultdict[K, V]):
    """A `defaultdict` that `sync`, `close` and the end of a `with` write to the file `filename`, and `load` reads.

    The file is a pickle of a plain dict: load none that others could write to.
    """

    def __init__(self, *args: Any, filename: str, **items: Any) -> None:
        self.filename = filename
        super().__init__(*args, **items)

    def sync(self) -> None:
        """Write it to the file, in the place of what was there."""
        path = Path(self.filename)
        number, name = tempfile.mkstemp(prefix=path.name, dir=path.parent)
        try:
            with os.fdopen(number, "wb") as file:
                pickle.dump(dict(self), file)
            os.replace(name, path)
        except BaseException:
            Path(name).unlink(missing_ok=True)
            raise

    def load(self) -> None:
        """Add what the file holds.

        Raises:
            OSError: there is no such file, or it can't be read.
            pickle.UnpicklingError: it holds something else.
        """
        with open(self.filename, "rb") as file:
            self.update(pickle.load(file))

    def close(self) -> None:
        """Write it to the file."""
        self.sync()

    def __enter__(self) -> PersistentDict[K, V]:
        return self

    def __exit__(self, *raised: object) -> None:
        self.close()
