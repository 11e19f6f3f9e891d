"""LangGraph's programs with a store do the same here: each runs under both prefixes, and is compared.

What differs on purpose is in `graph_compat/COMPATIBILITY.md`, section "Store", and named in `DIFFERENT`.
"""

from __future__ import annotations

import asyncio
import importlib
import sqlite3
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("langgraph.store.sqlite", exc_type=ImportError)

HERE = ("users", "ada")


def library(prefix: str) -> SimpleNamespace:
    """The store's modules under a prefix."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        names = ("base", "base.batch", "memory", "sqlite", "sqlite.aio")
        modules = {
            name.replace(".", "_"): importlib.import_module(f"{prefix}.store.{name}") for name in names
        }
    return SimpleNamespace(**modules)


THEIRS, OURS = library("langgraph"), library("graph_compat")


@contextmanager
def memory(lib: SimpleNamespace, **options: Any) -> Iterator[Any]:
    yield lib.memory.InMemoryStore(**options)


@contextmanager
def sqlite(lib: SimpleNamespace, **options: Any) -> Iterator[Any]:
    with lib.sqlite.SqliteStore.from_conn_string(":memory:", **options) as store:
        store.setup()
        yield store


BACKENDS = {"memory": memory, "sqlite": sqlite}
MEMORY, SQLITE = ["memory"], ["sqlite"]
BOTH = [*MEMORY, *SQLITE]


def letters(texts: Any) -> list[list[float]]:
    return [[float(text.count(letter)) for letter in "abc"] for text in texts]


def outcome(call: Callable[[], Any]) -> Any:
    """What a call returns, with items as their values; or the type of its error and the message's first words."""
    try:
        return plain(call())
    except Exception as error:
        kinds = [kind for kind in (NotImplementedError, ValueError, TypeError) if isinstance(error, kind)]
        return kinds[0].__name__, str(error).split()[:3]


def plain(result: Any) -> Any:
    if isinstance(result, list):
        return [plain(each) for each in result]
    if hasattr(result, "score"):
        score = None if result.score is None else round(result.score, 6)
        return result.namespace, result.key, result.value, score
    return (result.namespace, result.key, result.value) if hasattr(result, "key") else result


def same(program: Callable[[SimpleNamespace, Any], Any], backends: list[str], **options: Any) -> Any:
    """What a program gives under LangGraph, after a check that it gives the same here."""
    for backend in backends:
        with BACKENDS[backend](THEIRS, **options) as store:
            expected = program(THEIRS, store)
        with BACKENDS[backend](OURS, **options) as store:
            assert program(OURS, store) == expected
    return expected


# -- programs ---------------------------------------------------------------------------------------


def test_items_come_and_go() -> None:
    """An item is put, found, replaced and deleted."""

    def program(lib: Any, store: Any) -> list[Any]:
        steps = [lambda: store.get(HERE, "k"), lambda: store.delete(HERE, "k")]
        found = [outcome(steps[0])]
        for value in ({"x": 1}, {"y": {"z": [1, None, "ü", 1.5, True]}}):
            store.put(HERE, "k", value)
            found.append(outcome(steps[0]))
        return [*found, outcome(steps[1]), outcome(steps[0]), outcome(steps[1])]

    assert len(same(program, BOTH)) == 6


def test_items_have_what_a_function_made() -> None:
    """In memory a value may be of a class that is made inside a function."""

    @dataclass
    class Point:
        x: int

    def program(lib: Any, store: Any) -> Any:
        store.put(HERE, "k", {"point": Point(1)})
        return store.get(HERE, "k").value

    assert same(program, MEMORY) == {"point": Point(1)}


def test_items_can_be_printed() -> None:
    """As text and as a dict, but for the times."""

    def program(lib: Any, store: Any) -> list[Any]:
        now = "2026-01-02T03:04:05+00:00"
        item = lib.base.Item(value={"x": 1}, key="k", namespace=("a",), created_at=now, updated_at=now)
        found = lib.base.SearchItem(
            namespace=("a",), key="k", value={}, created_at=now, updated_at=now, score=1
        )
        twin = lib.base.Item(value={"x": 1}, key="k", namespace=("a",), created_at=now, updated_at=now)
        return [item.dict(), str(item), found.dict(), str(found), item == twin, hash(item) == hash(twin)]

    assert same(program, MEMORY)[-2:] == [True, True]


VALUE = {"n": 9, "s": "text", "d": {"x": 1, "y": 2}, "l": [1, 1], "yes": True, "null": None}

