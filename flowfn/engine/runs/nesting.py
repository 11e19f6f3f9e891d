"""Nested runs: a program that runs inside a call of another run, on the same thread, under the same lease.

Its namespace says where: `name:id` of the call that it runs in, under that call's own namespace, and
`|1`, `|2`… for the second and third of one call. The id is of this very attempt at the call's checkpoint,
so whatever is recorded in the namespace belongs to this call, and the run goes on from there. In a hidden call, which
is a part of the node that makes it, it has the node's name; and the node's id, where the call is alone: then the call
counts as one of the runs that the node nests, and the second run in it has `|0|1`. A run that
`remembers` has a namespace without ids instead: what it finds there may be of an earlier call, or of one beside it,
which its checkpoint tells by its call and the checkpoints of the runs around it; then it takes its input on top of it.
Where its caller names a thread or a namespace, its own says so: what is remembered for one is never another's.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from flowfn.engine.hosts import Hosts
from flowfn.engine.ids import namespace_elsewhere, nested_namespace
from flowfn.engine.records.reader import hear_of
from flowfn.engine.runs.going_back import GoingBack
from flowfn.engine.runs.places import Places
from flowfn.engine.runs.run import Run
from flowfn.engine.runs.superstep import go_on
from flowfn.engine.runs.telling import tell_where_it_stands
from flowfn.engine.settings import Settings
from flowfn.errors import NestedTooDeep
from flowfn.instance_ids import task_uuid
from flowfn.pregel.apply import advance, amend
from flowfn.pregel.interrupts import resumed
from flowfn.pregel.plan import is_over
from flowfn.pregel.view import view
from flowfn.values import Write

LONGEST = 2_000
"""Bytes of a namespace, which names all the calls around: Postgres has no more of it in an index."""

DEEPEST = 1_000
"""So many runs inside each other, and no more, where nothing keeps the names of their places."""

STACKED = 12
"""So many runs inside each other share a stack: each takes some 25 of the 1,000 frames that Python has, and as many
again where LangChain's runnables call it."""

if TYPE_CHECKING:
    from flowfn.config import Elsewhere, RunConfig
    from flowfn.engine.calls.call import Call
    from flowfn.engine.calls.frame import Frame
    from flowfn.engine.records.journal import Journal
    from flowfn.ports import Loaded
    from flowfn.pregel.program import Program


def nested(
    program: Program,
    settings: Settings,
    frame: Frame,
    hosts: Hosts,
    config: RunConfig | None = None,
    *,
    remembers: bool = False,
    recorded: bool = True,
    elsewhere: Elsewhere | None = None,
) -> Run:
    """A run of another program inside one of a run's calls.

    `hosts` are its caller's: one who blocks has async code run on the loop of the run around, if that has one.
    `elsewhere` is what the caller of one that remembers names, where it names a place.

    Raises:
        NestedTooDeep: the name of its place is too long to be kept, or it is the thousandth.
    """
    run = frame.run
    if run.depth >= DEEPEST:
        raise NestedTooDeep(_too_deep(program, run.depth))
    inside = Run(
        program,
        hosts if hosts.loop is not None or hosts is run.hosts else replace(run.hosts, own=hosts.own),
        run.journal if recorded else None,
        run.config if config is None else config,
        settings.within(run.settings),
        run.serde,
        parent=run,
        frame=frame,
        place=_place(frame, remembers, elsewhere),
        remembers=remembers,
    )
    if inside.journal is not None and len(inside.namespace.encode()) > LONGEST:
        raise NestedTooDeep(_too_deep(program, run.depth))
    if inside.slots is None and inside.config.max_concurrency is not None:
        inside.slots = Places(inside.config.max_concurrency)
    return inside


def _too_deep(program: Program, depth: int) -> str:
    and_so = "" if depth >= DEEPEST else f", and the name of its place would be longer than {LONGEST:,} bytes"
    return (
        f"{program.name!r} is called inside {depth:,} other runs of workflows that call each other{and_so}: look for a "
        "workflow that calls itself without an end. One that means to go as deep does so as a @task, which needs no "
        "such name"
    )


