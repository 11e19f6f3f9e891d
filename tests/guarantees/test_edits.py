"""G2, G9, section 4: the code is edited between a kill and the resume, and no call gets another's result."""

from __future__ import annotations

import asyncio
import random
import sys
import uuid
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from flowfn import NonDeterminismError, Workflow, entrypoint, task
from flowfn.ports import Saver
from flowfn.testing.processes import Crash

from .crashing import Disk, Job, World
from .editing import HEAD, Edited, kinds, rows, shown

TWO = """
x = fetch("a").result()
y = fetch("b").result()
die()
return [x, y]
"""

# -- the edits that make peers return wrong results -----------------------------------------------


def test_changed_arguments_run_anew(versions: Edited) -> None:
    """G2: calls with other arguments run, and the report says which records nobody asked for."""
    versions.record(TWO)
    after = versions.resume(TWO.replace('"a"', '"X"').replace('"b"', '"Y"'))
    assert (after.result, after.ran) == (["R(X)", "R(Y)"], ["fetch('X')", "fetch('Y')"])
    assert (after.report.reused, after.report.ran) == (0, 2)
    assert [shown(call) for call in after.report.orphans] == ["fetch(url='a')", "fetch(url='b')"]


def test_swapped_calls_are_matched_by_their_arguments(versions: Edited) -> None:
    """G9: each of two swapped calls finds its own record; there is nothing to report."""
    versions.record(TWO)
    after = versions.resume(TWO.replace('"b"', '"c"').replace('"a"', '"b"').replace('"c"', '"a"'))
    assert (after.result, after.ran, rows(after.report)) == (["R(b)", "R(a)"], [], [])
    assert (after.report.reused, after.report.ran) == (2, 0)


def test_a_call_inserted_in_front_runs_alone(versions: Edited) -> None:
    """G9: the calls behind an inserted one keep their results."""
    versions.record(TWO)
    after = versions.resume('w = fetch("new").result()\n' + TWO.replace("[x, y]", "[w, x, y]"))
    assert (after.result, after.ran) == (["R(new)", "R(a)", "R(b)"], ["fetch('new')"])
    assert (after.report.reused, after.report.ran) == (2, 1)


def test_a_renamed_call_runs_and_its_record_is_an_orphan(versions: Edited) -> None:
    """G9: another task is another call, whatever its arguments; the rest is reused."""
    versions.record(TWO)
    after = versions.resume(TWO.replace('y = fetch("b")', 'y = store("b")'))
    assert (after.result, after.ran) == (["R(a)", "S(b)"], ["store('b')"])
    assert rows(after.report) == [("orphan", "fetch(url='b')", "-")]


CHAINS = """
async def chain(name):
    first = await step(f"{name}1")
    return [first, await step(f"{name}2")]
found = await asyncio.gather(chain("a"), chain("b"))
die()
return found
"""


def test_concurrent_chains_keep_their_results(versions: Edited) -> None:
    """G2: two chains of one task under `asyncio.gather`, with no edit at all."""
    versions.record(CHAINS)
    after = versions.resume(CHAINS)
    assert (after.result, after.ran, rows(after.report)) == ([["R(a1)", "R(a2)"], ["R(b1)", "R(b2)"]], [], [])


@pytest.mark.parametrize(("policy", "seeds"), [("doubt", range(1000)), ("error", range(1000, 1200))])
def test_concurrent_chains_in_any_order_of_completion(policy: Any, seeds: range) -> None:
    """G2: chains that finish in another order on replay, killed at any I/O, in 1,000 random schedules."""
    for seed in seeds:
        schedule = random.Random(seed)
        job = Job(Disk(None), "ainvoke", partial(racing_chains, schedule, policy), 0)
        with suppress(Crash):
            job.run(schedule.randint(4, 15), schedule.choice(["before", "after"]))
        assert (job.run(), job.world.violations) == ([[0, 1, 2]] * 3, []), f"seed {seed}"


