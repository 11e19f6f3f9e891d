"""`flowfn import-langgraph`: threads that LangGraph kept, as threads of flowfn."""

from __future__ import annotations

import importlib.util
import os
import shutil
import sqlite3
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from checkpointers import CheckpointSaver, EncryptedSaver, MemorySaver, SqliteSaver
from flowfn.encryption import KeyRing
from flowfn.errors import CorruptDataError, InvalidInput
from graph_compat.checkpoint.serde.encrypted import EncryptedSerializer
from graph_compat.importing import Imported, import_threads, serializer
from graph_compat.importing.kept import opened
from graph_compat.importing.threads import _threads


def _load() -> ModuleType:
    """The module of the stored threads, under the name that their types were stored with."""
    path = Path(__file__).parent / "stored_threads.py"
    spec = importlib.util.spec_from_file_location("stored_threads", path)
    assert spec is not None
    assert spec.loader is not None
    module = sys.modules["stored_threads"] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


stored: Any = _load()
SERDE = serializer(True)


def load(target: CheckpointSaver, source: Path = stored.FILE) -> dict[str, Imported]:
    return {found.thread: found for found in import_threads(source, target, SERDE)}


def config(thread: str, namespace: str = "") -> Any:
    return {"configurable": {"thread_id": thread, "checkpoint_ns": namespace}}


