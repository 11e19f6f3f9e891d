"""`threads`, `thread`, `delete_thread`, and what a thread may be called."""

from __future__ import annotations

import pytest

from checkpointers.base import CheckpointSaver
from checkpointers.conformance.rows import (
    THREAD,
    Contract,
    checkpoint,
    claimed,
    ids,
    loaded,
    put,
    write,
    writes,
)
from flowfn.ports import Begin, Saver, Status, Versioned

HOSTILE = [
    "",
    " ",
    "order 42\n",
    "Zoë-\N{SNOWMAN}-\N{GRINNING FACE}",
    "a\0b",
    "a\0c",
    "'; DROP TABLE thread; --",
    '"quoted"',
    "%_*?",
    "../../etc/passwd",
    "x" * 10_000,
    "é",
    "e\N{COMBINING ACUTE ACCENT}",
    "ORDER-42",
]


class ThreadContract(Contract):
    """Threads as a whole."""

    def test_it_is_a_saver(self) -> None:
        """It has all of the port's verbs, and says whether a loop may wait for it."""
        with self.saver() as saver:
            assert isinstance(saver, Saver)
            assert saver.inline in (True, False)

    def test_sources_are_kept_once(self) -> None:
        """The code of functions is found by its digest, belongs to no thread, and stays as it was first kept."""
        with self.saver() as saver:
            if type(saver).source is CheckpointSaver.source:
                pytest.skip("it keeps none")
            assert saver.source("b") is None
            saver.keep_sources({"b": b"\0one", "a": b""})
            saver.keep_sources({"a": b"another", "c\0d": b"three"})
            saver.delete_thread(THREAD)
            assert [saver.source(name) for name in ("a", "b", "c\0d", "d")] == [b"", b"\0one", b"three", None]
            assert saver.threads() == []
            assert self.reopen(saver).source("b") == b"\0one"

    def test_a_run_names_itself(self) -> None:
        """`begin` sets workflow and call and means running; `status` has the last word."""
        with self.saver() as saver:
            put(saver, begin=Begin("shop.order", "digest"))
            row = saver.thread(THREAD)
            assert row is not None
            assert (row.id, row.workflow, row.call, row.status) == (THREAD, "shop.order", "digest", "running")
            put(saver, status="interrupted")
            put(saver, checkpoint("c1"))
            row = saver.thread(THREAD)
            assert row is not None
            assert (row.workflow, row.status) == ("shop.order", "interrupted")

    def test_threads_are_listed_last_updated_first(self) -> None:
        """A run, a status and a checkpoint put from outside update a thread; times are ISO 8601, UTC."""
        with self.saver() as saver:
            assert saver.threads() == []
            for thread in ("a", "b", "c"):
                put(saver, checkpoint("c1"), thread=thread)
            put(saver, status="failed", thread="a")
            listed = saver.threads()
            assert [row.id for row in listed] == ["a", "c", "b"]
            assert [row.id for row in saver.threads(limit=2)] == ["a", "c"]
            assert listed[0] == saver.thread("a")
            assert listed[0].created_at <= listed[0].updated_at
            assert listed[0].updated_at.endswith("+00:00")

    def test_a_limit_counts_threads_alone(self) -> None:
        """One that was claimed, and left with nothing written, takes no other's place."""
        with self.saver() as saver:
            for thread in ("a", "b"):
                put(saver, checkpoint("c1"), thread=thread)
            for number in range(5):
                saver.release(claimed(saver, f"nothing {number}"))
            assert [row.id for row in saver.threads(limit=1)] == ["b"]
            assert [row.id for row in saver.threads(limit=2)] == ["b", "a"]
            assert [row.id for row in saver.threads(limit=10**20)] == ["b", "a"]
            assert saver.threads(limit=0) == []

    def test_the_unfinished_runs_of_a_workflow_are_found_among_all(self) -> None:
        """Those alone, the last updated first, whoever runs them: not what has ended, nor what is of another."""
        runs: dict[str, tuple[str, Status]] = {
            "a": ("order", "failed"),
            "b": ("order", "done"),
            "c": ("cancel", "failed"),
            "d": ("order", "running"),
            "e": ("order", "cancelled"),
            "f": ("order", "interrupted"),
        }
        with self.saver() as saver:
            for thread, (workflow, status) in runs.items():
                put(saver, checkpoint("c1"), thread=thread, begin=Begin(workflow, thread), status=status)
            found = saver.unfinished("order")
            assert [row.id for row in found] == ["f", "d", "a"]
            assert found == [row for row in saver.threads() if row.id in "fda"]
            assert [row.id for row in saver.unfinished("order", limit=2)] == ["f", "d"]
            assert [row.id for row in saver.unfinished("order", limit=10**20)] == ["f", "d", "a"]
            assert saver.unfinished("pay") == []

    def test_a_deleted_thread_is_gone_whole(self) -> None:
        """All namespaces, values and writes; other threads keep theirs; twice is no error."""
        with self.saver() as saver:
            row = checkpoint("c1", versions={"a": 1}, values={"a": Versioned(1, b"a1")})
            for thread in (THREAD, "other"):
                put(saver, row, checkpoint("c1", namespace="child"), thread=thread)
                put(saver, writes("c1", write("t")), thread=thread)
            saver.delete_thread(THREAD)
            saver.delete_thread(THREAD)
            assert saver.load(THREAD) is None
            assert saver.thread(THREAD) is None
            assert ids(saver.history(THREAD, None)) == []
            assert ids(saver.history("other", None)) == ["c1", "c1"]
            put(saver, checkpoint("c1", versions={"a": 1}))
            assert loaded(saver).writes == []
            assert loaded(saver).checkpoint.values == {"a": Versioned(1, None)}

    def test_a_thread_may_have_any_name(self) -> None:
        """No name is mangled, confused with another, or taken for SQL, a pattern or a path."""
        with self.saver() as saver:
            for name in HOSTILE:
                put(
                    saver,
                    checkpoint("c" + name, namespace=name, body=name.encode()),
                    writes("c" + name, write(name, channel=name, path=name), namespace=name),
                    thread=name,
                    lease=claimed(saver, name),
                )
            assert [row.id for row in saver.threads()] == HOSTILE[::-1]
            for name in HOSTILE:
                found = saver.load(name, name, "c" + name)
                assert found is not None
                assert found.thread == name
                assert found.checkpoint.body == name.encode()
                assert found.writes == [write(name, channel=name, path=name)]
