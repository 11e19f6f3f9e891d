"""`flowfn tail`: a run watched from outside while it goes on."""

import json
import threading
from pathlib import Path
from typing import Any

import pytest

from checkpointers import SqliteSaver
from flowfn import entrypoint, task
from flowfn.cli import tailing
from flowfn.cli.tailing import ended, watched
from flowfn.history.reading import ThreadView, view
from flowfn.ports import ThreadRow


def test_each_call_that_ended_has_a_line(flowfn: Any, shop: Path) -> None:
    """Where there is no terminal: the calls within a call first, then what the run came to."""
    ran = flowfn("tail", "asks-1")
    assert ran.code == 3
    names = [line.split("  ")[0] for line in ran.out.splitlines()]
    assert names[:4] == ["asks-1", "price(item='ink')", "price(item='pen')", "basket(items=['ink', 'pen'])"]
    assert names[-1].startswith('question: {"approve": 6}')


def test_lines_of_json(flowfn: Any, shop: Path) -> None:
    """One for each call, and the whole page at the end."""
    *calls, last = [json.loads(line) for line in flowfn("tail", "paid", "--json").out.splitlines()]
    assert [call["call"]["name"] for call in calls] == ["price", "basket", "charge"]
    assert last["run"]["status"] == "done"


@pytest.mark.parametrize(("thread", "code"), [("paid", 0), ("broke", 1), ("dead", 1), ("both", 3)])
def test_the_exit_code_is_that_of_the_run(flowfn: Any, shop: Path, thread: str, code: int) -> None:
    """As if the command had run it."""
    assert flowfn("tail", thread).code == code


def test_a_run_is_followed_until_it_ends(tmp_path: Path) -> None:
    """What ends between two looks is told once, and the last look is of the run as it ended."""
    saver, gate, begun = SqliteSaver(tmp_path / "runs.db"), threading.Event(), threading.Event()

    @task
    def step(x: int) -> int:
        if x == 2:
            begun.set()
            gate.wait(60)
        return x

    flow = entrypoint(checkpointer=saver, name="flow")(lambda n: [step(x).result() for x in range(n)])
    runner = threading.Thread(target=flow.invoke, args=(4,), kwargs={"thread_id": "t"})
    runner.start()
    begun.wait(60)

    def wait(seconds: float) -> None:
        gate.set()
        runner.join()

    def look() -> Any:
        row = saver.thread("t")
        assert row is not None
        return view(saver, row)

    told: set[tuple[str, str]] = set()
    looks = [
        (seen.row.status, [call.arguments for call in ended(seen.calls, told)])
        for seen in watched(look, 1.0, wait)
    ]
    assert looks == [("running", ["x=0", "x=1"]), ("done", ["x=2", "x=3"])]
    saver.close()


def test_the_last_line_says_how_it_ended(capsys: pytest.CaptureFixture[str]) -> None:
    """A run that was killed while it was watched leaves nothing else to say."""
    running = ThreadRow("t", "app.flow", "", "running", "somebody", "", "")
    views = [ThreadView(row) for row in (running, running, running._replace(owner=None))]
    tailing._lines(iter(views))
    assert capsys.readouterr().out.splitlines() == ["t  app.flow  running", "t  app.flow  killed"]
