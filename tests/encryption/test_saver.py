"""Rows that were changed, moved, swapped, dropped or put there are refused, in SQLite and in memory."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import ormsgpack
import pytest

from checkpointers import CheckpointSaver, EncryptedSaver, MemorySaver, SqliteSaver, export_thread
from checkpointers.sqlite.channel_maps import ChannelMap
from checkpointers.sqlite.checksums import checksum
from checkpointers.sqlite.writes import bundles, writes_in
from flowfn import delta
from flowfn.encryption import DecryptionError, KeyRing, PlaintextError, UnknownKeyError
from flowfn.errors import InvalidInput
from flowfn.ports import Begin, CheckpointRow, Commit, Loaded, Versioned, WriteRow, Writes

KEYS = KeyRing({"now": bytes(range(32))})
SECRETS = (
    b"secret value",
    b"secret write",
    b"secret body",
    b"secret metadata",
    b"0123secretid4567",
    b"secretcall",
)


def checkpoint(id: str, parent: str | None = None, version: int = 1, **values: bytes | None) -> CheckpointRow:
    held = {name: Versioned(version, value) for name, value in values.items()}
    versions = {"a": version if "a" in values else 1, "b": version if "b" in values else 1}
    time = "2026-01-01T00:00:00+00:00"
    body, metadata = b"secret body", b"secret metadata"
    return CheckpointRow("", id, parent, 1, "loop", time, body, metadata, versions, held)


def write(task: str = "0123secretid4567", index: int = 1, value: bytes = b"secret write") -> WriteRow:
    return WriteRow(task, index, "__return__", value)


def fill(saver: EncryptedSaver, thread: str) -> None:
    """Two checkpoints that share a value, a branch with the same versions, and writes under the first."""
    items = [
        checkpoint("c1", a=b"secret value", b=b"kept"),
        Writes("", "c1", [write(), write(index=2), write("other")]),
        checkpoint("c2", "c1", 2, a=b"left"),
        checkpoint("c3", "c1", 2, a=b"right"),
    ]
    assert saver.commit([Commit(thread, items=list(items), begin=Begin("shop.order", "secretcall"))]) == [
        None
    ]


def read(saver: EncryptedSaver, thread: str) -> dict[str, Loaded]:
    return {loaded.checkpoint.id: loaded for loaded in saver.history(thread)}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "runs.db"


@pytest.fixture
def saver(path: Path) -> Any:
    with EncryptedSaver(path, KEYS) as made:
        fill(made, "one")
        fill(made, "two")
        yield made


def sql(path: Path, script: str) -> None:
    """What somebody with the file does, who makes the checksums right as well."""
    with closing(sqlite3.connect(path)) as db:
        db.create_function("checksum", -1, lambda *columns: checksum(columns))
        db.executescript(script)
        for table in ("value", '"write"', "checkpoint"):
            columns = [name for _, name, *_ in db.execute(f"PRAGMA table_info({table})") if name != "crc"]
            db.execute(f"UPDATE {table} SET crc = checksum({', '.join(columns)})")
        db.commit()


def rows(path: Path, query: str) -> list[Any]:
    with closing(sqlite3.connect(path)) as db:
        return db.execute(query).fetchall()


def pieces(path: Path, table: str) -> dict[int, Any]:
    """What a table has, one by one, whatever shares a row: values as bytes, or the writes of tasks."""
    found: dict[int, Any] = {}
    for key, data, *_ in rows(path, f"SELECT * FROM {table} ORDER BY key"):
        if table == "value":
            ((members,),) = rows(path, f"SELECT members FROM value WHERE key = {key}")
            found |= enumerate([data] if members is None else ormsgpack.unpackb(data), key)
        else:
            found |= enumerate(writes_in([(key, data)]), key)  # there is one row under a checkpoint
    return found


def put_back(path: Path, table: str, found: dict[int, Any]) -> None:
    """Such pieces, in a row each."""
    script = f"DELETE FROM {table};"
    for key, piece in found.items():
        data = piece if table == "value" else bundles([piece])[0]
        script += f"INSERT INTO {table} (key, data, crc) VALUES ({key}, x'{data.hex()}', 0);"
    sql(path, script)


def test_what_was_written_is_read(saver: EncryptedSaver) -> None:
    """With what a checkpoint shares, task ids, and the digest of the call."""
    found = read(saver, "one")
    assert {id: found[id].checkpoint.values for id in found} == {
        "c1": {"a": Versioned(1, b"secret value"), "b": Versioned(1, b"kept")},
        "c2": {"a": Versioned(2, b"left"), "b": Versioned(1, b"kept")},
        "c3": {"a": Versioned(2, b"right"), "b": Versioned(1, b"kept")},
    }
    assert list(found["c1"].writes) == [write(), write(index=2), write("other")]
    row = saver.thread("one")
    assert row is not None
    assert row.call == "secretcall"


def test_nothing_secret_is_in_the_file(saver: EncryptedSaver, path: Path) -> None:
    """Nor in the log beside it; nor task ids and digests of calls, by which guesses at arguments could be tried."""
    stored = b"".join(file.read_bytes() for file in path.parent.iterdir())
    assert [secret for secret in SECRETS if secret in stored] == []
    assert b"shop.order" in stored  # what is plain is: the check sees it


@pytest.mark.parametrize(
    "script",
    [
        "UPDATE value SET data = x'01c0'",
        "UPDATE value SET data = x'e1036e6f77'",
        "UPDATE checkpoint SET body = x'01c0'",
        "UPDATE checkpoint SET metadata = x'01c0'",
        "UPDATE checkpoint SET step = 7",
        "UPDATE checkpoint SET source = 'input'",
        "UPDATE checkpoint SET created_at = '2027-01-01T00:00:00+00:00'",
        "UPDATE checkpoint SET id = 'c9' WHERE id = 'c2'",
        "UPDATE checkpoint SET parent = 'c2' WHERE id = 'c3'",
        "UPDATE checkpoint SET parent = NULL WHERE id = 'c2'",
        "UPDATE checkpoint SET namespace = 'n'",
        "UPDATE checkpoint SET base = NULL, channels = x'97a161050001a16201c0'",  # another version
        "UPDATE checkpoint SET base = NULL, channels = x'96a16101c0a16201c0'",  # without values
        "UPDATE checkpoint SET base = NULL, channels = x'90'",
    ],
)
def test_a_changed_row_is_refused(saver: EncryptedSaver, path: Path, script: str) -> None:
    """Each column that says what a row is, or where."""
    sql(path, script)
    with pytest.raises(DecryptionError):
        list(saver.history("one", None))


@pytest.mark.parametrize(
    "change",
    [
        {"value": b"\x01\xc0"},
        {"channel": "__error__"},
        {"index": 7},
        {"path": "p"},
        {"task": "another"},
        {"task": "0123secretid4567"},
    ],
    ids=str,
)
def test_a_changed_write_is_refused(saver: EncryptedSaver, path: Path, change: dict[str, Any]) -> None:
    """Each part that says what it is, or where."""
    found = pieces(path, '"write"')
    change = {"task": found[max(found)].task} if change == {"task": "another"} else change
    put_back(path, '"write"', {**found, min(found): found[min(found)]._replace(**change)})
    with pytest.raises(DecryptionError):
        list(saver.history("one", None))


def test_what_is_chosen_by_is_opened(saver: EncryptedSaver) -> None:
    """Who chooses among checkpoints sees the metadata that were put, and each that is chosen is opened whole."""
    found = {loaded.checkpoint.id: loaded for loaded in saver.history("one")}
    seen: dict[str, bytes] = {}

    def noted(head: Loaded) -> bool:
        seen[head.checkpoint.id] = head.checkpoint.metadata
        return len(seen) == 1

    assert list(saver.history("one", chosen=noted)) == [next(iter(found.values()))]
    assert seen == {id: loaded.checkpoint.metadata for id, loaded in found.items()}


def test_changed_metadata_are_refused_where_nothing_is_chosen(saver: EncryptedSaver, path: Path) -> None:
    """A checkpoint isn't left out because somebody changed what it is chosen by."""
    sql(
        path,
        "UPDATE checkpoint SET metadata = (SELECT metadata FROM checkpoint WHERE thread = 1 AND id = 'c3')"
        " WHERE thread = 1 AND id = 'c2'",
    )
    with pytest.raises(DecryptionError, match="Thread 'one', checkpoint 'c2'"):
        list(saver.history("one", chosen=lambda head: False))