FILTERS: list[Any] = [
    {"n": 9},
    {"n": 9.0},
    {"n": "9"},
    {"yes": 1},
    {"missing": None},
    {"null": None},
    {"s": "text", "n": 8},
    {"l": [1, 1]},
    {"l": [1]},
    {"n": {"$gt": 8}},
    {"n": {"$gt": 9}},
    {"n": {"$gte": 9, "$lt": 10}},
    {"n": {"$lte": 8.5}},
    {"n": {"$ne": 8}},
    {"n": {"$eq": 9}},
    {"n": {"$in": [9]}},
    {"n": {"$gt": 1, "z": 2}},
    {},
]

BY_MEMORY: list[Any] = [
    {"d": {"x": 1}},
    {"d": {"x": {"$gt": 0}}},
    {"d": {"$eq": {"x": 1, "y": 2}}},
    {"l": [{"$gt": 0}, 1]},
    {"missing": {"$ne": 1}},
    {"d": {}},
    {"l": {"$eq": [1, 1]}},
    {"n": {"$gt": "10"}},
]

BY_SQLITE: list[Any] = [
    {"s": {"$gt": "t"}},
    {"missing": {"$gt": 0}},
    {"d.x": 1},
    {"d.x": 2},
]


@pytest.mark.parametrize(
    ("asked", "backends"),
    [*((f, BOTH) for f in FILTERS), *((f, MEMORY) for f in BY_MEMORY), *((f, SQLITE) for f in BY_SQLITE)],
    ids=repr,
)
def test_filters_let_through_the_same(asked: Any, backends: list[str]) -> None:
    """Both stores of LangGraph's, or, where those disagree, the one whose rule this is."""

    def program(lib: Any, store: Any) -> Any:
        store.put(HERE, "k", VALUE)
        return outcome(lambda: store.search(("users",), filter=asked))

    same(program, backends)


def test_searches_look_below_a_prefix() -> None:
    """Pages in the order of the first puts, in memory."""

    def program(lib: Any, store: Any) -> list[Any]:
        for number, namespace in enumerate([("a",), ("a", "b"), ("ab",), ("a",)]):
            store.put(namespace, f"k{number}", {"n": number})
        store.put(("a",), "k0", {"n": "again"})
        pages = [{}, {"limit": 2}, {"limit": 2, "offset": 1}, {"offset": 9}, {"limit": 0}]
        return [outcome(lambda asked=asked: store.search(("a",), **asked)) for asked in pages]

    assert [item[1] for item in same(program, MEMORY)[0]] == ["k0", "k3", "k1"]


ASKED: list[dict[str, Any]] = [
    {},
    {"prefix": ("a",)},
    {"prefix": ["a"]},
    {"prefix": ("*", "b")},
    {"suffix": ("c",)},
    {"suffix": ("*",)},
    {"prefix": ("a",), "suffix": ("b",)},
    {"max_depth": 1},
    {"max_depth": 2, "limit": 1, "offset": 1},
    {"limit": 0},
]


@pytest.mark.parametrize("asked", ASKED, ids=repr)
def test_namespaces_are_listed_alike(asked: dict[str, Any]) -> None:
    """Prefixes, suffixes, wildcards, depths, pages."""

    def program(lib: Any, store: Any) -> Any:
        for namespace in [("b",), ("a", "b", "c"), ("a", "b"), ("a",), ("ab", "b")]:
            store.put(namespace, "k", {})
        return outcome(lambda: store.list_namespaces(**asked))

    same(program, BOTH)


@pytest.mark.parametrize(
    "namespace", [(), ("a.b",), ("",), (1,), ("langgraph",), ("a", "langgraph")], ids=repr
)
def test_namespaces_are_refused_alike(namespace: Any) -> None:
    """With the same words to begin with, and with more after them."""
    same(lambda lib, store: outcome(lambda: store.put(namespace, "k", {})), BOTH)


def test_batches_read_what_was_there_before() -> None:
    """And of several puts to one key the last counts."""

    def program(lib: Any, store: Any) -> list[Any]:
        base = lib.base
        store.put(HERE, "old", {"n": 0})
        ops = [
            base.PutOp(HERE, "new", {"n": 1}),
            base.GetOp(HERE, "new"),
            base.GetOp(HERE, "old"),
            base.PutOp(HERE, "new", {"n": 2}),
            base.SearchOp(("users",), filter={"n": 0}),
            base.ListNamespacesOp(match_conditions=(base.MatchCondition("prefix", ("users",)),)),
            base.PutOp(HERE, "old", None),
        ]
        after = [outcome(lambda key=key: store.get(HERE, key)) for key in ("old", "new")]
        return [outcome(lambda: store.batch(ops)), *after]

    same(program, BOTH)