@pytest.fixture(params=["memory", "sqlite", "encrypted"])
def target(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    """Each saver in turn."""
    saver: CheckpointSaver = MemorySaver() if request.param == "memory" else SqliteSaver(tmp_path / "runs.db")
    with saver:
        yield EncryptedSaver(saver, KeyRing({"k": bytes(32)})) if request.param == "encrypted" else saver


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """The file that LangGraph wrote, to be spoilt."""
    return Path(shutil.copy(stored.FILE, tmp_path / "old.db"))


def sql(path: Path, *statements: Any) -> None:
    db = sqlite3.connect(path)
    for statement in statements:
        db.execute(*statement) if isinstance(statement, tuple) else db.execute(statement)
    db.commit()
    db.close()


@pytest.mark.parametrize("thread", stored.HISTORIES)
def test_a_thread_keeps_its_history(target: CheckpointSaver, thread: str) -> None:
    """Steps, sources and values, in the order in which they were made; branches too."""
    load(target)
    found = [*target.list(config(thread))][::-1]
    assert [
        (each.metadata["step"], each.metadata["source"], each.checkpoint["channel_values"].get("xs", []))
        for each in found
    ] == stored.HISTORIES[thread]


def test_every_checkpoint_is_what_langgraph_has(target: CheckpointSaver) -> None:
    """Ids, parents, namespaces, times, metadata, channels, what nodes have seen."""
    load(target)
    db = sqlite3.connect(stored.FILE)
    rows = db.execute(
        "SELECT thread_id, checkpoint_ns, checkpoint_id, parent_checkpoint_id, type, checkpoint FROM checkpoints"
    ).fetchall()
    db.close()
    assert len(rows) > 20
    for thread, namespace, id, parent, tag, data in rows:
        theirs = SERDE.loads_typed((tag, data))
        where = {"configurable": {**config(thread, namespace)["configurable"], "checkpoint_id": id}}
        ours = target.get_tuple(where)
        assert ours is not None
        assert ours.checkpoint["channel_values"] == theirs["channel_values"]
        assert ours.checkpoint["ts"] == theirs["ts"]
        assert ours.checkpoint["updated_channels"] == theirs["updated_channels"]
        assert ours.parent_config == (None if parent is None else {
            "configurable": {**config(thread, namespace)["configurable"], "checkpoint_id": parent}
        })  # fmt: skip
        assert ours.checkpoint["channel_versions"] == {
            name: int(version.split(".")[0]) for name, version in theirs["channel_versions"].items()
        }
        assert ours.checkpoint["versions_seen"].keys() == theirs["versions_seen"].keys()


def test_what_came_along_is_said(target: CheckpointSaver) -> None:
    """A question waits; what nodes had written needs no words."""
    found = load(target)
    assert found["done"] == Imported("done", checkpoints=5)
    assert found["asks"] == Imported("asks", checkpoints=3, waiting=1)
    assert {row.id: row.status for row in target.threads()} == {
        "done": "done",
        "asks": "interrupted",
        "forked": "done",
        "fails": "failed",
        "nested": "done",
        "counted": "done",
        "noted": "done",
    }


def test_metadata_and_namespaces_come_along(target: CheckpointSaver) -> None:
    """What a user filters a history by; the checkpoints of a subgraph."""
    load(target)
    assert {each.metadata["user"] for each in target.list(config("asks"))} == {"u1"}
    assert len([*target.list(config("asks"), filter={"user": "u1"})]) == 3
    namespaces = {each.config["configurable"]["checkpoint_ns"] for each in target.list(
        {"configurable": {"thread_id": "nested"}}
    )}  # fmt: skip
    assert namespaces == {"", "below"}


def test_types_come_back_as_types(target: CheckpointSaver) -> None:
    """A data class of the program, and what an entrypoint kept for its next call."""
    load(target)
    (noted,) = target.list(config("noted"), limit=1)
    assert noted.checkpoint["channel_values"]["__end__"] == stored.Note("x")
    (counted,) = target.list(config("counted"), limit=1)
    assert counted.checkpoint["channel_values"]["__previous__"] == 3


def test_unchanged_values_are_stored_once() -> None:
    """G6: a checkpoint shares with its parent what did not change."""
    target = MemorySaver()
    load(target)
    found = {each.checkpoint.id: each.checkpoint for each in target.history("done")}
    shared = [
        name
        for row in found.values()
        if row.parent is not None
        for name, held in row.values.items()
        if held.value is not None and held.value is (found[row.parent].values.get(name, held).value)
    ]
    assert "__start__" not in shared
    assert len(
        {id(held.value) for row in found.values() for held in row.values.values() if held.value}
    ) < sum(len(row.values) for row in found.values())


def test_a_thread_that_is_there_stays_as_it_is(target: CheckpointSaver) -> None:
    """A second import changes nothing."""
    load(target)
    before = [each.config for each in target.list(None)]
    assert {found.problem for found in load(target).values()} == {"there is a thread of this id already"}
    assert [each.config for each in target.list(None)] == before


def test_a_type_that_is_not_allowed_leaves_its_thread_behind() -> None:
    """G5: whole, with the type's name and where it is; the others are imported."""
    target = MemorySaver()
    found = {each.thread: each for each in import_threads(stored.FILE, target, serializer())}
    assert "stored_threads.Note, which is not allowed here" in (found["noted"].problem or "")
    assert (found["noted"].problem or "").startswith("checkpoint '")
    assert target.thread("noted") is None
    assert [each for each in found.values() if each.problem is not None] == [found["noted"]]


@pytest.mark.parametrize(
    ("statement", "problem"),
    [
        ("UPDATE checkpoints SET checkpoint = x'c1' WHERE thread_id = 'done'", "cannot be read"),
        ("UPDATE checkpoints SET checkpoint = x'ff' WHERE thread_id = 'done'", "has format None"),
        (
            "UPDATE checkpoints SET checkpoint = x'81a17604' WHERE thread_id = 'done'",
            "KeyError: 'channel_values'",
        ),
        ("UPDATE checkpoints SET checkpoint = x'80' WHERE thread_id = 'done'", "has format None"),
        ("UPDATE checkpoints SET checkpoint = x'c0' WHERE thread_id = 'done'", "has format None"),
        (
            "UPDATE checkpoints SET type = 'pickle' WHERE thread_id = 'done'",
            "Unknown serialization type: pickle",
        ),
        (
            "UPDATE checkpoints SET type = 'msgpack+aes' WHERE thread_id = 'done'",
            "Unknown serialization type",
        ),
        ("UPDATE checkpoints SET metadata = '[]' WHERE thread_id = 'done'", "no mapping"),
        ("UPDATE checkpoints SET metadata = '{' WHERE thread_id = 'done'", "Expecting property name"),
    ],
)
def test_a_broken_thread_is_left_behind(copy: Path, statement: str, problem: str) -> None:
    """Whole; the others are imported."""
    sql(copy, statement)
    target = MemorySaver()
    found = load(target, copy)
    assert problem in (found["done"].problem or "")
    assert target.thread("done") is None
    assert found["asks"].checkpoints == 3


def test_older_formats(copy: Path) -> None:
    """Format 3 keeps what was sent among the writes of the parent; before that, channels have other names."""
    from flowfn.values import Send

    def stored(value: Any) -> bytes:
        return SERDE.dumps_typed(value)[1]

    db = sqlite3.connect(copy)
    (tag, data, id, parent) = db.execute(
        "SELECT type, checkpoint, checkpoint_id, parent_checkpoint_id FROM checkpoints"
        " WHERE thread_id = 'asks' ORDER BY checkpoint_id DESC"
    ).fetchone()
    db.close()
    old = {**SERDE.loads_typed((tag, data)), "v": 3}
    sql(
        copy,
        ("UPDATE checkpoints SET checkpoint = ? WHERE checkpoint_id = ?", (stored(old), id)),
        (
            "INSERT INTO writes (thread_id, checkpoint_ns, checkpoint_id, task_id, idx, channel, type, value)"
            " VALUES ('asks', '', ?, 'task', 7, '__pregel_tasks', 'msgpack', ?)",
            (parent, stored(Send("n", 1))),
        ),
    )
    target = MemorySaver()
    assert load(target, copy)["asks"].problem is None
    (head,) = target.list(config("asks"), limit=1)
    assert head.checkpoint["channel_values"]["__pregel_tasks"] == [Send("n", 1)]
    sql(
        copy,
        (
            "UPDATE checkpoints SET checkpoint = ? WHERE checkpoint_id = ?",
            (stored({**old, "v": 2}), id),
        ),
    )
    assert "has format 2" in (load(MemorySaver(), copy)["asks"].problem or "")


def test_encrypted_values_are_read_with_langgraphs_key(copy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Values are read that `EncryptedSerializer.from_pycryptodome_aes` wrote."""
    cipher = EncryptedSerializer.from_pycryptodome_aes(key=b"k" * 16).cipher
    db = sqlite3.connect(copy)
    for key, tag, data in db.execute("SELECT rowid, type, checkpoint FROM checkpoints").fetchall():
        name, encrypted = cipher.encrypt(data)
        db.execute(
            "UPDATE checkpoints SET type = ?, checkpoint = ? WHERE rowid = ?",
            (f"{tag}+{name}", encrypted, key),
        )
    db.commit()
    db.close()
    monkeypatch.setenv("LANGGRAPH_AES_KEY", "k" * 16)
    found = list(import_threads(copy, MemorySaver(), serializer(True)))
    assert [each.problem for each in found] == [None] * 7
    monkeypatch.setenv("LANGGRAPH_AES_KEY", "x" * 16)
    found = list(import_threads(copy, MemorySaver(), serializer(True)))
    assert all("MAC" in (each.problem or "") for each in found)


def test_the_source_is_only_read(tmp_path: Path) -> None:
    """Not a byte of it changes, and nothing is left beside it."""
    source = Path(shutil.copy(stored.FILE, tmp_path / "old.db"))
    before = source.read_bytes()
    load(MemorySaver(), source)
    assert (source.read_bytes(), os.listdir(tmp_path)) == (before, ["old.db"])


@pytest.mark.parametrize("content", [b"", b"no database", "flowfn's", None])
def test_what_is_no_database_of_langgraphs_is_refused(tmp_path: Path, content: Any) -> None:
    """Empty files, other files, flowfn's own databases, and none at all."""
    source = tmp_path / "old.db"
    if content == "flowfn's":
        SqliteSaver(source).close()
    elif content is not None:
        source.write_bytes(content)
    with pytest.raises(InvalidInput, match="not a database of LangGraph's SqliteSaver"):
        load(MemorySaver(), source)


def flowfn(folder: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "flowfn", *arguments],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": ":".join(sys.path), "COLUMNS": "200", **environment},
        capture_output=True,
        text=True,
    )


def test_the_command_imports_and_says_what_it_did(tmp_path: Path) -> None:
    """One line for each thread; exit code 1 where one was left behind."""
    done = flowfn(tmp_path, "import-langgraph", str(stored.FILE), "--to", "runs.db")
    assert done.returncode == 1, done.stderr
    lines = dict(line.split(": ", 1) for line in done.stdout.splitlines())
    assert lines["done"] == "5 checkpoints"
    assert lines["asks"] == "3 checkpoints; 1 question can be answered"
    assert lines["noted"].startswith("not imported: checkpoint")
    with SqliteSaver(tmp_path / "runs.db") as saver:
        assert len(saver.threads()) == 6


def test_the_programs_types_are_there_with_its_script(tmp_path: Path) -> None:
    """And the target may be encrypted."""
    script = str(Path(stored.__file__))
    key = f"k:{KeyRing.new_key()}"
    arguments = ("import-langgraph", str(stored.FILE), "--to", "runs.db", "--with", script)
    done = flowfn(tmp_path, *arguments, FLOWFN_KEY=key)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "'yes', 'd'" in flowfn(tmp_path, "show", "done", "--db", "runs.db", FLOWFN_KEY=key).stdout
    assert "'xs': <encrypted>" in flowfn(tmp_path, "show", "done", "--db", "runs.db").stdout


def test_types_of_a_script_that_ran_by_itself_are_the_scripts(tmp_path: Path, copy: Path) -> None:
    """LangGraph stored them as those of `__main__`; without the script they are refused, by that name."""
    with sqlite3.connect(copy) as db:
        for table, column in (("checkpoints", "checkpoint"), ("writes", "value")):
            for row, data in db.execute(
                f"SELECT rowid, {column} FROM {table} WHERE type = 'msgpack'"
            ).fetchall():
                db.execute(f"UPDATE {table} SET {column} = ? WHERE rowid = ?", (_as_main(data), row))
    db.close()
    arguments = ("import-langgraph", str(copy), "--to", "runs.db")
    assert "names the type __main__." in flowfn(tmp_path, *arguments).stdout
    done = flowfn(tmp_path, *arguments, "--with", stored.__file__)
    assert "not imported: checkpoint" not in done.stdout
    (noted,) = [line for line in done.stdout.splitlines() if line.startswith("noted: ")]
    assert noted.endswith("checkpoints")


def _as_main(data: bytes) -> bytes:
    """Bytes of LangGraph's in which the classes of `stored_threads` are those of a script that ran by itself."""
    import ormsgpack

    option = ormsgpack.OPT_NON_STR_KEYS

    def renamed(code: int, inner: bytes) -> Any:
        parts = ormsgpack.unpackb(inner, ext_hook=renamed, option=option)
        if isinstance(parts, list) and parts[:1] == ["stored_threads"]:
            parts[0] = "__main__"
        return ormsgpack.Ext(code, ormsgpack.packb(parts, option=option))

    return ormsgpack.packb(ormsgpack.unpackb(data, ext_hook=renamed, option=option), option=option)


def test_a_file_whose_threads_cannot_be_listed_is_refused(copy: Path) -> None:
    """By an error that says so, and not by the driver's."""
    found = opened(copy, SERDE)
    found.close()  # which fails all that is asked of it, as damage in the table's index does
    with pytest.raises(CorruptDataError, match="can't be listed"):
        _threads(found)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("gone.db", "--to", "runs.db"), "there is no file 'gone.db'"),
        (("old.db", "--to", "old.db"), "can't be imported into itself"),
        (("old.db", "--to", "runs.db", "--with", "gone.py"), "there is no file 'gone.py'"),
        (("notes.db", "--to", "runs.db"), "not a database of LangGraph's"),
    ],
)
def test_the_command_says_what_is_wrong(copy: Path, arguments: tuple[str, ...], said: str) -> None:
    """One line, exit code 2, and no file is made."""
    (copy.parent / "notes.db").write_text("notes")
    done = flowfn(copy.parent, "import-langgraph", *arguments)
    assert done.returncode == 2, done.stdout
    assert said in " ".join(done.stderr.split())
