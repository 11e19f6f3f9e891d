"""What is put comes back: values, times, batches and refusals."""

from __future__ import annotations

import threading
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

from flowfn.errors import InvalidInput, InvalidNamespaceError, SerializationError
from flowfn.stores.conformance.calls import HERE, Contract, FakeClock, refused
from flowfn.stores.items import GetOp, Item, ListNamespacesOp, PutOp, SearchOp

VALUES: list[dict[Any, Any]] = [
    {},
    {"text": "ünïcode \x00 \U0001f600", "": "empty key", "a.b": 1, 'quo"te': 2},
    {"numbers": [0, -1, 10**30, 0.1, 1e300, True, None]},
    {"deep": {"list": [[{"x": [1]}]]}},
    {"when": datetime(2026, 1, 2, 3, tzinfo=UTC), "took": timedelta(seconds=1)},
    {"pair": (1, 2), "set": {1}, "bytes": b"\x00\xff", 1: "a number as key"},
    {"infinite": float("inf")},
]

NOT_NAMESPACES: list[tuple[Any, str]] = [
    ("users", "is not a namespace. Pass a tuple"),
    ((), "Namespace cannot be empty."),
    (("a.b",), "Namespace labels cannot contain periods ('.')."),
    (("a", ""), "Namespace labels cannot be empty strings."),
    ((1,), "Namespace labels must be strings, but got int."),
    (("langgraph", "x"), 'Root label for namespace cannot be "langgraph".'),
    (("\ud800",), "without lone surrogates"),
    (([],), "Namespace labels must be strings, but got list."),
]


