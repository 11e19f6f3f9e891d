"""What compiled code says in words, the same on every Python."""

from collections.abc import Callable
from typing import Any

import pytest

from flowfn.python.words import words_of


def guarded(rows: Any) -> Any:
    """Its words are those of no
    docstring."""
    for row in rows:
        try:
            row.send(timeout=5)
        except ValueError as error:
            raise TypeError(f"no {row}") from error
    return rows


@pytest.mark.parametrize(
    ("function", "words"),
    [
        (lambda v: [x.n + 1 for x in sorted(v, key=len)], ["sorted", "len", "'key'", "n", "1", "+"]),
        (lambda v: {x: y for x, y in v.items() if y is not None}, ["items"]),
        (lambda v: [-y for y in [x.z for x in v.q]], ["q", "z", "UNARY_NEGATIVE"]),
        (lambda v: v * 2 if v < 2 else v.save(2, "b"), ["2", "<", "*", "save", "'b'"]),
        (lambda v: v in {"b", "a"}, ["'a'", "'b'"]),
        (guarded, ["'no '", "'timeout'", "5", "TypeError", "ValueError", "send"]),
    ],
)
def test_they_stand_in_the_order_in_which_they_run(function: Callable[..., Any], words: list[str]) -> None:
    """G9: a comprehension's stand among the others, and what handles errors has them in alphabetical order."""
    assert words_of(function.__code__) == words  # type: ignore[attr-defined]
