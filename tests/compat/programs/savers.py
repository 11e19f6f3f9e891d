"""Savers used by themselves: put, put_writes, get and list (behaviour of sections 6.1 to 6.3)."""

import itertools
import operator
import tempfile
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Annotated, Any, Generic, TypedDict, TypeVar
from unittest.mock import patch

from langgraph.checkpoint.base import (
    BaseCheckpointSaver,
    CheckpointTuple,
    copy_checkpoint,
    empty_checkpoint,
    get_checkpoint_id,
    get_checkpoint_metadata,
    uuid6,
)
from langgraph.checkpoint.memory import InMemorySaver, MemorySaver, PersistentDict
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from langgraph.graph import START, StateGraph
from langgraph.types import Command, interrupt
from pydantic import BaseModel, RootModel, SecretBytes, SecretStr
from pydantic.v1 import BaseModel as OldModel

from ..trace import differs

THREAD = {"configurable": {"thread_id": "1", "checkpoint_ns": ""}}


Item = TypeVar("Item")


class State(TypedDict):
    x: Annotated[list, operator.add]


class Page(BaseModel, Generic[Item]):
    items: list[Item]


class Rows(RootModel[list[int]]):
    pass


class Login(BaseModel):
    key: SecretStr
    token: SecretBytes


class Old(OldModel):
    a: int


def config(thread="1", namespace="", id=None):
    configurable = {"thread_id": thread, "checkpoint_ns": namespace}
    return {"configurable": configurable | ({"checkpoint_id": id} if id else {})}


def checkpoint(id, **values):
    """A checkpoint in which the version of each channel is the checkpoint's id."""
    return {
        "v": 4,
        "id": id,
        "ts": "2024-05-04T06:32:42.235444+00:00",
        "channel_values": values,
        "channel_versions": dict.fromkeys(values, id),
        "versions_seen": {},
        "updated_channels": None,
    }


def metadata(step, **more):
    return {"source": "loop", "step": step, "parents": {}, **more}


async def _list(t, saver, *args, **kw):
    if t.asyncio:
        return [found async for found in saver.alist(*args, **kw)]
    return list(saver.list(*args, **kw))


async def _put(t, saver, config, checkpoint, metadata):
    return await t.call(saver, "put", config, checkpoint, metadata, checkpoint["channel_versions"])


async def _ids(t, saver, *args, **kw):
    return [found.config["configurable"]["checkpoint_id"] for found in await _list(t, saver, *args, **kw)]


async def put_and_get(t):
    """What was put comes back, by its id or as the newest; a missing one is None."""
    saver = InMemorySaver()
    t.note("none", await t.call(saver, "get_tuple", config()))
    first = await _put(t, saver, config(), checkpoint("1", a=[1], b="x"), metadata(-1))
    t.note("config", first)
    t.note("config", await _put(t, saver, first, checkpoint("2", a=[1, 2]), metadata(0)))
    t.note("newest", await t.call(saver, "get_tuple", config()))
    t.note("first", await t.call(saver, "get_tuple", config(id="1")))
    t.note("missing", await t.call(saver, "get_tuple", config(id="9")))
    t.note("checkpoint", await t.call(saver, "get", config()))


async def values_are_copies(t):
    """What comes back is another object than what was put."""
    saver = InMemorySaver()
    value = [1]
    await _put(t, saver, config(), checkpoint("1", a=value), metadata(0))
    value.append(2)
    found = await t.call(saver, "get", config())
    found["channel_values"]["a"].append(3)
    t.note("again", (await t.call(saver, "get", config()))["channel_values"])


async def only_new_versions_are_stored(t):
    """A channel without a new version has the value that was stored for its version."""
    saver = InMemorySaver()
    first = checkpoint("1", a="one", b="one")
    where = await _put(t, saver, config(), first, metadata(0))
    second = checkpoint("2", a="not stored", b="two")
    second["channel_versions"]["a"] = "1"
    await t.call(saver, "put", where, second, metadata(1), {"b": "2"})
    t.note("values", (await t.call(saver, "get", config()))["channel_values"])


