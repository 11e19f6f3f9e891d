"""`load` and `history`: what comes back, and in which order."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import pytest

from checkpointers.conformance.rows import (
    THREAD,
    Contract,
    checkpoint,
    ids,
    loaded,
    made,
    put,
    refused,
    write,
    writes,
)
from flowfn.errors import InvalidInput, SaverError, UnknownCheckpoint
from flowfn.ports import Commit, Loaded, Versioned


class ReadingContract(Contract):
    """What a reader sees of what was committed."""

    def test_nothing_is_found_where_nothing_is(self) -> None:
        """Unknown threads, namespaces and ids are None, and none of them is created by asking."""
        with self.saver() as saver:
            put(saver, checkpoint("c1"))
            assert saver.load("unknown") is None
            assert saver.load(THREAD, "child") is None
            assert saver.load(THREAD, "", "c2") is None
            assert ids(saver.history("unknown", None)) == []
            assert saver.thread("unknown") is None

    def test_the_last_committed_is_the_latest(self) -> None:
        """Neither the id nor the clock decides."""
        with self.saver() as saver:
            put(saver, checkpoint("z", created_at="2026-12-31T00:00:00+00:00"))
            put(saver, checkpoint("a", "z", created_at="1999-01-01T00:00:00+00:00"))
            assert loaded(saver).checkpoint.id == "a"

    def test_values_that_did_not_change_come_from_the_parent(self) -> None:
        """G6: a checkpoint is put with what changed, and loaded with every channel of its versions."""
        first = {"a": Versioned(1, b"a1"), "b": Versioned(1, b"b1")}
        with self.saver() as saver:
            put(saver, checkpoint("c1", versions={"a": 1, "b": 1}, values=first))
            put(saver, checkpoint("c2", "c1", versions={"a": 2, "b": 1}, values={"a": Versioned(2, b"a2")}))
            put(saver, checkpoint("c3", "c2", versions={"a": 2, "b": 1}))
            both = {"a": Versioned(2, b"a2"), "b": Versioned(1, b"b1")}
            assert loaded(saver, "", "c2").checkpoint.values == both
            assert loaded(saver, "", "c3").checkpoint.values == both
            assert loaded(saver, "", "c1").checkpoint.values == first

    def test_branches_with_equal_versions_keep_their_own_values(self) -> None:
        """G2: a fork counts on from the same version; its children inherit from it, not from the other."""
        with self.saver() as saver:
            put(saver, checkpoint("c1", versions={"a": 1}, values={"a": Versioned(1, b"root")}))
            put(saver, checkpoint("left", "c1", versions={"a": 2}, values={"a": Versioned(2, b"left")}))
            put(saver, checkpoint("right", "c1", versions={"a": 2}, values={"a": Versioned(2, b"right")}))
            put(saver, checkpoint("left2", "left", versions={"a": 2}))
            put(saver, checkpoint("right2", "right", versions={"a": 2}))
            assert loaded(saver, "", "left2").checkpoint.values == {"a": Versioned(2, b"left")}
            assert loaded(saver, "", "right2").checkpoint.values == {"a": Versioned(2, b"right")}

    def test_a_delta_changes_the_value_of_the_parent(self) -> None:
        """It is loaded with the value and the deltas before it, and shared as any value is (G6)."""
        values = [b"the first value", b"the first value, longer", b"the first value, longer still"]
        deltas = [made(old, new) for old, new in pairwise(values)]
        with self.saver() as saver:
            put(saver, checkpoint("c1", versions={"a": 1}, values={"a": Versioned(1, values[0])}))
            for number, delta in enumerate(deltas, 2):
                changed = {"a": Versioned(number, None, (delta,))}
                put(saver, checkpoint(f"c{number}", f"c{number - 1}", versions={"a": number}, values=changed))
            put(saver, checkpoint("c4", "c3", versions={"a": 3, "b": 4}, values={"b": Versioned(4, b"b")}))
            assert loaded(saver).checkpoint.values["a"] == Versioned(3, values[0], tuple(deltas))
            found = [one.checkpoint.values["a"].whole() for one in saver.history(THREAD)]
            assert found == [values[2], *reversed(values)]

    def test_branches_change_what_their_own_parent_has(self) -> None:
        """Two deltas under one version number are two values."""
        base, left, right = b"in the beginning", b"in the beginning, left", b"in the beginning, right"
        with self.saver() as saver:
            put(saver, checkpoint("c1", versions={"a": 1}, values={"a": Versioned(1, base)}))
            for name, value in (("left", left), ("right", right)):
                changed = {"a": Versioned(2, None, (made(base, value),))}
                put(saver, checkpoint(name, "c1", versions={"a": 2}, values=changed))
            for name, value in (("left", left), ("right", right)):
                changed = {"a": Versioned(3, None, (made(value, value + b"!"),))}
                put(saver, checkpoint(f"{name}2", name, versions={"a": 3}, values=changed))
                assert loaded(saver).checkpoint.values["a"].whole() == value + b"!"

    def test_a_thread_that_was_made_anew_is_read_as_it_is(self) -> None:
        """Whatever a saver remembers of what it read: the same deltas may be of other values (G2)."""
        with self.saver() as saver:
            for letter in (b"x", b"y"):
                start, longer = 200 * letter, 200 * letter + b"!"
                change = (
                    Versioned(2, None, (made(start, longer),)) if saver.keeps_deltas else Versioned(2, longer)
                )
                saver.delete_thread(THREAD)
                put(saver, checkpoint("c1", versions={"a": 1}, values={"a": Versioned(1, start)}))
                put(saver, checkpoint("c2", "c1", versions={"a": 2}, values={"a": change}))
                assert loaded(saver).checkpoint.values["a"].whole() == longer

    def test_channels_that_hold_the_same_change_apart(self) -> None:
        """Whether a saver keeps equal values once or twice, a delta to one leaves the other."""
        base, longer = b"held by both", b"held by both, once"
        with self.saver() as saver:
            both = {"a": Versioned(1, base), "b": Versioned(1, base)}
            put(saver, checkpoint("c1", versions={"a": 1, "b": 1}, values=both))
            changed = {"a": Versioned(2, None, (made(base, longer),))}
            put(saver, checkpoint("c2", "c1", versions={"a": 2, "b": 1}, values=changed))
            changed = {
                name: Versioned(3, None, (made(old, b"held"),)) for name, old in (("a", longer), ("b", base))
            }
            put(saver, checkpoint("c3", "c2", versions={"a": 3, "b": 3}, values=changed))
            found = [
                {name: held.whole() for name, held in one.checkpoint.values.items()}
                for one in saver.history(THREAD)
            ]
            assert found == [{"a": b"held", "b": b"held"}, {"a": longer, "b": base}, {"a": base, "b": base}]

    def test_a_delta_to_nothing_is_refused(self) -> None:
        """A value that can't be read must not be stored; nothing of its commit is."""
        with self.saver() as saver:
            put(saver, checkpoint("c1", versions={"b": 1}, values={"b": Versioned(1, None)}))
            for name in ("a", "b"):
                row = checkpoint(
                    "c2", "c1", versions={name: 2}, values={name: Versioned(2, None, (made(b"abc", b"ab"),))}
                )
                commit = Commit(THREAD, items=[writes("c1", write("t")), row])
                (refusal,) = saver.commit([commit])
                assert isinstance(refusal, SaverError)
            assert loaded(saver).checkpoint.id == "c1"
            assert loaded(saver).writes == []

    def test_an_emptied_channel_is_loaded_as_empty(self) -> None:
        """Empty isn't absent, and isn't the parent's value."""
        with self.saver() as saver:
            put(saver, checkpoint("c1", versions={"a": 1}, values={"a": Versioned(1, b"a1")}))
            put(saver, checkpoint("c2", "c1", versions={"a": 2}, values={"a": Versioned(2, None)}))
            put(saver, checkpoint("c3", "c2", versions={"a": 2}))
            assert loaded(saver, "", "c2").checkpoint.values == {"a": Versioned(2, None)}
            assert loaded(saver, "", "c3").checkpoint.values == {"a": Versioned(2, None)}

    def test_an_empty_value_is_not_an_empty_channel(self) -> None:
        """`b""` is a value."""
        with self.saver() as saver:
            put(saver, checkpoint("c1", versions={"a": 1}, values={"a": Versioned(1, b"")}))
            assert loaded(saver).checkpoint.values == {"a": Versioned(1, b"")}

    def test_a_channel_that_is_gone_is_not_loaded(self) -> None:
        """Only what the versions name is loaded, whatever the parent had."""
        with self.saver() as saver:
            put(saver, checkpoint("c1", versions={"a": 1}, values={"a": Versioned(1, b"a1")}))
            put(saver, checkpoint("c2", "c1", versions={}))
            assert loaded(saver).checkpoint.values == {}

    def test_namespaces_and_threads_do_not_see_each_other(self) -> None:
        """The same id, channel and version in another place is another checkpoint."""
        with self.saver() as saver:
            for thread, namespace, value in (("t", "", b"1"), ("t", "child", b"2"), ("u", "", b"3")):
                row = checkpoint(
                    "c1", namespace=namespace, versions={"a": 1}, values={"a": Versioned(1, value)}
                )
                put(saver, row, thread=thread)
            found = [saver.load("t"), saver.load("t", "child"), saver.load("u")]
            values = [one and one.checkpoint.values["a"].value for one in found]
            assert values == [b"1", b"2", b"3"]

    def test_a_large_value_comes_back_whole(self) -> None:
        """Megabytes are bytes."""
        data = bytes(range(256)) * 8192
        with self.saver() as saver:
            put(saver, checkpoint("c1", versions={"a": 1}, values={"a": Versioned(1, data)}))
            put(saver, writes("c1", write("t", 0, data)))
            assert loaded(saver).checkpoint.values["a"].value == data
            assert loaded(saver).writes == [write("t", 0, data)]

    def test_history_is_newest_first_and_whole(self) -> None:
        """As `load` would give each of them."""
        with self.saver() as saver:
            for number in range(40):
                put(saver, checkpoint(f"c{number}"), writes(f"c{number}", write(f"t{number}")))
            found = list(saver.history(THREAD))
            assert ids(iter(found)) == [f"c{number}" for number in reversed(range(40))]
            assert found == [loaded(saver, "", one.checkpoint.id) for one in found]

    def test_history_has_a_limit_and_a_beginning(self) -> None:
        """`before` is exclusive, and counts before `limit` does."""
        with self.saver() as saver:
            put(saver, *(checkpoint(f"c{number}") for number in range(6)))
            assert ids(saver.history(THREAD, limit=2)) == ["c5", "c4"]
            assert ids(saver.history(THREAD, before="c2")) == ["c1", "c0"]
            assert ids(saver.history(THREAD, before="c5", limit=1)) == ["c4"]
            assert ids(saver.history(THREAD, before="c0")) == []
            assert ids(saver.history(THREAD, limit=0)) == []
            assert len(ids(saver.history(THREAD, limit=10**20))) == 6

    def test_a_limit_counts_across_pages(self) -> None:
        """A saver that reads a history page by page takes no more than what is left of the limit."""
        with self.saver() as saver:
            put(saver, *(checkpoint(f"c{number:02}") for number in range(60)))
            for limit in (15, 16, 17, 40, 59):
                assert ids(saver.history(THREAD, limit=limit)) == [f"c{59 - n:02}" for n in range(limit)]

    def test_a_history_is_of_the_checkpoints_that_are_chosen(self) -> None:
        """As they are without the choice; the limit counts them alone, across pages."""
        with self.saver() as saver:
            for number in range(600):
                put(
                    saver,
                    checkpoint(f"c{number:03}", step=number),
                    writes(f"c{number:03}", write(f"t{number}")),
                )
            wanted = [one for one in saver.history(THREAD) if one.checkpoint.step % 7 == 0]

            def seventh(head: Loaded) -> bool:
                return head.thread == THREAD and head.checkpoint.step % 7 == 0

            assert list(saver.history(THREAD, chosen=seventh)) == wanted
            assert list(saver.history(None, None, chosen=seventh)) == wanted
            assert (
                list(saver.history(THREAD, chosen=seventh, before="c333", limit=40))
                == [one for one in wanted if one.checkpoint.step < 333][:40]
            )
            for limit in (0, 1, 17, 86, 87):
                assert list(saver.history(THREAD, chosen=seventh, limit=limit)) == wanted[:limit]
            assert list(saver.history(THREAD, chosen=lambda head: False)) == []

    def test_checkpoints_are_chosen_by_their_heads(self) -> None:
        """What a choice may go by is there as it was put, in the order of the history."""
        heads: list[Loaded] = []

        def noted(head: Loaded) -> bool:
            heads.append(head)
            return False

        with self.saver() as saver:
            put(saver, checkpoint("a"), checkpoint("b", parent="a", step=1), thread="t")
            put(saver, checkpoint("c", namespace="child"), thread="t")
            assert list(saver.history("t", None, chosen=noted)) == []
            kept = [*saver.history("t", None)]
        bare: dict[str, Any] = {"body": b"", "versions": {}, "values": {}}
        assert [head.thread for head in heads] == ["t"] * 3
        assert [head.checkpoint._replace(**bare) for head in heads] == [
            one.checkpoint._replace(**bare) for one in kept
        ]

    def test_a_limit_is_a_count(self) -> None:
        """What is none is refused where it is asked for, alike by every saver."""
        with self.saver() as saver:
            asked: tuple[Callable[[Any], object], ...] = (
                lambda limit: saver.threads(limit=limit),
                lambda limit: saver.history(THREAD, limit=limit),
                lambda limit: saver.history(None, None, limit=limit),
            )
            for ask in asked:
                for limit in (-1, 1.5, "1"):
                    with pytest.raises(InvalidInput, match=f"limit={limit!r} is not a count"):
                        ask(limit)

    def test_history_before_an_unknown_checkpoint_is_an_error(self) -> None:
        """A wrong id must not look like the end of the history."""
        with self.saver() as saver:
            put(saver, checkpoint("c1"))
            assert "'c9'" in refused(lambda: list(saver.history(THREAD, before="c9")), UnknownCheckpoint)

    def test_history_spans_namespaces_and_threads_where_asked(self) -> None:
        """None stands for all; the order of commits holds across them."""
        with self.saver() as saver:
            put(saver, checkpoint("a"), thread="t")
            put(saver, checkpoint("b", namespace="child"), thread="t")
            put(saver, checkpoint("c"), thread="u")
            put(saver, checkpoint("d"), thread="t")
            assert ids(saver.history("t")) == ["d", "a"]
            assert ids(saver.history("t", "child")) == ["b"]
            assert ids(saver.history("t", None)) == ["d", "b", "a"]
            assert ids(saver.history(None, None)) == ["d", "c", "b", "a"]
            assert ids(saver.history(None, before="d")) == ["c", "a"]
            assert ids(saver.history("t", None, before="b")) == ["a"]

    def test_the_saver_may_be_used_while_a_history_is_read(self) -> None:
        """No lock and no transaction is held between two checkpoints; new ones aren't shown."""
        with self.saver() as saver:
            put(saver, *(checkpoint(f"c{number}") for number in range(40)))
            seen = []
            for one in saver.history(THREAD):
                seen.append(one.checkpoint.id)
                put(saver, checkpoint(f"new-{len(seen)}"))
            assert seen == [f"c{number}" for number in reversed(range(40))]
