"""A handle on one thread of a workflow."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, Generic, ParamSpec, TypeVar

from flowfn.config import RunConfig, checked_thread_id
from flowfn.errors import InvalidInput, UnknownThread
from flowfn.report import Report
from flowfn.values import MISSING, Answers, Command, StateSnapshot

if TYPE_CHECKING:
    from flowfn.drawing.graph import Graph
    from flowfn.drawing.timeline import Timeline
    from flowfn.ports import Saver, Standing, ThreadRow
    from flowfn.workflow import Workflow

P = ParamSpec("P")
R = TypeVar("R")


class Thread(Generic[P, R]):
    """One thread: calls of its workflow that share state, one after another. Made by `workflow.thread(id)`."""

    def __init__(self, workflow: Workflow[P, R], thread_id: str) -> None:
        self.workflow = workflow
        self.id = checked_thread_id(thread_id)

    def __repr__(self) -> str:
        return f"<thread {self.id!r} of {self.workflow!r}>"

    @property
    def config(self) -> dict[str, Any]:
        """The thread as a `RunnableConfig`."""
        return {"configurable": {"thread_id": self.id}}

    # -- running --------------------------------------------------------------------------------

    def __call__(self, /, *args: P.args, **kwargs: P.kwargs) -> R:
        """Call the workflow on this thread, going on with an unfinished run of the very same call.

        A run that has ended, or was cancelled, is left as it is, and another one begins. Inside another run, too, this
        is a run of its own: one that had ended when the code is entered again runs again. `once` gives its result.

        Raises:
            Interrupted: the run waits for answers.
        """
        result: R = self.workflow._call_on(self.id, args, kwargs)
        return result

    def once(self, /, *args: P.args, **kwargs: P.kwargs) -> R:
        """The result of this call, which runs on this thread once: begun, gone on with, or given as it was recorded.

        So a request that comes twice, under an id of its own, is served once: whoever comes meanwhile waits, and gets
        the first one's result. A run that failed or was cancelled goes on where it stopped.

        Raises:
            InvalidInput: the thread's last run is of another call, of other arguments say.
            NoCheckpointer: the workflow keeps no past, and would run each time.
            Interrupted: the run waits for answers.
        """
        result: R = self.workflow._call_on(self.id, args, kwargs, once=True)
        return result

    def invoke(self, input: Any = MISSING, config: Mapping[str, Any] | None = None, **options: Any) -> Any:
        """`workflow.invoke` on this thread.

        Args:
            config: a `RunnableConfig` for this call: tags, metadata, recursion_limit, max_concurrency, keys of its
                configurable. The thread is this one, whether the config names it or not.

        Raises:
            InvalidInput: the config names another thread.
        """
        return self.workflow.invoke(input, self._located(config), **options)

    async def ainvoke(
        self, input: Any = MISSING, config: Mapping[str, Any] | None = None, **options: Any
    ) -> Any:
        """`workflow.ainvoke` on this thread; `config` as for `invoke`."""
        return await self.workflow.ainvoke(input, self._located(config), **options)

    def stream(
        self, input: Any = MISSING, config: Mapping[str, Any] | None = None, **options: Any
    ) -> Iterator[Any]:
        """`workflow.stream` on this thread; `config` as for `invoke`."""
        return self.workflow.stream(input, self._located(config), **options)

    def astream(self, input: Any = MISSING, config: Mapping[str, Any] | None = None, **options: Any) -> Any:
        """`workflow.astream` on this thread; `config` as for `invoke`."""
        return self.workflow.astream(input, self._located(config), **options)

    def _located(self, config: Mapping[str, Any] | None) -> Mapping[str, Any]:
        """A caller's config on this thread.

        Raises:
            InvalidInput: it isn't valid, or names another thread.
        """
        if config is None:
            return self.config
        from flowfn.config import read_config

        named = read_config(config).thread_id
        if named is not None and named != self.id:
            raise InvalidInput(
                f"config['configurable']['thread_id'] is {named!r}, and this is thread {self.id!r}: leave it out, or "
                f"call workflow.thread({named!r})"
            )
        return {**config, "configurable": {**(config.get("configurable") or {}), "thread_id": self.id}}

    def resume(self, answer: Any = MISSING, *, by: str | None = None, **options: Any) -> Any:
        """Go on where the thread stopped, with the answer to its question if it asked one.

        Several questions are answered by a mapping from their ids, or keys, to answers. `by` is recorded as who
        answered. Without an answer, questions whose deadline has passed get their defaults. Options, `config` among
        them, are those of `invoke`.

        Raises:
            NoPendingInterrupt, AmbiguousAnswer, InvalidAnswer: the answer can't be given.
        """
        return self.invoke(None if answer is MISSING else Command(resume=answer, by=by), **options)

    async def aresume(self, answer: Any = MISSING, *, by: str | None = None, **options: Any) -> Any:
        """`resume` for asyncio."""
        return await self.ainvoke(None if answer is MISSING else Command(resume=answer, by=by), **options)

    def send(self, key: str, answer: Any, *, by: str | None = None, **options: Any) -> Any:
        """Answer the question that was asked under `key` (or has it as its id), and go on.

        Raises:
            NoPendingInterrupt: no such question waits.
        """
        return self.resume(Answers({key: answer}), by=by, **options)

    # -- looking --------------------------------------------------------------------------------

    @property
    def state(self) -> StateSnapshot:
        """The thread's state at its head."""
        return self.workflow.get_state(self.config)

    def history(self, **options: Any) -> Iterator[StateSnapshot]:
        """The thread's checkpoints, newest first; see `get_state_history`."""
        return self.workflow.get_state_history(self.config, **options)

    @property
    def status(self) -> Standing | None:
        """`running`, `killed`, `interrupted`, `failed`, `cancelled` or `done`; None for a thread that nobody has used.

        `killed` is a run that nobody runs any more: its process died, or who awaited it was cancelled. `resume()` goes
        on with it.
        """
        row = self._saver.thread(self.id)
        return None if row is None else row.standing

    def get_graph(self, *, xray: int | bool = False) -> Graph:
        """The path of the thread's last run: a node for each place in the code that made calls, and how these stand.

        Args:
            xray: draw the calls that calls made too: all, or so many levels of them.

        Raises:
            UnknownThread: nobody has used the thread.
        """
        from flowfn.drawing.journey import journey
        from flowfn.history.reading import view

        return journey(view(self._saver, self._row()), xray)

    def timeline(self) -> Timeline:
        """When the calls of the thread's last run ran, as a Gantt chart: `draw_text`, `draw_svg`, `draw_mermaid`.

        Raises:
            UnknownThread: nobody has used the thread.
        """
        from flowfn.drawing.timeline import timeline
        from flowfn.history.reading import view

        return timeline(view(self._saver, self._row()))

    def _row(self) -> ThreadRow:
        from flowfn.ports import where

        row = self._saver.thread(self.id)
        if row is None:
            raise UnknownThread(f"thread {self.id!r} is unknown: check the thread_id{where(self._saver)}")
        return row

    def _repr_mimebundle_(self, **_: Any) -> dict[str, Any]:
        """What a notebook shows."""
        if self.status is None:
            return {"text/plain": repr(self)}
        return {**self.get_graph()._repr_mimebundle_(), "text/plain": repr(self)}

    @property
    def report(self) -> Report:
        """How the last resumed run of the thread differed from its record; empty if none was resumed."""
        from flowfn.history.state import last_report

        return last_report(self._saver, self.id)

    # -- changing -------------------------------------------------------------------------------

    def update(self, values: Any, as_node: str | None = None) -> dict[str, Any]:
        """`workflow.update_state` on this thread."""
        return self.workflow.update_state(self.config, values, as_node)

    def fork(
        self, checkpoint_id: str | None = None, *, thread_id: str | None = None, before: str | None = None
    ) -> Thread[P, R]:
        """A new thread that starts with a copy of this one's head, or of the checkpoint given.

        What was recorded under the checkpoint is copied with it, so that `fork.resume()` continues an unfinished run
        without running its finished tasks again. Open questions are open in the fork too, under ids of their own:
        `thread.fork().resume("no")` answers the fork's, and leaves this thread's open. What nested graphs remember is
        copied as it was then. A fork of a run that is under way, or that was killed, has the status `cancelled`.

        Args:
            checkpoint_id: the one to start from, as `history()` has it; default: the last.
            thread_id: the new thread's id; default: one that nobody has.
            before: a call of the last run: its id, its name, or `name#2` for the second call of that name. The new
                thread stands where the run stood before it: this call runs anew, and so does all that was called after
                it had ended. What ran beside it is kept.

        Raises:
            UnknownCheckpoint: there is none of that id.
            UnknownCall: `before` is no call of the run, or several.
            InvalidInput: the new thread exists already.
        """
        from flowfn.history.copying import copy_to
        from flowfn.hosts.ids import new_id

        fork = self.workflow.thread(new_id() if thread_id is None else thread_id)
        copy_to(self._saver, RunConfig(self.id, checkpoint_id), fork.id, before)
        return fork

    def cancel(self) -> None:
        """Stop the thread's run, in whichever process it is: it can write nothing more, and stops at its next task.

        The thread keeps what was recorded, and `resume()` continues from there, as does `once`; any other call begins
        a new run. If nobody runs the thread, only its status changes.

        Raises:
            UnknownThread: nobody has used the thread.
        """
        from flowfn.history.changing import cancel
        from flowfn.ports import where

        if not cancel(self._saver, self.id):
            raise UnknownThread(f"thread {self.id!r} is unknown: check the thread_id{where(self._saver)}")

    @property
    def _saver(self) -> Saver:
        return self.workflow._saver()


class AwaitedThread(Thread[P, R]):
    """One of an async workflow. Its direct calls are coroutine functions: a framework that hasn't found one runs what
    it is given on a thread, and awaits nothing."""

    async def __call__(self, /, *args: P.args, **kwargs: P.kwargs) -> Any:  # type: ignore[override]  # R is awaitable
        return await self.workflow._call_on(self.id, args, kwargs)

    async def once(self, /, *args: P.args, **kwargs: P.kwargs) -> Any:  # type: ignore[override]
        return await self.workflow._call_on(self.id, args, kwargs, once=True)