@differs("writes are listed as they were recorded")
async def writes(t):
    """Writes belong to a checkpoint; a repeated one is ignored, one of a special channel replaces the old."""
    saver = InMemorySaver()
    where = await _put(t, saver, config(), checkpoint("1", a=1), metadata(0))
    await t.call(saver, "put_writes", where, [("a", 1), ("b", [2])], "task1")
    await t.call(saver, "put_writes", where, [("a", "again"), ("b", "again"), ("c", 3)], "task1")
    await t.call(saver, "put_writes", where, [("__interrupt__", "one")], "task2", "path")
    await t.call(saver, "put_writes", where, [("__interrupt__", "two")], "task2", "path")
    await t.call(saver, "put_writes", where, [("__error__", "e"), ("__resume__", ["r"])], "task2")
    found = await t.call(saver, "get_tuple", where)
    t.note("writes", found.pending_writes)
    await _put(t, saver, where, checkpoint("2", a=2), metadata(1))
    t.note("of the next", (await t.call(saver, "get_tuple", config())).pending_writes)


async def listing(t):
    """A list is newest first; filter, before and limit narrow it."""
    saver = InMemorySaver()
    where = config()
    for n in range(1, 5):
        where = await _put(t, saver, where, checkpoint(str(n), a=n), metadata(n, kind=["even", "odd"][n % 2]))
    t.note("all", await _list(t, saver, config()))
    t.note("even", await _ids(t, saver, config(), filter={"kind": "even"}))
    t.note("two keys", await _ids(t, saver, config(), filter={"kind": "even", "step": 2}))
    t.note("no such", await _ids(t, saver, config(), filter={"nope": 1}))
    t.note("before", await _ids(t, saver, config(), before=config(id="3")))
    t.note(
        "before an id alone", await _ids(t, saver, config(), before={"configurable": {"checkpoint_id": "3"}})
    )
    t.note("limit", await _ids(t, saver, config(), limit=2))
    t.note("before, limit", await _ids(t, saver, config(), before=config(id="3"), limit=1))
    t.note("one", await _ids(t, saver, config(id="2")))
    t.note("limit 0", await _ids(t, saver, config(), limit=0))


async def the_storage_of_memory(t):
    """Programs list threads by what a saver in memory holds, look at checkpoints there, and take threads out."""
    saver = InMemorySaver()
    for thread in "123":
        where = await _put(t, saver, config(thread), checkpoint("1", a=1), metadata(0))
        await _put(t, saver, where, checkpoint("2", a=2), metadata(1))
    held = saver.storage
    t.note("threads", (list(held), len(held), "1" in held, "9" in held))
    for id, (_, said, parent) in held["1"][""].items():
        t.note("checkpoint", (id, saver.serde.loads_typed(said), parent))
    del held["1"]
    t.raises(held.__delitem__, "1")
    t.note("popped", (list(held.pop("2")), held.pop("2", None)))
    t.note("left", await _ids(t, saver, None))
    held.clear()
    t.note("nothing left", await _ids(t, saver, None))


async def a_dict_that_is_kept(t):
    """It is a defaultdict, and goes to its file when it is told to, when it is closed, and after a `with`."""
    with tempfile.TemporaryDirectory() as folder:
        at = {"filename": str(Path(folder, "kept"))}
        made = PersistentDict(int, {"a": 1}, b=2, **at)
        made["c"] += 1
        t.note("made", (dict(made), isinstance(made, dict)))
        found = PersistentDict(int, **at)
        t.note("before", [each.name for each in Path(folder).iterdir()])
        made.sync()
        found.load()
        found["d"] += 1
        found.close()
        with PersistentDict(int, **at) as again:
            t.note("not loaded", dict(again))
            again.load()
            again["e"] = 5
        (last := PersistentDict(**at)).load()
        t.note("last", dict(last))
        t.note("files", [each.name for each in Path(folder).iterdir()])
    t.raises(PersistentDict, int)


async def threads_in_memory_that_are_kept(t):
    """Dicts that a program gives a saver have its threads when it is left, and another saver goes on with them."""
    with tempfile.TemporaryDirectory() as folder:

        def saver():
            numbers = itertools.count()

            class Kept(PersistentDict):
                def __init__(self, *args):
                    super().__init__(*args, filename=str(Path(folder, str(next(numbers)))))
                    if Path(self.filename).exists():
                        self.load()

            return InMemorySaver(factory=Kept)

        def ask(state):
            return {"x": [interrupt("which?")]}

        builder = StateGraph(State).add_node("ask", ask).add_edge(START, "ask")
        for given in ({"x": [1]}, Command(resume=2), {"x": [3]}, Command(resume=4)):
            with saver() as kept:
                graph = builder.compile(checkpointer=kept)
                t.note("found", (await t.call(graph, "get_state", THREAD)).values)
                t.note("run", await t.call(graph, "invoke", given, THREAD))


