"""A graph as a program: one channel per key of the state, one node per node, and a channel for each way to go.

| of the graph | of the program |
|---|---|
| a key | the channel that its annotation says, else `LastValue` |
| `START` | a hidden node on the ephemeral channel `__start__`, which writes the input to the keys |
| node `n` | a node on `branch:to:n`, reading the keys of its input schema |
| edge `a → b` | a write of `a` to `branch:to:b` |
| edge `[a, b] → c` | the channel `join:a+b:c`, which triggers `c` once both have written their names |
| conditional edge | decided and written by its source, as a part of its task |
| `defer=True` | a trigger that shows itself only when nothing else is left to run |
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from operator import methodcaller
from typing import TYPE_CHECKING, Any

from flowfn.policies import TimeoutPolicy, policies_of
from flowfn.pregel import (
    Channel,
    EphemeralValue,
    LastValueAfterFinish,
    NamedBarrier,
    NamedBarrierAfterFinish,
    Node,
    Program,
    Selection,
    Topic,
)
from flowfn.pregel.ways import edge, join
from flowfn.values import MISSING, Command, Send, Write
from flowfn.workflow import Workflow
from graph_compat.constants import END, ROOT, SENDS, START, TAG_HIDDEN
from graph_compat.graph.action import Action
from graph_compat.graph.node import StateNodeSpec, Step, definition_of, reader, stops
from graph_compat.graph.schema import Schema, fields_of
from graph_compat.graph.writes import Writer

if TYPE_CHECKING:
    from graph_compat.graph.state import StateGraph

    AnyStateGraph = StateGraph[Any, Any, Any, Any]


def lower(
    builder: AnyStateGraph, *, name: str, before: Sequence[str] | str, after: Sequence[str] | str
) -> Program:
    """The program of a graph that was validated."""
    output = builder.schema_of(builder.output_schema)
    keys = tuple(builder.channels)
    lone = keys == (ROOT,)
    output_keys = tuple(output.channels)
    has_classes = output.make is not None or builder.schema_of(builder.state_schema).make is not None
    return Program(
        nodes=_nodes(builder),
        channels=_channels(builder),
        input=_single if lone else _input,
        result=_result(output),
        input_channels=(START,),
        output_channels=output_keys,
        stream_channels=keys,
        lone=lone,
        lone_output=lone,
        passes_on=not builder.branches.get(START),
        sends=SENDS,
        interrupt_before=stops(before),
        interrupt_after=stops(after),
        name=name,
        labels={key: f"the state's {key!r}" for key in keys} | {START: f"the input of {name!r}"},
        managed={key: kind.get for key, kind in builder.managed.items()},
        typed=partial(_typed, builder) if has_classes else None,
    )


def _single(given: Any) -> list[Write]:
    return [Write(START, given)]


def _input(given: Any) -> list[Write]:
    """What an input writes; of an object its fields, so that nothing depends on whether its class can be stored."""
    if isinstance(given, dict) and type(given) is not dict:
        given = dict(given)
    if not isinstance(given, dict | Command | Send) and (fields := fields_of(given)) is not None:
        given = dict(fields)
    return [Write(START, given)]


def _result(output: Schema) -> Any:
    if output.is_root:
        return lambda state: state.get(ROOT)
    keys = Selection(output.channels)
    return methodcaller("pick", keys)


def declared(builder: AnyStateGraph, schema: Any, values: Any) -> Any:
    """Values as the class of a schema, if that is one to make instances of."""
    read = builder.schema_of(schema)
    if read.make is None or not isinstance(values, dict):
        return values
    return read.make({key: value for key, value in values.items() if key in read.channels})


def _typed(builder: AnyStateGraph, mode: str, data: Any) -> Any:
    """The data of a chunk with its values as the graph's own classes."""
    if mode == "values":
        return declared(builder, builder.output_schema, data)
    if mode == "checkpoints" and START not in data["next"]:
        return {**data, "values": declared(builder, builder.state_schema, data["values"])}
    if mode == "debug" and data["type"] == "checkpoint":
        return {**data, "payload": _typed(builder, "checkpoints", data["payload"])}
    return data


# -- channels -------------------------------------------------------------------------------------