@pytest.mark.parametrize("table", ["value", '"write"'])
def test_no_two_pieces_can_be_swapped(saver: EncryptedSaver, path: Path, table: str) -> None:
    """Between threads, checkpoints, branches with the same versions, channels, tasks and indexes: each pair."""
    found = pieces(path, table)
    assert len(found) >= 6
    for key, piece in found.items():
        for other, others in found.items():
            if key != other:
                given = others if table == "value" else piece._replace(value=others.value)
                put_back(path, table, {**found, key: given})
                with pytest.raises(DecryptionError):
                    list(saver.history(None))
    put_back(path, table, found)
    assert len(list(saver.history(None))) == 6


@pytest.mark.parametrize("table", ["value", '"write"', "checkpoint"])
def test_a_row_that_rots_is_refused_too(saver: EncryptedSaver, path: Path, table: str) -> None:
    """What the checksum tells is told like any other change."""
    with closing(sqlite3.connect(path)) as db:
        db.execute(f"UPDATE {table} SET crc = crc + 1")
        db.commit()
    with pytest.raises(DecryptionError, match=r"thread 'two', checkpoint 'c\d'.* changed since"):
        list(saver.history(None))


@pytest.mark.parametrize("column", ["body", "metadata"])
@pytest.mark.parametrize("other", ["thread = 1 AND id = 'c3'", "thread = 2 AND id = 'c2'"])
def test_parts_of_checkpoints_cannot_be_swapped(
    saver: EncryptedSaver, path: Path, column: str, other: str
) -> None:
    """Between branches with the same versions, nor between threads."""
    sql(
        path,
        f"UPDATE checkpoint SET {column} = (SELECT {column} FROM checkpoint WHERE {other})"
        " WHERE thread = 1 AND id = 'c2'",
    )
    with pytest.raises(DecryptionError, match="Thread 'one', checkpoint 'c2'"):
        list(saver.history("one"))


