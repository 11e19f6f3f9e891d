"""Who a call is: its name, the digest of its arguments, and which of the equal calls of its scope it is.

Rule: occurrences are counted as the calls come, whatever made them; but a record is taken first by the branch that made
it, and by a function that is the recorded one, of those that share a name (`engine/replay/namesakes.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import TYPE_CHECKING, Any

from flowfn.engine.calls.call import Behind
from flowfn.engine.ids import call_id
from flowfn.engine.replay.failing import act_on_errors
from flowfn.engine.replay.namesakes import Caller, Claimant
from flowfn.futures import called_back
from flowfn.identity.digest import Digest, digest
from flowfn.identity.made_with.captured import given_to_arguments

if TYPE_CHECKING:
    from flowfn.definition import Definition
    from flowfn.engine.calls.call import Call
    from flowfn.engine.calls.frame import Frame
    from flowfn.engine.records.ledger import Equals


def identify(call: Call, frame: Frame) -> None:
    """Give a call its identity: digest, occurrence, id."""
    definition, run = call.definition, frame.run
    assert run.journal is not None
    arguments = definition.identifying(call.args, call.kwargs)
    call.arguments = counted = arguments if called_back.get() is None else {**arguments, **told_to(frame)}
    call.digest = digested = digest(counted, run.root.window)
    if digested.weak and (given := given_to_arguments(arguments)):
        call.arguments = counted = {**counted, **given}
        call.digest = digested = digest(counted, run.root.window)
    call.task, call.occurrence, call.branch = next_identity(
        frame, definition.qualified, digested.exact, of=claimant_of(frame, definition)
    )
    call.position = frame.calls.position(definition.qualified)
    call.born = run.journal.order


def told_to(frame: Frame) -> dict[str, Any]:
    """What counts beside the arguments of a call that a callback makes: the future that it is of. Callbacks run in the
    order in which calls end, and on the next attempt all those of recorded calls at once."""
    told = called_back.get()
    if told is None or told[0] is not frame or not told[1].call:
        return {}
    return {"(callback of)": told[1]}


def stay_behind(call: Call, calls: Iterable[Call]) -> None:
    """Have a call wait for others to be placed: it counts by which calls they turn out to be."""
    from flowfn.identity.renaming import forms_of

    run = call.run
    assert call.digest is not None
    forms = forms_of(call.arguments, call.digest, run.root.window())
    call.behind = Behind(
        forms, [(each.future.call, each.future) for each in calls if each.future is not None]
    )


def identify_anew(call: Call, frame: Frame) -> None:
    """Give a call the identity that it has now that it is known which calls the futures among its arguments are of."""
    assert call.behind is not None
    assert call.digest is not None
    digested, call.behind = call.behind.digest(), None
    if digested.exact != call.digest.exact:
        call.digest = digested
        identify_among_equals(call, frame, digested)


def identify_among_equals(call: Call, frame: Frame, digested: Digest) -> None:
    """Have a call that was made before be the next one of its name and arguments that its scope has no other call for.

    Whoever has it placed needn't be the branch that made it.
    """
    definition = call.definition
    call.task, call.occurrence, _ = next_identity(
        frame, definition.qualified, digested.exact, call.branch, of=claimant_of(frame, definition)
    )


def identify_apart(call: Call, frame: Frame) -> None:
    """Have a call be one more of its name and arguments beside the recorded ones, which stay who they are."""
    assert call.digest is not None
    call.task, call.occurrence = identity_apart(
        frame, call.definition.qualified, call.digest.exact, call.branch
    )


def identity_apart(frame: Frame, name: str, digest: bytes, branch: int) -> tuple[str, int]:
    """The id and the occurrence of one more call of that name and those arguments than are recorded."""
    assert frame.branches is not None
    frame.branches.apart = True
    records, key = frame.run.ledger.records, (name, digest)
    while True:
        task = call_id(frame.scope, name, digest, number := frame.calls.occurrence(key))
        if task not in records and _is_free(frame, key, task, number, branch):
            return task, number


def next_identity(
    frame: Frame,
    name: str,
    digest: bytes,
    branch: int | None = None,
    *,
    own: bool = False,
    of: Claimant | None = None,
) -> tuple[str, int, int]:
    """Of a frame's next call of that name and those arguments: the id, the occurrence and the branch of its code; that
    is the one that calls it now, if none is given.

    A record that another call has claimed, by position or as the same but for the clock, uses up its occurrence.
    With `own` so does one of another branch, while the code is unchanged; and `of` a function that shares its
    name, one of another function.
    """
    ledger = frame.run.ledger
    if branch is None:
        frame.steps += 1
        branch, journal = frame.branch(), frame.run.journal
        if journal is not None and journal.unhandled and not own:
            act_on_errors(frame)
    if of is not None:
        return _identity_of(of, frame, name, digest, branch)
    if frame.numbers is not None and ledger.records:
        own_call = _own(frame, name, digest, branch)
        if own_call is not None:
            return *own_call, branch
    key = (name, digest)
    while True:
        task = call_id(frame.scope, name, digest, number := frame.calls.occurrence(key))
        if _is_free(frame, key, task, number, branch) and not (own and _is_anothers(frame, task, branch)):
            return task, number, branch


def _is_free(frame: Frame, key: tuple[str, bytes], task: str, number: int, branch: int) -> bool:
    """Whether a branch's call may be the one of that id and occurrence."""
    record, equals = frame.run.ledger.records.get(task), frame.calls.equals.get(key)
    if record is not None:
        return not record.claimed
    return equals is None or equals.may_be_new(number, branch)