async def a_saver_with_more_to_close(t):
    """A saver of the program's own puts what it has to close onto the stack of the one that it extends."""

    class Saver(InMemorySaver):
        def __init__(self):
            super().__init__()
            self.stack.callback(t.note, "closed", True)

    with Saver():
        t.note("open", True)


async def listing_of_everything(t):
    """Without a config all threads are listed, and without a namespace all of a thread's."""
    saver = InMemorySaver()
    for thread, namespace, id in (("1", "", "1"), ("1", "sub", "2"), ("2", "", "3")):
        await _put(t, saver, config(thread, namespace), checkpoint(id), metadata(0))
    t.note("all", sorted(await _ids(t, saver, None)))
    t.note("thread", sorted(await _ids(t, saver, {"configurable": {"thread_id": "1"}})))
    t.note("namespace", await _ids(t, saver, config("1", "sub")))
    t.note("root", await _ids(t, saver, config("1")))


async def deleting_a_thread(t):
    """A deleted thread is gone with all its namespaces; others stay."""
    saver = InMemorySaver()
    for thread, namespace in (("1", ""), ("1", "sub"), ("2", "")):
        where = await _put(t, saver, config(thread, namespace), checkpoint("1", a=1), metadata(0))
        await t.call(saver, "put_writes", where, [("a", 1)], "task")
    await t.call(saver, "delete_thread", "1")
    await t.call(saver, "delete_thread", "unknown")
    left = [found.config["configurable"]["thread_id"] for found in await _list(t, saver, None)]
    t.note("left", left)
    t.note("namespace", await t.call(saver, "get_tuple", config("1", "sub")))


async def stored_metadata(t):
    """The scalars of a config's metadata and configurable are stored with a checkpoint."""
    saver = InMemorySaver()
    where = config() | {"metadata": {"team": "red", "list": [1], "step": 9}}
    where["configurable"] |= {"user": "ann", "__private": 1, "checkpoint_map": {}}
    await _put(t, saver, where, checkpoint("1"), metadata(0))
    t.note("metadata", (await t.call(saver, "get_tuple", config())).metadata)
    t.note("function", get_checkpoint_metadata(where, {"source": "input", "step": -1, "parents": {}}))


async def versions(t):
    """Versions of the shipped savers are strings that grow; those of the base class are numbers."""
    saver = InMemorySaver()
    first = saver.get_next_version(None, None)
    second = saver.get_next_version(first, None)
    tenth = saver.get_next_version(9, None)
    t.note("types", [type(version).__name__ for version in (first, second, tenth)])
    t.note("numbers", [int(version.split(".")[0]) for version in (first, second, tenth)])
    t.note("order", first < second < tenth)
    base = BaseCheckpointSaver()
    t.note("base", [base.get_next_version(None, None), base.get_next_version(1, None)])
    t.raises(base.get_next_version, "1", None)


async def base_class(t):
    """The base class has nothing but its interface."""
    base = BaseCheckpointSaver()
    for method, given in {
        "get_tuple": [config()],
        "put": [config(), checkpoint("1"), metadata(0), {}],
        "put_writes": [config(), [], "task"],
        "delete_thread": ["1"],
        "delete_for_runs": [["1"]],
        "copy_thread": ["1", "2"],
        "prune": [["1"]],
    }.items():
        t.raises(getattr(base, method), *given)
        t.raises(getattr(base, f"a{method}")(*given).send, None)
    t.raises(lambda: list(base.list(config())))
    t.note("alias", MemorySaver is InMemorySaver)


async def helpers(t):
    """An empty checkpoint has no channels; a copy shares none of them."""
    empty = empty_checkpoint()
    t.note("keys", sorted(empty))
    t.note("version", empty["v"])
    original = checkpoint("1", a=1)
    copy = copy_checkpoint(original)
    copy["channel_values"]["a"] = 2
    copy["channel_versions"]["b"] = 1
    t.note("original", original["channel_values"])
    t.note("id", (get_checkpoint_id(config(id="7")), get_checkpoint_id(config())))
    t.note("tuple", CheckpointTuple(config(), original, metadata(0)))


