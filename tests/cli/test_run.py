"""`flowfn run`: a workflow of a script, with arguments as they are typed."""

import json
import shlex
from pathlib import Path
from typing import Any

import pytest

SCRIPT = """
import json, sys
from decimal import Decimal
from typing import Annotated, Literal
from flowfn import entrypoint, interrupt, task

@task
def double(x: int) -> int:
    return 2 * x

@entrypoint(checkpointer="jobs.db")
def scale(name: str, x: int, *rest: int, by: int = 1, **more: str) -> list:
    return [name, double(x).result() * by, list(rest), more]

@entrypoint
def shows(name: str, nick: str | None = None, note: Annotated[str, "kept"] = "", both: int | str = 0) -> list:
    return [name, nick, note, both]

@entrypoint
def pays(amount: Decimal, tier: Literal["1", "2"] = "1") -> list:
    return [str(amount), tier]

@entrypoint(checkpointer="jobs.db")
async def later(x: int) -> int:
    return await double(x)

@entrypoint(checkpointer="jobs.db")
def ask(who: str) -> str:
    return f"{who}: {interrupt('go?')}"

@entrypoint
def forgets(x: int) -> int:
    if x < 0:
        raise ValueError("no negatives")
    return x

@entrypoint(checkpointer="jobs.db")
def leaves(code: str) -> int:
    sys.exit(json.loads(code))

@entrypoint(checkpointer="jobs.db")
def flaky(path: str) -> int:
    found = double(1).result()
    with open(path) as file:
        return found + len(file.read())

if __name__ == "__main__":
    raise SystemExit("main ran")
"""


@pytest.fixture
def jobs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory with `jobs.py`, and the current one."""
    (tmp_path / "jobs.py").write_text(SCRIPT)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    ("words", "result"),
    [
        (["ink", "2"], ["ink", 4, [], {}]),
        (["7", "x=3", "by=2"], ["7", 12, [], {}]),
        (["x=3", "name=a=b"], ["a=b", 6, [], {}]),
        (["ink", "2", "3", "4"], ["ink", 4, [3, 4], {}]),
        (["ink", "2", "colour=red"], ["ink", 4, [], {"colour": "red"}]),
    ],
)
def test_words_become_arguments(flowfn: Any, jobs: Path, words: list[str], result: Any) -> None:
    """By position, or by name where the function has such a parameter; a text stays one where text is wanted."""
    ran = flowfn("run", "jobs.py:scale", *words)
    assert (ran.code, json.loads(ran.out)) == (0, result)


def test_text_is_wanted_by_other_annotations_too(flowfn: Any, jobs: Path) -> None:
    """Where nothing but text, or nothing at all, fits; where a number fits as well, digits are one."""
    ran = flowfn("run", "jobs.py:shows", '"7"', "nick=7", "note=true", "both=7")
    assert json.loads(ran.out) == ['"7"', "7", "true", 7]
    assert json.loads(flowfn("run", "jobs.py:shows", "7", "nick=null").out)[:2] == ["7", None]


def test_a_decimal_is_what_was_typed(flowfn: Any, jobs: Path) -> None:
    """To the last digit; and a choice of texts is one of them, be it of digits."""
    ran = flowfn("run", "jobs.py:pays", "12345678901234567.89", "tier=2")
    assert json.loads(ran.out) == ["12345678901234567.89", "2"]


def test_a_workflow_of_a_package_runs(flowfn: Any, jobs: Path) -> None:
    """Section 4: its file is imported as a part of the package, and its runs go by that name, as where that is used; it
    may name modules beside it in either way."""
    package = jobs / "fleet" / "night"
    package.mkdir(parents=True)
    for folder in (package, package.parent):
        (folder / "__init__.py").touch()
    (package / "rates.py").write_text("RATE = 3")
    (package / "beside_it.py").write_text("ONE = 1")
    (package / "trips.py").write_text(
        "from flowfn import entrypoint\n"
        "from .rates import RATE\n"
        "from beside_it import ONE\n"
        "@entrypoint(checkpointer='jobs.db')\n"
        "def price(n: int) -> int:\n"
        "    return RATE * n * ONE\n"
    )
    assert flowfn("run", "fleet/night/trips.py:price", "2").out == "6\n"
    assert "fleet.night.trips.price" in flowfn("ls", "--db", "jobs.db").out


def test_a_package_goes_on_with_what_its_file_left_as_a_script(
    flowfn: Any, jobs: Path, run_python: Any
) -> None:
    """Section 4: what ran as `python package/script.py` is unfinished under its own name, and doesn't run again."""
    package = jobs / "depot"
    package.mkdir()
    (package / "__init__.py").touch()
    (package / "loads.py").write_text(
        "import os\n"
        "from flowfn import entrypoint, task\n"
        "@task\n"
        "def load(n: int) -> int:\n"
        "    print('loaded', n, flush=True)\n"
        "    return n\n"
        "@entrypoint(checkpointer='jobs.db')\n"
        "def send(n: int) -> int:\n"
        "    n = load(n).result()\n"
        "    return os._exit(9) if os.path.exists('dies') else n\n"
        "if __name__ == '__main__':\n"
        "    send(1)\n"
    )
    (jobs / "dies").touch()
    assert run_python("depot/loads.py").stdout == "loaded 1\n"
    (jobs / "dies").unlink()
    assert flowfn("run", "depot/loads.py:send", "1").out == "1\n"
    listed = flowfn("ls", "--db", "jobs.db").out
    assert ("loads.send" in listed, "depot.loads.send" in listed) == (True, False)