def test_no_checkpoint_can_be_given_another_value(saver: EncryptedSaver, path: Path) -> None:
    """Not of another checkpoint, branch or thread, whatever its version: each value there is."""
    ((key,),) = rows(path, "SELECT key FROM checkpoint WHERE thread = 1 AND id = 'c2'")
    _, kept, own, *_ = found = pieces(path, "value")
    put_back(path, "value", found)
    for other in found:
        stored, _ = ChannelMap({"a": [2, other], "b": [1, kept]}).as_bytes(key)
        sql(path, f"UPDATE checkpoint SET base = NULL, channels = x'{stored.hex()}' WHERE key = {key}")
        if other == own:
            assert read(saver, "one")["c2"].checkpoint.values["a"] == Versioned(2, b"left")
        else:
            with pytest.raises(DecryptionError, match="Thread 'one', checkpoint 'c2'"):
                list(saver.history("one"))


def test_every_bit_of_every_piece_counts(path: Path) -> None:
    """Each byte of a value, a write, a body and metadata, flipped one at a time in memory."""
    saver = EncryptedSaver(MemorySaver(), KEYS)
    fill(saver, "one")
    (kept,) = [each for each in saver.saver.history("one") if each.checkpoint.id == "c1"]  # type: ignore[attr-defined]

    def changed(data: bytes, index: int) -> bytes:
        return data[:index] + bytes([data[index] ^ 0x41]) + data[index + 1 :]

    def checks(data: bytes, put: Callable[[bytes], Loaded]) -> None:
        for index in range(len(data)):
            with pytest.raises(DecryptionError):
                saver._opened(put(changed(data, index)))

    row, first = kept.checkpoint, kept.writes[0]
    assert saver._opened(kept).checkpoint.body == b"secret body"
    checks(row.body, lambda data: kept._replace(checkpoint=row._replace(body=data)))
    checks(row.metadata, lambda data: kept._replace(checkpoint=row._replace(metadata=data)))
    checks(first.value, lambda data: kept._replace(writes=[first._replace(value=data)]))
    checks(
        row.values["a"].value or b"",
        lambda data: kept._replace(checkpoint=row._replace(values={**row.values, "a": Versioned(1, data)})),
    )