@differs("what a run keeps is flowfn's")
async def what_a_run_puts(t):
    """A run puts its input, and then a checkpoint for each superstep whose writes it kept."""
    builder = StateGraph(State)
    builder.add_sequence([(name, t.node(lambda state, name=name: {"x": [name]})) for name in "ab"])
    builder.add_edge(START, "a")
    saver = InMemorySaver()
    await t.invoke(builder.compile(checkpointer=saver), {"x": ["i"]}, THREAD)
    for found in await _list(t, saver, THREAD):
        t.note("metadata", found.metadata)
        t.note("values", found.checkpoint["channel_values"])
        t.note("updated", found.checkpoint["updated_channels"])
        t.note("versions of", sorted(found.checkpoint["channel_versions"]))
        t.note("seen by", sorted(found.checkpoint["versions_seen"]))
        t.note("writes", [(channel, value) for _, channel, value in found.pending_writes])


async def a_state_that_is_put_by_hand(t):
    """A run goes on from a checkpoint that a program has made of the last, with the saver's own next versions."""
    builder = StateGraph(State)
    builder.add_node("a", t.node(lambda state: {"x": ["a"]}))
    builder.add_node("ask", t.node(lambda state: {"x": [interrupt("?")]}))
    builder.add_edge(START, "a")
    builder.add_edge("a", "ask")
    saver = InMemorySaver()
    graph = builder.compile(checkpointer=saver)
    await t.invoke(graph, {"x": ["i"]}, THREAD)
    found = await t.call(saver, "get_tuple", THREAD)
    edited = copy_checkpoint(found.checkpoint) | {"id": str(uuid6(clock_seq=0))}
    edited["channel_values"]["x"] = ["edited"]
    version = edited["channel_versions"]["x"] = saver.get_next_version(edited["channel_versions"]["x"], None)
    put = await t.call(saver, "put", found.config, edited, {"source": "update", "step": 2}, {"x": version})
    for given in (None, Command(resume="yes"), {"x": ["j"]}, Command(resume="no")):
        t.note("result", await t.invoke(graph, given, THREAD))
    await t.call(graph, "update_state", put, {"x": ["fork"]})
    t.note("result", await t.invoke(graph, None, THREAD))


async def the_writes_and_values_of_memory(t):
    """They are found beside the storage, and go with it, as programs delete a thread that know no method for it."""
    builder = StateGraph(State)
    builder.add_node("ask", t.node(lambda state: {"x": [interrupt("?")]}))
    builder.add_edge(START, "ask")
    saver = InMemorySaver()
    graph = builder.compile(checkpointer=saver)
    for thread in ("1", "2"):
        await t.invoke(graph, {"x": []}, config(thread))
    t.note(
        "threads", [sorted({key[0] for key in kept}) for kept in (saver.storage, saver.writes, saver.blobs)]
    )
    last = (await t.call(graph, "get_state", config("1"))).config["configurable"]["checkpoint_id"]
    written = [row[1:3] for row in saver.writes["1", "", last].values() if row[1] == "__interrupt__"]
    t.note("asked", [each.value for _, stored in written for each in saver.serde.loads_typed(stored)])
    del saver.storage["1"]
    for kept in (saver.writes, saver.blobs):
        for key in [key for key in kept if key[0] == "1"]:
            del kept[key]
    t.note(
        "threads", [sorted({key[0] for key in kept}) for kept in (saver.storage, saver.writes, saver.blobs)]
    )
    for kept in (saver.storage, saver.writes, saver.blobs):
        kept.clear()
    t.note("left", [len(kept) for kept in (saver.storage, saver.writes, saver.blobs)])


class Around(BaseCheckpointSaver):
    """Keeps what it is given in another saver."""

    def __init__(self, inner):
        super().__init__(serde=inner.serde)
        self.inner = inner
        for name in ("put", "put_writes", "get_tuple", "list", "delete_thread", "get_next_version"):
            for method in (name, f"a{name}"):
                if hasattr(inner, method):
                    setattr(self, method, getattr(inner, method))


@differs("a thread belongs to the saver that it was put through")
async def a_saver_around_another(t):
    """A run through a saver around another goes on; the one inside has the checkpoints too."""
    builder = StateGraph(State)
    builder.add_node("ask", t.node(lambda state: {"x": [interrupt("?")]}))
    builder.add_edge(START, "ask")
    outer = Around(InMemorySaver())
    graph = builder.compile(checkpointer=outer)
    await t.invoke(graph, {"x": ["i"]}, THREAD)
    t.note("result", await t.invoke(graph, Command(resume="yes"), THREAD))
    inside = builder.compile(checkpointer=outer.inner)
    try:
        t.note("inside", (await t.call(inside, "get_state", THREAD)).values)
    except Exception as error:
        t.note("inside", str(error).rpartition(": ")[2])


