"""`flowfn state` and `flowfn history`: the checkpoints of a thread, read without its program."""

import json
from pathlib import Path
from typing import Any

import pytest

from checkpointers import SqliteSaver
from flowfn import entrypoint


def of(flowfn: Any, *words: Any) -> Any:
    return json.loads(flowfn(*words, "--json").out)


@pytest.fixture
def talk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A thread that was called twice, and remembers."""
    saver = SqliteSaver(tmp_path / "runs.db")

    @entrypoint(checkpointer=saver, name="talk")
    def talk(x: int, *, previous: Any = None) -> Any:
        return entrypoint.final(value=x, save=[*(previous or []), x])

    talk.invoke(1, thread_id="t")
    talk.invoke(2, thread_id="t")
    saver.close()
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_state_is_what_the_last_checkpoint_holds(flowfn: Any, talk: Path) -> None:
    """Of an entrypoint its result, and what its next call sees; values that grew are whole."""
    found = of(flowfn, "state", "t")
    assert (found["values"]["result"], found["values"]["previous"]) == (2, [1, 2])
    assert "  previous: [1, 2]\n" in flowfn("state", "t").out


def test_history_is_newest_first(flowfn: Any, talk: Path) -> None:
    """Each checkpoint with what made it and what it changed; `state` takes each by its id, or how that begins."""
    found = of(flowfn, "history", "t")
    assert [(each["source"], each["values"].get("previous")) for each in found] == [
        ("loop", [1, 2]),
        ("input", [1]),
        ("loop", [1]),
        ("input", None),
    ]
    assert [each["changed"] for each in found][:2] == [["result", "previous"], ["input"]]
    assert of(flowfn, "state", "t", "--checkpoint", found[2]["checkpoint"])["values"]["previous"] == [1]
    assert [each["checkpoint"] for each in of(flowfn, "history", "t", "--limit", "3")] == [
        each["checkpoint"] for each in found[:3]
    ]
    assert of(flowfn, "history", "t", "--limit", "1")[0]["changed"] == ["result", "previous"]
    lines = flowfn("history", "t").out.splitlines()
    assert (lines[0].split()[0], len(lines)) == ("CHECKPOINT", 5)


def test_calls_are_counted(flowfn: Any, shop: Path) -> None:
    """Those recorded under the checkpoint; the ones of a nested workflow are in its own namespace."""
    assert [each["calls"] for each in of(flowfn, "history", "asks-1")] == [2]
    assert [each["calls"] for each in of(flowfn, "history", "asks-1", "--ns", "nowhere")] == []


def test_a_fork_takes_a_checkpoint_as_state_does(flowfn: Any, talk: Path) -> None:
    """By its id, or how that begins; where none does, it says where to look."""
    _, _, older, *_ = (each["checkpoint"] for each in of(flowfn, "history", "t"))
    assert flowfn("fork", "t", "--checkpoint", older[:-1], "--to", "short").code == 0
    assert of(flowfn, "state", "short")["values"] == of(flowfn, "state", "t", "--checkpoint", older)["values"]
    ran = flowfn("fork", "t", "--checkpoint", "zzz")
    assert (ran.code, "`flowfn history t` lists them" in ran.err) == (2, True)


def test_a_checkpoint_that_is_not_there(flowfn: Any, talk: Path) -> None:
    """Exit code 2, and where to look."""
    ran = flowfn("state", "t", "--checkpoint", "zzz")
    assert ran.code == 2
    assert "`flowfn history t` lists them" in ran.err
    assert flowfn("state", "t", "--ns", "nowhere").code == 2
