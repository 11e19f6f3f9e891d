"""The runs of nodes, and of tasks in them, as callbacks see them: chains in their graph's, and in each its branches'.

Rule: nothing is told where the program hasn't imported LangChain, or nobody listens; then a `messages` stream alone is
shown what a node returns.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import TYPE_CHECKING, Any

from flowfn.context import current_frame
from graph_compat.constants import START
from graph_compat.injection import config_of
from graph_compat.langchain import callbacks_here, is_installed, is_loaded
from graph_compat.langchain.chains import Chain, manager_class, settled
from graph_compat.langchain.listeners import is_heard, streaming
from graph_compat.langchain.node_config import NodeConfig, var_child_runnable_config
from graph_compat.langchain.tokens import shown_by

if TYPE_CHECKING:
    from flowfn.context import Frame
    from graph_compat.types import TracePolicy


Path = Callable[[Any], Awaitable[Any]]
"""What is asked where a branch leads."""


class NodeRun:
    """A node's run that somebody is told of; enter it, for the body to leave in `value` what the node's code returned,
    or in `signal` what unwound it although the node goes on: a command from the graph in it.

    This one is of a program without LangChain, in which a `messages` stream shows what the node returns.
    """

    def __init__(self, frame: Frame, given: Any) -> None:
        self._frame = frame
        self.value: Any = None
        self.signal: BaseException | None = None
        if (shown := shown_by(frame)) is not None:
            shown.know_given(frame, given)

    async def __aenter__(self) -> NodeRun:
        return self

    async def __aexit__(self, kind: type[BaseException] | None, *raised: Any) -> None:
        if kind is None and self.signal is None:
            self.show()

    def show(self) -> None:
        """Show the messages that the node returned to a `messages` stream."""
        shown = shown_by(self._frame)
        if shown is not None:
            shown.show_new(self._frame, self.value, self._metadata())

    def _metadata(self) -> Any:
        return config_of(self._frame)["metadata"]

    async def asked(self, name: str | None, path: Path, state: Any, place: int) -> Any:
        """What one of its branches says; `place` is the number of edges and branches before it.

        `name` is None for a runnable, which tells of its runs itself, or doesn't.
        """
        return await path(state)


class Watched(NodeRun):
    """A node's run that callbacks are told of, or a `messages` stream."""

    def __init__(self, frame: Frame, given: Any, chain: Chain) -> None:
        super().__init__(frame, given)
        self._chain = chain

    async def asked(self, name: str | None, path: Path, state: Any, place: int) -> Any:
        run, tag = self._chain.run, self._tag(place)
        if name is None:
            with Chain(self._chain.config, run, tag):
                return await path(state)
        if run is None:
            return await path(state)
        manager = run.get_child(tag)
        manager.add_tags([*manager.inheritable_tags])
        begun = await settled(manager.on_chain_start(None, state, name=name))
        with Chain(self._chain.config, begun) as chain:
            try:
                value = await path(state)
            except BaseException as error:
                await settled(chain.failed(error))
                raise
            await settled(chain.ended(value))
            return value

    def _tag(self, place: int) -> str:
        """That of a branch: one of the steps after the author's code, which the input's has none of, and the writes."""
        before = 2 if self._frame.call.definition.name == START else 3
        return f"seq:step:{before + place}"

    def _metadata(self) -> Any:
        run = self._chain.run
        return self._chain.config["metadata"] if run is None else run.metadata

    @property
    def run_id(self) -> Any:
        """Its id, for handlers."""
        return self._chain.run.run_id

    def streamers(self) -> list[Any]:
        """The handlers that want its output piece by piece."""
        return [] if self._chain.run is None else streaming(self._chain.run.handlers)


def node_run(
    name: str, given: Any, policy: TracePolicy | None, *, on_loop: bool
) -> AbstractAsyncContextManager[NodeRun] | None:
    """A node's run; None where nobody is told of it, as almost always. `policy` says what tracers are told."""
    frame = current_frame.get()
    if frame is None:
        return None
    if not is_loaded():
        return None if is_installed() or shown_by(frame) is None else NodeRun(frame, given)
    return _chain_run(frame, name, given, policy, on_loop) if _is_told(frame) else None


