"""`ToolNode`: the node that answers the tool calls of a model's last message.

Rule: several calls run in parallel, and each is a task of the node: it is recorded when it ends. So neither a
crash nor a question of another call runs it again, several may ask at once, and each goes on where it asked.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

from flowfn.context import current_frame
from flowfn.definition import Definition, define
from flowfn.hosts.on_thread import off_loop, on_thread
from flowfn.python.lazy import lend
from graph_compat.blocking import blocking
from graph_compat.constants import CONFIG_KEY_RUNTIME
from graph_compat.langchain.invoking import config_here, looks_late
from graph_compat.langchain.runnable import AsRunnable
from graph_compat.prebuilt.chat import (
    ToolCall,
    answer,
    calls_of,
    is_dict,
    uses_langchain,
)
from graph_compat.prebuilt.injected import Source, injected
from graph_compat.prebuilt.requests import (
    AsyncToolCallWrapper,
    ToolCallRequest,
    ToolCallWithContext,
    ToolCallWrapper,
)
from graph_compat.prebuilt.tool import Prepared, prepared, told_of, tool_of
from graph_compat.prebuilt.tool_errors import (
    INVALID_TOOL_NAME_ERROR_TEMPLATE,
    ErrorHandler,
    Handling,
    explained,
    invalid_arguments_only,
)
from graph_compat.prebuilt.tool_input import calls_in, is_call, messages_in
from graph_compat.prebuilt.tool_results import combined, msg_content_output, normalised
from graph_compat.pushing import pushing, send

if TYPE_CHECKING:
    from langchain_core.messages import AIMessage as AIMessage
    from langchain_core.messages import RemoveMessage as RemoveMessage
    from langchain_core.messages import ToolMessage as ToolMessage
    from langchain_core.runnables import RunnableConfig as RunnableConfig
    from langchain_core.tools import BaseTool as BaseTool
    from langchain_core.tools import InjectedToolArg as InjectedToolArg
    from langchain_core.tools import ToolException as ToolException

    from flowfn.context import Frame
    from graph_compat.errors import GraphBubbleUp as GraphBubbleUp
    from graph_compat.graph.message import REMOVE_ALL_MESSAGES as REMOVE_ALL_MESSAGES
    from graph_compat.prebuilt.marks import (
        InjectedState,
        InjectedStore,
        ToolInvocationError,
        ToolRuntime,
    )
    from graph_compat.prebuilt.tool_errors import TOOL_CALL_ERROR_TEMPLATE as TOOL_CALL_ERROR_TEMPLATE
    from graph_compat.prebuilt.tool_errors import (
        TOOL_EXECUTION_ERROR_TEMPLATE as TOOL_EXECUTION_ERROR_TEMPLATE,
    )
    from graph_compat.prebuilt.tool_errors import (
        TOOL_INVOCATION_ERROR_TEMPLATE as TOOL_INVOCATION_ERROR_TEMPLATE,
    )
    from graph_compat.prebuilt.tool_results import TOOL_MESSAGE_BLOCK_TYPES as TOOL_MESSAGE_BLOCK_TYPES
    from graph_compat.store.base import BaseStore as BaseStore
    from graph_compat.types import Command as Command
    from graph_compat.types import Send as Send

__all__ = [
    "AsyncToolCallWrapper",
    "InjectedState",
    "InjectedStore",
    "ToolCallRequest",
    "ToolCallWithContext",
    "ToolCallWrapper",
    "ToolInvocationError",
    "ToolNode",
    "ToolRuntime",
    "msg_content_output",
    "tools_condition",
]

_MARKS = ("InjectedState", "InjectedStore", "ToolInvocationError", "ToolRuntime")

# The marks load LangChain where it is installed; what programs also import from here.
lend(
    __name__,
    {
        **dict.fromkeys(_MARKS, "graph_compat.prebuilt.marks"),
        **dict.fromkeys(
            ("TOOL_CALL_ERROR_TEMPLATE", "TOOL_EXECUTION_ERROR_TEMPLATE", "TOOL_INVOCATION_ERROR_TEMPLATE"),
            "graph_compat.prebuilt.tool_errors",
        ),
        "BaseStore": "graph_compat.store.base",
        **dict.fromkeys(("Command", "Send"), "graph_compat.types"),
        "GraphBubbleUp": "graph_compat.errors",
        "REMOVE_ALL_MESSAGES": "graph_compat.graph.message",
        "TOOL_MESSAGE_BLOCK_TYPES": "graph_compat.prebuilt.tool_results",
        **dict.fromkeys(("AIMessage", "RemoveMessage", "ToolMessage"), "langchain_core.messages"),
        "RunnableConfig": "langchain_core.runnables",
        **dict.fromkeys(("BaseTool", "InjectedToolArg", "ToolException"), "langchain_core.tools"),
    },
)


@dataclass(frozen=True)
class _Given:
    """What the calls of one invocation share; `listed` where the state is, and becomes, a list of messages.

    `alone` is the runtime of a node that runs outside of a graph, and so in no `frame`.
    """

    state: Any
    listed: bool
    as_dict: bool
    config: Any
    frame: Frame | None
    alone: Any

    @property
    def runtime(self) -> Any:
        """The runtime of the node; made when a tool first wants it."""
        return self.alone if self.frame is None else self.frame.runtime


@looks_late
class ToolNode(AsRunnable):
    """A node that runs the tools that a model calls, and answers each call.

    It runs in a graph; outside of one, with a runtime: `{"configurable": {"__pregel_runtime": Runtime()}}`.
    Its input is a state with messages, a list of messages, a list that ends with a call, or one call with its
    state (`ToolCallWithContext`).

    Args:
        tools: functions, and tools made by LangChain.
        name: the node's name.
        tags: for tracers.
        handle_tool_errors: which errors are answered rather than raised; see `tool_errors`. By default only
            arguments that don't fit.
        messages_key: where the state has its messages.
        wrap_tool_call: `wrapper(request, execute)`, called in place of each call.
        awrap_tool_call: the same for asyncio, where `wrap_tool_call` does if it isn't given.

    Raises:
        TypeError: something is no tool.
    """

    def __init__(
        self,
        tools: Sequence[Any],
        *,
        name: str = "tools",
        tags: list[str] | None = None,
        handle_tool_errors: Handling = invalid_arguments_only,
        messages_key: str = "messages",
        wrap_tool_call: ToolCallWrapper | None = None,
        awrap_tool_call: AsyncToolCallWrapper | None = None,
    ) -> None:
        self.name = name
        self.tags = tags
        self._errors = ErrorHandler(handle_tool_errors)
        self._messages_key = messages_key
        self._wrap = wrap_tool_call
        self._awrap = awrap_tool_call
        self._prepared = {tool.name: prepared(tool) for tool in map(tool_of, tools)}
        self._tools = {name: ready.tool for name, ready in self._prepared.items()}
        self._tasks = {name: self._task(name) for name in self._tools}
        self._any_task = self._task(name)

    @property
    def _handle_tool_errors(self) -> Handling:
        """`handle_tool_errors=`, under the name by which libraries copy it to a node of their own."""
        return self._errors.handling

    @property
    def tools_by_name(self) -> dict[str, Any]:
        """The tools."""
        return self._tools

    @property
    def only_blocks(self) -> bool:
        """Whether nothing in it is awaited; so asyncio runs it as any node that blocks, on a thread, and what its tools
        have done is recorded though who waited for it was cancelled."""
        return type(self).ainvoke is ToolNode.ainvoke and all(map(self._only_blocks, self._tools))

    def _only_blocks(self, name: str) -> bool:
        wrapped = self._wrap is not None or self._awrap is not None
        return not wrapped and name in self._prepared and self._prepared[name].only_blocks

    # -- calling --------------------------------------------------------------------------------

    def invoke(self, input: Any, config: Any = None, **kwargs: Any) -> Any:
        """The answers: `{messages_key: [...]}`, a list for a list, or a list of updates if a tool returned a command.

        Raises:
            ValueError: there is no message of a model, or no graph around.
        """
        calls, given = self._read(input, config)
        frame = current_frame.get()
        if frame is None or (len(calls) == 1 and not _began_as_task(calls[0], frame)):
            results = [off_loop(self._answer, call, given) for call in calls]
        else:
            alone = len(calls) == 1
            futures = [self._start(call, given, self._answer, alone) for call in calls]
            results = [_told(future.result()) for future in futures]
        return combined(results, listed=given.listed, messages_key=self._messages_key)

    async def ainvoke(self, input: Any, config: Any = None, **kwargs: Any) -> Any:
        """`invoke` for asyncio."""
        calls, given = self._read(input, config)
        frame = current_frame.get()
        if frame is None:
            results = await asyncio.gather(*(self._aanswer(call, given) for call in calls))
        elif len(calls) == 1 and not (
            _began_as_task(calls[0], frame) or self._begins_as_task(calls[0], frame)
        ):
            results = [await self._aanswer(calls[0], given)]
        else:
            alone = len(calls) == 1
            futures = [self._start(call, given, self._form_of(call), alone) for call in calls]
            results = [_told(await future) for future in futures]
        return combined(results, listed=given.listed, messages_key=self._messages_key)

    def _read(self, input: Any, config: Any) -> tuple[list[ToolCall], _Given]:
        frame = current_frame.get()
        alone = None
        if frame is None:
            alone = (config or {}).get("configurable", {}).get(CONFIG_KEY_RUNTIME)
        if frame is None and alone is None:
            raise ValueError(
                f"Missing required config key 'N/A' for '{self.name}'. A ToolNode runs in a graph: add it as a node, or"
                " call it in one"
            )
        calls, state, source = calls_in(input, self._messages_key)
        given = _Given(
            state=state,
            listed=isinstance(input, list) and not is_call(input[-1]),
            as_dict=not uses_langchain() if source is None else is_dict(source),
            config=config_here() if config is None and frame is not None else config,
            frame=frame,
            alone=alone,
        )
        return calls, given

    # -- one call, as a task ------------------------------------------------------------------------

    def _task(self, name: str) -> tuple[Definition, Definition]:
        """The task of a tool's calls: for a blocking caller, and for asyncio."""
        options: dict[str, Any] = {"name": name, "key": "call", "hidden": True}
        blocking, awaited = (define(run, **options) for run in (_run, _arun))
        recorded = _recorded_as(name)
        return blocking.with_options(qualified=recorded), awaited.with_options(qualified=recorded)

    def _begins_as_task(self, call: ToolCall, frame: Frame) -> bool:
        """Whether asyncio makes a task of a node's only call: of a tool that blocks, which is recorded then whoever
        waits for it. Not where it may have begun before in the node itself: what it asked and recorded is there."""
        run = frame.run
        return run.journal is not None and run.made and frame.attempt == 1 and self._only_blocks(call["name"])

    def _form_of(self, call: ToolCall) -> Callable[..., Any]:
        """How asyncio answers a call: of a tool that blocks as a task that does, recorded whoever waits for it."""
        return self._answer if self._only_blocks(call["name"]) else self._aanswer

    def _start(self, call: ToolCall, given: _Given, run: Callable[..., Any], alone: bool) -> Any:
        """The future of a call's result."""
        frame = current_frame.get()
        assert frame is not None
        name = call["name"]
        blocking, awaited = self._tasks.get(name, self._any_task)
        definition = awaited if inspect.iscoroutinefunction(run) else blocking
        site = self._prepared[name].site if name in self._prepared else ""
        return frame.run.spawn(
            frame, definition.all_alone if alone else definition, (call, given, run), {}, site
        )

    # -- one call ---------------------------------------------------------------------------------

    def _answer(self, call: ToolCall, given: _Given) -> Any:
        return blocking(self._answered(call, given, on_loop=False))

    async def _aanswer(self, call: ToolCall, given: _Given) -> Any:
        return await self._answered(call, given, on_loop=True)

    async def _answered(self, call: ToolCall, given: _Given, *, on_loop: bool) -> Any:
        request = self._request(call, given)
        execute = partial(self._execute, given, on_loop)
        awrap = self._awrap if on_loop else None
        if self._wrap is None and awrap is None:
            return await execute(request)
        try:
            if awrap is not None:
                return await awrap(request, execute)
            assert self._wrap is not None
            if not on_loop:
                return self._wrap(request, lambda asked: blocking(execute(asked)))
            return await on_thread(self._wrap, request, _blocking(execute))
        except Exception as error:
            return self._failed(call, error, given.as_dict)

    def _request(self, call: ToolCall, given: _Given) -> ToolCallRequest:
        wrapped = self._wrap is not None or self._awrap is not None
        runtime = self._runtime(call, given) if wrapped else None
        return ToolCallRequest(call, self._tools.get(call["name"]), given.state, runtime)

    def _runtime(self, call: ToolCall, given: _Given) -> ToolRuntime[Any, Any]:
        from graph_compat.prebuilt.marks import ToolRuntime

        runtime = given.runtime
        return ToolRuntime(
            state=given.state,
            context=runtime.context,
            config=told_of(given.config),
            stream_writer=runtime.stream_writer,
            tool_call_id=call["id"],
            store=runtime.store,
            tools=list(self._tools.values()),
            execution_info=getattr(runtime, "execution_info", None),
            server_info=getattr(runtime, "server_info", None),
        )

    async def _execute(self, given: _Given, on_loop: bool, request: ToolCallRequest) -> Any:
        call, tool = request.tool_call, self._ready(request)
        if tool is None:
            return self._unknown(call, given.as_dict)
        arguments, filled = self._arguments(tool, request, given)
        try:
            result = await tool.run(call, arguments, filled, given.config, on_loop=on_loop)
            return self._normalised(result, call, given)
        except Exception as error:
            return self._failed(call, explained(error, call, filled), given.as_dict)

    def _ready(self, request: ToolCallRequest) -> Prepared | None:
        """The tool of a request; an interceptor may have put in one that the node doesn't have."""
        known = self._prepared.get(request.tool_call["name"])
        if request.tool is None or (known is not None and known.tool is request.tool):
            return known
        return prepared(request.tool)

    def _arguments(
        self, tool: Prepared, request: ToolCallRequest, given: _Given
    ) -> tuple[Any, dict[str, Any]]:
        """The arguments that the model gave, and those that the graph fills."""
        call = request.tool_call
        arguments = call["args"]
        if not tool.wanted:
            return arguments, {}
        source = Source(
            state=request.state,
            messages_key=self._messages_key,
            store=given.runtime.store,
            runtime=lambda: request.runtime or self._runtime(call, given),
            tool_call_id=call["id"],
        )
        if isinstance(arguments, Mapping):
            arguments = {name: value for name, value in arguments.items() if name not in tool.wanted}
        return arguments, injected(tool.tool.name, tool.wanted, source)

    def _normalised(self, result: Any, call: ToolCall, given: _Given) -> Any:
        return normalised(
            result, call, listed=given.listed, as_dict=given.as_dict, messages_key=self._messages_key
        )

    def _failed(self, call: ToolCall, error: Exception, as_dict: bool) -> Any:
        return answer(call, self._errors.content(error), as_dict=as_dict, status="error")

    def _unknown(self, call: ToolCall, as_dict: bool) -> Any:
        text = INVALID_TOOL_NAME_ERROR_TEMPLATE.format(
            requested_tool=call["name"], available_tools=", ".join(self._tools)
        )
        return answer(call, text, as_dict=as_dict, status="error")


