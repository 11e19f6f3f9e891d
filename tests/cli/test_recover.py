"""`flowfn recover`: every run of a script that a process left when it died, and those whose questions have expired."""

import asyncio
import json
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from checkpointers import SqliteSaver
from flowfn.cli import program
from flowfn.cli.recovering import Left, Recovered, recover
from flowfn.history.due import due

from .test_diff import edit

LATE = """
from flowfn import entrypoint, interrupt

@entrypoint(checkpointer="late.db")
def trial(user: str) -> str:
    answer = interrupt("keep it?", timeout=1e-6, default="silence")
    return f"{user}: {answer}, {interrupt('sure?', timeout=3600, default='no')}"

if __name__ == "__main__":
    trial.thread("ada").invoke("ada")
    trial.thread("bob").invoke("bob")
"""

MANY = """
import os, signal
from flowfn import entrypoint, task

@task
def work(number: int) -> int:
    if "survive" not in os.environ:
        os.kill(os.getpid(), signal.SIGKILL)
    if number == 1:
        raise ValueError("no ones")
    return number * 10

@entrypoint(checkpointer="many.db")
def job(number: int) -> int:
    return work(number).result()

@entrypoint(checkpointer="many.db")
async def later(number: int) -> int:
    return await work(number)

if __name__ == "__main__":
    import asyncio, sys
    number = int(sys.argv[1])
    asyncio.run(later(number)) if number % 2 else job(number)
"""


def outcomes(flowfn: Any, code: int, *arguments: str) -> dict[str, str]:
    ran = flowfn("recover", *arguments, "--json")
    assert ran.code == code, ran.err
    return {each["thread"]: each["status"] for each in json.loads(ran.out)}


