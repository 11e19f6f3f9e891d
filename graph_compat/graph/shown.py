"""What a compiled state graph shows of its nodes and channels, in LangGraph's shape: `graph.nodes["a"].invoke(state)`.

Rule: it is made when somebody looks; no run uses it. What a test sets in it is told to the graph, and what would
change no run can't be set.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Collection, Iterator, Mapping
from copy import copy
from dataclasses import dataclass, field
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from flowfn import pregel
from flowfn.values import Send
from graph_compat.channels import (
    EphemeralValue,
    LastValueAfterFinish,
    NamedBarrierValue,
    NamedBarrierValueAfterFinish,
    Topic,
)
from graph_compat.constants import START
from graph_compat.graph.bound import bound

if TYPE_CHECKING:
    from flowfn.pregel import Node, Program
    from graph_compat.graph.branch import BranchSpec
    from graph_compat.graph.node import StateNodeSpec, Step
    from graph_compat.graph.state import StateGraph


@dataclass(eq=False)
class ShownNode:
    """A node of a compiled graph. It can be run by itself: `invoke` gives what its function returns.

    `bound` is what runs: the runnable or the graph that its author gave, or a function as a runnable where LangChain
    is installed. A test may set another one, which the graph then runs in its place; nothing else can be set.
    `channels` are the keys that it reads, or the name of the only one.
    """

    run_instead: Callable[[Any], None] = field(repr=False)
    bound: Any
    channels: str | list[str]
    triggers: list[str]
    tags: list[str] | None = None
    metadata: Mapping[str, Any] | None = None
    retry_policy: list[Any] | None = None
    cache_policy: Any = None
    timeout: Any = None
    subgraphs: list[Any] = field(default_factory=list)
    is_error_handler: bool = False

    def __setattr__(self, name: str, value: Any) -> None:
        if name in self.__dict__:
            if name != "bound":
                raise AttributeError(f"{name!r} of a compiled node can't be set: say it to add_node()")
            self.run_instead(value)
        super().__setattr__(name, value)

    def invoke(self, input: Any, config: Any = None, **kwargs: Any) -> Any:
        """What the node's function makes of a state; nothing of the graph around it runs."""
        return self.bound.invoke(input, config, **kwargs)

    async def ainvoke(self, input: Any, config: Any = None, **kwargs: Any) -> Any:
        """`invoke` for asyncio."""
        return await self.bound.ainvoke(input, config, **kwargs)

    def stream(self, input: Any, config: Any = None, **kwargs: Any) -> Iterator[Any]:
        """What its runnable streams, or what its function returns."""
        yield from self.bound.stream(input, config, **kwargs)

    async def astream(self, input: Any, config: Any = None, **kwargs: Any) -> AsyncIterator[Any]:
        """`stream` for asyncio."""
        async for chunk in self.bound.astream(input, config, **kwargs):
            yield chunk


class Shape(NamedTuple):
    """The nodes of a graph and the ways between them as they were when it was compiled, which its picture is of."""

    nodes: Mapping[str, StateNodeSpec]
    edges: Collection[tuple[str, str]]
    waiting_edges: Collection[tuple[tuple[str, ...], str]]
    branches: Mapping[str, Mapping[str, BranchSpec]]

    @classmethod
    def of(cls, builder: StateGraph[Any, Any, Any, Any]) -> Shape:
        """The shape of a graph, which stays what it is when somebody goes on building."""
        branches = {source: dict(named) for source, named in builder.branches.items()}
        return cls(dict(builder.nodes), {*builder.edges}, {*builder.waiting_edges}, branches)


def shown_nodes(program: Program, run_instead: Callable[[str, Any], None]) -> Mapping[str, ShownNode]:
    """The nodes by name, the hidden first one included; `run_instead` is told of what a node is to run from now on."""
    return MappingProxyType(
        {name: _shown(name, node, partial(run_instead, name)) for name, node in program.nodes.items()}
    )


def _shown(name: str, node: Node, run_instead: Callable[[Any], None]) -> ShownNode:
    run: Any = node.run
    step: Step = run.function.__self__
    lone = step.schema.is_root
    reads = START if name == START else next(iter(step.schema.channels)) if lone else list(step.schema.keys)
    graph = step.action.graph
    return ShownNode(
        run_instead,
        bound=bound(step.action),
        channels=reads,
        triggers=list(node.triggers),
        tags=list(node.tags) or None,
        metadata=node.metadata,
        retry_policy=list(run.retry) or None,
        cache_policy=run.cache,
        timeout=node.timeout,
        subgraphs=[] if graph is None else [graph],
    )


def shown_channels(builder: StateGraph[Any, Any, Any, Any], program: Program) -> dict[str, Any]:
    """The channels by name, those of edges and the managed values included."""
    channels: dict[str, Any] = {}
    for name, spec in program.channels.items():
        if name in builder.channels:
            channels[name] = copy(builder.channels[name])
            channels[name].key = name
        else:
            channels[name] = _AS_CHANNEL[type(spec)](spec)
    channels[START] = EphemeralValue(builder.input_schema)
    return {**channels, **builder.managed}


_AS_CHANNEL: dict[type[pregel.Channel], Callable[[Any], Any]] = {
    pregel.EphemeralValue: lambda spec: EphemeralValue(Any, guard=spec.guard),
    pregel.LastValueAfterFinish: lambda spec: LastValueAfterFinish(Any),
    pregel.NamedBarrier: lambda spec: NamedBarrierValue(str, set(spec.names)),
    pregel.NamedBarrierAfterFinish: lambda spec: NamedBarrierValueAfterFinish(str, set(spec.names)),
    pregel.Topic: lambda spec: Topic(Send),
}
"""What LangGraph shows of a channel that is no key of the state: of an edge, a join or the Sends."""
