"""`StateGraph`: nodes that read and write one state, and the edges between them."""

from __future__ import annotations

import logging
from collections import defaultdict
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Generic

from flowfn.policies import CachePolicy, RetryPolicy, TimeoutPolicy
from flowfn.python.lazy import lend
from graph_compat.constants import END, START
from graph_compat.graph.action import action_of, name_of, router_of
from graph_compat.graph.branch import BranchSpec, annotated, command_ends, ends_of, return_hint
from graph_compat.graph.checking import check_graph, check_name
from graph_compat.graph.compiled_state import CompiledStateGraph
from graph_compat.graph.keys import Keys
from graph_compat.graph.lowering import lower
from graph_compat.graph.node import StateNodeSpec
from graph_compat.graph.schema import Schema, inferred_schema
from graph_compat.types import All, Checkpointer, ensure_valid_checkpointer
from graph_compat.typing import ContextT, InputT, OutputT, StateT
from graph_compat.warnings import (
    LangGraphDeprecatedSinceV05,
    LangGraphDeprecatedSinceV10,
    refuse_others,
    renamed,
)

if TYPE_CHECKING:
    from langchain_core.runnables import Runnable as Runnable
    from langchain_core.runnables import RunnableConfig as RunnableConfig

    from graph_compat.cache.base import BaseCache as BaseCache
    from graph_compat.channels import BinaryOperatorAggregate as BinaryOperatorAggregate
    from graph_compat.channels import DeltaChannel as DeltaChannel
    from graph_compat.channels import EphemeralValue as EphemeralValue
    from graph_compat.channels import LastValueAfterFinish as LastValueAfterFinish
    from graph_compat.channels import NamedBarrierValue as NamedBarrierValue
    from graph_compat.channels import NamedBarrierValueAfterFinish as NamedBarrierValueAfterFinish
    from graph_compat.channels.base import BaseChannel as BaseChannel
    from graph_compat.checkpoint.base import INTERRUPT as INTERRUPT
    from graph_compat.constants import TAG_HIDDEN as TAG_HIDDEN
    from graph_compat.constants import TASKS as TASKS
    from graph_compat.errors import ErrorCode as ErrorCode
    from graph_compat.errors import InvalidUpdateError as InvalidUpdateError
    from graph_compat.errors import ParentCommand as ParentCommand
    from graph_compat.errors import create_error_message as create_error_message
    from graph_compat.graph.action import StateNode as StateNode
    from graph_compat.pregel import Pregel as Pregel
    from graph_compat.store.base import BaseStore as BaseStore
    from graph_compat.types import Command as Command
    from graph_compat.types import Send as Send
    from graph_compat.types import TracePolicy as TracePolicy
    from graph_compat.typing import NodeInputT as NodeInputT

__all__ = ["CompiledStateGraph", "StateGraph"]

logger = logging.getLogger("graph_compat")


_TOO_LATE = (
    "Adding {} to a graph that has already been compiled. This will not be reflected in the compiled graph."
)


# What programs also import from here.
lend(
    __name__,
    {
        "BaseCache": "graph_compat.cache.base",
        **dict.fromkeys(
            (
                "BinaryOperatorAggregate",
                "DeltaChannel",
                "EphemeralValue",
                "LastValueAfterFinish",
                "NamedBarrierValue",
                "NamedBarrierValueAfterFinish",
            ),
            "graph_compat.channels",
        ),
        "BaseChannel": "graph_compat.channels.base",
        "INTERRUPT": "graph_compat.checkpoint.base",
        **dict.fromkeys(("TAG_HIDDEN", "TASKS"), "graph_compat.constants"),
        **dict.fromkeys(
            ("ErrorCode", "InvalidUpdateError", "ParentCommand", "create_error_message"),
            "graph_compat.errors",
        ),
        "Pregel": "graph_compat.pregel",
        "BaseStore": "graph_compat.store.base",
        **dict.fromkeys(("Command", "Send", "TracePolicy"), "graph_compat.types"),
        "NodeInputT": "graph_compat.typing",
        "StateNode": "graph_compat.graph.action",
        **dict.fromkeys(("Runnable", "RunnableConfig"), "langchain_core.runnables"),
    },
)

_DEFAULT_HANDLER = "__default_error_handler__"


@dataclass(frozen=True)
class NodeDefaults:
    """What nodes that say nothing else are run with."""

    retry_policy: RetryPolicy | Sequence[RetryPolicy] | None = None
    cache_policy: CachePolicy | None = None
    error_handler: Any = None
    timeout: float | timedelta | TimeoutPolicy | None = None


