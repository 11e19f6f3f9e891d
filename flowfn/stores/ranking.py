"""Which items are most like a query: the one rule, for every backend that doesn't rank by itself.

Rule: an item's score is the best cosine of its vectors with the query's; a vector of zeros, or with an infinity, is
like nothing, and one of another length, which another index made, counts as none.
Vectors are kept as 32-bit floats, so that a score is the same wherever it was kept. numpy does the sums where
it is installed.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterable, Sequence
from operator import mul
from typing import Any, TypeVar

Id = TypeVar("Id")

DIGITS = 12
"""Of a score: fewer than sums of floats get right in any order, so that equal vectors have equal scores."""


def packed(vector: Iterable[float]) -> bytes:
    """A vector as a backend keeps it."""
    return array("f", vector).tobytes()


def ranked(query: bytes, vectors: Iterable[tuple[Id, bytes]]) -> list[tuple[Id, float]]:
    """The items and their scores, the best first; equal ones in the order in which they came."""
    ids, kept = [], []
    for id, vector in vectors:
        if len(vector) == len(query):
            ids.append(id)
            kept.append(vector)
    best: dict[Id, float] = {}
    for id, score in zip(ids, _cosines(query, kept), strict=True):
        best[id] = max(score, best.get(id, score))
    return sorted(best.items(), key=lambda pair: -pair[1])


def _cosines(query: bytes, vectors: Sequence[bytes]) -> Sequence[float]:
    if not vectors:
        return ()
    try:
        import numpy
    except ImportError:
        return [_cosine(array("f", query), array("f", vector)) for vector in vectors]
    return _cosines_by_numpy(numpy, query, vectors)


def _cosines_by_numpy(numpy: Any, query: bytes, vectors: Sequence[bytes]) -> Sequence[float]:
    one = numpy.frombuffer(query, "f4").astype("f8")
    many = numpy.frombuffer(b"".join(vectors), "f4").reshape(len(vectors), -1).astype("f8")
    lengths = numpy.linalg.norm(many, axis=1) * numpy.linalg.norm(one)
    with numpy.errstate(invalid="ignore"):  # infinities
        dots = many @ one
    some = (lengths > 0) & numpy.isfinite(lengths)
    scores = numpy.divide(dots, lengths, out=numpy.zeros_like(dots), where=some)
    found: list[float] = scores.round(DIGITS).tolist()
    return found


def _cosine(one: Sequence[float], other: Sequence[float]) -> float:
    lengths = math.hypot(*one) * math.hypot(*other)
    known = lengths > 0 and math.isfinite(lengths)
    return round(sum(map(mul, one, other)) / lengths, DIGITS) if known else 0.0
