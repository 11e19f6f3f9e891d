"""The store of a workflow: where tasks and entrypoints find it, and what may be written as `store=`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from flowfn import current, get_store
from flowfn.errors import InvalidInput
from flowfn.stores import InMemoryStore, Item, SearchItem, SqliteStore

from ..worlds import World

HERE = ("users", "ada")


def test_every_way_leads_to_the_store(world: World) -> None:
    """The parameters `store` and `runtime`, `current()` and `get_store()`, in a task as in the entrypoint."""
    store = InMemoryStore()

    @world.task
    async def in_task(store: Any, runtime: Any) -> list[bool]:
        return [mine is expected for mine in (store, runtime.store, current().store, get_store())]

    @world.entrypoint(store=store)
    async def wf(_: int, *, store: Any, runtime: Any) -> list[bool]:
        own = [mine is expected for mine in (store, runtime.store, current().store, get_store())]
        return own + await world.value(in_task())

    expected = store
    assert world.invoke(wf, 1, thread_id="t") == [True] * 8


def test_one_thread_finds_what_another_kept(world: World) -> None:
    """A store is no part of a thread."""
    store = InMemoryStore()

    @world.task
    async def remember(name: str, store: Any) -> list[str]:
        if world.is_async:
            await store.aput(HERE, name, {"name": name})
            found = await store.asearch(HERE)
        else:
            store.put(HERE, name, {"name": name})
            found = store.search(HERE)
        return [item.value["name"] for item in found]

    @world.entrypoint(store=store)
    async def wf(name: str) -> list[str]:
        return await world.value(remember(name))

    assert world.invoke(wf, "a", thread_id="one") == ["a"]
    assert world.invoke(wf, "b", thread_id="two") == ["b", "a"]


@pytest.mark.parametrize("form", ["{}", "sqlite:///{}"])
def test_a_path_or_a_url_is_a_store(world: World, tmp_path: Path, form: str) -> None:
    """Opened at the first run; it may be the checkpointer's file."""
    target = form.format(tmp_path / "runs.db")

    @world.entrypoint(store=target)
    async def wf(n: int, *, store: Any) -> int:
        store.put(HERE, "n", {"n": n})
        return len(store.search(HERE))

    assert world.invoke(wf, 1, thread_id="t") == 1
    with SqliteStore(tmp_path / "runs.db") as store:
        found = store.get(HERE, "n")
        assert found is not None
        assert found.value == {"n": 1}


def test_memory_lasts_as_long_as_its_workflow(world: World) -> None:
    """`memory://` is opened once, not at each run."""

    @world.entrypoint(store="memory://")
    async def wf(key: str, *, store: Any) -> int:
        store.put(HERE, key, {})
        return len(store.search(HERE))

    assert [world.invoke(wf, key, thread_id=key) for key in "ab"] == [1, 2]


def test_a_child_has_its_own_store_or_its_parent_s(world: World) -> None:
    """What the child names counts, also where it is empty."""
    mine: dict[str, Any] = {}
    parents = InMemoryStore()

    @world.entrypoint(store=mine)
    async def own(_: int, *, store: Any) -> bool:
        return store is mine

    @world.entrypoint
    async def without(_: int, *, store: Any) -> bool:
        return store is parents

    @world.entrypoint(store=parents)
    async def parent(n: int) -> list[bool]:
        first, second = own(n), without(n)
        return [await first, await second] if world.is_async else [first, second]  # type: ignore[misc, list-item]

    assert world.invoke(parent, 1, thread_id="t") == [True, True]


def test_what_was_found_is_recorded(world: World) -> None:
    """A task may return items: on resume they come from the record, whatever the store says by then."""
    store = InMemoryStore()
    store.put(HERE, "k", {"x": 1})

    @world.task
    async def recall(store: Any) -> tuple[Item | None, list[SearchItem]]:
        world.ran.append("recall")
        return store.get(HERE, "k"), store.search(HERE)

    @world.entrypoint(store=store)
    async def wf(_: int) -> list[Any]:
        item, found = await world.value(recall())
        if len(world.ran) == 1:
            world.ran.append("crash")
            raise ConnectionError
        return [item.value, found[0].value, found[0].score]

    with pytest.raises(ConnectionError):
        world.invoke(wf, 1, thread_id="t")
    store.put(HERE, "k", {"x": 2})
    assert world.invoke(wf, None, thread_id="t") == [{"x": 1}, {"x": 1}, None]
    assert world.ran == ["recall", "crash"]


def test_a_url_that_names_no_store_is_refused(world: World) -> None:
    """A URL that names no store is refused before anything runs."""

    @world.entrypoint(store="redis://x")
    async def wf(n: int) -> int:
        world.ran.append(n)
        return n

    with pytest.raises(InvalidInput, match="is not a store"):
        world.invoke(wf, 1, thread_id="t")
    assert world.ran == []


def test_outside_a_run_there_is_no_store() -> None:
    """`get_store()` says where it works."""
    with pytest.raises(RuntimeError, match="inside a @task or an @entrypoint"):
        get_store()


def test_a_store_that_there_is_none_of_is_told_of(world: World) -> None:
    """Who asks for one and gave none is told where one is given, once for a task and its workflow; others aren't."""

    @world.task
    async def look(store: Any) -> Any:
        return store.get(HERE, "till")

    @world.entrypoint
    async def wf(store: Any) -> Any:
        return await world.value(look())

    @world.entrypoint
    async def other(x: list[Any], store: Any) -> Any:
        return x[0].till

    with pytest.raises(AttributeError) as caught:
        world.invoke(wf)
    assert [note for note in caught.value.__notes__ if "store" in note] == [
        "The store is None: give the workflow one, such as store='memory.db'"
    ]
    with pytest.raises(AttributeError) as caught:
        world.invoke(other, [None])
    assert not [note for note in caught.value.__notes__ if "store" in note]


@pytest.mark.parametrize("of_store", [True, False])
def test_a_runtime_is_asked_for_its_store_where_the_function_names_it(world: World, of_store: bool) -> None:
    """Nothing is told of a store where something else is None, and has a method of that name."""

    async def asking(runtime: Any) -> Any:
        return runtime.store.get(HERE, "till")

    async def using(x: list[Any], runtime: Any) -> Any:
        return x[0].get("till")

    with pytest.raises(AttributeError) as caught:
        world.invoke(world.entrypoint(asking if of_store else using), {} if of_store else [None])
    assert any("The store is None" in note for note in caught.value.__notes__) is of_store