def test_a_killed_run_goes_on(flowfn: Any, shop: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """G1: it ends, and what it had recorded is reused; runs that failed, or that ask, are left to somebody."""
    monkeypatch.setenv("survive", "yes")
    assert flowfn("recover", "app.py").out == "dead  done\n"
    found = json.loads(flowfn("show", "dead", "--json").out)
    assert (found["status"], found["result"], found["report"]["reused"]) == ("done", 3, 1)
    assert flowfn("recover", "app.py").out == "no runs to recover in runs.db\n"


def test_one_run_s_failure_is_its_own(
    flowfn: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, run_python: Callable[..., Any]
) -> None:
    """Exit code 1; the others, blocking and asyncio, have ended well."""
    (tmp_path / "many.py").write_text(MANY)
    monkeypatch.chdir(tmp_path)
    for number in range(4):
        assert run_python("many.py", str(number)).returncode == -9
    monkeypatch.setenv("survive", "yes")
    ran = flowfn("recover", "many.py", "--at-once", "2", "--json")
    found = json.loads(ran.out)
    assert ran.code == 1
    assert sorted(each["status"] for each in found) == ["done", "done", "done", "failed"]
    assert [each["error"] for each in found if each["error"]] == ["ValueError: no ones (at many.py:10)"]
    assert outcomes(flowfn, 0, "many.py") == {}


def test_a_question_whose_time_is_up(
    flowfn: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, run_python: Callable[..., Any]
) -> None:
    """Nobody waits for that answer any more; the run goes on with the default, to the next question."""
    (tmp_path / "late.py").write_text(LATE)
    monkeypatch.chdir(tmp_path)
    assert run_python("late.py").returncode == 0
    assert outcomes(flowfn, 0, "late.py") == {"ada": "interrupted", "bob": "interrupted"}
    assert outcomes(flowfn, 0, "late.py") == {}
    assert flowfn("answer", "ada", "yes", "late.py").out == "ada: silence, yes\n"


def test_runs_of_a_workflow_that_is_not_there(flowfn: Any, shop: Path) -> None:
    """They are told of, and left: another script's, or of a function that was renamed."""
    edit(shop, "def doomed", "def renamed")
    ran = flowfn("recover", "app.py")
    assert (ran.code, ran.out) == (0, "no runs to recover in runs.db\n")
    assert ran.err.startswith(
        "flowfn: 1 run left: the run is of workflow 'app.doomed', and app.py has basket, buy, "
    )
    assert json.loads(flowfn("show", "dead", "--json").out)["status"] == "killed"


def test_another_process_was_there_first(shop: Path, flowfn: Any) -> None:
    """G4: a run that somebody took up meanwhile is that one's, and not waited for."""
    found: list[Recovered] = []
    with SqliteSaver("runs.db") as saver:
        rows = due(saver, saver.threads(), datetime.now(UTC))
        workflow = program.find("app.py", rows[0])
        lease = saver.claim("dead")
        asyncio.run(recover([Left(workflow, "dead")], 1, found.append))
        saver.release(lease)
    assert found == [Recovered("dead", "running")]


TWINS = """
import os, signal, sys
from dataclasses import dataclass
from typing import TypedDict
from checkpointers import SqliteSaver
from flowfn import entrypoint, task
from graph_compat.graph import START, StateGraph

saver = SqliteSaver("twins.db")

def die_once():
    if "survive" not in os.environ:
        os.kill(os.getpid(), signal.SIGKILL)

@dataclass
class Shop:
    region: str

    @task
    def charge(self, cents: int) -> str:
        with open("charged", "a") as file:
            print(self.region, cents, file=file)
        return self.region

    @entrypoint(checkpointer=saver)
    def buy(self, cents: int) -> str:
        self.charge(cents).result()
        die_once()
        return self.charge(cents + 1).result()

class State(TypedDict):
    said: str

def graph(node, **options):
    built = StateGraph(State)
    built.add_node("say", node)
    built.add_edge(START, "say")
    return built.compile(**options)

def hello(state):
    die_once()
    return {"said": "hello"}

class Lazy:
    @property
    def __class__(self):
        raise RuntimeError("settings aren't configured")

settings = Lazy()
inner = graph(hello)
nested = graph(inner, checkpointer=saver)
us, eu = Shop("us"), Shop("eu")

if __name__ == "__main__":
    if sys.argv[1] == "graph":
        nested.invoke({"said": ""}, {"configurable": {"thread_id": "graph"}})
    else:
        Shop(sys.argv[1]).buy.thread(sys.argv[1]).invoke(1)
"""


@pytest.fixture
def twins(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, run_python: Callable[..., Any]
) -> Callable[..., None]:
    """Kills runs of a script that has several workflows of one name."""
    monkeypatch.chdir(tmp_path)

    def kill(*runs: str, more: str = "") -> None:
        (tmp_path / "twins.py").write_text(TWINS)
        for run in runs:
            assert run_python("twins.py", run).returncode == -9
        (tmp_path / "twins.py").write_text(TWINS.replace("\nif __name__", f"{more}\n\nif __name__"))
        monkeypatch.setenv("survive", "yes")

    return kill


def test_a_method_s_run_goes_on_with_its_object(
    flowfn: Any, tmp_path: Path, twins: Callable[..., None]
) -> None:
    """G2: of the objects of a class at the top level of the script, the one that is made with the same, once."""
    twins("us", "eu", more="buy = eu.buy")
    assert outcomes(flowfn, 0, "twins.py") == {"us": "done", "eu": "done"}
    assert sorted((tmp_path / "charged").read_text().splitlines()) == ["eu 1", "eu 2", "us 1", "us 2"]


def test_a_method_s_run_whose_object_is_not_there(flowfn: Any, twins: Callable[..., None]) -> None:
    """G2: no other object's method goes on with it, unless somebody names that."""
    twins("asia")
    ran = flowfn("recover", "twins.py")
    assert (ran.code, ran.out) == (0, "no runs to recover in twins.db\n")
    assert "made with something else than twins.py's eu.buy, us.buy" in ran.err
    assert flowfn("resume", "asia", "twins.py").code == 2
    unbound = flowfn("resume", "asia", "twins.py:Shop.buy")
    assert (unbound.code, "'Shop.buy' of twins.py is a method" in unbound.err) == (2, True)
    assert flowfn("resume", "asia", "twins.py:eu.buy").code == 0


def test_graphs_that_nobody_named(flowfn: Any, twins: Callable[..., None]) -> None:
    """G2: of two of a name nobody takes either."""
    twins("graph", more="other = graph(lambda state: {'said': 'wrong'}, checkpointer=saver)")
    ran = flowfn("recover", "twins.py")
    assert (ran.code, ran.out) == (0, "no runs to recover in twins.db\n")
    assert "several of that name: name one of nested, other" in ran.err
    (checkup,) = json.loads(flowfn("doctor", "twins.py", "--json").out)
    assert (checkup["verdict"], "name one of nested, other" in checkup["why"]) == ("decide", True)


def test_a_graph_within_another(flowfn: Any, twins: Callable[..., None]) -> None:
    """One that is a node of another has no runs of its own, though both have one name. Nothing else is looked into. Its
    run may be another script's, for all that its name tells (G2), and goes on where somebody says so."""
    twins("graph")
    ran = flowfn("recover", "twins.py")
    assert (ran.code, ran.out) == (0, "no runs to recover in twins.db\n")
    assert ran.err.startswith("flowfn: 1 run left: graphs that nobody named share a name")
    assert json.loads(flowfn("resume", "graph", "twins.py", "--json").out)["status"] == "done"