@differs("what a run keeps is flowfn's")
async def what_an_interrupt_puts(t):
    """An interrupt and its answer are writes of the task that asked."""
    builder = StateGraph(State)
    builder.add_node("ask", t.node(lambda state: {"x": [interrupt("?")]}))
    builder.add_edge(START, "ask")
    saver = InMemorySaver()
    graph = builder.compile(checkpointer=saver)
    await t.invoke(graph, {"x": []}, THREAD)
    asked = await t.call(saver, "get_tuple", THREAD)
    t.note("writes", asked.pending_writes)
    await t.invoke(graph, Command(resume="yes"), THREAD)
    t.note("writes", (await t.call(saver, "get_tuple", asked.config)).pending_writes)


def _asking_beside(t):
    """Two nodes beside each other, of which one asks and the other one ends; or the first ends, and the other fails."""

    def ask(state):
        return {"x": [interrupt({"sure": 1})] if not state["x"] else []}

    def other(state):
        if state["x"]:
            raise ValueError("boom")
        return {"x": ["done"]}

    builder = StateGraph(State)
    builder.add_node("ask", t.node(ask))
    builder.add_node("other", t.node(other))
    builder.add_edge(START, "ask")
    builder.add_edge(START, "other")
    return builder


async def what_waits_is_found_among_writes(t):
    """An inbox finds the questions of threads among the writes of their last checkpoints, and what failed."""
    saver = InMemorySaver()
    graph = _asking_beside(t).compile(checkpointer=saver)
    await t.invoke(graph, {"x": []}, config("asks"))
    try:
        await t.invoke(graph, {"x": ["fail"]}, config("fails"))
    except ValueError as error:
        t.note("error", error)
    for thread in ("asks", "fails"):
        writes = (await t.call(saver, "get_tuple", config(thread))).pending_writes
        t.note(
            "asked",
            [each.value for _, channel, value in writes if channel == "__interrupt__" for each in value],
        )
        t.note("failed", [value for _, channel, value in writes if channel == "__error__"])


def _asking_twice(what):
    return lambda state: {"x": [interrupt(f"{what} 1"), interrupt(f"{what} 2")]}


def _waiting_tasks(found):
    """Which tasks of a checkpoint wait, and for what, as an inbox finds it."""
    return sorted(
        (task, each.value, each.id)
        for task, channel, questions in found.pending_writes
        if channel == "__interrupt__"
        for each in questions
    )


async def what_waits_is_found_with_its_task(t):
    """Also of a nested graph; and none that has been answered. Through a saver of the program's own, too."""
    inner = StateGraph(State)
    inner.add_node("inside", t.node(_asking_twice("inside")))
    inner.add_edge(START, "inside")
    builder = StateGraph(State)
    builder.add_node("ask", t.node(_asking_twice("ask")))
    builder.add_node("nested", inner.compile())
    builder.add_edge(START, "ask")
    builder.add_edge(START, "nested")
    for saver in (InMemorySaver(), Around(InMemorySaver())):
        graph = builder.compile(checkpointer=saver)
        await t.invoke(graph, {"x": []}, THREAD)
        for answer in ("yes", "no", None):
            state = await t.call(graph, "get_state", THREAD)
            found = _waiting_tasks(await t.call(saver, "get_tuple", THREAD))
            t.note("found", sorted(value for _, value, _ in found))
            t.note(
                "those of the state",
                found
                == sorted((task.id, each.value, each.id) for task in state.tasks for each in task.interrupts),
            )
            if answer:
                answers = {each.id: answer for each in state.interrupts}
                await t.invoke(graph, Command(resume=answers), THREAD)


async def a_thread_that_a_program_copies(t):
    """Checkpoint by checkpoint into another saver, with its writes: it goes on there, and what had ended has."""
    saver, copy = InMemorySaver(), InMemorySaver()
    await t.invoke(_asking_beside(t).compile(checkpointer=saver), {"x": []}, THREAD)
    for found in reversed(await _list(t, saver, THREAD)):
        before = found.parent_config["configurable"]["checkpoint_id"] if found.parent_config else None
        kept = found.checkpoint
        put = await t.call(copy, "put", config(id=before), kept, found.metadata, kept["channel_versions"])
        for task, writes in itertools.groupby(found.pending_writes, key=lambda write: write[0]):
            await t.call(copy, "put_writes", put, [write[1:] for write in writes], task)
    graph = _asking_beside(t).compile(checkpointer=copy)
    state = await t.call(graph, "get_state", THREAD)
    t.note("state", (state.values, state.next, [each.value for each in state.interrupts]))
    t.note("result", await t.invoke(graph, Command(resume="yes"), THREAD))


