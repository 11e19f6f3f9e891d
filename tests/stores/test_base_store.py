"""A store of one's own: `batch`, and the rest comes with `BaseStore`."""

from __future__ import annotations

import asyncio
import gc
import sys
import threading
import weakref
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from flowfn.errors import AsyncInBlockingRun, DatabaseLocked, InvalidInput, InvalidNamespaceError
from flowfn.stores import (
    BaseStore,
    GetOp,
    InMemoryStore,
    Item,
    ListNamespacesOp,
    MatchCondition,
    Op,
    PutOp,
    Result,
    SearchOp,
    TTLConfig,
    ensure_embeddings,
)
from flowfn.stores.conformance.calls import FakeClock

NOW = datetime(2026, 1, 2, tzinfo=UTC)
HERE = ("a", "b")


class Own(BaseStore):
    """Notes what it is asked, and knows one item."""

    def __init__(self) -> None:
        self.asked: list[Op] = []

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        self.asked += (made := list(ops))
        return [Item(HERE, "k", {}, NOW, NOW) if isinstance(op, GetOp) else None for op in made]


class Expiring(Own):
    """One whose items may expire."""

    supports_ttl = True
    ttl_config: TTLConfig = {"default_ttl": 5, "refresh_on_read": False}  # noqa: RUF012


def test_every_method_is_an_operation() -> None:
    """With the defaults filled in."""
    store = Own()
    assert store.get(HERE, "k") == Item(HERE, "k", {}, NOW, NOW)
    store.put(HERE, "k", {"x": 1}, ["x"])
    store.delete(HERE, "k")
    store.search(["a"], query="q", filter={"x": 1}, limit=3, offset=1)  # type: ignore[arg-type]
    store.list_namespaces(prefix=("a",), suffix=("*",), max_depth=2)
    assert store.asked == [
        GetOp(HERE, "k", True),
        PutOp(HERE, "k", {"x": 1}, ["x"], None),
        PutOp(HERE, "k", None),
        SearchOp(("a",), {"x": 1}, 3, 1, "q", True),
        ListNamespacesOp((MatchCondition("prefix", ("a",)), MatchCondition("suffix", ("*",))), 2, 100, 0),
    ]


def test_asyncio_comes_with_it() -> None:
    """Each `a…` method makes the same operation, and `batch` does it."""

    async def use(store: Own) -> Item | None:
        await store.aput(HERE, "k", {})
        await store.adelete(HERE, "k")
        await store.asearch(HERE)
        await store.alist_namespaces()
        return await store.aget(HERE, "k")

    store = Own()
    assert asyncio.run(use(store)) == Item(HERE, "k", {}, NOW, NOW)
    assert [type(op) for op in store.asked] == [PutOp, PutOp, SearchOp, ListNamespacesOp, GetOp]


def test_a_store_says_whether_items_expire() -> None:
    """A `ttl` is refused where they don't; where they do, the store's config fills in."""
    with pytest.raises(NotImplementedError, match="TTL is not supported by Own"):
        Own().put(HERE, "k", {}, ttl=1)
    Own().put(HERE, "k", {}, ttl=None)
    store = Expiring()
    store.put(HERE, "k", {})
    store.put(HERE, "k", {}, ttl=None)
    store.get(HERE, "k")
    store.get(HERE, "k", refresh_ttl=True)
    assert store.asked == [
        PutOp(HERE, "k", {}, None, 5),
        PutOp(HERE, "k", {}, None, None),
        GetOp(HERE, "k", False),
        GetOp(HERE, "k", True),
    ]


def test_namespaces_are_checked_before_the_store_is_asked() -> None:
    """So that no backend has to."""
    store = Own()
    for call in (lambda: store.put((), "k", {}), lambda: store.get("a", "k")):  # type: ignore[arg-type]
        with pytest.raises(InvalidNamespaceError):
            call()
    assert store.asked == []


def test_an_operation_of_one_s_own_is_checked_too() -> None:
    """A `timedelta` is minutes in a batch as well, and what is no time is refused."""
    clock = FakeClock()
    store = InMemoryStore(clock=clock)
    store.batch([PutOp(HERE, "k", {}, ttl=timedelta(minutes=2))])  # type: ignore[arg-type]
    clock.pass_minutes(2)
    assert store.sweep_ttl() == 1
    with pytest.raises(InvalidInput, match="is no time to live"):
        store.batch([PutOp(HERE, "k", {}, ttl=-1)])


def test_a_sweeper_ends_with_its_store() -> None:
    """It doesn't keep alive what nobody holds any more."""

    class Waiting(FakeClock):
        def wait(self, event: threading.Event, seconds: float) -> bool:
            assert forgotten.wait(10)
            return False

    forgotten = threading.Event()
    store = InMemoryStore(clock=Waiting())
    known = weakref.ref(store)
    done = store.start_ttl_sweeper()
    del store
    gc.collect()
    assert known() is None
    forgotten.set()
    assert done.result(10) is None


def test_a_sweeper_outlives_a_failure() -> None:
    """What the database refuses is tried again at the next turn."""

    class Failing(InMemoryStore):
        def sweep_ttl(self) -> int:
            swept.append(True)
            raise DatabaseLocked("locked")

    swept: list[bool] = []
    clock = FakeClock()
    store = Failing(clock=clock)
    done = store.start_ttl_sweeper()
    assert clock.swept.wait(10)
    assert swept == [True]
    assert not done.done()
    assert store.stop_ttl_sweeper(10)
    assert done.result(10) is None


# -- embeddings -------------------------------------------------------------------------------------


class Model:
    """What langchain calls embeddings."""

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return [[1.0, 0.0] for _ in texts]

    def embed_query(self, text: str) -> list[float]:
        return [0.0, 1.0]

    async def aembed_documents(self, texts: list[str]) -> list[list[float]]:
        return self.embed_documents(texts)

    async def aembed_query(self, text: str) -> list[float]:
        return self.embed_query(text)


async def counted(texts: Any) -> list[list[float]]:
    await asyncio.sleep(0)
    return [[float(len(text))] for text in texts]


def test_a_model_may_tell_queries_from_documents() -> None:
    """`embed_query` is for what is searched for."""
    model = Model()
    assert ensure_embeddings(model) is model
    store = InMemoryStore(index={"dims": 2, "embed": model})
    store.put(HERE, "k", {"text": "x"})
    assert [item.score for item in store.search(HERE, query="x")] == [0.0]


def test_an_async_function_embeds_for_asyncio() -> None:
    """A blocking method can't wait for it, and says so; nothing is kept."""
    store = InMemoryStore(index={"dims": 1, "embed": counted})
    with pytest.raises(AsyncInBlockingRun, match=r"await aput\(\) or asearch\(\)"):
        store.put(HERE, "k", {"text": "x"})
    assert store.search(HERE) == []

    async def use() -> list[float | None]:
        await store.aput(HERE, "k", {"text": "x"})
        return [item.score for item in await store.asearch(HERE, query="y")]

    assert asyncio.run(use()) == [1.0]


def test_a_name_needs_langchain(monkeypatch: pytest.MonkeyPatch) -> None:
    """`"provider:model"` is for langchain to look up, and is refused where that isn't installed."""
    for name in [*sys.modules]:
        if name.partition(".")[0] == "langchain":
            monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "langchain", None)
    with pytest.raises(InvalidInput, match="langchain"):
        ensure_embeddings("nobody:nothing")
