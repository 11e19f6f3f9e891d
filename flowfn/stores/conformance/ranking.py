"""What is most like a query. The tests' model counts the letters a, b and c."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from flowfn.errors import InvalidInput
from flowfn.stores.conformance.calls import HERE, Contract, keys, refused
from flowfn.stores.items import PutOp, SearchItem, SearchOp


class Counting:
    """Texts to vectors; `asked` is what it was asked for."""

    def __init__(self) -> None:
        self.asked: list[list[str]] = []

    def __call__(self, texts: Sequence[str]) -> list[list[float]]:
        self.asked.append(list(texts))
        return [[float(text.count(letter)) for letter in "abc"] for text in texts]


def index(**more: Any) -> dict[str, Any]:
    """The configuration of a store that counts letters."""
    return {"dims": 3, "embed": Counting(), "fields": ["text"], **more}


class RankingContract(Contract):
    """`search` with a query."""

    def test_the_most_alike_comes_first(self) -> None:
        """By the cosine of the vectors; of equal ones the last put; then what has no vector, without a score."""
        with self.store(index=index()) as store:
            for key, text in [("a", "aaa"), ("b", "bbb"), ("ab", "ab"), ("c", "c"), ("none", "xyz")]:
                store.put(HERE, key, {"text": text})
            store.put(HERE, "unfit", {"title": "aaa"})
            found = store.search(HERE, query="a")
            assert keys(found) == ["a", "ab", "none", "c", "b", "unfit"]
            assert scores(found) == [1.0, 0.707107, 0.0, 0.0, 0.0, None]
            assert keys(store.search(HERE, query="a", limit=2, offset=1)) == ["ab", "none"]
            assert keys(store.search(HERE, query="a", limit=9, offset=4)) == ["b", "unfit"]

    def test_fields_are_paths(self) -> None:
        """Every text of a path counts, and the best of them is the item's score."""
        with self.store(index=index(fields=["title", "parts[*].text"])) as store:
            store.put(HERE, "title", {"title": "ab"})
            store.put(HERE, "part", {"title": "b", "parts": [{"text": "c"}, {"text": "aa"}]})
            found = store.search(HERE, query="a")
            assert (keys(found), scores(found)) == (["part", "title"], [1.0, 0.707107])

    def test_what_is_not_indexed_anew_keeps_its_vectors_with_its_text(self) -> None:
        """`index=False` embeds nothing: an item is found as before where its text is the same, and only there."""
        with self.store(index=index(embed=(model := Counting()))) as store:
            for key in ("touched", "edited", "never"):
                store.put(HERE, key, {"text": "a", "seen": 0}, None if key != "never" else False)
            model.asked.clear()
            store.put(HERE, "touched", {"text": "a", "seen": 1}, False)
            store.put(HERE, "edited", {"text": "b", "seen": 1}, False)
            store.put(HERE, "never", {"text": "a", "seen": 1}, False)
            assert model.asked == []
            found = store.search(HERE, query="a")
            assert (keys(found), scores(found)) == (["touched", "never", "edited"], [1.0, None, None])
            assert [item.value["seen"] for item in found] == [1, 1, 1]

    def test_a_put_says_what_is_compared(self) -> None:
        """A list of paths in place of the store's; False: nothing."""
        with self.store(index=index()) as store:
            store.put(HERE, "own", {"text": "b", "memo": "a"}, ["memo"])
            store.put(HERE, "not", {"text": "a"}, False)
            found = store.search(HERE, query="a")
            assert (keys(found), scores(found)) == (["own", "not"], [1.0, None])

    def test_the_whole_value_is_the_default(self) -> None:
        """As JSON."""
        model = Counting()
        with self.store(index={"dims": 3, "embed": model}) as store:
            store.put(HERE, "k", {"y": 1, "x": "b"})
            assert model.asked == [['{"x": "b", "y": 1}']]

    def test_what_is_replaced_or_deleted_is_not_found(self) -> None:
        """Vectors go with their item."""
        with self.store(index=index()) as store:
            store.put(HERE, "k", {"text": "a"})
            store.put(HERE, "k", {"text": "b"})
            store.put(HERE, "gone", {"text": "a"})
            store.delete(HERE, "gone")
            found = store.search(HERE, query="a")
            assert (keys(found), scores(found)) == (["k"], [0.0])

    def test_a_filter_and_a_namespace_come_before_likeness(self) -> None:
        """The best of what matches, however much that doesn't is more alike."""
        with self.store(index=index()) as store:
            for number in range(100):
                store.put(HERE, f"k{number}", {"text": "a", "n": number})
            store.put(HERE, "it", {"text": "abb", "n": 1000})
            store.put(("users", "ada2"), "stranger", {"text": "a", "n": 1000})
            assert keys(store.search(HERE, query="a", filter={"n": {"$gt": 99}})) == ["it"]

    def test_a_batch_is_embedded_at_once(self) -> None:
        """In one call, each text once; a query in another."""
        model = Counting()
        with self.store(index=index(embed=model)) as store:
            store.put(HERE, "old", {"text": "a"})
            ops = [PutOp(HERE, f"k{number}", {"text": text}) for number, text in enumerate(["b", "b", "c"])]
            results = store.batch([*ops, SearchOp(HERE, query="a")])
            assert keys(results[-1]) == ["old"]
            assert model.asked == [["a"], ["b", "c"], ["a"]]

    def test_a_query_needs_an_index(self) -> None:
        """Without one, and with an empty query, the last put comes first."""
        with self.store() as store:
            store.put(HERE, "a", {"text": "a"})
            store.put(HERE, "b", {"text": "b"})
            assert keys(store.search(HERE, query="a")) == ["b", "a"]
        with self.store(index=index()) as store:
            store.put(HERE, "a", {"text": "a"})
            assert scores(store.search(HERE, query="")) == [None]

    def test_vectors_of_another_length_are_refused(self) -> None:
        """The model and `dims` must agree; nothing is kept."""
        with self.store(index=index(dims=2)) as store:
            message = refused(lambda: store.put(HERE, "k", {"text": "a"}), InvalidInput)
            assert "a vector of 3 numbers, and index has dims=2" in message
            assert store.search(HERE) == []
        with self.store(index=index(embed=lambda texts: [])) as store:
            message = refused(lambda: store.put(HERE, "k", {"text": "a"}), InvalidInput)
            assert "0 vectors for 1 texts" in message

    def test_an_index_that_is_none_is_refused(self) -> None:
        """When the store is made."""
        for config, message in (
            ({"embed": len}, "dims=None"),
            ({"dims": 0, "embed": len}, "dims=0"),
            ({"dims": 1}, "embed=None embeds nothing"),
            ({"dims": 1, "embed": 42}, "embed=42 embeds nothing"),
        ):
            assert message in refused(partial(self.make, index=config), InvalidInput)


def scores(found: Sequence[SearchItem]) -> list[float | None]:
    """The scores of what was found, to six digits."""
    return [None if item.score is None else round(item.score, 6) for item in found]