def test_likeness_ranks_alike() -> None:
    """Fields, own paths, `index=False`, pages, filters; scores to six digits."""

    def program(lib: Any, store: Any) -> list[Any]:
        for key, text in [("a", "aaa"), ("ab", "aab"), ("c", "ccc")]:
            store.put(HERE, key, {"text": text})
        store.put(HERE, "own", {"memo": ["b", "ac"]}, index=["memo[*]"])
        store.put(HERE, "not", {"text": "aaa"}, index=False)
        store.put(HERE, "ab", {"text": "aab", "seen": 1}, index=False)
        asked = [{}, {"limit": 2}, {"limit": 2, "offset": 1}, {"filter": {"text": "ccc"}}, {"offset": 3}]
        return [outcome(lambda more=more: store.search(("users",), query="a", **more)) for more in asked]

    index = {"dims": 3, "embed": letters, "fields": ["text"]}
    assert [item[1] for item in same(program, MEMORY, index=index)[0]] == ["a", "ab", "own", "c", "not"]


PATHS = [
    "",
    "$",
    "a",
    "a.b",
    "a.c.d",
    "l[0]",
    "l[-1].x",
    "l[*].x",
    "l[*]",
    "*",
    "a.*",
    "{n,t}",
    "a.{b,c.d}",
    "a..b",
]


@pytest.mark.parametrize("path", PATHS)
def test_paths_name_the_same_texts(path: str) -> None:
    """A path has the same steps as in LangGraph, and names the same texts."""
    value = {
        "a": {"b": "B", "c": {"d": "D"}},
        "l": [{"x": "1"}, {"x": 2}, None],
        "n": 5,
        "t": True,
        "e": None,
    }
    for each in (THEIRS, OURS):
        assert each.base.tokenize_path(path) == THEIRS.base.tokenize_path(path)
        assert each.base.get_text_at_path(value, path) == THEIRS.base.get_text_at_path(value, path)


def test_a_store_shows_its_embeddings() -> None:
    """Programs embed by the model of their store; without an index there is none."""
    for lib in (THEIRS, OURS):
        indexed = lib.memory.InMemoryStore(index={"dims": 3, "embed": letters})
        assert indexed.embeddings.embed_query("ab") == [1.0, 1.0, 0.0]
        assert lib.memory.InMemoryStore().embeddings is None


def test_functions_become_embeddings() -> None:
    """Blocking and async functions are taken for models of embeddings."""

    async def later(texts: Any) -> list[list[float]]:
        return letters(texts)

    for lib in (THEIRS, OURS):
        assert lib.base.ensure_embeddings(letters).embed_query("ab") == [1.0, 1.0, 0.0]
        assert asyncio.run(lib.base.ensure_embeddings(later).aembed_documents(["a"])) == [[1.0, 0.0, 0.0]]


@pytest.mark.filterwarnings(
    "ignore:The default datetime adapter:DeprecationWarning"
)  # LangGraph's, from 3.12 on
def test_asyncio_programs_do_the_same(tmp_path: Path) -> None:
    """`AsyncSqliteStore` from a path, with a sweeper; and the in-memory store's awaited methods."""

    async def use(store: Any, lib: Any) -> list[Any]:
        await store.aput(HERE, "k", {"n": 1})
        await store.aput(HERE, "l", {"n": 2})
        await store.adelete(HERE, "l")
        found = [await store.aget(HERE, "k"), await store.asearch(("users",)), await store.alist_namespaces()]
        return [plain(each) for each in found] + plain(await store.abatch([lib.base.GetOp(HERE, "k")]))

    async def program(lib: Any, path: str) -> list[Any]:
        async with lib.sqlite_aio.AsyncSqliteStore.from_conn_string(path, ttl={"default_ttl": 5}) as store:
            await store.setup()
            await store.start_ttl_sweeper()
            results = await use(store, lib)
            results += [await store.sweep_ttl(), await store.stop_ttl_sweeper(5)]
        return results + await use(lib.memory.InMemoryStore(), lib)

    theirs = asyncio.run(program(THEIRS, str(tmp_path / "theirs.db")))
    assert asyncio.run(program(OURS, str(tmp_path / "ours.db"))) == theirs


