"""`flowfn show`: the last run of a thread as a tree of calls, read without its program."""

import json
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest


def shown(flowfn: Any, thread: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(flowfn("show", thread, "--json").out)
    return found


def outline(calls: list[dict[str, Any]]) -> list[Any]:
    return [(call["name"], call["status"], outline(call["calls"])) for call in calls]


def test_calls_are_a_tree(flowfn: Any, shop: Path) -> None:
    """Section 5: those of a workflow called inside the run are under its call."""
    found = shown(flowfn, "asks-1")
    assert outline(found["calls"]) == [
        ("basket", "done", [("price", "done", []), ("price", "done", [])]),
        ("interrupt", "asked", []),
    ]
    (basket, _) = found["calls"]
    assert (basket["arguments"], basket["result"]) == ("items=['ink', 'pen']", 6)
    assert [call["arguments"] for call in basket["calls"]] == ["item='ink'", "item='pen'"]


def test_open_questions_have_ids_and_keys(flowfn: Any, shop: Path) -> None:
    """What `flowfn answer` needs to name them; a call that waits for one under it is shown as asking."""
    found = shown(flowfn, "both")
    assert sorted((question["key"], question["value"]) for question in found["questions"]) == [
        ("ann", "ann?"),
        ("bob", "bob?"),
    ]
    assert {len(question["id"]) for question in found["questions"]} == {32}
    assert outline(found["calls"]) == [("approve", "waiting", [("interrupt", "asked", [])])] * 2


def test_a_failed_run_shows_its_error(flowfn: Any, shop: Path) -> None:
    """At the call that failed, and as the run's."""
    found = shown(flowfn, "broke")
    charge = found["calls"][1]
    assert (charge["name"], charge["status"], charge["error"]) == (
        "charge",
        "failed",
        "ValueError: card declined",
    )
    assert found["error"] == "ValueError: card declined"
    assert "error: ValueError: card declined" in flowfn("show", "broke").out


def test_a_killed_run_shows_what_was_under_way(flowfn: Any, shop: Path) -> None:
    """G1, G3: what was recorded is there, and nothing that wasn't is called done."""
    found = shown(flowfn, "dead")
    assert found["status"] == "killed"
    assert [(call["name"], call["status"]) for call in found["calls"] if call["status"] == "done"] == [
        ("price", "done")
    ]
    assert found["result"] is None


def test_types_of_the_program_are_not_imported(flowfn: Any, shop: Path) -> None:
    """G5: a result of a type that isn't loaded is said to be there, and nothing is imported for it."""
    import sys

    found = shown(flowfn, "paid")
    assert found["result"] == "<known to the program only>"
    assert "app" not in sys.modules


def test_the_page_is_plain_text(flowfn: Any, shop: Path) -> None:
    """Where there is no terminal there are no control characters, and lines aren't cut."""
    ran = flowfn("show", "asks-1")
    assert ran.out.replace("\n", "").isprintable()
    assert ran.out.splitlines()[0] == "asks-1  app.order  interrupted"
    assert 'question: {"approve": 6} (id ' in ran.out


@pytest.mark.parametrize("part", ["broke", "bro", "oke"])
def test_a_part_of_an_id_will_do(flowfn: Any, shop: Path, part: str) -> None:
    """How it begins, or how it ends: ids that were made one after the other begin alike."""
    assert shown(flowfn, part)["thread"] == "broke"


def test_a_part_of_several_ids_is_refused(flowfn: Any, shop: Path) -> None:
    """Those that it could be are listed."""
    several = flowfn("show", "asks")
    assert several.code == 2
    assert "'asks' may be 2 threads: asks-2, asks-1; write more of the id" in several.err


@pytest.mark.parametrize("part", ["nobody", ""])
def test_a_part_of_no_id_is_refused(flowfn: Any, shop: Path, part: str) -> None:
    """It says what lists them."""
    none = flowfn("show", part)
    assert none.code == 2
    assert f"no thread's id is {part!r}, or begins or ends so: `flowfn ls` lists them" in none.err


def test_only_the_last_run_is_shown(flowfn: Any, tmp_path: Path) -> None:
    """A thread that was called twice shows the second call."""
    from checkpointers import SqliteSaver
    from flowfn import entrypoint, task

    saver = SqliteSaver(tmp_path / "runs.db")
    double = task(lambda x: 2 * x, name="double")
    chat = entrypoint(checkpointer=saver, name="chat")(lambda x: double(x).result())
    chat.invoke(1, thread_id="talk")
    chat.invoke(2, thread_id="talk")
    saver.close()
    found = json.loads(flowfn("show", "talk", "--json", "--db", tmp_path / "runs.db").out)
    assert [(call["arguments"], call["result"]) for call in found["calls"]] == [("x=2", 4)]
    assert found["result"] == 4


def test_the_divergence_report_is_shown(flowfn: Any, tmp_path: Path) -> None:
    """G9: where a resumed run differed from its record, the page says how."""
    from checkpointers import SqliteSaver
    from flowfn import entrypoint, task

    saver = SqliteSaver(tmp_path / "runs.db")
    double = task(lambda x: 2 * x, name="double")
    given = [1]

    @entrypoint(checkpointer=saver, name="edited")
    def edited(name: str) -> int:
        found: int = double(given[0]).result()
        if found == 2:
            raise ValueError("stop here")
        return found

    thread = edited.thread("talk")
    try:
        thread.invoke("ann")
    except ValueError:
        given[0] = 5
    assert thread.resume() == 10
    saver.close()
    db = tmp_path / "runs.db"
    kinds = [
        row[0]
        for row in json.loads(flowfn("show", "talk", "--json", "--db", db).out)["report"]["differences"]
    ]
    assert "orphan" in kinds
    assert "orphan: double(x=1)" in flowfn("show", "talk", "--db", db).out


def test_the_nodes_of_a_graph_are_shown(flowfn: Any, tmp_path: Path) -> None:
    """Each behind the number of its superstep; in JSON that is `step`, and None for a call."""
    from checkpointers import SqliteSaver
    from flowfn import task
    from graph_compat.graph import START, StateGraph

    double = task(lambda x: 2 * x, name="double")
    graph = StateGraph(dict)
    graph.add_node("first", lambda state: {"found": double(4).result()})
    graph.add_edge(START, "first")
    db = tmp_path / "runs.db"
    with SqliteSaver(db) as saver:
        graph.compile(checkpointer=saver, name="small").invoke({}, {"configurable": {"thread_id": "t"}})
    (first,) = json.loads(flowfn("show", "t", "--json", "--db", db).out)["calls"]
    assert (first["name"], first["step"], first["status"]) == ("first", 1, "done")
    assert [(call["name"], call["step"]) for call in first["calls"]] == [("double", None)]
    lines = flowfn("tail", "t", "--db", db).out.splitlines()
    assert [line.split("  ")[:2] for line in lines[1:3]] == [["double(x=4)", "done"], ["1", "first"]]
    assert "1  first  done" in flowfn("show", "t", "--db", db).out


def test_a_value_that_has_no_repr_is_shown(flowfn: Any, tmp_path: Path) -> None:
    """Python writes no number of more than 4,300 decimals, and a record may hold one."""
    from checkpointers import SqliteSaver
    from flowfn import entrypoint

    saver = SqliteSaver(tmp_path / "runs.db")
    entrypoint(checkpointer=saver, name="power")(lambda x: [10**x]).invoke(5000, thread_id="t")
    saver.close()
    page, as_json = (
        flowfn("show", "t", "--db", tmp_path / "runs.db", *more).out for more in ((), ("--json",))
    )
    assert "[<int of 16610 bits>]" in page
    assert json.loads(as_json)["result"] == "[<int of 16610 bits>]"


def test_a_long_run_is_shown_with_a_limit(flowfn: Any, tmp_path: Path) -> None:
    """Of one caller's calls the last hundred have lines, whatever becomes of the others: they are counted, and `--all`
    has them."""
    from checkpointers import SqliteSaver
    from flowfn import entrypoint, task

    @task(name="double")
    def double(x: int) -> int:
        if x < 2:
            raise ValueError("too small")
        return 2 * x

    @entrypoint(name="many")
    def many() -> None:
        for x in range(203):
            double(x).exception()

    db = tmp_path / "runs.db"
    with SqliteSaver(db) as saver:
        many.with_checkpointer(saver).thread("t")()
    assert flowfn("show", "t", "--db", db).out.count("double(x=") == 100
    lines = flowfn("show", "t", "--db", db).out.splitlines()
    assert lines[1].endswith("double: 103 calls  done")
    assert lines[-1] == "103 calls without a line: flowfn show --all has them"
    assert [line for line in lines if "too small" in line] != []  # those that failed are the last to go
    all = flowfn("show", "t", "--all", "--db", db).out
    assert (all.count("double(x="), "without a line" in all) == (203, False)
    assert len(json.loads(flowfn("show", "t", "--json", "--db", db).out)["calls"]) == 203


def test_calls_that_failed_have_a_limit_too(flowfn: Any, tmp_path: Path) -> None:
    """They are counted once no more of those that ended well are left to be."""
    from checkpointers import SqliteSaver
    from flowfn import entrypoint, task

    @task(name="broken")
    def broken(x: int) -> None:
        raise ValueError(x)

    @entrypoint(name="many")
    def many() -> None:
        for x in range(150):
            broken(x).exception()

    db = tmp_path / "runs.db"
    with SqliteSaver(db) as saver:
        many.with_checkpointer(saver).thread("t")()
    shown = flowfn("show", "t", "--db", db).out
    assert (shown.count("broken(x="), "broken: 50 calls  failed" in shown) == (100, True)


def test_what_calls_came_to_is_shown_in_short(flowfn: Any, tmp_path: Path) -> None:
    """Results and answers in the line of their call, cut; none where it is None."""
    from checkpointers import SqliteSaver
    from flowfn import Command, entrypoint, interrupt, task

    saver = SqliteSaver(tmp_path / "runs.db")
    count = task(lambda x: {"items": list(range(x))}, name="count")
    write = task(lambda x: "line\n" * x, name="write")

    @entrypoint(checkpointer=saver, name="wf")
    def wf(x: int) -> Any:
        count(x).result(), write(x).result(), task(print)().result()
        return interrupt("ok?")

    wf.invoke(100, thread_id="t")
    wf.invoke(Command(resume="yes"), thread_id="t")
    saver.close()
    lines = flowfn("show", "t", "--db", tmp_path / "runs.db").out.splitlines()
    assert [line.partition("(")[0][4:] + line.partition("ms")[2] for line in lines[1:4]] == [
        "count  → {'items': [0, 1, 2, 3, …]}",
        "write  → '" + r"line\n" * 9 + "li…'",
        "print",
    ]
    assert lines[4] == "└── interrupt(value='ok?')  answered  → 'yes'"


@pytest.mark.parametrize("until", [4102444800.0, 1e300])
def test_a_sleep_says_until_when(flowfn: Any, tmp_path: Path, until: float) -> None:
    """In UTC; a time that no calendar has is a number."""
    from checkpointers import SqliteSaver
    from flowfn import entrypoint
    from flowfn.functional.recorded import _once

    saver = SqliteSaver(tmp_path / "runs.db")
    entrypoint(checkpointer=saver, name="wf")(lambda: _once("flowfn.sleep", lambda: until)).thread("t")()
    saver.close()
    (line,) = flowfn("show", "t", "--db", tmp_path / "runs.db").out.splitlines()[1:2]
    assert line == "└── sleep()  done  <1ms  " + (
        "until 2100-01-01 00:00:00 UTC" if until < 1e300 else "→ 1e+300"
    )


def test_a_task_called_sleep_has_a_result(flowfn: Any, tmp_path: Path) -> None:
    """A number is a time of flowfn's own `sleep()` only."""
    from checkpointers import SqliteSaver
    from flowfn import entrypoint, task

    saver = SqliteSaver(tmp_path / "runs.db")
    sleep = task(lambda: 3.5, name="sleep")
    entrypoint(checkpointer=saver, name="wf")(lambda: sleep().result()).thread("t")()
    saver.close()
    shown = flowfn("show", "t", "--db", tmp_path / "runs.db").out.splitlines()[1]
    assert shown.endswith("ms  → 3.5")


@pytest.mark.parametrize(
    ("durability", "ends", "has_calls"),
    [("sync", "well", True), ("exit", "well", False), ("exit", "failed", True), ("exit", "asking", True)],
)
def test_a_run_without_calls_says_why(
    flowfn: Any, tmp_path: Path, durability: Any, ends: str, has_calls: bool
) -> None:
    """One that keeps nothing before it ends keeps its calls where they are needed again, and else what it came to."""
    from checkpointers import SqliteSaver
    from flowfn import entrypoint, interrupt, task

    saver = SqliteSaver(tmp_path / "runs.db")
    double = task(lambda x: 2 * x, name="double")

    @entrypoint(checkpointer=saver, name="wf", durability=durability)
    def wf(x: int) -> Any:
        doubled = double(x).result()
        if ends == "failed":
            raise ValueError("lost")
        return interrupt("ok?") if ends == "asking" else doubled

    with suppress(ValueError):
        wf.invoke(1, thread_id="t")
    saver.close()
    out = flowfn("show", "t", "--db", tmp_path / "runs.db").out
    assert ("double(x=1)" in out) is has_calls
    why = 'the run made none, or had durability="exit", which keeps them if it fails or asks'
    assert (f"no calls are recorded: {why}" in " ".join(out.split())) is not has_calls


def test_a_secret_is_shown_as_stars(flowfn: Any, tmp_path: Path) -> None:
    """In a result as among the arguments."""
    from pydantic import SecretStr

    from checkpointers import SqliteSaver
    from flowfn import entrypoint, task

    saver = SqliteSaver(tmp_path / "runs.db")
    renew = task(lambda key: SecretStr(key.get_secret_value() + "2"), name="renew")
    entrypoint(checkpointer=saver, name="wf")(lambda: renew(SecretStr("hunter")).result() and 1).thread("t")()
    saver.close()
    shown = flowfn("show", "t", "--db", tmp_path / "runs.db").out.splitlines()[1]
    assert shown.partition("  ")[0] == "└── renew(key=SecretStr('**********'))"
    assert shown.endswith("→ SecretStr('**********')")