def racing_chains(schedule: random.Random, policy: Any, world: World, saver: Saver) -> Workflow[Any, Any]:
    """Three chains of three calls of one task, each of which takes a random number of turns."""

    @task(ignore="turns")
    async def step(chain: str, number: int, turns: int) -> tuple[str, int, str]:
        world.runs(f"{chain}{number}")
        for _ in range(turns):
            await asyncio.sleep(0)
        return chain, number, uuid.uuid4().hex

    async def chain(name: str) -> list[int]:
        numbers = []
        for i in range(3):
            for _ in range(schedule.randint(0, 5)):
                await asyncio.sleep(0)
            result = world.sees(f"{name}{i}", await step(name, i, schedule.randint(0, 5)))
            assert result[0] == name
            numbers.append(result[1])
        return numbers

    @entrypoint(checkpointer=saver, on_divergence=policy)
    async def flow(n: int) -> list[list[int]]:
        return await asyncio.gather(chain("a"), chain("b"), chain("c"))

    return flow


# -- rule 1: the same identity ----------------------------------------------------------------------


def test_a_reordered_loop_runs_nothing(edited: Edited) -> None:
    """Rule 1: calls are matched by arguments, so their order may change."""
    loop = "found = [fetch(str(i)).result() for i in range(5)]\ndie()\nreturn found"
    edited.record(loop)
    after = edited.resume(loop.replace("range(5)", "reversed(range(5))"))
    assert (after.result, after.ran, rows(after.report)) == ([f"R({i})" for i in (4, 3, 2, 1, 0)], [], [])


def test_a_removed_call_is_an_orphan(edited: Edited) -> None:
    """Section 4: a record that no call has asked for is reported, with the place it was made at."""
    edited.record(TWO)
    after = edited.resume('x = fetch("a").result()\nreturn [x]')
    assert (after.result, rows(after.report)) == (["R(a)"], [("orphan", "fetch(url='b')", "-")])
    assert "app.py:" in after.report.orphans[0].site


def test_equal_calls_are_records_of_their_own(edited: Edited) -> None:
    """Rule 1: three equal calls are three records; of four after an edit, one runs."""
    polls = "found = [fetch('same').result() for _ in range(3)]\ndie()\nreturn found"
    first = edited.record(polls)
    after = edited.resume(polls.replace("range(3)", "range(4)"))
    assert (len(first.ran), after.ran) == (3, ["fetch('same')"])


def test_a_new_file_in_a_folder_is_processed_alone(edited: Edited) -> None:
    """Rule 4: a script that lists a folder and finds one more file runs that file, wherever it sorts."""
    body = "import os\nfound = [store(name).result() for name in sorted(os.listdir(n))]\ndie()\nreturn found"
    inbox = edited.folder / "inbox"
    inbox.mkdir()
    for name in ("b.txt", "d.txt"):
        (inbox / name).touch()
    edited.record(body, str(inbox))
    (inbox / "a.txt").touch()
    (inbox / "c.txt").touch()
    after = edited.resume(body)
    assert after.result == ["S(a.txt)", "S(b.txt)", "S(c.txt)", "S(d.txt)"]
    assert (after.ran, after.report.orphans) == (["store('a.txt')", "store('c.txt')"], [])


# -- rule 2: the same but for the clock -------------------------------------------------------------


@pytest.mark.parametrize(
    "clock", ["datetime.datetime.now()", "time.time()", "uuid.uuid1()", "str(uuid.uuid1())"]
)
def test_an_argument_that_is_the_time_is_reused_and_reported(edited: Edited, clock: str) -> None:
    """Rule 2: the time of the call, made anew on each run, doesn't make another call of it."""
    body = f"x = stamp('a', {clock}).result()\ndie()\nreturn x"
    edited.record(body)
    after = edited.resume(body)
    assert (after.result, after.ran, kinds(after.report)) == ("T(a)", [], ["clock"])


def test_the_clock_excuses_nothing_else(edited: Edited) -> None:
    """Rule 2: a call that differs in the time and in something else is another call."""
    body = "x = stamp('a', time.time()).result()\ndie()\nreturn x"
    edited.record(body)
    after = edited.resume(body.replace("'a'", "'b'"))
    assert (after.result, after.ran) == ("T(b)", ["stamp('b')"])