def _place(frame: Frame, remembers: bool, elsewhere: Elsewhere | None) -> Callable[[], str]:
    """What says the namespace of a run, whose number among those of its call is taken at once."""
    if elsewhere is None:
        return partial(_namespace, frame, remembers, frame.next_nested())
    here = namespace_elsewhere(_own(frame, remembers), elsewhere)
    return partial(_numbered, here, frame.next_nested(here))


def _namespace(frame: Frame, remembers: bool, number: int) -> str:
    call, here = frame.call, _own(frame, remembers)
    if not _counts_in_node(call, remembers):
        return _numbered(here, number)
    return _numbered(f"{here}|{call.number}", number) if number else _numbered(here, call.number)


def _own(frame: Frame, remembers: bool) -> str:
    """The namespace of the first run in a call."""
    call, shown, kind = frame.call, frame.call.shown, "remembering" if remembers else "anew"
    id = shown.id if _counts_in_node(call, remembers) else call.id
    return nested_namespace(frame.run.namespace, shown.definition.name, id, kind)


def _counts_in_node(call: Call, remembers: bool) -> bool:
    """Whether a call counts as one of the runs that the node nests which it is a part of."""
    return call.shown is not call and (remembers or call.definition.alone)


def _numbered(namespace: str, number: int) -> str:
    return f"{namespace}|{number}" if number else namespace


async def execute_nested(run: Run, writes: Sequence[Write], commanded: Sequence[Write] | None = None) -> Any:
    """`_execute`, upon a stack of its own now and then."""
    executing = _execute(run, writes, commanded)
    return await (executing if run.depth % STACKED else run.host.on_fresh_stack(executing))


async def _execute(run: Run, writes: Sequence[Write], commanded: Sequence[Write] | None) -> Any:
    """Run a nested program to its end, going on where an earlier attempt stopped.

    `commanded` is what it begins with instead of `writes` where it remembers an earlier call.

    Raises:
        Suspended: something in it waits for an answer, or a breakpoint was met.
        NonDeterminismError: it stopped before a node that it no longer has.
    """
    hear_of(run)
    loaded, chosen = await _where_it_stands(run)
    run.set_out()
    if chosen is not None:
        await run.fork()
        if run.root.back is not None and run.root.back.copies:
            run.root.back.copies[run.checkpoint.id] = chosen
    elif loaded is not None and _is_of_this_call(run):
        await run.settle_edits(loaded, commanded=False)
        run.checkpoint = advance(run.checkpoint, amend(run.program, run.checkpoint, run.ledger.commanded))
    else:
        if commanded is not None and loaded is not None:
            await run.take_input(commanded, commanded=True)
        else:
            await run.take_input(writes)
        if run.journal is not None and run.root.back is not None:
            run.root.back.gone_on.add(run.namespace)
        return await _go_on(run)
    run.checkpoint = advance(run.checkpoint, resumed(run.checkpoint))
    tell_where_it_stands(run)
    return await _go_on(run)


async def _go_on(run: Run) -> Any:
    """`go_on`, once whoever reads its stream has had what it begins with: they may leave at that."""
    if run.pause is not None:
        await run.pause()
    return await go_on(run)


async def _where_it_stands(run: Run) -> tuple[Loaded | None, tuple[str, str] | None]:
    """Take up what the namespace holds: that, or None for nothing, and the namespace and id of a checkpoint that the
    caller chose.

    A replay of the run around finds what was there when its checkpoint was made, until it has gone on from that: then
    what this call has recorded since.
    """
    journal, back = run.journal, run.root.back or GoingBack({})
    if journal is None:
        return None, None
    namespace = _namespace_before(run, back) if back.copies else run.namespace
    if _is_new(run) and namespace not in back.to:
        return None, None
    chosen, bound = back.to.pop(namespace, None), back.to.get("")
    if chosen is not None and namespace != run.namespace:
        return await _take_copy(run, journal, namespace, chosen)
    if chosen is not None and await _branched(run, journal, chosen):
        chosen = None
    if run.call is not None and chosen is None and bound is not None and run.namespace not in back.gone_on:
        loaded = await journal.load_of_call(run.host, run.namespace, run.call, run.parents)
        loaded = loaded or await journal.load_before(run.host, run.namespace, bound)
    else:
        loaded = await journal.load(run.host, run.namespace, chosen)
    if loaded is None:
        return None, None
    _take_up(run, journal, loaded, chosen)
    if run.call is not None and chosen is None and _is_of_a_call_beside(run):
        own = await journal.load_of_call(run.host, run.namespace, run.call, run.parents)
        if own is not None:
            loaded = own
            _take_up(run, journal, own, None)
    if run.readers and run.program.lone and chosen is None and is_over(run.program, run.checkpoint):
        loaded = await _before_its_end(run, journal, loaded)
    return loaded, None if chosen is None else (namespace, chosen)


