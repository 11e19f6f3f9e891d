"""LangGraph's method names, and their agreement with the port's verbs."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import Any

from checkpointers.base import CheckpointSaver
from checkpointers.conformance.rows import THREAD, Contract, loaded, put, refused
from checkpointers.tuples import CheckpointTuple
from flowfn.ports import CheckpointRow, Versioned, WriteRow, Writes

CONFIG: dict[str, Any] = {"configurable": {"thread_id": THREAD, "checkpoint_ns": ""}}


def document(id: str, values: dict[str, Any], versions: dict[str, int]) -> dict[str, Any]:
    """A checkpoint as LangGraph writes it."""
    return {
        "v": 4,
        "id": id,
        "ts": "2026-01-01T00:00:00+00:00",
        "channel_values": values,
        "channel_versions": versions,
        "versions_seen": {"node": versions},
        "updated_channels": sorted(values),
    }


def put_chain(saver: CheckpointSaver, count: int) -> list[dict[str, Any]]:
    """Checkpoints c0, c1, …, each the parent of the next; returns their configs."""
    configs: list[dict[str, Any]] = []
    for number in range(count):
        metadata = {"source": "loop", "step": number, "even": number % 2 == 0}
        versions = {"n": number + 1}
        at = configs[-1] if configs else CONFIG
        configs.append(saver.put(at, document(f"c{number}", {"n": number}, versions), metadata, versions))
    return configs


def names(found: Any) -> list[str]:
    """The checkpoint ids of what `list` found, in its order."""
    return [one.checkpoint["id"] for one in found]


class LangGraphContract(Contract):
    """What LangGraph's users and tools call."""

    def test_put_and_get_tuple_round_trip(self) -> None:
        """The config that `put` returns finds the checkpoint with all that belongs to it."""
        with self.saver() as saver:
            first = saver.put(
                CONFIG, document("c1", {"a": 1}, {"a": 1}), {"source": "input", "step": -1}, {"a": 1}
            )
            second_document = document("c2", {"a": 1, "b": [2]}, {"a": 1, "b": 2})
            second = saver.put(first, second_document, {"source": "loop", "step": 0}, {"b": 2})
            assert second["configurable"] == {"thread_id": THREAD, "checkpoint_ns": "", "checkpoint_id": "c2"}
            assert saver.get_tuple(second) == CheckpointTuple(
                second, second_document, {"source": "loop", "step": 0}, first, []
            )
            assert saver.get_tuple(CONFIG) == saver.get_tuple(second)
            assert saver.get(first) == document("c1", {"a": 1}, {"a": 1})
            assert saver.get_tuple({"configurable": {"thread_id": "unknown"}}) is None

    def test_a_value_is_stored_though_new_versions_forgets_it(self) -> None:
        """Nothing of a checkpoint is lost for want of an entry."""
        with self.saver() as saver:
            config = saver.put(CONFIG, document("c1", {"a": 1}, {"a": 1}), {}, {})
            found = saver.get(config)
            assert found is not None
            assert found["channel_values"] == {"a": 1}

    def test_a_checkpoint_that_is_put_twice_is_the_same(self) -> None:
        """As by who tries again after an error: under no other, or under its own config, and gone on from then."""
        values, versions = {"long": "word " * 100, "short": 1}, {"long": 1, "short": 1}
        with self.saver() as saver:
            config = saver.put(CONFIG, document("c1", values, versions), {}, versions)
            for at in (CONFIG, config):
                for named in ({}, {"short": 1}):
                    saver.put(at, document("c1", values, versions), {}, named)
                    assert saver.get(CONFIG) == document("c1", values, versions)
            saver.put(config, document("c2", values, versions), {}, {})
            assert [one.checkpoint["channel_values"] for one in saver.list(CONFIG)] == [values, values]

    def test_pending_writes_are_numbered_once(self) -> None:
        """A repeated batch changes nothing; special channels keep their last write."""
        with self.saver() as saver:
            config = saver.put(CONFIG, document("c1", {}, {}), {}, {})
            saver.put_writes(config, [("a", 1), ("b", 2)], "task")
            saver.put_writes(config, [("a", 10), ("b", 20)], "task")
            saver.put_writes(config, [("__error__", "first")], "task", "path")
            saver.put_writes(config, [("__error__", "last")], "task", "path")
            for channel in ("__scheduled__", "__interrupt__", "__resume__"):
                saver.put_writes(config, [(channel, 0)], "task")
            found = saver.get_tuple(config)
            assert found is not None
            assert found.pending_writes == [
                *(("task", "a", 1), ("task", "b", 2), ("task", "__error__", "last")),
                *(("task", "__scheduled__", 0), ("task", "__interrupt__", 0), ("task", "__resume__", 0)),
            ]
            indexes = [row.index for row in loaded(saver).writes]
            assert indexes == [0, 1, -1, -2, -3, -4]

    def test_a_name_that_is_no_text_is_refused(self) -> None:
        """A database has no lone surrogates; what would be kept without one is no surprise there."""
        torn, at = "\udce9", {"checkpoint_id": "c1", **CONFIG["configurable"]}
        with self.saver() as saver:
            for name in ("thread_id", "checkpoint_ns", "checkpoint_id"):
                assert "lone surrogate" in refused(partial(saver.get, {"configurable": {**at, name: torn}}))
            for checkpoint, source in (
                (document(torn, {}, {}), "loop"),
                (document("c1", {}, {torn: 1}), "loop"),
                (document("c1", {}, {}), torn),
            ):
                put = partial(saver.put, CONFIG, checkpoint, {"source": source}, {})
                assert "lone surrogate" in refused(put)
            for channel, task, path in ((torn, "t", ""), ("a", torn, ""), ("a", "t", torn)):
                written = partial(saver.put_writes, {"configurable": at}, [(channel, 1)], task, path)
                assert "lone surrogate" in refused(written)

    def test_list_filters_and_limits(self) -> None:
        """Newest first; `filter` by equality, before `limit`; `before` is exclusive."""
        with self.saver() as saver:
            configs = put_chain(saver, 5)
            assert names(saver.list(CONFIG)) == ["c4", "c3", "c2", "c1", "c0"]
            assert names(saver.list(CONFIG, filter={"even": True}, limit=2)) == ["c4", "c2"]
            assert names(saver.list(CONFIG, filter={"even": True, "step": 0})) == ["c0"]
            assert names(saver.list(CONFIG, filter={"unknown": 1})) == []
            assert names(saver.list(CONFIG, before=configs[2])) == ["c1", "c0"]
            assert names(saver.list(configs[3])) == ["c3"]
            assert names(saver.list(None, limit=1)) == ["c4"]

    def test_list_begins_before_an_id_alone(self) -> None:
        """A configuration with nothing but `checkpoint_id`, as in LangGraph's examples, is enough for `before`."""
        with self.saver() as saver:
            put_chain(saver, 3)
            begin = {"configurable": {"checkpoint_id": "c1"}}
            assert names(saver.list(CONFIG, before=begin)) == ["c0"]
            assert names(saver.list(None, before=begin)) == ["c0"]
            assert names(saver.list(CONFIG, before={"configurable": {}})) == ["c2", "c1", "c0"]

    def test_an_empty_checkpoint_id_names_none(self) -> None:
        """Whoever has none to pass on may pass that."""
        with self.saver() as saver:
            put_chain(saver, 3)
            empty = {"configurable": {**CONFIG["configurable"], "checkpoint_id": ""}}
            assert names([saver.get_tuple(empty)]) == ["c2"]
            assert names(saver.list(empty)) == names(saver.list(CONFIG, before=empty)) == ["c2", "c1", "c0"]

    def test_list_without_a_namespace_shows_all(self) -> None:
        """With one, even the empty one, only that."""
        with self.saver() as saver:
            child = {"configurable": {"thread_id": THREAD, "checkpoint_ns": "child"}}
            saver.put(CONFIG, document("c1", {}, {}), {}, {})
            saver.put(child, document("c2", {}, {}), {}, {})
            assert names(saver.list({"configurable": {"thread_id": THREAD}})) == ["c2", "c1"]
            assert names(saver.list(CONFIG)) == ["c1"]
            assert names(saver.list(child)) == ["c2"]

    def test_scalars_of_the_config_become_metadata(self) -> None:
        """Users filter by them; what says where the checkpoint is doesn't count."""
        with self.saver() as saver:
            config = {
                "configurable": {
                    **CONFIG["configurable"],
                    "user_id": "u1",
                    "__secret": "x",
                    "connection": [],
                },
                "metadata": {"team": "blue", "langgraph_step": 3},
            }
            saver.put(config, document("c1", {}, {}), {"source": "input", "step": -1}, {})
            (found,) = saver.list(None, filter={"user_id": "u1"})
            assert found.metadata == {"source": "input", "step": -1, "user_id": "u1", "team": "blue"}

    def test_the_engine_s_rows_and_langgraph_s_are_the_same(self) -> None:
        """What a commit stored `get_tuple` shows, and what `put` stored `load` shows."""
        with self.saver() as saver:
            dumps = saver.serde.dumps
            row = CheckpointRow(
                *("", "c1", None, -1, "input", "2026-01-01T00:00:00+00:00"),
                body=dumps({"seen": {"node": {"a": 1}}, "updated": ["a"]}),
                metadata=dumps({"source": "input", "step": -1}),
                versions={"a": 1},
                values={"a": Versioned(1, dumps(1))},
            )
            put(saver, row, Writes("", "c1", (WriteRow("task", 0, "a", dumps(2)),)))
            found = saver.get_tuple(CONFIG)
            assert found is not None
            assert found.checkpoint == document("c1", {"a": 1}, {"a": 1})
            assert found.pending_writes == [("task", "a", 2)]
            saver.put({"configurable": {"thread_id": "copy"}}, found.checkpoint, found.metadata, {"a": 1})
            copy = saver.load("copy")
            assert copy is not None
            assert copy.checkpoint == row

    def test_versions_count_up(self) -> None:
        """From one; a version that isn't an int is refused."""
        with self.saver() as saver:
            assert [saver.get_next_version(None, None), saver.get_next_version(4, None)] == [1, 5]
            strange: Any = {"a": "00000001.5"}
            message = refused(lambda: saver.put(CONFIG, document("c1", {"a": 1}, strange), {}, strange))
            assert "get_next_version" in message

    def test_a_config_must_say_where(self) -> None:
        """A thread for everything, a checkpoint for writes; the message says what to pass."""
        with self.saver() as saver:
            assert "thread_id" in refused(lambda: saver.get({"configurable": {}}))
            assert "put" in refused(lambda: saver.put_writes(CONFIG, [("a", 1)], "task"))

    def test_a_thread_id_counts_as_its_string(self) -> None:
        """1 and "1" are one thread."""
        with self.saver() as saver:
            saver.put({"configurable": {"thread_id": 1}}, document("c1", {}, {}), {}, {})
            assert saver.get({"configurable": {"thread_id": "1"}}) is not None

    def test_the_async_names_do_the_same(self) -> None:
        """G7: each `a…` method answers as its blocking twin."""

        async def use(saver: CheckpointSaver) -> None:
            config = await saver.aput(CONFIG, document("c1", {"a": 1}, {"a": 1}), {}, {"a": 1})
            await saver.aput_writes(config, [("a", 2)], "task")
            assert await saver.aget_tuple(config) == saver.get_tuple(config)
            assert await saver.aget(config) == saver.get(config)
            assert [one async for one in saver.alist(CONFIG)] == list(saver.list(CONFIG))
            await saver.adelete_thread(THREAD)
            assert saver.get(config) is None

        with self.saver() as saver:
            asyncio.run(use(saver))