def test_a_connection_names_a_file(tmp_path: Path) -> None:
    """`SqliteStore(sqlite3.connect(path))` keeps what it is given in that file."""

    def program(lib: Any, path: Path) -> list[Any]:
        connection = sqlite3.connect(path, check_same_thread=False, isolation_level=None)
        store = lib.sqlite.SqliteStore(connection)
        store.setup()
        store.put(HERE, "k", {"n": 1})
        connection.close()
        again = sqlite3.connect(path, check_same_thread=False, isolation_level=None)
        found = outcome(lambda: lib.sqlite.SqliteStore(again).get(HERE, "k"))
        again.close()
        return found  # type: ignore[no-any-return]

    assert program(OURS, tmp_path / "ours.db") == program(THEIRS, tmp_path / "theirs.db")


def test_an_aiosqlite_connection_names_a_file(tmp_path: Path) -> None:
    """Opened by `setup()`, or with the first awaited method."""
    import aiosqlite

    async def program(lib: Any, path: Path) -> Any:
        connection = await aiosqlite.connect(path, isolation_level=None)
        store = lib.sqlite_aio.AsyncSqliteStore(connection)
        await store.setup()
        await store.aput(HERE, "k", {"n": 1})
        found = plain(await store.aget(HERE, "k"))
        await connection.close()
        return found

    ours, theirs = (
        asyncio.run(program(lib, tmp_path / name)) for lib, name in ((OURS, "o.db"), (THEIRS, "t.db"))
    )
    assert ours == theirs


def test_a_store_of_one_s_own_does_the_same() -> None:
    """A subclass of `BaseStore` that writes `batch` and `abatch`."""

    def program(lib: Any) -> list[Any]:
        class Own(lib.base.BaseStore):  # type: ignore[misc, name-defined]
            def batch(self, ops: Any) -> list[Any]:
                self.seen = [tuple(op) for op in ops]
                return [None for _ in self.seen]

            async def abatch(self, ops: Any) -> list[Any]:
                return self.batch(ops)

        store = Own()
        found: list[Any] = []
        for call in (
            lambda: store.get(HERE, "k"),
            lambda: store.put(HERE, "k", {"n": 1}, ["n"]),
            lambda: store.delete(HERE, "k"),
            lambda: store.search(HERE, query="q", filter={"n": 1}),
            lambda: asyncio.run(store.aget(HERE, "k", refresh_ttl=False)),
            lambda: asyncio.run(store.asearch(HERE, limit=3)),
        ):
            call()
            found += store.seen
        return [*found, outcome(lambda: store.put(HERE, "k", {}, ttl=1))]

    assert program(OURS) == program(THEIRS)


def test_what_is_asked_in_one_turn_is_one_batch() -> None:
    """`AsyncBatchedBaseStore`: results and errors reach those who asked."""

    async def program(lib: Any) -> list[Any]:
        class Own(lib.base_batch.AsyncBatchedBaseStore):  # type: ignore[misc, name-defined]
            sizes: list[int] = []  # noqa: RUF012

            def batch(self, ops: Any) -> list[Any]:
                raise NotImplementedError

            async def abatch(self, ops: Any) -> list[Any]:
                made = list(ops)
                self.sizes.append(len(made))
                if any(op[1] == "bad" for op in made):
                    raise ConnectionError
                return [op[1] for op in made]

        store = Own()
        together = await asyncio.gather(*(store.aget(HERE, key) for key in ("a", "b", "c")))
        await store.aput(HERE, "d", {"n": 1})
        failed = await asyncio.gather(store.aget(HERE, "bad"), store.aget(HERE, "e"), return_exceptions=True)
        return [together, store.sizes, [type(each) for each in failed]]

    assert asyncio.run(program(OURS)) == asyncio.run(program(THEIRS))


@pytest.mark.parametrize("module", ["base", "memory", "sqlite", "sqlite_aio"])
def test_every_public_name_is_there(module: str) -> None:
    """What LangGraph's module lists, or the behaviour page names, can be imported here."""
    private = {"validate_op_namespace"}
    listed = set(getattr(getattr(THEIRS, module), "__all__", ())) - private
    named = {
        "base": {"IndexConfig", "TTLConfig", "NOT_PROVIDED", "InvalidNamespaceError", "SearchItem", "Result"},
        "memory": {"InMemoryStore"},
        "sqlite": {"SqliteStore"},
        "sqlite_aio": {"AsyncSqliteStore"},
    }
    assert [name for name in listed | named[module] if not hasattr(getattr(OURS, module), name)] == []