def _namespace_before(run: Run, back: GoingBack) -> str:
    """The namespace that a run had where the runs around it stand at a copy of an older checkpoint: its calls' ids, and
    so the names of what is nested in them, are others there."""
    assert run.parent is not None
    assert run.frame is not None
    call = run.frame.call
    copied = back.copies.get(call.checkpoint)
    if copied is None or run.remembers:
        return run.namespace
    around, checkpoint = copied
    namespace = run.namespace.removeprefix(run.parent.namespace)
    for each in {call, call.shown}:
        before = task_uuid(run.thread, around, checkpoint, each.task)
        namespace = namespace.replace(each.id, before)
    return around + namespace


async def _take_copy(
    run: Run, journal: Journal, namespace: str, chosen: str
) -> tuple[Loaded | None, tuple[str, str] | None]:
    """Stand at the checkpoint of another namespace that the caller chose, all of which is new in this one."""
    loaded = await journal.load(run.host, namespace, chosen)
    if loaded is None:
        return None, None
    found = journal.checkpoint(loaded, run.program.channels)
    run.stand_at(replace(found, id="", touched=frozenset(found.versions)), made=False)
    return loaded, (namespace, chosen)


async def _before_its_end(run: Run, journal: Journal, ended: Loaded) -> Loaded:
    """Take up what an entrypoint that has ended began with: it goes through its records again for who reads its stream.

    Its call has no record that tells what to tell: the process died between the two, or nobody read the stream then.
    Whoever read it has seen the result, perhaps, and acted on it: that stays what it was, whatever comes now.
    """
    began = await journal.load(run.host, run.namespace, run.checkpoint.parent)
    if began is None:
        return ended
    came_to = view(run.program, run.checkpoint)
    _take_up(run, journal, began, None)
    run.came_to = [Write(*each) for each in came_to.items()]
    return began


def _is_new(run: Run) -> bool:
    """Whether nothing can be recorded in its namespace, which is of a first attempt at a checkpoint just made."""
    assert run.parent is not None
    if run.remembers or not run.parent.made:
        return False
    frame = run.frame
    while frame is not None and frame.attempt == 1:
        frame = frame.call.parent
    return frame is None


async def _branched(run: Run, journal: Journal, chosen: str) -> bool:
    """Whether the checkpoint that the caller chose is the newest, and the beginning of a branch in this very call.

    One of an earlier call, as an update of what is remembered may be, needs a copy that is of this call.
    """
    head = await journal.load(run.host, run.namespace, None)
    if head is None or head.checkpoint.id != chosen:
        return False
    _take_up(run, journal, head, None)
    return run.begins_a_branch and _is_of_this_call(run)


def _take_up(run: Run, journal: Journal, loaded: Loaded, chosen: str | None) -> None:
    ledger = None if chosen is not None else journal.ledger(loaded)
    run.stand_at(journal.checkpoint(loaded, run.program.channels), ledger, made=False)


def _is_of_this_call(run: Run) -> bool:
    """Whether what the namespace holds was recorded in its call, under the checkpoints that the runs around stand at.

    What came from elsewhere may not name its call.
    """
    at = run.checkpoint
    return at.call in (None, run.call) and bool(at.metadata.get("parents") == run.parents)


def _is_of_a_call_beside(run: Run) -> bool:
    """Whether it was recorded in another call of the outermost run's superstep."""
    around = run.checkpoint.metadata.get("parents") or {}
    return not _is_of_this_call(run) and around.get("") == run.parents[""]