class StateGraph(Generic[StateT, ContextT, InputT, OutputT]):
    """Builds a graph whose nodes share a state; `compile()` makes it runnable. The interface is LangGraph's.

    Args:
        state_schema: a TypedDict, dataclass or pydantic model, each key of which is a channel: annotated with a
            reducer (`Annotated[list, operator.add]`), a channel, or nothing (the last value counts). Any other
            type is a state of one value.
        context_schema: the type of `context=`.
        input_schema, output_schema: which keys the graph takes and gives; default: the state's.

    Raises:
        ValueError: schemas contradict each other, or a reducer doesn't take two arguments.
    """

    def __init__(
        self,
        state_schema: type[StateT],
        context_schema: type[ContextT] | None = None,
        *,
        input_schema: type[InputT] | None = None,
        output_schema: type[OutputT] | None = None,
        **deprecated: Any,
    ) -> None:
        context_schema = renamed(
            deprecated, "config_schema", "context_schema", context_schema, LangGraphDeprecatedSinceV10
        )
        input_schema = renamed(deprecated, "input", "input_schema", input_schema, LangGraphDeprecatedSinceV05)
        output_schema = renamed(
            deprecated, "output", "output_schema", output_schema, LangGraphDeprecatedSinceV05
        )
        refuse_others(deprecated, "StateGraph()")
        self.nodes: dict[str, StateNodeSpec] = {}
        self.edges: set[tuple[str, str]] = set()
        self.branches: defaultdict[str, dict[str, BranchSpec]] = defaultdict(dict)
        self.waiting_edges: set[tuple[tuple[str, ...], str]] = set()
        self._keys = Keys()
        self.channels = self._keys.channels
        self.managed = self._keys.managed
        self.schemas = self._keys.schemas
        self.node_defaults = NodeDefaults()
        self.compiled = False
        self.state_schema = state_schema
        self.input_schema: Any = input_schema if input_schema is not None else state_schema
        self.output_schema: Any = output_schema if output_schema is not None else state_schema
        self.context_schema = context_schema
        self._keys.add(state_schema)
        self._keys.add(self.input_schema, managed=self.input_schema is state_schema)
        self._keys.add(self.output_schema, managed=self.output_schema is state_schema)

    def schema_of(self, schema: Any) -> Schema:
        """A schema of the graph, as it was read."""
        return self._keys.of(schema)

    # -- nodes ----------------------------------------------------------------------------------

    def add_node(
        self,
        node: str | Callable[..., Any] | Any,
        action: Callable[..., Any] | Any = None,
        *,
        defer: bool = False,
        metadata: Mapping[str, Any] | None = None,
        input_schema: Any = None,
        retry_policy: RetryPolicy | Sequence[RetryPolicy] | None = None,
        cache_policy: CachePolicy | None = None,
        error_handler: Any = None,
        destinations: Mapping[str, str] | tuple[str, ...] | None = None,
        timeout: float | timedelta | TimeoutPolicy | None = None,
        trace_policy: Any = None,
        **deprecated: Any,
    ) -> StateGraph[StateT, ContextT, InputT, OutputT]:
        """Add a node: `add_node(function)`, or `add_node("name", function)`; returns the graph.

        Args:
            node: its name, or what it runs, from which the name is taken.
            action: a function of the state (sync or async), an object with `invoke` and `ainvoke`, or a graph.
            defer: run it once nothing else is left to run.
            metadata: for streams and pictures.
            input_schema: which keys it reads; default: its first parameter's annotation, else the state's.
            retry_policy, cache_policy: as for a task; a sequence of policies is asked in order.
            error_handler: called in its place when it fails for good; may take `error: NodeError`.
            destinations: where it may go: shown in pictures, and checked to exist.
            timeout: seconds for one attempt, or a `TimeoutPolicy`; async nodes only.

        Raises:
            ValueError: the name is taken, reserved, or can't be told.
            RuntimeError: there is a name and no action.
            TypeError: `action` can't be called.
        """
        retry_policy = renamed(deprecated, "retry", "retry_policy", retry_policy, LangGraphDeprecatedSinceV05)
        input_schema = renamed(deprecated, "input", "input_schema", input_schema, LangGraphDeprecatedSinceV05)
        refuse_others(deprecated, "add_node()")
        name, action = self._named(node, action)
        if self.compiled:
            logger.warning(_TOO_LATE.format("a node"))
        check_name(name, self.nodes)
        looked_at = action_of(action, name)
        schema = input_schema if input_schema is not None else inferred_schema(action)
        if schema is None:
            schema = self.state_schema
        else:
            self._keys.add(schema)
        if error_handler is not None:
            self._add_handler(f"__error_handler__{name}", error_handler)
        self.nodes[name] = StateNodeSpec(
            action=looked_at,
            metadata=metadata,
            input_schema=schema,
            retry_policy=retry_policy,
            cache_policy=cache_policy,
            ends=_ends(action, destinations),
            defer=defer,
            error_handler=error_handler,
            timeout=timeout,
            trace_policy=trace_policy,
        )
        return self

    def _named(self, node: Any, action: Any) -> tuple[str, Any]:
        if isinstance(node, str):
            if action is None:
                raise RuntimeError(f"Node '{node}' has no action: write add_node({node!r}, function)")
            return node, action
        if action is not None:
            raise TypeError(
                f"The name of a node is a string, and {node!r} is none: write add_node('…', {action!r})"
            )
        name = name_of(node)
        if name is None:
            action_of(node, "?")
            raise ValueError("Node name must be provided if action is not a function")
        return name, node

    def _add_handler(self, name: str, handler: Any) -> None:
        if name in self.nodes:
            raise ValueError(f"Auto-generated error handler node `{name}` already exists.")
        schema = inferred_schema(handler)
        if schema is not None:
            self._keys.add(schema)
        self.nodes[name] = StateNodeSpec(
            action=action_of(handler, name),
            metadata=None,
            input_schema=self.state_schema if schema is None else schema,
            retry_policy=None,
            cache_policy=None,
            ends=_ends(handler, None),
            is_error_handler=True,
        )

    def handler_of(self, name: str) -> str | None:
        """The node that handles the errors of another; a handler's own are nobody's."""
        spec = self.nodes[name]
        if spec.is_error_handler:
            return None
        if spec.error_handler is not None:
            return f"__error_handler__{name}"
        return _DEFAULT_HANDLER if self.node_defaults.error_handler is not None else None

    def set_node_defaults(
        self,
        *,
        retry_policy: RetryPolicy | Sequence[RetryPolicy] | None = None,
        cache_policy: CachePolicy | None = None,
        error_handler: Any = None,
        timeout: float | timedelta | TimeoutPolicy | None = None,
    ) -> StateGraph[StateT, ContextT, InputT, OutputT]:
        """What nodes that say nothing else are run with; returns the graph."""
        self.node_defaults = NodeDefaults(retry_policy, cache_policy, error_handler, timeout)
        return self

    def _add_default_handler(self) -> None:
        """Make what handles the errors of nodes without a handler the last node, instead of an earlier compile()'s."""
        earlier = self.nodes.get(_DEFAULT_HANDLER)
        if earlier is not None and earlier.is_error_handler:
            del self.nodes[_DEFAULT_HANDLER]
        if self.node_defaults.error_handler is not None:
            self._add_handler(_DEFAULT_HANDLER, self.node_defaults.error_handler)

    # -- edges ----------------------------------------------------------------------------------

    def add_edge(
        self, start_key: str | list[str], end_key: str
    ) -> StateGraph[StateT, ContextT, InputT, OutputT]:
        """Run `end_key` after `start_key`; after all of them where it is a list. Returns the graph.

        Raises:
            ValueError: an edge out of END or into START, or a list that names an unknown node.
        """
        if self.compiled:
            logger.warning(_TOO_LATE.format("an edge"))
        starts = [start_key] if isinstance(start_key, str) else list(start_key)
        if END in starts:
            raise ValueError("END cannot be a start node")
        if end_key == START:
            raise ValueError("START cannot be an end node")
        if isinstance(start_key, str):
            self.edges.add((start_key, end_key))
            return self
        for name in (*starts, *([end_key] if end_key != END else [])):
            if name not in self.nodes:
                raise ValueError(f"Need to add_node `{name}` first")
        self.waiting_edges.add((tuple(starts), end_key))
        return self

    def add_conditional_edges(
        self,
        source: str,
        path: Callable[..., Any] | Any,
        path_map: Mapping[Hashable, str] | list[str] | None = None,
    ) -> StateGraph[StateT, ContextT, InputT, OutputT]:
        """Ask `path`, after `source`, where to go: a node's name, a `Send`, or several. Returns the graph.

        `path_map` maps what `path` returns to names; pictures need it, or a `Literal` return annotation.

        Raises:
            ValueError: `source` has a conditional edge of that name already.
        """
        if self.compiled:
            logger.warning(_TOO_LATE.format("an edge"))
        name = "condition" if getattr(path, "__name__", "") == "<lambda>" else name_of(path) or "condition"
        if name in self.branches.get(source, ()):
            raise ValueError(f"Branch with name `{name}` already exists for node `{source}`")
        written = annotated(path)
        action, schema = router_of(path, name), inferred_schema(written)
        read = self._keys.add(schema) if schema is not None else None
        self.branches[source][name] = BranchSpec(action, ends_of(written, path_map), read)
        return self

    def add_sequence(
        self, nodes: Sequence[Callable[..., Any] | tuple[str, Callable[..., Any]] | Any]
    ) -> StateGraph[StateT, ContextT, InputT, OutputT]:
        """Add nodes that run one after another; returns the graph.

        Raises:
            ValueError: there are none, or two have one name.
        """
        if not nodes:
            raise ValueError("Sequence requires at least one node.")
        before: str | None = None
        for node in nodes:
            name = node[0] if isinstance(node, tuple) and len(node) == 2 else name_of(node)
            if name in self.nodes:
                raise ValueError(
                    f"Node names must be unique: node with the name '{name}' already exists. Pass"
                    f" ('another name', {name}) instead."
                )
            self.add_node(*node) if isinstance(node, tuple) else self.add_node(node)
            assert isinstance(name, str)
            if before is not None:
                self.add_edge(before, name)
            before = name
        return self

    def set_entry_point(self, key: str) -> StateGraph[StateT, ContextT, InputT, OutputT]:
        """`add_edge(START, key)`."""
        return self.add_edge(START, key)

    def set_conditional_entry_point(
        self, path: Callable[..., Any] | Any, path_map: Mapping[Hashable, str] | list[str] | None = None
    ) -> StateGraph[StateT, ContextT, InputT, OutputT]:
        """`add_conditional_edges(START, path, path_map)`."""
        return self.add_conditional_edges(START, path, path_map)

    def set_finish_point(self, key: str) -> StateGraph[StateT, ContextT, InputT, OutputT]:
        """`add_edge(key, END)`."""
        return self.add_edge(key, END)

    # -- compiling ------------------------------------------------------------------------------

    def validate(
        self, interrupt: Sequence[str] | None = None
    ) -> StateGraph[StateT, ContextT, InputT, OutputT]:
        """Check that edges and commands lead from and to nodes that exist; returns the graph.

        Raises:
            ValueError: one doesn't, nothing leads out of START, `interrupt` names an unknown node, or a name is
                reserved.
        """
        check_graph(self, interrupt or ())
        self.compiled = True
        return self

    def compile(
        self,
        checkpointer: Checkpointer = None,
        *,
        cache: Any = None,
        store: Any = None,
        interrupt_before: All | list[str] | None = None,
        interrupt_after: All | list[str] | None = None,
        debug: bool = False,
        name: str | None = None,
        transformers: Any = None,
    ) -> CompiledStateGraph[StateT, ContextT, InputT, OutputT]:
        """Make the graph runnable.

        Args:
            checkpointer: where its threads are kept: a saver, a path or a URL. Of a graph inside another one:
                None takes part in the other's, True keeps its state from call to call, False keeps nothing.
            cache: where nodes with a cache policy keep results.
            store: what nodes see as `store`.
            interrupt_before, interrupt_after: nodes to stop at, or "*" for all.
            debug: print updates and values while it runs.
            name: default "LangGraph".
            transformers: what makes more projections of its runs by `stream_events(version="v3")`.

        Raises:
            ValueError: see `validate`.
            TypeError: `checkpointer` is none.
        """
        ensure_valid_checkpointer(checkpointer)
        before, after = interrupt_before or [], interrupt_after or []
        stops = [*(before if before != "*" else []), *(after if after != "*" else [])]
        self._add_default_handler()
        self.validate(interrupt=stops)
        name = name or "LangGraph"
        program = lower(self, name=name, before=before, after=after)
        return CompiledStateGraph(
            builder=self,
            program=program,
            checkpointer=checkpointer,
            cache=cache,
            store=store,
            debug=debug,
            name=name,
            stream_transformers=transformers,
        )


def _ends(
    action: Any, destinations: Mapping[str, str] | tuple[str, ...] | None
) -> tuple[str, ...] | Mapping[str, str]:
    """Where a node may go by itself, for pictures."""
    if destinations is not None:
        return destinations if isinstance(destinations, Mapping) else tuple(destinations)
    return command_ends(return_hint(action))