async def sqlite(t):
    """A graph runs, waits and goes on with a saver of SQLite as with one in memory."""
    builder = StateGraph(State)
    builder.add_node("a", t.node(lambda state: {"x": ["a"]}))
    builder.add_node("ask", t.node(lambda state: {"x": [interrupt("?")]}))
    builder.add_edge(START, "a")
    builder.add_edge("a", "ask")

    async def run(saver):
        graph = builder.compile(checkpointer=saver)
        await t.invoke(graph, {"x": ["i"]}, THREAD)
        await t.state(graph, THREAD)
        await t.invoke(graph, Command(resume="yes"), THREAD)
        await t.history(graph, THREAD)
        t.note("inputs", len(await _list(t, saver, THREAD, filter={"source": "input"})))
        await t.call(saver, "delete_thread", "1")
        await t.state(graph, THREAD)

    if t.asyncio:
        async with AsyncSqliteSaver.from_conn_string(":memory:") as saver:
            await run(saver)
    else:
        with SqliteSaver.from_conn_string(":memory:") as saver:
            await run(saver)


async def serializers_of_savers(t):
    """Who derives a saver from another one may keep values by its serializer."""

    copies = []

    class Copying(InMemorySaver):
        def put(self, config, checkpoint, *more):
            copies.append(self.serde.dumps_typed(checkpoint["channel_values"]))
            return super().put(config, checkpoint, *more)

    saver = Copying()
    saver.put(config(), checkpoint("1", x=[1, {"k": None}]), metadata(0), {"x": "1"})
    t.note("copies", [saver.serde.loads_typed(copy) for copy in copies])
    with SqliteSaver.from_conn_string(":memory:") as saver:
        t.note("value", saver.serde.loads_typed(saver.serde.dumps_typed({"k": [1, None]})))


class Marking:
    """A serializer with tags that marks what it stores."""

    def __init__(self):
        self.inner = JsonPlusSerializer()

    def dumps_typed(self, obj):
        tag, data = self.inner.dumps_typed(obj)
        return f"marked {tag}", data

    def loads_typed(self, data):
        return self.inner.loads_typed((data[0].removeprefix("marked "), data[1]))


async def a_serializer_that_is_set(t):
    """A saver uses the serializer that is set on it: a saver of SQLite that is opened by a path takes none."""
    builder = StateGraph(State)
    builder.add_node("a", t.node(lambda state: {"x": [interrupt("?")]}))
    builder.add_edge(START, "a")

    async def run(saver):
        saver.serde = Marking()
        t.note("tag", saver.serde.dumps_typed({"k": 1})[0].split()[0])
        t.note("value", saver.serde.loads_typed(saver.serde.dumps_typed({"k": 1})))
        graph = builder.compile(checkpointer=saver)
        await t.invoke(graph, {"x": ["i"]}, THREAD)
        await t.invoke(graph, Command(resume="yes"), THREAD)
        await t.state(graph, THREAD)

    await run(InMemorySaver())
    if t.asyncio:
        async with AsyncSqliteSaver.from_conn_string(":memory:") as saver:
            await run(saver)
    else:
        with SqliteSaver.from_conn_string(":memory:") as saver:
            await run(saver)


async def sqlite_puts_and_lists(t):
    """A saver of SQLite keeps checkpoints and writes like any."""

    async def use(saver):
        where = config()
        for n in range(1, 4):
            where = await _put(t, saver, where, checkpoint(str(n), a=[n]), metadata(n))
            await t.call(saver, "put_writes", where, [("a", n)], "task")
            await t.call(saver, "put_writes", where, [("a", "again")], "task")
        t.note("newest", await t.call(saver, "get_tuple", config()))
        t.note("ids", await _ids(t, saver, config(), before=config(id="3")))
        t.note("filtered", await _ids(t, saver, None, filter={"step": 2}))

    if t.asyncio:
        async with AsyncSqliteSaver.from_conn_string(":memory:") as saver:
            await use(saver)
    else:
        with SqliteSaver.from_conn_string(":memory:") as saver:
            await use(saver)