def test_a_date_that_is_no_clock_is_a_new_call(edited: Edited) -> None:
    """Rule 2: only leaves that were the time of the call, then and now, count as the clock."""
    body = "x = stamp('a', datetime.datetime(2001, 1, 1 + len(str(n)))).result()\ndie()\nreturn x"
    edited.record(body, 0)
    after = edited.resume(body.replace("len(str(n))", "2"))
    assert after.ran == ["stamp('a')"]


# -- rule 3: in doubt -------------------------------------------------------------------------------

RANDOM = ["str(uuid.uuid4())", "secrets.token_hex(16)", "uuid.uuid4()"]

DOUBT = """
x = stamp("a", {value}).result()
y = fetch("after" + n).result()
die()
return x
"""


@pytest.mark.parametrize("value", RANDOM)
def test_a_random_argument_is_refused_before_anything_runs(edited: Edited, value: str) -> None:
    """Rule 3: made anew, or another item? Nothing runs until the author has said which."""
    body = DOUBT.format(value=value)
    edited.record(body, "!")
    after = edited.resume(body)
    assert isinstance(edited.error, NonDeterminismError)
    assert (after.ran, kinds(after.report)[0]) == ([], "doubt")


def test_the_refusal_shows_both_calls_and_what_to_do(edited: Edited) -> None:
    """Rule 3: the message has both renderings, with file and line, and the four ways out."""
    body = DOUBT.format(value="secrets.token_hex(16)")
    edited.record(body, "!")
    edited.resume(body)
    message, report = str(edited.error), edited.error.report  # type: ignore[union-attr]
    doubt = next(row for row in report if row.kind == "doubt")
    assert str(doubt.recorded) in message
    assert str(doubt.current) in message
    assert [
        word for word in ("flowfn.uuid4()", "key=", "ignore=", "on_divergence=") if word not in message
    ] == []


def test_the_refusal_cannot_be_swallowed(edited: Edited) -> None:
    """Rule 3, G8: code that catches every error runs nothing more, and the run is refused all the same."""
    body = """
    try:
        x = stamp("a", secrets.token_hex(16)).result()
    except Exception:
        x = "swallowed"
    die()
    try:
        y = fetch("more").result()
    except Exception:
        y = "swallowed too"
    return [x, y]
    """
    edited.record(body)
    after = edited.resume(body)
    assert isinstance(edited.error, NonDeterminismError)
    assert (after.result, after.ran) == (None, [])


def test_a_refused_run_can_be_decided_once(edited: Edited) -> None:
    """Rule 3: the same thread goes on once the author has chosen."""
    body = DOUBT.format(value="secrets.token_hex(16)")
    edited.record(body, "!")
    edited.resume(body)
    after = edited.resume(body, options="on_divergence='reuse'")
    assert (edited.error, after.result, after.ran) == (None, "T(a)", [])


@pytest.mark.parametrize(
    ("policy", "ran", "kind"), [("reuse", [], "position"), ("rerun", ["stamp('a')"], "new")]
)
@pytest.mark.parametrize("where", ["entrypoint", "call"])
def test_on_divergence_decides(edited: Edited, where: str, policy: str, ran: list[str], kind: str) -> None:
    """Section 4: on the entrypoint, or on one call of it."""
    body = DOUBT.format(value="secrets.token_hex(16)")
    options = f"on_divergence={policy!r}" if where == "entrypoint" else ""
    if where == "call":
        body = body.replace("stamp(", f"stamp.with_options(on_divergence={policy!r})(")
    edited.record(body, "!", options=options)
    after = edited.resume(body, options=options)
    assert (edited.error, after.result, after.ran) == (None, "T(a)", ran)
    assert kind in kinds(after.report)


@pytest.mark.parametrize("where", ["entrypoint", "call"])
def test_on_divergence_error_allows_no_new_call(edited: Edited, where: str) -> None:
    """Section 4: `"error"` refuses any new call while a record of its name is unmatched."""
    body = "x = fetch(n).result()\ndie()\nreturn x"
    changed = body.replace("fetch(n)", "fetch('other')")
    options = "on_divergence='error'" if where == "entrypoint" else ""
    if where == "call":
        changed = changed.replace("fetch(", "fetch.with_options(on_divergence='error')(")
    edited.record(body, "a", options=options)
    after = edited.resume(changed, options=options)
    assert isinstance(edited.error, NonDeterminismError)
    assert (after.ran, kinds(after.report)[0]) == ([], "forbidden")