def test_a_plaintext_row_among_encrypted_ones_is_refused(saver: EncryptedSaver) -> None:
    """It was put there by somebody who has no key."""
    saver.saver.commit([Commit("one", items=[Writes("", "c1", [write("forged", 9, b"\x01\xc0")])])])
    with pytest.raises(PlaintextError):
        saver.load("one", "", "c1")
    saver.saver.commit([Commit("one", items=[checkpoint("c4", a=b"x", b=b"y")])])
    with pytest.raises(PlaintextError):
        saver.load("one")


def test_a_plaintext_database_is_refused(path: Path) -> None:
    """Encryption is not switched on half way."""
    with SqliteSaver(path) as plain:
        plain.commit([Commit("one", items=[checkpoint("c1", a=b"x", b=b"y")])])
    with EncryptedSaver(path, KEYS) as saver, pytest.raises(PlaintextError, match="start a new database"):
        saver.load("one")


def test_old_keys_read_and_the_new_one_writes(path: Path) -> None:
    """Rotation in the middle of a thread: what is shared with a checkpoint of the old key stays readable."""
    with EncryptedSaver(path, KeyRing({"old": bytes(32)})) as saver:
        fill(saver, "one")
    both = KeyRing({"now": bytes(range(32)), "old": bytes(32)})
    with EncryptedSaver(path, both) as saver:
        saver.commit([Commit("one", items=[checkpoint("c4", "c2", 3, a=b"new")])])
        head = saver.load("one")
        assert head is not None
        assert {name: held.value for name, held in head.checkpoint.values.items()} == {
            "a": b"new",
            "b": b"kept",
        }
    with EncryptedSaver(path, KEYS) as saver, pytest.raises(UnknownKeyError, match="'old'"):
        saver.load("one")


def test_keys_can_be_exchanged_while_a_saver_is_open(saver: EncryptedSaver, path: Path) -> None:
    """From then on the new first key writes, all over."""
    new = KeyRing({"next": bytes(range(1, 33))})
    saver.keys = KeyRing({"next": bytes(range(1, 33)), "now": bytes(range(32))})
    fill(saver, "three")
    with EncryptedSaver(path, new) as other:
        assert read(other, "three") == read(saver, "three")


def test_a_record_stays_the_first_one_under_a_new_key(path: Path) -> None:
    """G1: what was recorded stays; the inner saver sees two tasks where there is one."""
    with EncryptedSaver(path, KeyRing({"old": bytes(32)})) as saver:
        fill(saver, "one")
    with EncryptedSaver(path, KeyRing({"now": bytes(range(32)), "old": bytes(32)})) as saver:
        rows = [
            write(value=b"second"),
            write(index=-3, value=b"asked"),
            write(index=-3, value=b"asked again"),
        ]
        saver.commit([Commit("one", items=[Writes("", "c1", rows)])])
        loaded = saver.load("one", "", "c1")
    assert loaded is not None
    assert [row.value for row in loaded.writes if row.task == write().task] == [
        b"secret write",
        b"secret write",
        b"asked again",
    ]


def test_an_unfinished_run_is_adopted_under_each_key(path: Path) -> None:
    """Its call's digest was hidden with the key of its day."""
    with EncryptedSaver(path, KeyRing({"old": bytes(32)})) as saver:
        fill(saver, "one")
    both = KeyRing({"now": bytes(range(32)), "old": bytes(32)})
    with EncryptedSaver(path, both) as saver:
        assert saver.adopt("shop.order", "another") is None
        lease = saver.adopt("shop.order", "secretcall")
        assert lease is not None
        assert lease.thread == "one"


