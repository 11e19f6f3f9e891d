"""Scores, with numpy and without."""

from __future__ import annotations

import math
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flowfn.stores.ranking import packed, ranked

NUMBERS = st.floats(-1e3, 1e3, width=32)
VECTORS = st.lists(st.lists(NUMBERS, min_size=3, max_size=3), max_size=6)


@given(st.lists(NUMBERS, min_size=3, max_size=3), VECTORS)
def test_numpy_changes_no_score(query: list[float], vectors: list[list[float]]) -> None:
    """The same scores to nine digits, whoever does the sums."""
    kept = [(number, packed(vector)) for number, vector in enumerate(vectors)]
    by_numpy = dict(ranked(packed(query), kept))
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, "numpy", None)
        assert dict(ranked(packed(query), kept)) == pytest.approx(by_numpy, abs=1e-9)


@pytest.mark.parametrize("without", [False, True])
def test_equal_vectors_keep_their_order(without: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """However many there are, and wherever they stand."""
    if without:
        monkeypatch.setitem(sys.modules, "numpy", None)
    vector = packed([0.1] * 37)
    found = ranked(packed([0.3] * 37), [(number, vector) for number in range(101)])
    assert found == [(number, 1.0) for number in range(101)]


def test_an_item_is_as_good_as_its_best_vector() -> None:
    """Not their mean, nor their sum."""
    vectors = [("x", packed([0, 1])), ("y", packed([1, 1])), ("x", packed([1, 0])), ("x", packed([-1, 0]))]
    assert [id for id, _ in ranked(packed([1, 0]), vectors)] == ["x", "y"]
    assert dict(ranked(packed([1, 0]), vectors))["x"] == 1.0
    assert ranked(packed([0, 0]), vectors) == [("x", 0.0), ("y", 0.0)]


@pytest.mark.parametrize("without", [False, True])
def test_what_has_no_likeness(without: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Infinities are like nothing; a vector of another length is no vector."""
    if without:
        monkeypatch.setitem(sys.modules, "numpy", None)
    vectors = [("endless", packed([math.inf, 1])), ("short", packed([1])), ("x", packed([1, 1]))]
    assert [id for id, _ in ranked(packed([1, 1]), vectors)] == ["x", "endless"]
    assert dict(ranked(packed([math.inf, 0]), vectors)) == {"x": 0.0, "endless": 0.0}
