"""A call that had started and not finished when the process died: whether it runs again, and who says so.

Rule: under any policy but "rerun" it doesn't run before that is settled. Nothing that goes wrong on the way
counts as the call's own outcome: it ends the run, and the call stays in doubt.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from functools import partial
from inspect import Signature
from typing import TYPE_CHECKING, Any, Literal

from flowfn.context import current_frame, put_back
from flowfn.definition import Definition
from flowfn.doubt import Done, InDoubt, NotDone
from flowfn.engine.calls.frame import Frame
from flowfn.engine.questions.interrupts import record_questions
from flowfn.engine.records.keeping import code_rows
from flowfn.engine.records.record import DOUBT, one_row
from flowfn.errors import InvalidInput, Suspended
from flowfn.instance_ids import instance_id
from flowfn.ports import WriteRow
from flowfn.row_channels import DECISION, RETURN
from flowfn.values import MISSING

if TYPE_CHECKING:
    from flowfn.engine.calls.call import Call
    from flowfn.ports import Host


async def mark_start(call: Call, host: Host) -> None:
    """Commit that a call begins, before it does.

    Raises:
        SaverError: the backend could not; it ends the run.
    """
    journal = call.run.journal
    if journal is None or call.note is None:
        return
    await journal.start(host, call.note, host.now(), waited=call.waited)


async def settle(call: Call, host: Host) -> Any:
    """The recorded result of a call in doubt, or MISSING where it is to run again.

    Raises:
        Suspended: a human is asked.
        Exception: nobody could say; it ends the run.
    """
    try:
        if call.definition.in_doubt == "ask":
            decided = await _asked(call, host)
        else:
            decided = await _verified(call, host)
        return await _recorded(call, host, decided)
    except Exception as error:
        call.run.root.fatal = error
        raise


async def _asked(call: Call, host: Host) -> Done | NotDone:
    """What a human says of it. The question is one for each start, so that a second death asks again."""
    assert call.doubt is not None
    frame = Frame(call, host, 1)
    about = _about(call)
    question = {
        "in_doubt": str(call.doubt.info or call.info),
        "started_at": about.started_at and about.started_at.isoformat(timespec="seconds"),
        "idempotency_key": about.idempotency_key,
        "answer": "'rerun', or {'result': …}",
    }
    key = f"{DOUBT} {call.task} {call.doubt.started}"
    try:
        answer = frame.ask(question, key, _answers(call.definition), call.site, name=DOUBT)
    except Suspended:
        await record_questions(frame, host)
        if call.parent is not None:
            call.parent.suspended = True
        raise
    return Done(answer["result"]) if isinstance(answer, Mapping) else NotDone()


def _answers(definition: Definition) -> Any:
    """What an answer is validated as: the result in it as what the task is annotated to return."""
    from typing_extensions import TypedDict  # pydantic's demand below Python 3.12

    returns = definition.returns
    known = Any if definition.is_generator or returns is Signature.empty else returns
    make: Any = TypedDict  # the type is known at run time only
    result = make("result", {"result": known})
    result.__pydantic_config__ = {"extra": "forbid"}
    return Literal["rerun"] | result


async def _verified(call: Call, host: Host) -> Done | NotDone:
    """What the task's own function finds out. Tasks that it calls are no part of the run."""
    verify: Any = call.definition.in_doubt
    token = current_frame.set(None)
    try:
        if call.definition.verifies_async:
            loop = call.run.hosts.loop
            assert loop is not None
            found = await loop.call_async(verify, (_about(call),), {}, None)
        else:
            found = await host.blocking(verify, _about(call))
    finally:
        put_back(current_frame, token)
    if found is NotDone:
        return NotDone()
    if not isinstance(found, Done | NotDone):
        raise InvalidInput(
            f"in_doubt={_name_of(verify)} of task {call.definition.name!r} returned {found!r}: return "
            "flowfn.Done(value) where the call had happened, or flowfn.NotDone() where it runs again"
        )
    return found


def _about(call: Call) -> InDoubt:
    run, record = call.run, call.doubt
    assert record is not None
    return InDoubt(
        name=call.definition.name,
        args=tuple(call.args),
        kwargs=dict(call.kwargs),
        arguments=call.definition.parameters.taken(call.args, call.kwargs),
        idempotency_key=instance_id(run.thread, run.namespace, run.checkpoint.id, call.task),
        thread_id=run.thread,
        started_at=None if record.started_at is None else datetime.fromtimestamp(record.started_at, UTC),
    )


async def _recorded(call: Call, host: Host, decided: Done | NotDone) -> Any:
    """Commit what was decided; with a result, as the call's own."""
    journal, note, record = call.run.journal, call.note, call.doubt
    assert journal is not None
    assert note is not None
    assert record is not None
    who = "a human" if call.definition.in_doubt == "ask" else _name_of(call.definition.in_doubt)
    said = "done" if isinstance(decided, Done) else "not done"
    decision = one_row(call.task, DECISION, journal.serde.dumps(f"{said}, said {who}"))
    if not isinstance(decided, Done):
        journal.ride(note.namespace, note.checkpoint, [decision])
        return MISSING
    order = journal.next_order()
    outcome = WriteRow(call.task, order, RETURN, journal.encode(decided.value, call.owner))
    durable, more = partial(journal.recorded, call.future), code_rows(journal.serde, call)
    await journal.append(host, note, decision, outcome, *more, durable=durable)
    record.add(outcome, order)
    return decided.value


def _name_of(function: Any) -> str:
    return str(getattr(function, "__qualname__", type(function).__qualname__))
