"""`flowfn fork` and `flowfn cancel`."""

import json
from pathlib import Path
from typing import Any

import pytest


def test_fork_before_a_call(flowfn: Any, shop: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The new thread keeps what was recorded before the call, and runs the rest anew; the old one stays."""
    new = flowfn("fork", "broke", "--before", "charge", "--to", "again").out.strip()
    assert new == "again"
    found = json.loads(flowfn("show", "again", "--json").out)
    assert [call["name"] for call in found["calls"]] == ["basket"]
    monkeypatch.delenv("decline", raising=False)
    assert flowfn("resume", "again", "app.py").out == "Receipt(total=3)\n"
    assert json.loads(flowfn("show", "again", "--json").out)["report"]["reused"] == 1
    assert json.loads(flowfn("show", "broke", "--json").out)["status"] == "failed"


def test_fork_names_what_it_could_not_find(flowfn: Any, shop: Path) -> None:
    """Exit code 2: no such call, or several of the name."""
    ran = flowfn("fork", "broke", "--before", "nope")
    assert ran.code == 2
    assert "it called basket, charge. Before a node of a graph, fork from a checkpoint" in ran.err
    several = flowfn("fork", "both", "--before", "approve")
    assert several.code == 2
    assert "approve#1: approve(name='ann')" in several.err
    taken = flowfn("fork", "broke", "--to", "paid")
    assert (taken.code, "exists already" in taken.err) == (2, True)


def test_cancel(flowfn: Any, shop: Path) -> None:
    """The thread keeps what was recorded; one that is done stays so."""
    assert flowfn("cancel", "asks-1").out == "asks-1  cancelled\n"
    assert json.loads(flowfn("cancel", "paid", "--json").out) == {"thread": "paid", "status": "done"}
    assert flowfn("cancel", "nobody").code == 2


def test_an_encrypted_question_needs_its_key(
    flowfn: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`answer` says which variable to set, and `ls` that there may be questions, rather than that there are none."""
    from checkpointers import EncryptedSaver, SqliteSaver
    from flowfn import entrypoint, interrupt
    from flowfn.encryption import KeyRing

    monkeypatch.chdir(tmp_path)
    saver = EncryptedSaver(SqliteSaver("runs.db"), KeyRing({"a": b"k" * 32}))
    entrypoint(checkpointer=saver, name="asks")(lambda x: interrupt(x)).invoke("secret", thread_id="t")
    saver.close()
    asks = (
        "from flowfn import entrypoint, interrupt\nasks = entrypoint(name='asks')(lambda x: interrupt(x))\n"
    )
    Path("app.py").write_text(asks)
    ran = flowfn("answer", "t", "yes", "app.py")
    assert (ran.code, "set FLOWFN_KEY" in ran.err) == (2, True)
    assert flowfn("ls").out.split()[-1] == "?"


def test_an_encrypted_thread_needs_its_key(
    flowfn: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """G5: each row is sealed to its place, so that a copy made without the key would be lost; it is refused."""
    from checkpointers import EncryptedSaver, SqliteSaver
    from flowfn import entrypoint
    from flowfn.encryption import KeyRing

    monkeypatch.chdir(tmp_path)
    saver = EncryptedSaver(SqliteSaver("runs.db"), KeyRing({"a": b"k" * 32}))
    entrypoint(checkpointer=saver, name="keeps")(lambda x: x).invoke(["secret"], thread_id="t")
    saver.close()
    assert "result: <encrypted>" in flowfn("state", "t").out
    ran = flowfn("fork", "t", "--to", "copy")
    assert (ran.code, "set FLOWFN_KEY" in ran.err) == (2, True)
    assert [row["thread"] for row in json.loads(flowfn("ls", "--json").out)] == ["t"]
