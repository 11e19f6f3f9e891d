"""Why a run doesn't go on: only its author can say which record a call's is, or what becomes of what an edit took away.

Rule: a refusal comes before anything new runs. It shows the call and the record, and says what to write.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from flowfn.engine.ids import call_id
from flowfn.engine.replay.causes import Cause, cause_of
from flowfn.engine.replay.lost import are_strange, calls_elsewhere, has_called, place_of, way, what_is_lost
from flowfn.engine.replay.matching import Ambiguous, differs_in_a_day
from flowfn.engine.replay.missed import missed_joins
from flowfn.errors import NonDeterminismError
from flowfn.identity.made_with.together import is_known, is_known_elsewhere

if TYPE_CHECKING:
    from flowfn.engine.calls.call import Call
    from flowfn.engine.calls.frame import Frame
    from flowfn.engine.records.journal import Journal
    from flowfn.engine.runs.run import Run
    from flowfn.ports import Loaded

_OF_A_DAY = (
    "The day of the run? Take it from flowfn.now(), or leave it out: @task(ignore=…) or @task(key=…). "
    "An item of its own? Say on_divergence='rerun' to run it."
)

_A_TIME = "a time, which may be the clock's or an item's"

_FIRST = (
    "What is recorded isn't found after such an edit, and runs again: before it, resume this run once with "
    "@task(on_divergence='reuse'), which takes the record."
)


def ambiguous(call: Call, verdict: Ambiguous) -> NonDeterminismError:
    """The error of a call that can't be placed; its record is nobody's from now on."""
    recorded, report = verdict.record.summary, call.run.root.counted_report()
    verdict.record.claim()
    cause = Cause("") if verdict.record.info is None else cause_of(call, verdict.record.info)
    report.add("forbidden" if verdict.forbidden else "doubt", recorded, call.summary, *cause)
    if verdict.forbidden:
        return NonDeterminismError(
            f"{call.summary} is a new call while the recorded {recorded} is unmatched, and "
            f"on_divergence='error' allows none: restore the call, or use on_divergence='rerun'\n{report}",
            report,
        )
    assert call.digest is not None
    if differs_in_a_day(verdict.record, call.digest):
        return NonDeterminismError(
            f"can't tell {call.summary} from the recorded {recorded}: they differ only in the day. It was that of the "
            "call each time, and recorded calls beside it name other days. "
            f"{_OF_A_DAY} {_FIRST}\n{report}",
            report,
        )
    is_time = _differ_in_times(call, verdict)
    only_in, made_by = (_A_TIME, "now") if is_time else ("what looks random", "uuid4")
    return NonDeterminismError(
        f"can't tell {call.summary} from the recorded {recorded}: they differ only in {only_in}. "
        f"Made anew on each run? Make it with flowfn.{made_by}(), or, for items that come and go, in a task that is "
        "given the item; or leave it out: @task(ignore=…) or @task(key=…). "
        f"Another item? Say on_divergence='rerun' to run it. {_FIRST}\n{report}",
        report,
    )


def _differ_in_times(call: Call, verdict: Ambiguous) -> bool:
    assert call.digest is not None
    assert verdict.record.info is not None
    pairs = zip(verdict.record.info.leaves, call.digest.leaves, strict=False)
    return all(kind == "clock" for (_, kind, text), leaf in pairs if text != leaf.text)


def edited(call: Call) -> NonDeterminismError:
    """The error of a task whose own code changed, under `on_code_change="error"`."""
    report = call.run.root.report
    return NonDeterminismError(
        f"the code of {call.summary} changed since its result was recorded, and on_code_change='error': "
        f"set on_code_change to 'reuse' or 'rerun', or version= to what it was\n{call.run.root.counted_report()}",
        report,
    )


def refuse_a_lent_record(call: Call, frame: Frame) -> None:
    """Refuse a call whose own record went to a call of another day: days name items, and that one's result is wrong.

    Raises:
        NonDeterminismError: it did.
    """
    assert call.digest is not None
    run, name = call.run, call.definition.qualified
    before = (call_id(frame.scope, name, call.digest.exact, number) for number in range(call.occurrence))
    other = next((run.ledger.lent[task] for task in before if task in run.ledger.lent), None)
    if other is None:
        return
    report = run.root.counted_report()
    report.add(
        "doubt", other, call.summary, "its record went to the other, from which it differs only in the day"
    )
    run.root.fatal = NonDeterminismError(
        f"the record of {call.summary} went to {other}, as they differ only in the day. {_OF_A_DAY}\n{report}",
        report,
    )
    raise run.root.fatal


async def _take_up_or_refuse(run: Run, journal: Journal) -> None:
    """Take up the calls of a workflow that was renamed and keeps its name; refuse to begin anew after another one."""
    row = await run.host.blocking(journal.saver.thread, run.thread)
    name = "" if row is None else row.workflow
    function = name.rpartition(".")[2]
    if not has_called(run.ledger, function):
        return
    if name == run.program.name:
        run.was_named = function
        return
    raise NonDeterminismError(
        f"thread {run.thread!r} stopped in a run of workflow {name!r}, of which {run.program.name!r} would take up "
        f"nothing: all would run again. If it was renamed or moved, keep its name with @entrypoint(name={name!r}); "
        "else go on with that workflow, or begin this one with an input",
        run.root.report,
    )


async def _refuse_another_place(run: Run, journal: Journal) -> None:
    """Refuse to begin anew where a workflow was moved with its tasks: its file or its class has another name."""
    calls = calls_elsewhere(run.ledger, run.program, run.was_named)
    if all(map(is_known, calls)):
        return
    row = await run.host.blocking(journal.saver.thread, run.thread)
    name = "" if row is None else row.workflow
    place = name.rpartition(".")[0]
    if not place or place == place_of(run.program):
        return
    gone = sorted(call for call in calls if call.startswith(f"{place}."))
    if any(map(is_known, gone)):
        return
    # Of the tasks that it makes or imports itself, only running it tells the names.
    if name == run.program.name:
        gone = [call for call in gone if "<locals>" not in call and is_known_elsewhere(call)]
    if not gone:
        return
    kept = ", ".join(f"@task(name={call!r})" for call in gone)
    raise NonDeterminismError(
        f"thread {run.thread!r} stopped in a run of workflow {name!r}, of whose calls {run.program.name!r} would take "
        "up nothing: all would run again. If its module or class was renamed, moved or started in another way, keep "
        f"its name and theirs with @entrypoint(name={name!r}) and {kept}; else go on with that workflow, or begin this "
        "one with an input",
        run.root.report,
    )


async def refuse_losses(run: Run, loaded: Loaded) -> None:
    """Refuse to pass over what an edit of the program would lose of where its thread stands.

    Raises:
        NonDeterminismError: there is such a thing. Nothing has run.
    """
    assert run.journal is not None
    if are_strange(run.ledger, run.program):
        await _take_up_or_refuse(run, run.journal)
    if run.program.opaque and run.parent is None:
        await _refuse_another_place(run, run.journal)
    lost = what_is_lost(loaded, run.checkpoint, run.ledger, run.program, run.journal.serde)
    if lost:
        raise NonDeterminismError(
            f"thread {run.thread!r} stopped before {', '.join(lost)}, which {run.program.name!r} no longer "
            "has: what was to be done there, or had been done, would be lost. Give it back as it was, say "
            "where to go on with Command(goto=…), or where the thread stands with update_state(…, as_node=…)",
            run.root.report,
        )
    missed = await missed_joins(run, loaded)
    if missed:
        told = ", ".join(f"{way(join)} for {', '.join(map(repr, who))}" for join, who in missed.items())
        raise NonDeterminismError(
            f"thread {run.thread!r} would wait for ever, at {told}, which may have run before "
            f"{run.program.name!r} had it: its node would be left out. Give the edges back as they were, say "
            "where to go on with Command(goto=…), or who ran last with bulk_update_state([[…]])",
            run.root.report,
        )