def _channels(builder: AnyStateGraph) -> dict[str, Channel]:
    channels: dict[str, Channel] = {key: channel.in_graph for key, channel in builder.channels.items()}
    channels[START] = EphemeralValue()
    for name, spec in builder.nodes.items():
        deferred = spec.defer
        channels[edge(name)] = LastValueAfterFinish() if deferred else EphemeralValue(guard=False)
    for sources, target in sorted(builder.waiting_edges):
        names = frozenset(sources)
        deferred = target != END and builder.nodes[target].defer
        channels[join(sources, target)] = NamedBarrierAfterFinish(names) if deferred else NamedBarrier(names)
    channels[SENDS] = Topic()
    return channels


# -- nodes ----------------------------------------------------------------------------------------


def _nodes(builder: AnyStateGraph) -> dict[str, Node]:
    writer, edges, joins = Writer(builder.channels), _edges(builder), _joins(builder)
    nodes = {START: _start(builder, writer, edges[START])}
    for name, spec in builder.nodes.items():
        step = Step(
            spec.action,
            writer,
            builder.schema_of(spec.input_schema),
            tuple(edges[name]),
            tuple(builder.branches.get(name, {}).values()),
            spec.trace_policy,
        )
        nodes[name] = _node(builder, name, spec, step, joins[name])
    return nodes


def _start(builder: AnyStateGraph, writer: Writer, edges: Sequence[Write]) -> Node:
    """The hidden node that gives the input to the state."""
    schema = builder.schema_of(builder.input_schema)
    state = builder.schema_of(builder.state_schema)
    step = Step(
        Action(None, START, _itself, None),
        replace(writer, keys=schema.channels),
        state,
        tuple(edges),
        tuple(builder.branches.get(START, {}).values()),
    )
    passes = {} if step.branches else {"function": step.passed_on, "form_on_loop": None}
    definition = definition_of(step, retry=(), cache=None, timeout=None).with_options(counted=False, **passes)
    return Node(
        START,
        definition,  # type: ignore[arg-type]
        (START,),
        lambda values: values.get(START, MISSING),
        _itself,
        tags=(TAG_HIDDEN,),
        bare=not step.branches,
    )


def replaced(node: Node, action: Action) -> Node:
    """A node with another action.

    Raises:
        ValueError: it is the hidden first one; or it has a timeout, and the action can't be stopped.
    """
    if node.name == START:
        raise ValueError(f"{START!r} gives the input to the state, and can't be replaced: set another node's")
    run: Any = node.run
    step: Step = run.function.__self__
    definition: Any = definition_of(
        replace(step, action=action), retry=run.retry, cache=run.cache, timeout=run.timeout
    )
    return replace(node, run=definition, nested=action.nested, is_nested=_is_nested(action, step))


def _is_nested(action: Action, step: Step) -> bool:
    return isinstance(action.source, Workflow) and not step.branches


def _node(builder: AnyStateGraph, name: str, spec: StateNodeSpec, step: Step, joins: Sequence[str]) -> Node:
    defaults = builder.node_defaults
    retry = spec.retry_policy if spec.retry_policy is not None else defaults.retry_policy
    timeout = spec.timeout if spec.timeout is not None else defaults.timeout
    cache = spec.cache_policy
    if cache is None and not spec.is_error_handler:
        cache = defaults.cache_policy
    definition = definition_of(
        step, retry=policies_of(retry), cache=cache, timeout=TimeoutPolicy.coerce(timeout)
    )
    handler = builder.handler_of(name)
    node = Node(
        name,
        definition,  # type: ignore[arg-type]
        () if spec.is_error_handler else (edge(name), *joins),
        reader(step.schema, name),
        _itself,
        on_error=handler,
        timeout=definition.timeout,
        defer=spec.defer,
        metadata=spec.metadata,
        nested=step.action.nested,
        is_nested=_is_nested(step.action, step),
    )
    if spec.is_error_handler:
        return replace(
            node, spread=lambda failure: ((failure.input,), {}), shown=lambda failure: failure.input
        )
    return node


def _edges(builder: AnyStateGraph) -> dict[str, list[Write]]:
    """What each node writes whatever it returned: its plain edges, and its name into the joins that wait for it."""
    found: dict[str, list[Write]] = defaultdict(list)
    for start, end in sorted(builder.edges):
        if end != END:
            found[start].append(Write(edge(end), None))
    for sources, end in sorted(builder.waiting_edges):
        if end != END:
            for source in dict.fromkeys(sources):
                found[source].append(Write(join(sources, end), source))
    return found


def _joins(builder: AnyStateGraph) -> dict[str, list[str]]:
    """The joins that each node waits for."""
    found: dict[str, list[str]] = defaultdict(list)
    for sources, end in builder.waiting_edges:
        found[end].append(join(sources, end))
    return found


def _itself(value: Any) -> Any:
    return value