@pytest.mark.parametrize("folder", ["app-1.0", "json", ".hidden", "my-jobs"])
def test_a_folder_that_is_no_package_of_its_own_has_scripts(flowfn: Any, jobs: Path, folder: str) -> None:
    """Whatever lies in it: its name can't be imported, or means another package."""
    (jobs / folder).mkdir()
    (jobs / folder / "__init__.py").touch()
    (jobs / folder / f"in_{len(folder)}.py").write_text(
        "from flowfn import entrypoint\n@entrypoint\ndef more(n: int) -> int:\n    return n + 1\n"
    )
    ran = flowfn("run", f"{folder}/in_{len(folder)}.py:more", "1")
    assert (ran.code, ran.out) == (0, "2\n")


def test_async_workflows_run_too(flowfn: Any, jobs: Path) -> None:
    """G7: the command needs no other word for them."""
    assert flowfn("run", "jobs.py:later", "4").out == "8\n"


def test_a_workflow_without_a_past_runs(flowfn: Any, jobs: Path) -> None:
    """It is recorded nowhere, unless `--db` says where."""
    assert flowfn("run", "jobs.py:forgets", "4").out == "4\n"
    assert not (jobs / "jobs.db").exists()
    assert flowfn("run", "jobs.py:forgets", "4", "--db", "other.db", "--thread", "one").code == 0
    assert json.loads(flowfn("show", "one", "--db", "other.db", "--json").out)["result"] == 4


def test_a_question_is_exit_code_3(flowfn: Any, jobs: Path) -> None:
    """The question is printed, and how to answer it."""
    ran = flowfn("run", "jobs.py:ask", "ann", "--thread", "t1")
    assert ran.code == 3
    assert ran.out.startswith("question: go? (id ")
    assert "flowfn answer t1 ANSWER jobs.py:ask" in ran.err
    assert flowfn("answer", "t1", "yes", "jobs.py").out == "ann: yes\n"


def test_what_to_do_next_can_be_pasted(flowfn: Any, jobs: Path) -> None:
    """It names the database that was named, and quotes what a shell would take apart."""
    ran = flowfn("run", "jobs.py:ask", "ann", "--thread", "it's one", "--db", "other.db")
    (advice,) = (line for line in ran.err.splitlines() if line.startswith("flowfn: answer it: flowfn "))
    words = shlex.split(advice.removeprefix("flowfn: answer it: flowfn "))
    assert words == ["answer", "it's one", "ANSWER", "jobs.py:ask", "--db", "other.db"]
    assert flowfn(*("yes" if word == "ANSWER" else word for word in words)).out == "ann: yes\n"


def test_a_run_that_failed_is_gone_on_with(flowfn: Any, jobs: Path) -> None:
    """Section 3: the same call again goes on where it stopped; the error says so too."""
    ran = flowfn("run", "jobs.py:flaky", "there")
    assert (ran.code, ran.out) == (1, "")
    assert "FileNotFoundError" in ran.err
    assert "flowfn: go on with it: flowfn resume " in ran.err
    (jobs / "there").write_text("abc")
    again = json.loads(flowfn("run", "jobs.py:flaky", "there", "--json").out)
    assert (again["status"], again["result"]) == ("done", 5)
    (thread,) = json.loads(flowfn("ls", "--json").out)
    assert thread["thread"] == again["thread"]
    assert json.loads(flowfn("show", again["thread"], "--json").out)["report"]["reused"] == 1