def test_on_divergence_reuse_trusts_no_position_in_edited_code(edited: Edited) -> None:
    """Section 4: `"reuse"` goes by position only while the code of the calling scope is unchanged."""
    edited.record(TWO, options="on_divergence='reuse'")
    after = edited.resume(
        'w = fetch("new").result()\n' + TWO.replace("[x, y]", "[w, x, y]"), options="on_divergence='reuse'"
    )
    assert (after.result, after.ran) == (["R(new)", "R(a)", "R(b)"], ["fetch('new')"])


@pytest.mark.parametrize("option", ["ignore='when'", "key='item'", "key=lambda item, when: item"])
def test_what_does_not_identify_a_call_may_change(edited: Edited, option: str) -> None:
    """Section 4: `ignore=` and `key=` are the author's word, and there is nothing to report."""
    head = HEAD.replace("@task\ndef stamp", f"@task({option})\ndef stamp")
    body = DOUBT.format(value="secrets.token_hex(16)")
    edited.record(body, "!", head=head)
    after = edited.resume(body, head=head)
    assert (edited.error, after.result, after.ran, rows(after.report)) == (None, "T(a)", [], [])


BRANCHES = """
async def slow():
    await asyncio.sleep(0.05)
    return await step("slow")
async def quick():
    return await step("quick")
found = await asyncio.gather(slow(), quick())
die()
return found
"""

LONGER = BRANCHES.replace('return await step("quick")', 'return await step("quick") + await step("new")')


def test_a_slow_branch_is_no_false_alarm(edited: Edited) -> None:
    """Section 4: under `"error"`, a new call waits for the branch that has yet to claim its record."""
    edited.record(BRANCHES, options="on_divergence='error'")
    after = edited.resume(LONGER, options="on_divergence='error'")
    assert (edited.error, after.result, after.ran) == (None, ["R(slow)", "R(quick)R(new)"], ["step('new')"])


def test_a_branch_that_never_claims_its_record_is_an_alarm(edited: Edited) -> None:
    """Section 4: under `"error"`, a new call in place of a recorded one is refused in asyncio too."""
    edited.record(BRANCHES, options="on_divergence='error'")
    after = edited.resume(LONGER.replace('step("slow")', "asyncio.sleep(0)"), options="on_divergence='error'")
    assert isinstance(edited.error, NonDeterminismError)
    assert (after.result, after.ran) == (None, [])


def test_a_random_argument_is_refused_in_asyncio_too(edited: Edited) -> None:
    """Rule 3, G7: nothing new runs in any branch until the author has said which it is."""
    body = """
    found = await asyncio.gather(step(secrets.token_hex(16)), step("known"))
    die()
    return found
    """
    edited.record(body)
    after = edited.resume(body)
    assert isinstance(edited.error, NonDeterminismError)
    assert (after.result, after.ran) == (None, [])


def test_branches_whose_items_moved_are_refused_before_one_runs_again(edited: Edited) -> None:
    """Rule 3: an order that has gone moves the others to other branches, where nobody comes for their records."""
    body = """
    async def pay(order):
        return await step(f"{order} {secrets.token_hex(16)}")

    orders = ["a", "b", "c"][0 if DIES else 1 :]
    found = await asyncio.gather(*map(pay, orders))
    die()
    return found
    """
    edited.record(body)
    after = edited.resume(body)
    assert isinstance(edited.error, NonDeterminismError)
    assert (after.result, after.ran) == (None, [])


# -- code that changed ------------------------------------------------------------------------------

FIXED = HEAD.replace('return f"R({url})"', 'return f"fixed R({url})"')


def test_the_result_of_an_edited_task_is_reused_and_reported(edited: Edited) -> None:
    """G9: by default a recorded result outlives the code that made it, and the report says so."""
    edited.record(TWO)
    after = edited.resume(TWO, head=FIXED)
    assert (after.result, after.ran, kinds(after.report)) == (["R(a)", "R(b)"], [], ["code", "code"])