_Told = tuple[Any, list[tuple[str, Any]]]
"""What a call's task comes to: its answer, and what the tool pushed to the state."""


def _run(call: ToolCall, given: _Given, run: Callable[[ToolCall, _Given], Any]) -> _Told:
    with pushing() as pushed:
        return run(call, given), [(write.channel, write.value) for write in pushed]


async def _arun(call: ToolCall, given: _Given, run: Callable[[ToolCall, _Given], Awaitable[Any]]) -> _Told:
    with pushing() as pushed:
        return await run(call, given), [(write.channel, write.value) for write in pushed]


def _began_as_task(call: ToolCall, frame: Frame) -> bool:
    """Whether a node's only call is recorded as a task of it: there it goes on, in either colour."""
    ledger = frame.run.ledger
    return bool(ledger.records) and bool(ledger.rivals(frame.scope, _recorded_as(call["name"])))


def _recorded_as(tool: str) -> str:
    """The name of a tool's calls in records, which no task of the program's has, nor a question."""
    return f"tool {tool}"


def _told(told: _Told) -> Any:
    """A call's answer, once what its tool pushed is the node's."""
    result, pushed = told
    if pushed:
        send(pushed)
    return result


def _blocking(
    execute: Callable[[ToolCallRequest], Coroutine[Any, Any, Any]],
) -> Callable[[ToolCallRequest], Any]:
    """What runs a tool on the event loop, for a wrapper that blocks a thread beside it."""
    loop = asyncio.get_running_loop()
    return lambda request: asyncio.run_coroutine_threadsafe(execute(request), loop).result()


def tools_condition(state: Any, messages_key: str = "messages") -> Literal["tools", "__end__"]:
    """Where a model's answer leads: to "tools" if it calls any, else to the end. For `add_conditional_edges`.

    Raises:
        ValueError: the state has no messages.
    """
    messages = messages_in(state, messages_key)
    if not messages:
        raise ValueError(f"No messages found in input state to tool_edge: {state}")
    return "tools" if calls_of(messages[-1]) else "__end__"