@pytest.mark.parametrize("code", ["0", "3", '"the disk is full"'])
def test_a_workflow_that_exits_has_failed(flowfn: Any, jobs: Path, code: str) -> None:
    """Whatever `sys.exit()` was called with: the exit code is the command's word on the run, and so is 1."""
    ran = flowfn("run", "jobs.py:leaves", code, "--thread", "t1")
    assert (ran.code, ran.out) == (1, "")
    assert f"flowfn: SystemExit: {json.loads(code)}" in ran.err
    assert flowfn("resume", "t1", "jobs.py").code == 1


def test_a_script_that_exits_when_it_is_imported(flowfn: Any, jobs: Path) -> None:
    """It isn't taken for a command that went well: the error says what to put where."""
    with (jobs / "jobs.py").open("a") as script:
        script.write("sys.exit(0)\n")
    ran = flowfn("run", "jobs.py:later", "4")
    assert (ran.code, ran.out) == (2, "")
    assert "called sys.exit(0) while it was imported: put what it does as a script under" in ran.err


def test_arguments_that_do_not_fit(flowfn: Any, jobs: Path) -> None:
    """Exit code 2, and nothing is recorded."""
    assert flowfn("run", "jobs.py:scale", "ink").code == 2
    ran = flowfn("run", "jobs.py:later", "pen")
    assert ran.code == 2
    assert ran.err.startswith("flowfn: jobs.py:later: ")
    assert flowfn("ls", "--json").code == 2


def test_which_workflow(flowfn: Any, jobs: Path) -> None:
    """Of several, one has to be named; the error lists them."""
    ran = flowfn("run", "jobs.py", "1")
    assert ran.code == 2
    assert "ask, flaky, forgets, later, leaves, pays, scale, shows: name one" in ran.err
    assert flowfn("run", "jobs.py:double", "1").code == 2
    (jobs / "one.py").write_text("from flowfn import entrypoint\n\n@entrypoint\ndef f(x): return x\n")
    assert flowfn("run", "one.py", '{"a": 1}').out == '{"a": 1}\n'
    (jobs / "none.py").write_text("def f(x): return x\n")
    assert flowfn("run", "none.py", "1").err.startswith("flowfn: none.py has no workflow at its top level: ")


GRAPHS = """
import operator
from typing import Annotated, TypedDict
from graph_compat.graph import END, START, StateGraph
from graph_compat.types import interrupt

class State(TypedDict):
    words: Annotated[list, operator.add]

def greet(state: State) -> dict:
    return {"words": ["hello"]}

def ask(state: State) -> dict:
    return {"words": [interrupt("who?")]}

built = StateGraph(State).add_node(greet).add_node(ask)
built.add_edge(START, "greet").add_edge("greet", "ask").add_edge("ask", END)
greeter = built.compile()
"""


def test_graphs_run_too(flowfn: Any, jobs: Path) -> None:
    """With their input as the one argument; a question of theirs is answered as any other."""
    (jobs / "graphs.py").write_text(GRAPHS)
    db = ("--db", "graphs.db")
    ran = flowfn("run", "graphs.py", '{"words": ["so"]}', "--thread", "g", *db)
    assert ran.code == 3
    assert ran.out.startswith("question: who? (id ")
    answered = json.loads(flowfn("answer", "g", "ann", "graphs.py:greeter", "--json", *db).out)
    assert (answered["status"], answered["result"]) == ("done", {"words": ["so", "hello", "ann"]})
    refused = flowfn("run", "graphs.py", *db)
    assert (refused.code, "takes one argument, its input" in refused.err) == (2, True)


def test_two_graphs_of_one_name(flowfn: Any, jobs: Path) -> None:
    """What is recorded doesn't say which of them it was: it has to be said."""
    (jobs / "graphs.py").write_text(GRAPHS + "other = built.compile()\n")
    db = ("--db", "graphs.db")
    assert flowfn("run", "graphs.py:other", '{"words": []}', "--thread", "g", *db).code == 3
    ran = flowfn("resume", "g", "graphs.py", *db)
    assert (ran.code, "name one of greeter, other" in ran.err) == (2, True)
    assert flowfn("resume", "g", "graphs.py:other", *db).code == 3