# -- what differs on purpose --------------------------------------------------------------------------

DIFFERENT: dict[str, tuple[Callable[[Any, Any], Any], list[str]]] = {
    "a string as namespace": (lambda lib, store: outcome(lambda: store.put("user1", "k", {})), BOTH),
    "a value that isn't shared": (lambda lib, store: _changed_after_put(store), MEMORY),
    "a value that is no data": (lambda lib, store: outcome(lambda: store.put(HERE, "k", {"f": len})), MEMORY),
    "created_at of a second put": (lambda lib, store: _created_is_kept(store), MEMORY),
    "a get that leaves a trace": (
        lambda lib, store: (store.get(("x",), "k"), store.list_namespaces()),
        MEMORY,
    ),
    "times with a zone": (lambda lib, store: _zone(store), SQLITE),
    "nested conditions": (lambda lib, store: _found(store, {"d": {"x": 1}}), SQLITE),
    "$ne of a missing field": (lambda lib, store: _found(store, {"missing": {"$ne": 1}}), SQLITE),
    "$gt of a missing field": (lambda lib, store: _found(store, {"missing": {"$gt": 1}}), MEMORY),
    "text that is compared": (lambda lib, store: _found(store, {"s": {"$gt": "a"}}), MEMORY),
    "numbers in text": (lambda lib, store: _found(store, {"digits": {"$lt": "10"}}), SQLITE),
    "lists of conditions": (lambda lib, store: _found(store, {"l": [{"$gt": 0}, 1]}), SQLITE),
    "a path as key": (lambda lib, store: _found(store, {"d.x": 1}), MEMORY),
    "any key": (lambda lib, store: _found(store, {"it's": 1}), SQLITE),
    "a tuple stays one": (lambda lib, store: _back(store, {"pair": (1, 2)}), SQLITE),
    "a time to live": (lambda lib, store: outcome(lambda: store.put(HERE, "k", {}, ttl=1)), MEMORY),
    "a negative page": (lambda lib, store: outcome(lambda: store.search(HERE, limit=-1)), BOTH),
    "a vector of another text": (lambda lib, store: _likeness_to_an_old_text(lib), MEMORY),
    "a batch that is checked": (
        lambda lib, store: outcome(lambda: store.batch([lib.base.PutOp((), "k", {})])),
        BOTH,
    ),
}


def _changed_after_put(store: Any) -> Any:
    value = {"list": [1]}
    store.put(HERE, "k", value)
    value["list"].append(2)
    return store.get(HERE, "k").value


def _created_is_kept(store: Any) -> bool:
    store.put(HERE, "k", {})
    first = store.get(HERE, "k").created_at
    store.put(HERE, "k", {})
    return bool(store.get(HERE, "k").created_at == first)


def _likeness_to_an_old_text(lib: Any) -> Any:
    store = lib.memory.InMemoryStore(index={"dims": 3, "embed": letters, "fields": ["text"]})
    store.put(HERE, "k", {"text": "aaa"})
    store.put(HERE, "k", {"text": "ccc"}, index=False)
    return [item.score for item in store.search(HERE, query="a")]


def _zone(store: Any) -> Any:
    store.put(HERE, "k", {})
    return store.get(HERE, "k").created_at.tzinfo


def _found(store: Any, asked: Any) -> Any:
    store.put(HERE, "k", {**VALUE, "digits": "9", "it's": 1})
    return outcome(lambda: store.search(HERE, filter=asked))


def _back(store: Any, value: Any) -> Any:
    store.put(HERE, "k", value)
    return store.get(HERE, "k").value


@pytest.mark.parametrize("name", DIFFERENT)
def test_what_differs_still_does(name: str) -> None:
    """Each row of the table in COMPATIBILITY.md is still a difference: else it has to go."""
    program, backends = DIFFERENT[name]
    for backend in backends:
        results = []
        for lib in (THEIRS, OURS):
            with BACKENDS[backend](lib) as store:
                results.append(program(lib, store))
        assert results[0] != results[1]


def test_what_differs_is_listed(repo: Path) -> None:
    """By its name, in the document that users read."""
    text = (repo / "graph_compat" / "COMPATIBILITY.md").read_text("utf-8")
    assert [name for name in DIFFERENT if f"| {name} |" not in text] == []