def test_a_direct_call_is_not_led_to_another_calls_thread(saver: EncryptedSaver, path: Path) -> None:
    """The row that says whose run a thread is can be changed; its first checkpoint says it too. The lease goes back."""
    commit = Commit("bob", items=[checkpoint("c1", a=b"x", b=b"y")], begin=Begin("shop.order", "bobscall"))
    assert saver.commit([commit]) == [None]
    sql(
        path,
        "UPDATE thread SET call = (SELECT call FROM thread WHERE id = 'one'), status = 'running' WHERE id = 'bob'",
    )
    with pytest.raises(DecryptionError, match="'bob' looks like a run of this call"):
        saver.adopt("shop.order", "secretcall")
    row = saver.thread("bob")
    assert row is not None
    assert row.owner is None


UNREADABLE = [
    (lambda path: EncryptedSaver(path, KeyRing({"old": bytes(32)})), UnknownKeyError, "Put 'old' back"),
    (
        lambda path: EncryptedSaver(path, KeyRing({"now": bytes(32)})),
        DecryptionError,
        "another key of that id",
    ),
    (SqliteSaver, PlaintextError, "not encrypted"),
]


@pytest.mark.parametrize(("written", "kind", "said"), UNREADABLE, ids=["retired", "other", "plain"])
def test_a_call_is_not_begun_again_beside_a_run_that_may_be_its_own(
    path: Path, written: Callable[[Path], Any], kind: type[DecryptionError], said: str
) -> None:
    """G2: the call of an unfinished run can't be read, so that nobody knows; a live run continues itself."""
    with written(path) as former, EncryptedSaver(path, KEYS) as saver:
        lease = former.claim("one")
        former.commit(
            [Commit("one", lease, [checkpoint("c1", a=b"x", b=b"y")], Begin("shop.order", "secretcall"))]
        )
        assert saver.adopt("shop.order", "secretcall") is None
        former.release(lease)
        assert saver.adopt("shop.cancel", "secretcall") is None
        with pytest.raises(kind, match=f"(?s)'one' is an unfinished run of 'shop.order'.*{said}"):
            saver.adopt("shop.order", "secretcall")
        row = saver.thread("one")
        assert row is not None
        assert row.owner is None
        saver.delete_thread("one")
        fill(saver, "two")
        assert saver.adopt("shop.order", "another") is None


def test_each_key_of_unfinished_runs_is_looked_at(path: Path) -> None:
    """Calls of keys that are on the ring hide none of a key that isn't, whatever their ids sort like."""
    ids = ["m", "m-1", "m1", "a", "z"]
    for missing in ids:
        file = path.with_name(missing)
        for id in ids:
            with EncryptedSaver(file, KeyRing({id: bytes(32)})) as saver:
                fill(saver, f"of {id}")
        with EncryptedSaver(file, KeyRing({id: bytes(32) for id in ids})) as saver:
            assert saver.adopt("shop.order", "another") is None
        ring = KeyRing({id: bytes(32) for id in ids if id != missing})
        with EncryptedSaver(file, ring) as saver, pytest.raises(UnknownKeyError, match=f"'of {missing}'"):
            saver.adopt("shop.order", "another")


def test_threads_are_listed_without_their_key(saver: EncryptedSaver, path: Path) -> None:
    """Ids, statuses and times are plain."""
    other = EncryptedSaver(saver.saver, KeyRing({"other": bytes(32)}))
    assert [(row.id, row.status) for row in other.threads()] == [("two", "running"), ("one", "running")]


def test_saving_a_checkpoint_reads_nothing_while_its_parent_is_known() -> None:
    """Section 7: the cost of a checkpoint doesn't grow with what it shares."""
    reads: list[Any] = []

    class Counting(MemorySaver):
        def load(self, *args: Any) -> Loaded | None:
            reads.append(args)
            return super().load(*args)

    inner = Counting()
    saver = EncryptedSaver(inner, KEYS)
    fill(saver, "one")
    assert reads == []
    EncryptedSaver(inner, KEYS).commit([Commit("one", items=[checkpoint("c4", "c2", 3, a=b"new")])])
    assert reads == [("one", "", "c2")]


