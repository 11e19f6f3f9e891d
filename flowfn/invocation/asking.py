"""What a call asks of its thread: to begin with an input, or to go on with what is there."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from flowfn.engine.runs.entering import Fresh, Resume
from flowfn.engine.runs.leasing import on_saver
from flowfn.errors import InvalidInput
from flowfn.invocation.known_again import call_now
from flowfn.logs import logger
from flowfn.ports import UNFINISHED, Begin, Host, Lease, Saver
from flowfn.values import MISSING, Command

if TYPE_CHECKING:
    from flowfn.invocation.order import Order
    from flowfn.invocation.setup import Setup


def asked(setup: Setup, order: Order) -> Fresh | Resume:
    """What the input of a call says.

    Raises:
        InvalidInput, ValidationError: it doesn't fit.
    """
    if order.input is None:
        return Resume(None)
    if isinstance(order.input, Command):
        return _commanded(setup, order.input)
    if isinstance(order.input, Fresh):
        return order.input
    fresh = _fresh(setup, order.input)
    if not setup.follows_run_id or (run := order.config.traced_run) is None:
        return fresh
    return fresh._replace(unless_of=run)


def _fresh(setup: Setup, input: Any) -> Fresh:
    writes, call = setup.given(input)
    return Fresh(writes, Begin(setup.name, call))


def _commanded(setup: Setup, command: Command[Any]) -> Resume:
    """A command for a stopped run; one that writes may also start a run."""
    if setup.commands is None or command.resume is not MISSING or not (command.update or command.goto):
        return Resume(command, setup.commands)
    return Resume(command, setup.commands, _fresh(setup, command))


_ANOTHER_CALLS = (
    "thread {id!r} has a run of another call of {its}, of other arguments or of an object that was made with others, "
    "and once() gives each id one call's result: give this call of {own} an id of its own, or write "
    "thread({id!r})(…) to begin another run on this thread"
)


async def continued(
    setup: Setup, saver: Saver, lease: Lease, given: Fresh | Resume, host: Host, *, once: bool
) -> Fresh | Resume:
    """What a call makes of the thread that it has just taken; before that, another call could still change it.

    Raises:
        InvalidInput: the thread's run is of another call, and it has `once` to be of this one.
    """
    row = await on_saver(saver, host, saver.thread, lease.thread)
    if row is None or not isinstance(given, Fresh):
        return given
    if not (row.status in UNFINISHED or (once and row.call)):
        if row.status == "cancelled":
            _tell_of_cancelled(given.begin, lease.thread)
        return given
    recorded = Begin(row.workflow, row.call)
    if recorded.on_thread() == given.begin.on_thread():
        return Resume(None)
    if _differ_in_arguments(recorded, given.begin):
        digest = await on_saver(saver, host, call_now, setup, saver, lease.thread)
        if digest == given.begin.digest:  # a class of its arguments was edited meanwhile
            return Resume(None)
    if once:
        raise InvalidInput(_ANOTHER_CALLS.format(id=lease.thread, its=row.workflow, own=given.begin.workflow))
    _tell_of_another(recorded, given.begin, lease.thread)
    return given


def _tell_of_another(recorded: Begin, begun: Begin, thread: str) -> None:
    """Say that a thread's unfinished run is given up for one of another call: of another workflow, perhaps this one
    under the name that it had, or of this one."""
    if recorded.workflow not in ("", begun.workflow):
        logger.warning(
            "a new run of %s begins on thread %s, whose unfinished one is of %s, and is given up. If that was renamed "
            "or moved, keep its name with @entrypoint(name=%r), so that calls go on with what it left unfinished",
            begun.workflow,
            thread,
            recorded.workflow,
            recorded.workflow,
        )
        return
    logger.info(
        "a new run of %s begins on thread %s, whose unfinished one is of another call: of other arguments, or of an "
        "object or a factory's function that was made with others. resume() would have gone on with that",
        begun.workflow,
        thread,
    )


def _tell_of_cancelled(begun: Begin, thread: str) -> None:
    logger.info(
        "a new run of %s begins on thread %s, whose last one was cancelled, or copied from another thread's, and is "
        "given up. resume() would have gone on with that, as would once()",
        begun.workflow,
        thread,
    )


def _differ_in_arguments(recorded: Begin, asked: Begin) -> bool:
    """Whether two calls are of one workflow, and of one object or factory call, and differ all the same."""
    return recorded.workflow == asked.workflow and _made_by(recorded) == _made_by(asked)


def _made_by(begin: Begin) -> str:
    return begin.digest.partition("/")[2]


def answers(given: Fresh | Resume) -> bool:
    """Whether a call brings an answer."""
    return isinstance(given, Resume) and given.command is not None and given.command.resume is not MISSING
