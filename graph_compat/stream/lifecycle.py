"""Which graphs run inside a run, from when to when: told by the tasks that start in them, and those that they are in.

Rule: a nested graph has started when its first task has, and ends when the task that called it does. One that has
neither ended nor failed when the run is over was interrupted. The calls of a `ToolNode` aren't shown: the graphs in
them end with their superstep.
"""

from __future__ import annotations

from typing import Any, ClassVar, NotRequired

from typing_extensions import TypedDict

from graph_compat.errors import GraphDrained, GraphInterrupt
from graph_compat.stream.protocol import ProtocolEvent
from graph_compat.stream.run_stream import SubgraphStatus
from graph_compat.stream.stream_channel import StreamChannel
from graph_compat.stream.transformer import StreamTransformer

__all__ = ["LifecyclePayload", "LifecycleTransformer", "ending_by", "is_called_in", "task_of"]

Namespace = tuple[str, ...]
_Transition = tuple[Namespace, SubgraphStatus, str | None]
"""A graph that ends, how, and the text of its error."""

_AGENT = "lc_agent_name"
"""The key of a run's metadata in which LangChain has the name of the agent that runs."""


class LifecyclePayload(TypedDict, total=False):
    """What happens to a nested graph's run.

    `graph_name` is the node that it is in, or the agent that it is; `trigger_call_id` the id of the task that called
    it, and `cause` the tool call that an agent answers.
    """

    event: SubgraphStatus
    namespace: list[str]
    graph_name: NotRequired[str]
    trigger_call_id: NotRequired[str]
    cause: NotRequired[Any]
    error: NotRequired[str]


def task_of(ns: Namespace) -> tuple[str, str | None]:
    """The node, and the id of the task, that called the graph of a namespace."""
    name, _, task = _segment(ns).partition(":")
    return name, task or None


def _segment(ns: Namespace) -> str:
    # A task that calls several graphs has the first in `node:id`, the second in `node:id`, `1`.
    return next((segment for segment in reversed(ns) if not segment.isdigit()), "")


def is_called_in(ns: Namespace, scope: Namespace) -> bool:
    """Whether the graph of a namespace is called by a task of that of `scope`."""
    own = ns[len(scope) :]
    return ns[: len(scope)] == scope and len(own) in (1, 2) and [s.isdigit() for s in own] in _OF_A_CALL


_OF_A_CALL = ([False], [False, True])


class _TasksLifecycleBase(StreamTransformer):
    """Tells subclasses of the nested graphs that `_should_track` takes: when they start, and how they end.

    The names are LangGraph's, as LangChain's agents have a subclass of their own.
    """

    required_stream_modes: ClassVar[tuple[str, ...]] = ("tasks",)

    def __init__(self, scope: Namespace = ()) -> None:
        super().__init__(scope)
        self._lc_by_ns: dict[Namespace, str] = {}
        self._calls: dict[str, str] = {}
        self._tasks: set[str] = set()
        self._asked: set[Namespace] = set()
        self._running: dict[Namespace, None] = {}
        self._failure: BaseException | None = None
        """What a task raised whose graphs `_on_terminal` is told of."""
        self._pending_cause: dict[str, str] | None = None
        """While `_on_started` is called: the tool call that the graph answers, if it is an agent's."""

    # -- for subclasses -----------------------------------------------------------------------------------

    def _should_track(self, ns: Namespace) -> bool:
        raise NotImplementedError(f"{type(self).__name__} must override _should_track()")

    def _on_started(self, ns: Namespace, graph_name: str | None, trigger_call_id: str | None) -> None:
        """A graph's first task has started."""

    def _on_terminal(self, ns: Namespace, status: SubgraphStatus, error: str | None) -> None:
        """A graph's run is over."""

    # -- what tasks tell ----------------------------------------------------------------------------------

    def process(self, event: ProtocolEvent) -> bool:
        """Read the tasks, which aren't shown as raw events: they are what the lifecycle is told by."""
        for nested, status, error in self._transitions(event):
            self._on_terminal(nested, status, error)
        return self._started(event)

    def _started(self, event: ProtocolEvent) -> bool:
        """Tell of a graph that starts with an event, and whether that is for others to see."""
        if event["method"] != "tasks":
            return True
        ns, data = tuple(event["params"]["namespace"]), event["params"]["data"]
        if "result" not in data:
            self._record_identity(ns, data)
            self._record_pending_tool_calls(data)
            self._handle_task_start(ns, data)
        return False

    def _transitions(self, event: ProtocolEvent) -> list[_Transition]:
        """The graphs that end with an event, innermost first, and how."""
        params = event["params"]
        ns, data = tuple(params["namespace"]), params["data"]
        if event["method"] == "values":
            if params.get("interrupts"):
                self._asked.add(ns)
                return []
            # The end of a superstep, and so of the calls in it whose own ends nobody is shown: those of a ToolNode.
            unseen = [each for each in self._running if is_called_in(each, ns) and not self._is_seen(each)]
            return [
                (found, self._last_status(found), None) for each in unseen for found in self._pop_within(each)
            ]
        if event["method"] == "tasks" and "result" in data:
            return self._pop_terminal_transitions(ns, data)
        return []

    def _is_seen(self, ns: Namespace) -> bool:
        """Whether the task that called a graph was shown, and so will its end be, if it comes to one."""
        return task_of(ns)[1] in self._tasks

    def _record_identity(self, ns: Namespace, data: dict[str, Any]) -> None:
        name = (data.get("metadata") or {}).get(_AGENT)
        if name is not None:
            self._lc_by_ns.setdefault(ns, name)

    def _record_pending_tool_calls(self, data: dict[str, Any]) -> None:
        if (call := _call_in(data["input"])) is not None:
            self._calls[data["id"]] = call

    def _handle_task_start(self, ns: Namespace, data: dict[str, Any]) -> None:
        self._tasks.add(data["id"])
        if ns in self._running or not self._should_track(ns):
            return
        self._running[ns] = None
        agent, (node, task) = self._lc_by_ns.get(ns), task_of(ns)
        call = None if agent is None or task is None else self._calls.get(task)
        self._pending_cause = None if call is None else {"type": "toolCall", "tool_call_id": call}
        try:
            self._on_started(ns, agent or node, task)
        finally:
            self._pending_cause = None

    def _pop_terminal_transitions(self, ns: Namespace, data: dict[str, Any]) -> list[_Transition]:
        """The graphs that end with a task."""
        caller = (*ns, f"{data['name']}:{data['id']}")
        status, error = _ending(data)
        self._calls.pop(data["id"], None)
        self._tasks.discard(data["id"])
        self._failure = data["error"] if isinstance(data["error"], BaseException) else None
        return [(nested, status, error) for nested in self._pop_within(caller)]

    def _pop_within(self, place: Namespace) -> list[Namespace]:
        found = [ns for ns in reversed(self._running) if ns[: len(place)] == place]
        for ns in found:
            del self._running[ns]
            self._lc_by_ns.pop(ns, None)
        return found

    def finalize(self) -> None:
        for ns in self._pop_within(self.scope):
            self._on_terminal(ns, self._last_status(ns), None)

    def _last_status(self, ns: Namespace) -> SubgraphStatus:
        """How a graph ended whose caller's end wasn't shown."""
        return "interrupted" if ns in self._asked or self._is_seen(ns) else "completed"

    def fail(self, err: BaseException) -> None:
        self._failure = err
        status, error = ending_by(err)
        for ns in self._pop_within(self.scope):
            self._on_terminal(ns, status, error)


