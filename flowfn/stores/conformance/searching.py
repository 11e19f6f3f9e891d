"""What a search finds: below which namespaces, with which fields, in which order."""

from __future__ import annotations

import sys
from datetime import UTC, datetime
from functools import partial
from typing import Any

from flowfn.errors import InvalidFilter, InvalidInput
from flowfn.stores.conformance.calls import HERE, Contract, keys, refused

VALUE: dict[str, Any] = {
    "kind": "note",
    "n": 9,
    "float": 0.1,
    "digits": "9",
    "date": "2026-01-02",
    "yes": True,
    "null": None,
    "list": [1, {"x": 2}],
    "deep": {"x": 1, "y": {"z": "w"}},
    "a.b": "literal",
    "ü": "umlaut",
    "": "no name",
}

MATCHING: list[dict[str, Any]] = [
    {},
    {"kind": "note"},
    {"n": 9},
    {"n": 9.0},
    {"yes": 1},
    {"float": 0.1},
    {"null": None},
    {"missing": None},
    {"list": [1, {"x": 2}]},
    {"list": [{"$lt": 2}, {"x": 2}]},
    {"deep": {"x": 1}},
    {"deep": {"y": {"z": "w"}}},
    {"deep": {"x": {"$gte": 1}}},
    {"deep": {}},
    {"deep.y.z": "w"},
    {"a.b": "literal"},
    {"ü": "umlaut"},
    {"": "no name"},
    {"n": {"$gt": 8, "$lt": 10}},
    {"n": {"$gt": 8.99}},
    {"n": {"$gt": -(10**400), "$lt": 10**400}},
    {"n": {"$lt": 10}, "kind": {"$eq": "note"}},
    {"n": {"$gte": "9"}},
    {"digits": {"$lt": "10"}},
    {"digits": {"$lt": 10}},
    {"float": {"$gte": 0.1, "$lte": 0.1}},
    {"date": {"$gte": "2026-01", "$lt": "2027"}},
    {"kind": {"$ne": "fact"}},
    {"missing": {"$ne": 1}},
    {"missing": {"$eq": None}},
    {"yes": {"$gt": 0}},
    {"list": {"$eq": [1, {"x": 2}]}},
]

PASSING: list[dict[str, Any]] = [
    {"kind": "notes"},
    {"kind": "note", "n": 8},
    {"n": "9"},
    {"digits": 9},
    {"list": [1]},
    {"list": 1},
    {"deep": {"x": 2}},
    {"kind": {"x": 1}},
    {"deep.y": 1},
    {"n": None},
    {"n": {"$gt": 9}},
    {"n": {"$gt": 10**400}},
    {"n": {"$lt": float("nan")}},
    {"n": {"$lt": 10, "$gt": 9}},
    {"digits": {"$gt": "10"}},
    {"float": {"$gt": 0.1}},
    {"missing": {"$gt": 0}},
    {"null": {"$lte": 0}},
    {"kind": {"$gt": 1}},
    {"n": {"$lt": "x"}},
    {"n": {"$gt": None}},
    {"list": {"$gt": 0}},
    {"deep": {"$lt": 5}},
    {"deep": {"$eq": {"x": 1}}},
    {"kind": {"$ne": "note"}},
    {"null": {"$ne": None}},
]


class SearchingContract(Contract):
    """`search` without a query."""

    def test_a_search_looks_below_a_namespace(self) -> None:
        """In it and in those that begin with its labels, never with its letters."""
        with self.store() as store:
            for number, namespace in enumerate(
                [("a",), ("a", "b"), ("ab",), ("a", "b", "c"), ("b", "a"), ("a-",)]
            ):
                store.put(namespace, f"k{number}", {})
            assert keys(store.search(("a",))) == ["k3", "k1", "k0"]
            assert keys(store.search(("a", "b"))) == ["k3", "k1"]
            assert keys(store.search(("c",))) == []
            assert len(store.search(())) == 6

    def test_the_last_put_comes_first(self) -> None:
        """Whatever the clock says: it may stand still. A page is a part of that order."""
        with self.store() as store:
            for number in range(200):
                store.put((*HERE, f"n{number % 3}"), f"k{number}", {})
            store.put((*HERE, "n5"), "k5", {})
            store.put((*HERE, "n2"), "k5", {"again": True})
            order = ["k5", "k5", *(f"k{number}" for number in range(199, -1, -1) if number != 5)]
            assert keys(store.search(HERE, limit=1000)) == order
            assert keys(store.search(HERE)) == order[:10]
            assert keys(store.search(HERE, limit=3, offset=150)) == order[150:153]
            assert keys(store.search(HERE, limit=0)) == []
            assert keys(store.search(HERE, limit=sys.maxsize, offset=150)) == order[150:]
            assert keys(store.search(HERE, limit=1, offset=10**20)) == []
            assert keys(store.search(HERE, offset=500)) == []

    def test_a_filter_lets_through_what_matches(self) -> None:
        """The rules of `flowfn.stores.filters`, for values as JSON and for others."""
        with self.store() as store:
            store.put(HERE, "json", VALUE)
            store.put(HERE, "other", {**VALUE, "when": datetime(2026, 1, 1, tzinfo=UTC)})
            for given in MATCHING:
                assert (given, keys(store.search(HERE, filter=given))) == (given, ["other", "json"])
            for given in PASSING:
                assert (given, keys(store.search(HERE, filter=given))) == (given, [])
            found = store.search(HERE, filter={"when": datetime(2026, 1, 1, tzinfo=UTC)})
            assert keys(found) == ["other"]

    def test_a_page_is_one_of_what_matches(self) -> None:
        """Limit and offset count what the filter let through."""
        with self.store() as store:
            for number in range(300):
                store.put(HERE, f"k{number}", {"even": number % 2 == 0, "n": number})
            found = store.search(HERE, filter={"even": True, "n": {"$lt": 200}}, limit=2, offset=1)
            assert keys(found) == ["k196", "k194"]

    def test_what_was_found_is_the_whole_item(self) -> None:
        """With its times, and no score where nothing was compared."""
        with self.store() as store:
            store.put(HERE, "k", {"x": 1})
            (found,) = store.search((), query="text", filter={"x": 1})
            item = store.get(HERE, "k")
            assert found.dict() == {**item.dict(), "score": None}

    def test_a_filter_that_asks_nothing_is_refused(self) -> None:
        """Also where no item is there to be asked."""
        with self.store() as store:
            for given, message in (
                ({"n": {"$in": [1]}}, "Unsupported operator: $in"),
                ({"n": {"$gt": 1, "z": 2}}, "Unsupported operator: z"),
                ({"l": [{"$x": 1}]}, "Unsupported operator: $x"),
                ([1], "is not a mapping"),
            ):
                assert message in refused(partial(store.search, HERE, filter=given), InvalidFilter)

    def test_a_page_that_is_none_is_refused(self) -> None:
        """Limit and offset are counts."""
        with self.store() as store:
            assert "limit=-1" in refused(lambda: store.search(HERE, limit=-1), InvalidInput)
            assert "offset=None" in refused(lambda: store.search(HERE, offset=None), InvalidInput)