def task_run(
    frame: Frame, given: Callable[[], Any], *, on_loop: bool
) -> AbstractAsyncContextManager[NodeRun] | None:
    """`node_run` of a task that is called in a node; `given` says what it was called with."""
    told = is_loaded() and _is_told(frame)
    return _chain_run(frame, frame.call.definition.name, given(), None, on_loop) if told else None


def _is_told(frame: Frame) -> bool:
    """Whether anybody is told of a run; else LangChain's code finds a configuration in the run's own context."""
    if is_heard(frame):
        return True
    var_child_runnable_config().set(NodeConfig(frame))
    return False


@asynccontextmanager
async def _chain_run(
    frame: Frame, name: str, given: Any, policy: TracePolicy | None, on_loop: bool
) -> AsyncIterator[NodeRun]:
    """The run of a node, or of a task in one, as a chain of LangChain's."""
    config, begun = _begun(frame, name, given, policy, on_loop=on_loop)
    with Chain(config, await settled(begun), "seq:step:1") as chain:
        watched = Watched(frame, given, chain)
        try:
            yield watched
            if watched.signal is not None:
                await settled(chain.failed(watched.signal))
                return
        except BaseException as error:
            await settled(chain.failed(error))
            raise
        telling = _told_of_the_end(watched, chain, on_loop)
        await (_whatever_comes(telling) if on_loop else telling)


async def _told_of_the_end(watched: Watched, chain: Chain, on_loop: bool) -> None:
    try:
        for handler in watched.streamers():
            if on_loop:
                async for _ in handler.tap_output_aiter(watched.run_id, _one(watched.value)):
                    pass
            else:
                for _ in handler.tap_output_iter(watched.run_id, iter((watched.value,))):
                    pass
    except BaseException as error:
        await settled(chain.failed(error))
        raise
    watched.show()
    await settled(chain.ended(watched.value))


async def _whatever_comes(telling: Coroutine[Any, Any, None]) -> None:
    """Tell what something came to. It is stopped meanwhile once that is recorded, as it would else run again."""
    import asyncio

    told = asyncio.ensure_future(telling)
    try:
        await asyncio.shield(told)
    except asyncio.CancelledError as cancelled:
        current = asyncio.current_task()
        if current is None or not current.cancelling() or told.cancelled():  # a handler's own
            raise
        current.uncancel()  # counted once: `asyncio.timeout` looks
        current.cancel(*cancelled.args)  # by these words anyio knows its own


def _begun(
    frame: Frame, name: str, given: Any, policy: TracePolicy | None, *, on_loop: bool
) -> tuple[dict[str, Any], Any]:
    """The configuration of a node or a task, and its run, which on an event loop has to be awaited."""
    config, parent = config_of(frame), _parent(frame)
    if parent is None:
        return config, None
    manager = manager_class(on_loop).configure(
        inheritable_callbacks=parent,
        inheritable_tags=[*parent.inheritable_tags, *(frame.call.node.tags if frame.call.node else ())],
        inheritable_metadata=config["metadata"],
    )
    config["tags"], config["metadata"] = [*manager.inheritable_tags], manager.metadata
    if policy is not None:
        from graph_compat.langchain.tracing import discreet

        # Not those that are inherited: what runs inside the node is shown as it is.
        manager.handlers = [discreet(handler, policy) for handler in manager.handlers]
    return config, manager.on_chain_start(None, given, name=name) if manager.handlers else None


def _parent(frame: Frame) -> Any:
    """The callbacks of what a run is in: a node's is in its graph's, a task's in that of the code that called it."""
    if frame.call.node_task is None:
        return callbacks_here()
    callbacks = frame.run.config.rest.get("callbacks")
    if callbacks is None:
        return None
    parent = callbacks.copy()
    parent.add_tags([f"graph:step:{frame.run.step + 1}"], inherit=False)
    return parent


async def _one(value: Any) -> AsyncIterator[Any]:
    yield value
