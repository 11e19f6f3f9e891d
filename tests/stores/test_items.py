"""The nouns: what they are equal to, and that they can be recorded."""

from __future__ import annotations

from datetime import UTC, datetime

from flowfn.serde import Serde
from flowfn.stores import GetOp, Item, PutOp, SearchItem, SearchOp

NOW = datetime(2026, 1, 2, tzinfo=UTC)
ITEM = Item(namespace=("a", "b"), key="k", value={"x": [1]}, created_at=NOW, updated_at=NOW)


def test_an_item_is_its_fields() -> None:
    """Equal, hashable, and made of lists and ISO strings too."""
    same = Item(
        namespace=["a", "b"],  # type: ignore[arg-type]
        key="k",
        value={"x": [1]},
        created_at="2026-01-02T00:00:00+00:00",  # type: ignore[arg-type]
        updated_at=NOW,
    )
    assert same == ITEM
    assert hash(same) == hash(ITEM)


def test_an_item_can_be_shown() -> None:
    """As JSON would have it."""
    shown = {
        "namespace": ["a", "b"],
        "key": "k",
        "value": {"x": [1]},
        "created_at": "2026-01-02T00:00:00+00:00",
        "updated_at": "2026-01-02T00:00:00+00:00",
    }
    assert ITEM.dict() == shown
    found = SearchItem(("a", "b"), "k", {"x": [1]}, NOW, NOW, 0.5)
    assert found.dict() == {**shown, "score": 0.5}
    assert repr(found).startswith("Item(namespace=['a', 'b'], key='k', value={'x': [1]}, created_at='2026-")


def test_what_a_task_found_can_be_recorded() -> None:
    """Items and operations are values for the serializer."""
    serde = Serde()
    for value in (ITEM, SearchItem(("a",), "k", {}, NOW, NOW, 0.5), GetOp(("a",), "k"), SearchOp(("a",))):
        assert serde.loads(serde.dumps(value)) == value


def test_operations_have_defaults() -> None:
    """What a batch leaves out."""
    assert GetOp(("a",), "k") == GetOp(("a",), "k", True)
    assert PutOp(("a",), "k", None) == PutOp(("a",), "k", None, None, None)
    assert SearchOp(("a",)) == SearchOp(("a",), None, 10, 0, None, True)