class KeepingContract(Contract):
    """`get`, `put`, `delete` and `batch`."""

    def test_what_is_put_comes_back(self) -> None:
        """Equal, of the same types, under its namespace and key, also in the next process."""
        with self.store() as store:
            for number, value in enumerate(VALUES):
                store.put(HERE, f"k{number}", value)
            reopened = self.reopen(store.kept)
            for number, value in enumerate(VALUES):
                found = reopened.get(HERE, f"k{number}")
                assert (found.namespace, found.key, found.value) == (HERE, f"k{number}", value)
                assert repr(found.value) == repr(value)
            reopened.close()

    def test_a_number_is_as_long_as_it_likes(self) -> None:
        """Also one of more digits than Python writes in decimal."""
        with self.store() as store:
            store.put(HERE, "k", {"n": 10**5000, "m": -(10**640)})
            assert store.get(HERE, "k").value == {"n": 10**5000, "m": -(10**640)}

    def test_what_is_not_there_is_none(self) -> None:
        """Looking for it leaves no trace."""
        with self.store() as store:
            assert store.get(HERE, "k") is None
            assert store.get((), "k") is None
            assert store.list_namespaces() == []

    def test_deleting_forgets(self) -> None:
        """The item and, with its last one, the namespace; a second time, and where nothing was, it is no error."""
        with self.store() as store:
            store.put(HERE, "k", {"x": 1})
            for _ in range(2):
                store.delete(HERE, "k")
                assert store.get(HERE, "k") is None
            assert store.search(()) == []
            assert store.list_namespaces() == []

    def test_putting_again_replaces(self) -> None:
        """The whole value; when it was first put is kept, until it is deleted."""
        clock = FakeClock()
        with self.store(clock=clock) as store:
            store.put(HERE, "k", {"x": 1, "y": 1})
            clock.pass_minutes(1)
            store.put(HERE, "k", {"x": 2})
            found = store.get(HERE, "k")
            assert found.value == {"x": 2}
            assert found.created_at == datetime.fromtimestamp(1_700_000_000, UTC)
            assert found.updated_at == datetime.fromtimestamp(1_700_000_060, UTC)
            store.delete(HERE, "k")
            store.put(HERE, "k", {"x": 3})
            assert store.get(HERE, "k").created_at == datetime.fromtimestamp(1_700_000_060, UTC)

    def test_times_are_in_utc(self) -> None:
        """Every time has a zone, down to the microsecond."""
        clock = FakeClock()
        clock.time += 0.25
        with self.store(clock=clock) as store:
            store.put(HERE, "k", {})
            found = store.get(HERE, "k")
            assert found.created_at == found.updated_at
            assert found.created_at.isoformat() == "2023-11-14T22:13:20.250000+00:00"

    def test_a_namespace_is_its_labels(self) -> None:
        """The same key in two namespaces is two items."""
        with self.store() as store:
            store.put(("a", "b"), "k", {"x": 1})
            store.put(("a",), "k", {"x": 2})
            store.put(("ab",), "k", {"x": 3})
            found = [store.get(namespace, "k").value["x"] for namespace in (("a", "b"), ("a",), ("ab",))]
            assert found == [1, 2, 3]

    def test_a_key_is_any_text(self) -> None:
        """Keys are compared letter by letter; a whole number stands for its digits."""
        with self.store() as store:
            for key in ("", "a.b", "%", "K", "k", "ü", "x\x00y"):
                store.put(HERE, key, {"key": key})
            assert [store.get(HERE, key).value["key"] for key in ("", "%", "k", "x\x00y")] == [
                "",
                "%",
                "k",
                "x\x00y",
            ]
            store.put(HERE, 7, {"key": 7})
            assert store.get(HERE, "7").value == store.get(HERE, 7).value == {"key": 7}

    def test_nobody_shares_a_value(self) -> None:
        """Changing what was put, or found, changes nothing in the store."""
        with self.store() as store:
            value = {"list": [1]}
            store.put(HERE, "k", value)
            value["list"].append(2)
            store.get(HERE, "k").value["list"].append(3)
            store.search(HERE)[0].value["list"].append(4)
            assert store.get(HERE, "k").value == {"list": [1]}

    def test_a_batch_reads_what_was_there_before(self) -> None:
        """Results come in the order of the operations; of two puts to a key the last counts."""
        with self.store() as store:
            store.put(HERE, "old", {"x": 0})
            results = store.batch(
                [
                    PutOp(HERE, "new", {"x": 1}),
                    GetOp(HERE, "new"),
                    GetOp(HERE, "old"),
                    PutOp(HERE, "old", None),
                    PutOp(HERE, "new", {"x": 2}),
                    SearchOp(HERE),
                    ListNamespacesOp(),
                ]
            )
            assert results[:2] == [None, None]
            assert isinstance(results[2], Item)
            assert [item.key for item in results[5]] == ["old"]
            assert results[3:5] + results[6:] == [None, None, [HERE]]
            assert store.get(HERE, "new").value == {"x": 2}
            assert store.get(HERE, "old") is None

    def test_a_batch_is_kept_whole_or_not_at_all(self) -> None:
        """One value that can't be kept, and none of the batch is."""
        with self.store() as store:
            ops = [PutOp(HERE, "good", {"x": 1}), PutOp(HERE, "bad", {"lock": threading.Lock()})]
            assert "lock" in refused(lambda: store.batch(ops), SerializationError)
            assert store.search(()) == []

    def test_what_is_no_namespace_is_refused(self) -> None:
        """A message says which label is wrong and what to write; a batch is no way round."""
        with self.store() as store:
            for namespace, message in NOT_NAMESPACES:
                put = partial(store.put, namespace, "k", {})
                batch = partial(store.batch, [PutOp(namespace, "k", {})])
                assert message in refused(put, InvalidNamespaceError)
                assert message in refused(batch, InvalidNamespaceError)
            assert store.list_namespaces() == []

    def test_one_string_is_no_namespace(self) -> None:
        """Letter by letter, "user1" would begin "user10", and give one user another's memories."""
        with self.store() as store:
            for call in (
                lambda: store.search("user1"),
                lambda: store.get("user1", "k"),
                lambda: store.delete("user1", "k"),
            ):
                assert "Pass a tuple of labels: ('user1',)" in refused(call, InvalidNamespaceError)

    def test_what_is_no_value_is_refused(self) -> None:
        """A value is a dict, and a key is a string."""
        with self.store() as store:
            assert "is not a dict" in refused(lambda: store.put(HERE, "k", [1]), InvalidInput)
            assert "key=None is no key" in refused(lambda: store.put(HERE, None, {}), InvalidInput)
            assert "is no operation" in refused(lambda: store.batch([("get", HERE)]), InvalidInput)