def test_an_edited_task_runs_anew_where_it_says_so(edited: Edited) -> None:
    """G9: `on_code_change="rerun"` makes results of other code count for nothing."""
    rerun = ("@task\ndef fetch", "@task(on_code_change='rerun')\ndef fetch")
    edited.record(TWO, head=HEAD.replace(*rerun))
    after = edited.resume(TWO, head=FIXED.replace(*rerun))
    assert after.result == ["fixed R(a)", "fixed R(b)"]
    assert kinds(after.report) == ["rerun", "rerun"]


def test_a_helper_that_is_edited_while_the_process_runs_is_seen(sqlite_saver: Saver) -> None:
    """G9: a notebook's cell that is run again changes the code of the tasks whose cells aren't; so does a reload."""
    space: dict[str, Any] = {"__name__": "notebook", "saver": sqlite_saver}
    exec(NOTEBOOK, space)
    flow = space["flow"].thread("t")
    assert flow.invoke("a")["__interrupt__"]
    exec("def helper(url): return f'other {url}'", space)
    assert (flow.resume("yes"), space["ran"]) == (["R(a)", "other a"], ["kept", "rerun", "rerun"])
    assert kinds(flow.report) == ["code", "rerun"]


NOTEBOOK = """
from flowfn import entrypoint, interrupt, task

ran = []

def helper(url):
    return f"R({url})"

@task
def kept(url):
    ran.append("kept")
    return helper(url)

@task(on_code_change="rerun")
def rerun(url):
    ran.append("rerun")
    return helper(url)

@entrypoint(checkpointer=saver)
def flow(url):
    found = [kept(url).result(), rerun(url).result()]
    interrupt("go on?")
    return found
"""


@pytest.mark.parametrize(("library", "price"), [("IMPORTING", "prices.price"), ("MAKING", "price")])
def test_code_that_comes_to_be_there_is_no_edit(
    sqlite_saver: Saver, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, library: str, price: str
) -> None:
    """G2, G9: a module that code imports where it needs it, or that makes its attributes, was meant all along."""
    package = tmp_path / "library_of_it"
    package.mkdir()
    (package / "__init__.py").write_text(globals()[library])
    (package / "prices.py").write_text("def price(x):\n    return x * 2\n")
    monkeypatch.syspath_prepend(tmp_path)
    space: dict[str, Any] = {"__name__": "notebook", "saver": sqlite_saver}
    try:
        file = tmp_path / "notebook.py"
        file.write_text(CHARGING.replace("PRICE", f"library_of_it.{price}"))
        exec(compile(file.read_text(), str(file), "exec", dont_inherit=True), space)
        flow = space["flow"].thread("t")
        assert flow.invoke(1)["__interrupt__"]
        assert (flow.resume("yes"), space["ran"]) == (2, ["charge"])
    finally:
        for name in ("library_of_it", "library_of_it.prices"):
            sys.modules.pop(name, None)


CHARGING = """
import datetime
import library_of_it
from flowfn import entrypoint, interrupt, task

ran = []

@task
def charge(x, at):
    ran.append("charge")
    return x

@entrypoint(checkpointer=saver)
def flow(x):
    charged = charge(x, datetime.datetime.now()).result()
    library_of_it.load()
    priced = PRICE(charged)
    interrupt("go on?")
    return priced
"""

IMPORTING = """
def load():
    import library_of_it.prices
"""

MAKING = """
def load():
    pass

def __getattr__(name):
    if name != "price":
        raise AttributeError(name)
    from library_of_it.prices import price
    globals()["price"] = price
    return price
"""


def test_what_an_edited_task_came_to_anew_is_kept(edited: Edited) -> None:
    """G1, G9: what ran anew is a record of the new code: it doesn't run at each resume from then on."""
    asking = "pages = [fetch(url).result() for url in ['a', 'b']]\ninterrupt('?')\ndie()\nreturn pages"
    rerun = ("@task\ndef fetch", "@task(on_code_change='rerun')\ndef fetch")
    old, new = HEAD.replace(*rerun), FIXED.replace(*rerun)
    edited.run(asking, 0, head=old)
    assert edited.run(asking, None, head=new).ran == ["fetch('a')", "fetch('b')"]
    answered = edited.answer(asking, "yes", head=new)
    assert (answered.result, answered.ran, kinds(answered.report)) == (["fixed R(a)", "fixed R(b)"], [], [])