# -- deltas ---------------------------------------------------------------------------------------

FIRST, SECOND, THIRD = (b"secret value" + b"!" * count for count in (20, 25, 30))


def fill_with_deltas(saver: EncryptedSaver, thread: str) -> None:
    """A value that is changed twice, and once in a branch."""
    items: list[Any] = [checkpoint("c1", a=FIRST, b=b"kept")]
    for id, parent, version, old, new in (
        ("c2", "c1", 2, FIRST, SECOND),
        ("c3", "c2", 3, SECOND, THIRD),
        ("branch", "c2", 3, SECOND, SECOND + b"?"),
    ):
        change = delta.make(old, new)
        assert change is not None
        row = checkpoint(id, parent, version, a=b"")
        items.append(row._replace(values={"a": Versioned(version, None, (change,))}))
    assert saver.commit([Commit(thread, items=items)]) == [None]


def test_deltas_are_opened(path: Path) -> None:
    """A value that is stored in parts is read as what it was at each checkpoint."""
    with EncryptedSaver(SqliteSaver(path), KEYS) as saver:
        fill_with_deltas(saver, "t")
        found = {id: one.checkpoint.values["a"].whole() for id, one in read(saver, "t").items()}
    assert found == {"c1": FIRST, "c2": SECOND, "c3": THIRD, "branch": SECOND + b"?"}
    assert b"secret" not in path.read_bytes()


@pytest.mark.parametrize(
    "tampering",
    [
        # the delta in the middle is skipped, is applied twice, or is exchanged for one of its age
        "UPDATE value SET onto = (SELECT onto FROM value v WHERE v.key = value.onto) WHERE key = {c3}",
        "UPDATE value SET data = (SELECT data FROM value v WHERE v.key = {c2}) WHERE key = {c3}",
        "UPDATE value SET data = (SELECT data FROM value v WHERE v.key = {branch}) WHERE key = {c3}",
        # the delta is taken for a value
        "UPDATE value SET onto = NULL WHERE key = {c3}",
        "UPDATE value SET data = zeroblob(length(data)) WHERE key = {c2}",
    ],
)
def test_deltas_that_were_tampered_with_are_refused(path: Path, tampering: str) -> None:
    """Each delta is bound to the very bytes that it changes."""
    with EncryptedSaver(SqliteSaver(path), KEYS) as saver:
        fill_with_deltas(saver, "t")
    with sqlite3.connect(path) as db:
        keys = dict(
            db.execute(
                "SELECT c.id, max(v.key) FROM checkpoint c JOIN value v ON v.key >> 32 = c.key GROUP BY c.id"
            )
        )
        assert db.execute(tampering.format(**keys)).rowcount == 1
    db.close()
    with EncryptedSaver(SqliteSaver(path), KEYS) as saver, pytest.raises(DecryptionError):
        saver.load("t", "", "c3")


def test_keys_that_are_no_ring_are_refused_at_once() -> None:
    """A key by itself has no id, and would be met at the first commit."""
    with pytest.raises(InvalidInput, match="KeyRing"):
        EncryptedSaver("memory://", KeyRing.new_key())  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "take",
    [lambda plain: plain.copy_thread("one", "copy"), lambda plain: export_thread(plain, "one")],
    ids=["copy", "export"],
)
def test_what_is_sealed_to_its_place_is_not_taken_elsewhere(
    saver: EncryptedSaver, take: Callable[[CheckpointSaver], object]
) -> None:
    """Without keys nobody could ever open the copy, or the file: it is refused when it is made."""
    with pytest.raises(DecryptionError, match="encrypted with key 'now'"):
        take(saver.saver)
    assert {row.id for row in saver.threads()} == {"one", "two"}
    saver.copy_thread("one", "copy")
    assert next(row.id for row in saver.threads()) == "copy"
