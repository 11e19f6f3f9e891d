"""Section 4, G3, G8: errors, unfinished calls and answers on replay: what is reused, and what runs again."""

from __future__ import annotations

from flowfn import Command

from .editing import HEAD, Edited, rows

FAILING = (
    HEAD
    + """

@task
def fails(name):
    RAN.append(f"fails({name!r})")
    raise ConnectionError(f"{name} is down")
"""
)


def test_a_caught_error_that_was_acted_upon_is_replayed(edited: Edited) -> None:
    """Section 4: the caller went on after the error, so that it is part of what happened."""
    body = """
    try:
        x = fails("host").result()
    except ConnectionError as error:
        x = fetch(f"after {error}").result()
    die()
    return x
    """
    edited.record(body, head=FAILING)
    after = edited.resume(body, head=FAILING)
    assert (after.result, after.ran) == ("R(after host is down)", [])


def test_an_error_that_ended_the_run_makes_only_its_task_run_again(edited: Edited) -> None:
    """Section 4: the fixed task runs, its finished siblings don't."""
    body = 'x = fetch("a").result()\ny = fails("host").result()\nreturn [x, y]'
    edited.run(body, 0, head=FAILING)
    assert isinstance(edited.error, ConnectionError)
    fixed = FAILING.replace('raise ConnectionError(f"{name} is down")', 'return "up"')
    after = edited.resume(body, head=fixed)
    assert (after.result, after.ran) == (["R(a)", "up"], ["fails('host')"])


def test_a_task_that_was_running_is_in_doubt(edited: Edited) -> None:
    """G3: the state and the report say which call had started and not finished."""
    head = (
        HEAD
        + """

@task
def outer(name):
    RAN.append(f"outer({name!r})")
    inner = fetch(name).result()
    die()
    return [inner]
"""
    )
    edited.record('return outer("a").result()', head=head)
    (outer,) = edited.state.tasks[0].calls
    assert (outer.name, outer.status, [(call.name, call.status) for call in outer.calls]) == (
        "outer", "in_doubt", [("fetch", "done")],
    )  # fmt: skip
    after = edited.resume('return outer("a").result()', head=head)
    assert (after.result, after.ran) == (["R(a)"], ["outer('a')"])
    assert rows(after.report) == [("in_doubt", "outer(name='a')", "outer(name='a')")]


ASKING = (
    HEAD
    + """

@task
def asks(question):
    before = fetch(question).result()
    return [before, interrupt(question)]
"""
)


def test_a_task_that_asked_is_not_in_doubt(edited: Edited) -> None:
    """G3: nothing died where a task waited for a human; an answered run has nothing to report."""
    body = 'return asks("really?").result()'
    edited.run(body, 0, head=ASKING)
    after = edited.answer(body, "yes", head=ASKING)
    assert (after.result, rows(after.report)) == (["R(really?)", "yes"], [])


def test_a_retry_leaves_nothing_to_report(edited: Edited) -> None:
    """Section 4: what a failed attempt called is no orphan of the run; nothing was resumed."""
    head = (
        HEAD
        + """

from flowfn import RetryPolicy, current


@task(retry_policy=RetryPolicy(initial_interval=0, jitter=False))
def flaky(name):
    fetch(f"{name} {current().attempt}").result()
    if current().attempt < 3:
        raise ConnectionError
    return name
"""
    )
    body = "x = flaky('a').result()\ny = interrupt('go on?')\nreturn [x, y]"
    edited.run(body, 0, head=head)
    after = edited.answer(body, "yes", head=head)
    assert (after.result, rows(after.report)) == (["a", "yes"], [])


def test_an_edited_question_is_asked_again(edited: Edited) -> None:
    """Section 4, G8: an answer never goes to a question that was not asked."""
    body = "x = interrupt('delete 5 files?')\ndie()\nreturn x"
    edited.run(body, 0)
    edited.run(body, Command(resume="yes"), dies=True)
    after = edited.resume(body.replace("5", "5000"))
    assert [question.value for question in edited.state.interrupts] == ["delete 5000 files?"]
    assert "yes" not in str(after.result)


def test_a_question_with_a_key_may_change_its_words(edited: Edited) -> None:
    """Section 4: `key=` names the question."""
    body = "x = interrupt('delete?', key='delete')\ndie()\nreturn x"
    edited.run(body, 0)
    edited.run(body, Command(resume="yes"), dies=True)
    after = edited.resume(body.replace("'delete?'", "'really delete?'"))
    assert after.result == "yes"