def test_a_record_is_of_the_code_that_made_it(edited: Edited) -> None:
    """G2, G9: with the edit taken back, what the edited task came to is a result of other code again."""
    asking = "page = fetch('a').result()\ninterrupt('?')\nreturn page"
    rerun = ("@task\ndef fetch", "@task(on_code_change='rerun')\ndef fetch")
    old, new = HEAD.replace(*rerun), FIXED.replace(*rerun)
    edited.run(asking, 0, head=old)
    edited.run(asking, None, head=new)
    back = edited.answer(asking, "yes", head=old)
    assert (back.result, back.ran, kinds(back.report)) == ("R(a)", ["fetch('a')"], ["rerun"])


@pytest.mark.parametrize("policy", ["rerun", "error"])
def test_a_call_that_the_old_code_only_began_is_of_the_new(edited: Edited, policy: str) -> None:
    """G1, G9: died in its old code, ended in the new: the record is of the new, and nothing changed since."""
    body = "page = fetch('a').result()\ninterrupt('?')\nreturn page"
    nests = f"@task(on_code_change={policy!r})\ndef fetch(url):\n    store(url).result()\n    die()\n"
    old, new = (head.replace("@task\ndef fetch(url):\n", nests) for head in (HEAD, FIXED))
    assert edited.record(body, head=old).ran == ["store('a')"]
    assert edited.run(body, None, head=new).ran == ["fetch('a')"]
    answered = edited.answer(body, "yes", head=new)
    assert (edited.error, answered.result, answered.ran) == (None, "fixed R(a)", [])


def test_an_edited_task_is_refused_where_it_says_so(edited: Edited) -> None:
    """G9: `on_code_change="error"` refuses before anything new runs."""
    refuse = ("@task\ndef fetch", "@task(on_code_change='error')\ndef fetch")
    edited.record(TWO, head=HEAD.replace(*refuse))
    after = edited.resume(TWO, head=FIXED.replace(*refuse))
    assert isinstance(edited.error, NonDeterminismError)
    assert (after.result, after.ran) == (None, [])


def test_version_stands_for_the_code(edited: Edited) -> None:
    """Section 4: of the same `version=` is the same code, whatever was edited; of another is other code."""
    first, second = (
        ("@task\ndef fetch", f"@task(version={v!r}, on_code_change='rerun')\ndef fetch") for v in "12"
    )
    edited.record(TWO, head=HEAD.replace(*first))
    same = edited.run(TWO, None, dies=True, head=FIXED.replace(*first))
    assert (same.ran, kinds(same.report)) == ([], [])
    other = edited.resume(TWO, head=FIXED.replace(*second))
    assert other.ran == ["fetch('a')", "fetch('b')"]


def test_comments_and_layout_are_no_change(edited: Edited) -> None:
    """Section 4: the fingerprint is of the parsed code, without comments, docstrings and annotations."""
    edited.record(TWO)
    head = HEAD.replace(
        "def fetch(url):\n", 'def fetch(url: str) -> str:\n    """Fetch."""\n    # a comment\n\n'
    )
    after = edited.resume("# moved down\n" + TWO, head=head)
    assert (after.ran, rows(after.report)) == ([], [])


def test_edited_functions_of_one_factory_keep_their_records(edited: Edited) -> None:
    """G9: what a factory's functions captured tells them apart, so that an edit of their code is one of each."""
    factory = """
    def make(k):
        @task
        def scaled(x):
            RAN.append(f"scaled({k})")
            return x * k
        return scaled
    steps = [make(k) for k in (1, 2, 3)]
    found = [step(7).result() for step in steps]
    die()
    return found
    """
    edited.record(factory)
    after = edited.resume(factory.replace("x * k", "x * k + 0").replace("(1, 2, 3)", "(3, 4, 2)"))
    assert after.result == [21, 28, 14]
    assert after.ran == ["scaled(4)"]
    assert "code" in kinds(after.report)