@differs("one class serves blocking and asyncio callers")
async def sqlite_has_two_colours(t):
    """The blocking saver of SQLite refuses asyncio and says which one doesn't; one that's closed stays closed."""
    with SqliteSaver.from_conn_string(":memory:") as saver:
        saver.setup()
        try:
            saver.aget_tuple(config()).send(None)
        except NotImplementedError as error:
            t.note("says", "AsyncSqliteSaver" in str(error))
        except StopIteration as answer:
            t.note("answers", answer.value)
    t.raises(saver.get_tuple, config())


class Replacing(list):
    """A list that a reducer would know from others."""


@differs("a subclass of a builtin type isn't flattened")
async def subclasses_of_builtin_types(t):
    """A state that holds one, written in one step and read in the next, and again from where it is kept."""

    class Kept(TypedDict):
        values: Any

    builder = StateGraph(Kept)
    builder.add_node("write", t.node(lambda state: {"values": Replacing(["a"])}))
    builder.add_node("read", t.node(lambda state: {"values": type(state["values"]).__name__}))
    builder.add_edge(START, "write").add_edge("write", "read")
    graph = builder.compile(checkpointer=InMemorySaver(), interrupt_before=["read"])
    await t.invoke(graph, {"values": []}, THREAD)
    await t.invoke(graph, None, THREAD)


@differs("a class that is made inside a function")
async def classes_made_inside_functions(t):
    """Their instances may be in a state that memory keeps."""

    class Point(BaseModel):
        a: int

    @dataclass
    class Pair:
        a: int

    class Colour(Enum):
        RED = 1

    class Kept(TypedDict):
        values: list

    def look(state):
        interrupt("?")
        t.note("seen", [type(value).__name__ for value in state["values"]])

    builder = StateGraph(Kept)
    builder.add_node("write", t.node(lambda state: {"values": [Point(a=1), Pair(2), Colour.RED]}))
    builder.add_node("look", t.node(look))
    builder.add_edge(START, "write").add_edge("write", "look")
    graph = builder.compile(checkpointer=InMemorySaver())
    await t.invoke(graph, {"values": []}, THREAD)
    await t.invoke(graph, Command(resume="go"), THREAD)


def _pair_of_nodes(t, make):
    """A graph whose second node asks, and once it is answered tells what the first one wrote."""

    class Kept(TypedDict):
        values: list

    def look(state):
        interrupt("?")
        t.note("seen", [(type(value).__name__, value) for value in state["values"]])

    builder = StateGraph(Kept)
    builder.add_node("write", t.node(lambda state: {"values": make()}))
    builder.add_node("look", t.node(look))
    return builder.add_edge(START, "write").add_edge("write", "look")


@differs("a pydantic model that was given its types")
async def models_that_were_given_their_types(t):
    """Instances of `Page[int]` may be in a state that memory keeps."""
    graph = _pair_of_nodes(t, lambda: [Page[int](items=[1])]).compile(checkpointer=InMemorySaver())
    await t.invoke(graph, {"values": []}, THREAD)
    await t.invoke(graph, Command(resume="go"), THREAD)


@differs("a root model stays one")
async def root_models(t):
    """A model that is one value may be in a state."""
    graph = _pair_of_nodes(t, lambda: [Rows([1])]).compile(checkpointer=InMemorySaver())
    await t.invoke(graph, {"values": []}, THREAD)
    await t.invoke(graph, Command(resume="go"), THREAD)


@differs("a model of pydantic.v1 is registered first")
async def models_of_pydantic_v1(t):
    """A state may hold a model of the old pydantic, where the class is known to the serializer."""
    graph = _pair_of_nodes(t, lambda: [Old(a=1)]).compile(checkpointer=InMemorySaver())
    await t.invoke(graph, {"values": []}, THREAD)


async def secrets_in_a_state(t):
    """Models with secrets, and secrets themselves, come back from storage with what they hold."""

    def make():
        return [Login(key="a", token=b"b"), SecretStr("c"), SecretBytes(b"d")]

    graph = _pair_of_nodes(t, make).compile(checkpointer=InMemorySaver())
    await t.invoke(graph, {"values": []}, THREAD)
    found = await t.invoke(graph, Command(resume="go"), THREAD)
    login, *others = found["values"]
    t.note("told", [each.get_secret_value() for each in (login.key, login.token, *others)])