def claimant_of(frame: Frame, definition: Definition) -> Claimant | None:
    """Who looks for a record, where functions of its name have to be told apart."""
    if not definition.shares_name:
        return None
    calls = frame.calls
    if calls.caller is None:
        calls.caller = Caller(frame.call.definition)
    caller = calls.caller  # another thread may put another one in its place
    if frame.run.ledger.records:
        return caller.claimant(definition)
    caller.calls(definition)
    return None


def _identity_of(
    claimant: Claimant, frame: Frame, name: str, digest: bytes, branch: int
) -> tuple[str, int, int]:
    ledger, key = frame.run.ledger, (name, digest)
    alike = claimant.caller.alike
    if key not in alike:
        first = ledger.records.get(task := call_id(frame.scope, name, digest, 0))
        if first is not None and not first.claimed and claimant.made(first, branch):
            return task, 0, branch  # as almost always, and for less
        alike[key] = ledger.calls_alike(frame.scope, name, digest)
    is_apart = frame.branches is not None and frame.branches.apart
    is_only = not is_apart and claimant.is_only(alike[key], branch)
    is_kept = partial(frame.keeps, branch=branch)
    record = None if is_only else claimant.take(alike[key], branch, is_kept)
    if record is not None:
        return record.task, record.info.occurrence if record.info else 0, branch
    is_taken: Callable[[str], bool] = ledger.is_claimed if is_only else ledger.records.__contains__
    while is_taken(task := call_id(frame.scope, name, digest, number := frame.calls.occurrence(key))):
        pass
    return task, number, branch


def equals_of(frame: Frame, name: str, digest: bytes) -> Equals:
    """The recorded calls of a frame's code of that name and those arguments."""
    key = (name, digest)
    if key not in frame.calls.equals:  # of two threads that ask at once both take from one
        frame.calls.equals.setdefault(key, frame.run.ledger.equal_calls(frame.scope, name, digest))
    return frame.calls.equals[key]


def _own(frame: Frame, name: str, digest: bytes, branch: int) -> tuple[str, int] | None:
    """The id and the occurrence of a branch's next call of that name and those arguments, if that was recorded, or one
    that it made later in one go with earlier ones."""
    equals = frame.calls.equals.get((name, digest)) or equals_of(frame, name, digest)
    found = equals.next_of(branch)
    if found is None:
        return None
    number, record = found
    return call_id(frame.scope, name, digest, number) if record is None else record.task, number


def _is_anothers(frame: Frame, task: str, branch: int) -> bool:
    """Whether a recorded call was made by another branch."""
    record, code = frame.run.ledger.records.get(task), frame.call.definition.code
    info = None if record is None else record.info
    if record is None or info is None or info.branch == branch:
        return False
    return info.scope_code == code or frame.tells(record, branch)