def _call_in(given: Any) -> str | None:
    """The id of the tool call that a task is sent, by itself or with its state."""
    if isinstance(given, list) and given:
        given = given[-1]
    if isinstance(given, dict) and given.get("__type") == "tool_call_with_context":
        given = given["tool_call"]
    if isinstance(given, dict) and "id" in given and "name" in given and "args" in given:
        return given["id"]  # type: ignore[no-any-return]
    return None


def _ending(data: dict[str, Any]) -> tuple[SubgraphStatus, str | None]:
    """What a task's end says of the graphs in it."""
    if (error := data.get("error")) is not None:
        return ending_by(error) if isinstance(error, BaseException) else ("failed", str(error))
    return ("interrupted", None) if data.get("interrupts") else ("completed", None)


def ending_by(error: BaseException) -> tuple[SubgraphStatus, str | None]:
    """What a run's error says of the graphs in it: how they ended, and with which text."""
    if isinstance(error, GraphDrained):
        return "drained", None
    return ("interrupted", None) if isinstance(error, GraphInterrupt) else ("failed", str(error))


class LifecycleTransformer(_TasksLifecycleBase):
    """Shows the starts and ends of all graphs nested in its own in `run.lifecycle`, and among the raw events."""

    _native: ClassVar[bool] = True

    def __init__(self, scope: Namespace = ()) -> None:
        super().__init__(scope)
        self._log: StreamChannel[LifecyclePayload] = StreamChannel("lifecycle")

    def init(self) -> dict[str, Any]:
        return {"lifecycle": self._log}

    def _should_track(self, ns: Namespace) -> bool:
        return len(ns) > len(self.scope) and ns[: len(self.scope)] == self.scope and not self._is_beside(ns)

    def _is_beside(self, ns: Namespace) -> bool:
        """Whether a graph is the next that the task called which called this one."""
        return bool(self.scope) and ns[len(self.scope)].isdigit()

    def _on_started(self, ns: Namespace, graph_name: str | None, trigger_call_id: str | None) -> None:
        payload: LifecyclePayload = {"event": "started", "namespace": list(ns)}
        if graph_name is not None:
            payload["graph_name"] = graph_name
        if trigger_call_id is not None:
            payload["trigger_call_id"] = trigger_call_id
        if self._pending_cause is not None:
            payload["cause"] = self._pending_cause
        self._log.push(payload)

    def _on_terminal(self, ns: Namespace, status: SubgraphStatus, error: str | None) -> None:
        payload: LifecyclePayload = {"event": status, "namespace": list(ns)}
        if error is not None:
            payload["error"] = error
        self._log.push(payload)