async def what_a_savers_method_raises(t):
    """It reaches the caller as it was raised."""

    class Lent(BaseCheckpointSaver):
        """Hands all calls on, but for one method, which raises."""

        def __init__(self, faulty):
            super().__init__()
            self.inner, self.faulty = InMemorySaver(), faulty

        def ask(self, name, *args, **kw):
            if name == self.faulty:
                raise ConnectionResetError(f"{name} lost its disk")
            return getattr(self.inner, name)(*args, **kw)

        def get_tuple(self, config):
            return self.ask("get_tuple", config)

        def list(self, config, **kw):
            yield from self.ask("list", config, **kw)

        def put(self, *args):
            return self.ask("put", *args)

        def put_writes(self, *args):
            return self.ask("put_writes", *args)

        async def aget_tuple(self, config):
            return self.ask("get_tuple", config)

        async def alist(self, config, **kw):
            for found in self.ask("list", config, **kw):
                yield found

        async def aput(self, *args):
            return self.ask("put", *args)

        async def aput_writes(self, *args):
            return self.ask("put_writes", *args)

    builder = StateGraph(State)
    builder.add_node("a", t.node(lambda state: {"x": ["a"]}))
    builder.add_node("b", t.node(lambda state: {"x": ["b"]}))
    builder.add_edge(START, "a").add_edge(START, "b")
    for faulty in ["get_tuple", "put", "put_writes", "list"]:
        graph = builder.compile(checkpointer=Lent(faulty))
        await t.invoke(graph, {"x": ["i"]}, config())
        if faulty == "get_tuple":
            await t.state(graph, config())
        if faulty == "list":
            await t.history(graph, config())


def _failing(t, target, name):
    """A patch of a saver's method, or of all savers' of a class, that fails as a lost database does."""
    return patch.object(
        target, f"a{name}" if t.asyncio else name, side_effect=ConnectionResetError(f"no {name}")
    )


def _two_steps(t, saver):
    builder = StateGraph(State)
    builder.add_node("a", t.node(lambda state: {"x": ["a"]}))
    builder.add_node("b", t.node(lambda state: {"x": ["b"]}))
    return builder.add_edge(START, "a").add_edge("a", "b").compile(checkpointer=saver)


async def methods_that_a_test_replaces(t):
    """A failure that a test injects is a run's, be it of one saver or of all; another saver's run goes on."""
    # Not get_tuple: where that fails, LangGraph leaves threads that a later test may wait for. Nor put_writes: it calls
    # that behind the run, which may have ended in another error by then.
    saver = InMemorySaver()
    for target in (saver, InMemorySaver):
        with _failing(t, target, "put"):
            await t.invoke(_two_steps(t, saver), {"x": ["i"]}, config(), durability="sync")
    await t.invoke(_two_steps(t, InMemorySaver()), {"x": ["i"]}, config())
    saver = InMemorySaver()
    put = "aput" if t.asyncio else "put"
    with patch.object(saver, put, wraps=getattr(saver, put)) as watched:
        await t.invoke(_two_steps(t, saver), {"x": ["i"]}, config(), durability="sync")
    t.note("puts", watched.call_count)


@differs("a saver's methods are looked at once")
async def a_method_that_a_test_replaces_after_a_run(t):
    """The graph has come to know its saver."""
    saver = InMemorySaver()
    graph = _two_steps(t, saver)
    await t.invoke(graph, {"x": ["i"]}, config(), durability="sync")
    with _failing(t, saver, "put"):
        await t.invoke(graph, {"x": ["i"]}, config(), durability="sync")


class Plain:
    """A class that nothing but pickle stores."""


@differs("pickles are of classes that are allowed")
async def pickles_of_classes(t):
    """What a serializer that falls back on pickle stores."""
    for options in ({}, {"allowed_msgpack_modules": [Plain]}):
        saver = InMemorySaver(serde=JsonPlusSerializer(pickle_fallback=True, **options))
        builder = StateGraph(State).add_node("a", lambda state: {"x": [Plain()]}).add_edge(START, "a")
        graph = builder.compile(checkpointer=saver)
        try:
            found = await t.call(graph, "invoke", {"x": []}, {"configurable": {"thread_id": "1"}})
        except TypeError as error:
            t.note("refused", "allowed_msgpack_modules=[Plain, ...]" in str(error))
        else:
            t.note("stored", [type(each).__name__ for each in found["x"]])
