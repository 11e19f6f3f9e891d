"""Which namespaces there are."""

from __future__ import annotations

from typing import Any

from flowfn.errors import InvalidFilter, InvalidInput
from flowfn.stores.conformance.calls import Contract, refused
from flowfn.stores.items import ListNamespacesOp, MatchCondition

ALL = [("a",), ("a", "b"), ("a", "b", "c"), ("a", "x", "c"), ("ab",), ("b", "c")]

LISTED: list[tuple[dict[str, Any], list[tuple[str, ...]]]] = [
    ({}, ALL),
    ({"prefix": ("a",)}, ALL[:4]),
    ({"prefix": ["a", "b"]}, ALL[1:3]),
    ({"prefix": ("*", "b")}, ALL[1:3]),
    ({"prefix": ("a", "*", "c")}, ALL[2:4]),
    ({"suffix": ("c",)}, [*ALL[2:4], ALL[5]]),
    ({"suffix": ("b", "*")}, [ALL[2], ALL[5]]),
    ({"prefix": ("a",), "suffix": ("c",)}, ALL[2:4]),
    ({"prefix": ("a", "b", "c", "d")}, []),
    ({"prefix": ()}, ALL),
    ({"max_depth": 1}, [("a",), ("ab",), ("b",)]),
    ({"max_depth": 2, "prefix": ("a",)}, [("a",), ("a", "b"), ("a", "x")]),
    ({"max_depth": 1, "limit": 1, "offset": 1}, [("ab",)]),
    ({"limit": 2}, ALL[:2]),
    ({"limit": 0}, []),
    ({"offset": 5}, ALL[5:]),
]


class ListingContract(Contract):
    """`list_namespaces`."""

    def test_namespaces_are_listed(self) -> None:
        """Those that hold items, sorted; cut to a depth, each once; then a page of them."""
        with self.store() as store:
            for number, namespace in enumerate([*reversed(ALL), *ALL]):
                store.put(namespace, f"k{number}", {})
            for asked, expected in LISTED:
                assert (asked, store.list_namespaces(**asked)) == (asked, expected)

    def test_all_conditions_must_be_met(self) -> None:
        """Several of a kind, too."""
        with self.store() as store:
            for namespace in ALL:
                store.put(namespace, "k", {})
            both = (MatchCondition("prefix", ("a",)), MatchCondition("prefix", ("*", "b")))
            assert store.batch([ListNamespacesOp(both)]) == [ALL[1:3]]

    def test_what_can_not_be_met_is_refused(self) -> None:
        """A kind of match that there isn't, and a page that is none."""
        with self.store() as store:
            bad = ListNamespacesOp((MatchCondition("infix", ("a",)),))  # type: ignore[arg-type]
            assert "Unsupported match type: infix" in refused(lambda: store.batch([bad]), InvalidFilter)
            assert "limit=-1" in refused(lambda: store.list_namespaces(limit=-1), InvalidInput)
            assert "max_depth=1.5" in refused(lambda: store.list_namespaces(max_depth=1.5), InvalidInput)
