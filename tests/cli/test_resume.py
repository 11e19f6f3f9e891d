"""`flowfn resume` and `flowfn answer`: going on with a thread from its script's file."""

import getpass
import json
from pathlib import Path
from typing import Any

import pytest


def test_a_killed_run_goes_on(flowfn: Any, shop: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """G1, section 4: a script run as `__main__` is resumed under its own name, and not run itself."""
    monkeypatch.setenv("survive", "yes")
    ran = flowfn("resume", "dead", "app.py")
    assert (ran.code, ran.out) == (0, "3\n")
    found = json.loads(flowfn("show", "dead", "--json").out)
    assert (found["status"], found["result"], found["report"]["reused"]) == ("done", 3, 1)


def test_a_workflow_that_fails_again(flowfn: Any, shop: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Exit code 1, and one line with the error and its place; `--traceback` shows the way there."""
    monkeypatch.setenv("decline", "yes")
    ran = flowfn("resume", "broke", "app.py")
    assert (ran.code, ran.out, ran.err.count("\n")) == (1, "", 1)
    assert ran.err.startswith("flowfn: ValueError: card declined (at app.py:")
    ran = flowfn("resume", "broke", "app.py", "--traceback")
    assert ran.code == 1
    assert "in charge" in ran.err


def test_a_waiting_thread_asks_again(flowfn: Any, shop: Path) -> None:
    """Exit code 3: it waits for an answer."""
    ran = flowfn("resume", "asks-1", "app.py")
    assert ran.code == 3
    assert ran.out.startswith('question: {"approve": 6} (id ')


@pytest.mark.parametrize(("answer", "result"), [("true", "charged 6\n"), ("false", "left\n")])
def test_an_answer_is_json(flowfn: Any, shop: Path, answer: str, result: str) -> None:
    """The only open question is the one that is meant."""
    ran = flowfn("answer", "asks-1", answer, "app.py")
    assert (ran.code, ran.out) == (0, result)


def test_an_answer_that_does_not_fit(flowfn: Any, shop: Path) -> None:
    """Exit code 2, in a line that says how answers are written, and the question stays open."""
    ran = flowfn("answer", "asks-1", "perhaps", "app.py")
    assert ran.code == 2
    assert "does not fit" in ran.err
    assert ran.err.endswith(
        "; an answer is JSON, or text where it isn't JSON; leave it out, and you are asked\n"
    )
    assert "https:" not in ran.err
    assert flowfn("answer", "asks-1", "true", "app.py").out == "charged 6\n"


def test_several_questions(flowfn: Any, shop: Path) -> None:
    """G8: without a name they are listed; by key and by id they are answered in any order."""
    ran = flowfn("answer", "both", "yes", "app.py")
    assert ran.code == 2
    assert "2 questions wait, so pass --id or --key" in ran.err
    assert "ann?" in ran.err
    assert "bob?" in ran.err
    ran = flowfn("answer", "both", "no", "--key", "bob", "app.py")
    assert ran.code == 3
    (left,) = json.loads(flowfn("show", "both", "--json").out)["questions"]
    assert left["key"] == "ann"
    ran = flowfn("answer", "both", "17", "--text", "--id", left["id"][:8], "app.py")
    assert (ran.code, json.loads(ran.out)) == (0, ["17", "no"])


def test_an_answer_to_nothing(flowfn: Any, shop: Path) -> None:
    """No question, an unknown key, or two names for one: exit code 2, with what waits."""
    assert "is done and asks nothing" in flowfn("answer", "paid", "yes", "app.py").err
    unknown = flowfn("answer", "both", "yes", "--key", "cleo", "app.py")
    assert unknown.code == 2
    assert "no open question has --key 'cleo'" in unknown.err
    assert "bob?" in unknown.err
    assert flowfn("answer", "both", "yes", "--key", "ann", "--id", "0", "app.py").code == 2


def test_the_workflow_is_found_by_its_recorded_name(flowfn: Any, shop: Path) -> None:
    """Where the script has another name, or none such, the error says what it has; `:NAME` decides."""
    app = (shop / "app.py").read_text()
    (shop / "moved.py").write_text(
        app.replace("@entrypoint\ndef basket", "@entrypoint(name='app.basket')\ndef basket")
    )
    ran = flowfn("resume", "asks-1", "moved.py")
    assert ran.code == 2
    assert "of workflow 'app.order'" in ran.err
    assert "basket, buy, committee, doomed, order" in ran.err
    assert flowfn("resume", "asks-1", "moved.py:order").code == 3
    assert "'nope' is no workflow of" in flowfn("resume", "asks-1", "app.py:nope").err


@pytest.mark.parametrize(
    ("kind", "way"),
    [
        ("graph", "compile(name='app.order')"),
        ("entrypoint", "@entrypoint(name='app.order')"),
        ("both", "@entrypoint(name='app.order') or compile(name='app.order')"),
    ],
)
def test_a_name_is_kept_where_it_is_given(flowfn: Any, shop: Path, kind: str, way: str) -> None:
    """A graph has its name of `compile`."""
    made = {
        "graph": "from graph_compat.graph import StateGraph\n"
        "app = StateGraph(dict).add_node('a', lambda state: state).set_entry_point('a').compile()\n",
        "entrypoint": "from flowfn import entrypoint\nother = entrypoint(lambda x: x)\n",
    }
    (shop / "moved.py").write_text("".join(made.values()) if kind == "both" else made[kind])
    ran = flowfn("resume", "asks-1", "moved.py")
    assert ran.code == 2
    assert ran.err.endswith(f"keep its name with {way}; or name what is to go on with it, as moved.py:NAME\n")


def test_the_database_named_is_the_one_used(flowfn: Any, shop: Path, tmp_path: Path) -> None:
    """Whatever the workflow's own checkpointer says, and wherever the command is run."""
    for name in ("runs.db", "runs.db-wal"):
        (shop / name).rename(tmp_path / name)
    ran = flowfn("answer", "asks-2", "true", "app.py", "--db", tmp_path / "runs.db")
    assert (ran.code, ran.out) == (0, "charged 3\n")
    assert not (shop / "runs.db").exists()


def test_a_script_that_is_not_there_or_broken(flowfn: Any, shop: Path) -> None:
    """A missing file is exit code 2; one that raises on import is 1, with its error."""
    assert flowfn("resume", "dead", "nope.py").code == 2
    (shop / "broken.py").write_text("import nothing_of_that_name")
    ran = flowfn("resume", "dead", "broken.py")
    assert ran.code == 1
    assert "No module named 'nothing_of_that_name'" in ran.err
    assert "(at broken.py:1)" in ran.err
    (shop / "unreadable.py").write_text("def f( pass")
    ran = flowfn("resume", "dead", "unreadable.py")
    assert (ran.code, ran.err) == (1, "flowfn: SyntaxError: invalid syntax (unreadable.py, line 1)\n")


def test_a_script_named_like_a_loaded_module(flowfn: Any, shop: Path) -> None:
    """It isn't mistaken for that module, nor put in its place."""
    (shop / "json.py").write_text((shop / "app.py").read_text())
    ran = flowfn("resume", "dead", "json.py")
    assert ran.code == 2
    assert "rename the script" in ran.err


def test_a_workflow_of_a_package(flowfn: Any, tmp_path: Path, run_python: Any) -> None:
    """Section 4: what ran as `python -m package.module` goes by that name, and is found by its file."""
    package = tmp_path / "jobs"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "names.py").write_text("GREETING = 'hello'")
    (package / "greet.py").write_text(
        "from flowfn import entrypoint, interrupt\n"
        "from jobs.names import GREETING\n"
        "@entrypoint(checkpointer='runs.db')\n"
        "def greet(name: str) -> str:\n"
        "    return f'{GREETING} {name}, {interrupt(\"title?\")}'\n"
        "if __name__ == '__main__':\n"
        "    greet.invoke('ann', thread_id='one')\n"
    )
    assert run_python("-m", "jobs.greet").returncode == 0
    ran = flowfn("answer", "one", "dr", package / "greet.py", "--db", tmp_path / "runs.db")
    assert (ran.code, ran.out) == (0, "hello ann, dr\n")


def test_a_script_that_lies_in_a_package_goes_by_its_own_name(
    flowfn: Any, tmp_path: Path, run_python: Any
) -> None:
    """Section 4: what ran as `python package/script.py` is found by its file as well."""
    package = tmp_path / "errands"
    package.mkdir()
    (package / "__init__.py").touch()
    (package / "fetch_it.py").write_text(
        "from flowfn import entrypoint, interrupt\n"
        "@entrypoint(checkpointer='runs.db')\n"
        "def fetch(name: str) -> str:\n"
        "    return f'{name}, {interrupt(\"title?\")}'\n"
        "if __name__ == '__main__':\n"
        "    fetch.invoke('ann', thread_id='one')\n"
    )
    assert run_python("errands/fetch_it.py").returncode == 0
    ran = flowfn("answer", "one", "dr", package / "fetch_it.py", "--db", tmp_path / "runs.db")
    assert (ran.code, ran.out) == (0, "ann, dr\n")
    ran = flowfn("doctor", package / "fetch_it.py", "--db", tmp_path / "runs.db")
    assert ran.code == 0, ran.err


def test_who_answered_is_shown(flowfn: Any, shop: Path) -> None:
    """G8: as `--by` says, else as the machine knows who runs the command."""
    flowfn("answer", "asks-1", "true", "app.py", "--by", "ann")
    assert "interrupt(value={'approve': 6})  answered  by ann" in flowfn("show", "asks-1").out
    flowfn("answer", "asks-2", "true", "app.py")
    calls = json.loads(flowfn("show", "asks-2", "--json").out)["calls"]
    (call,) = [call for call in calls if call["name"] == "interrupt"]
    assert call["answered_by"] == getpass.getuser()
    assert call["answered_at"] is not None


def test_a_question_shows_its_form(flowfn: Any, shop: Path) -> None:
    """A page that asks a human has the schema of the answer."""
    (question,) = json.loads(flowfn("show", "asks-1", "--json").out)["questions"]
    assert (question["response_schema"], question["expires_at"]) == ({"type": "boolean"}, None)
