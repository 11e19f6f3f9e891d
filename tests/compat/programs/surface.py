"""What can be imported from where, and called with which arguments (section 1)."""

import dataclasses
import inspect
from collections.abc import Callable
from typing import Any

from ..trace import Trace, differs

PLAIN = (type(None), bool, int, float, str, tuple)


def _has(t: Trace, module: Any, names: str) -> None:
    """Which of the names the module has, and which of them are classes."""
    kinds = {name: "class" if inspect.isclass(getattr(module, name)) else "there" for name in names.split()}
    t.note(module.__name__.partition(".")[2], kinds)


def _takes(t: Trace, function: Callable[..., Any]) -> None:
    """The parameters that a caller may give by name, in order, with their defaults where those are plain."""
    parameters = [
        (name, p.default if isinstance(p.default, PLAIN) else p.default is p.empty)
        for name, p in inspect.signature(function).parameters.items()
        if name != "self" and p.kind is not p.VAR_KEYWORD and not name.startswith("_")
    ]
    t.note(getattr(function, "__name__", "?"), parameters)


async def names_for_building(t: Trace) -> None:
    """Names that programs import to build graphs."""
    from langgraph import constants, func, graph, managed, pregel
    from langgraph.graph import message, state

    _has(t, graph, "StateGraph START END MessagesState add_messages")
    _has(t, state, "StateGraph CompiledStateGraph")
    _has(t, message, "add_messages REMOVE_ALL_MESSAGES push_message MessagesState")
    _has(t, func, "entrypoint task")
    _has(t, managed, "IsLastStep RemainingSteps")
    _has(t, pregel, "Pregel NodeBuilder")
    _has(t, constants, "START END TAG_HIDDEN TAG_NOSTREAM")


async def names_for_running(t: Trace) -> None:
    """Names that programs import to run graphs and in nodes."""
    from langgraph import callbacks, config, runtime, types

    _has(
        t,
        types,
        "Send Command interrupt Interrupt RetryPolicy CachePolicy TimeoutPolicy Overwrite StateSnapshot",
    )
    _has(
        t,
        types,
        "PregelTask StateUpdate GraphOutput StreamMode StreamWriter Durability All Checkpointer TracePolicy",
    )
    _has(t, config, "get_config get_store get_stream_writer")
    _has(t, runtime, "Runtime get_runtime ExecutionInfo ServerInfo RunControl")
    _has(t, callbacks, "GraphCallbackHandler GraphInterruptEvent GraphResumeEvent")


async def names_of_errors(t: Trace) -> None:
    """Names of errors and warnings."""
    from langgraph import errors
    from langgraph import warnings as deprecations

    _has(
        t,
        errors,
        "GraphRecursionError InvalidUpdateError EmptyInputError EmptyChannelError GraphBubbleUp GraphInterrupt",
    )
    _has(
        t,
        errors,
        "NodeInterrupt ParentCommand GraphDrained NodeError NodeTimeoutError NodeCancelledError TaskNotFound",
    )
    _has(t, errors, "ErrorCode create_error_message UnknownInterruptError is_invalid_resume")
    _has(
        t, deprecations, "LangGraphDeprecationWarning LangGraphDeprecatedSinceV05 LangGraphDeprecatedSinceV10"
    )


async def names_of_what_is_kept(t: Trace) -> None:
    """Names of savers, stores, caches and channels."""
    from langgraph import channels
    from langgraph.cache import memory as cache_memory
    from langgraph.checkpoint import base as checkpoint_base
    from langgraph.checkpoint import memory as checkpoint_memory
    from langgraph.store import base as store_base
    from langgraph.store import memory as store_memory

    _has(
        t,
        checkpoint_base,
        "BaseCheckpointSaver Checkpoint CheckpointMetadata CheckpointTuple get_checkpoint_id",
    )
    _has(t, checkpoint_memory, "InMemorySaver MemorySaver")
    _has(
        t, store_base, "BaseStore Item SearchItem GetOp PutOp SearchOp ListNamespacesOp InvalidNamespaceError"
    )
    _has(t, store_memory, "InMemoryStore")
    _has(t, cache_memory, "InMemoryCache")
    _has(
        t,
        channels,
        "BaseChannel LastValue AnyValue EphemeralValue UntrackedValue Topic BinaryOperatorAggregate",
    )
    _has(t, channels, "NamedBarrierValue DeltaChannel")


async def constants_of_the_library(t: Trace) -> None:
    """Values that programs compare with."""
    from langgraph import constants, graph, types
    from langgraph.graph import message

    t.note("nodes", (graph.START, graph.END))
    t.note("message", message.REMOVE_ALL_MESSAGES)
    t.note("parent", types.Command.PARENT)
    t.note("tags", (constants.TAG_HIDDEN, constants.TAG_NOSTREAM))


async def parameters_of_builders(t: Trace) -> None:
    """What a builder's methods take."""
    from langgraph import func, graph

    builder = graph.StateGraph
    for function in [
        builder,
        builder.add_node,
        builder.add_edge,
        builder.add_conditional_edges,
        builder.add_sequence,
    ]:
        _takes(t, function)
    for function in [builder.set_entry_point, builder.set_finish_point, builder.set_conditional_entry_point]:
        _takes(t, function)
    for function in [
        builder.set_node_defaults,
        builder.validate,
        builder.compile,
        func.task,
        func.entrypoint,
    ]:
        _takes(t, function)


@differs("parameters of flowfn's own")
async def parameters_of_graphs(t: Trace) -> None:
    """What a compiled graph's methods take, and that each has an asyncio twin with the same parameters."""
    from langgraph.graph import state

    compiled = state.CompiledStateGraph
    for name in [
        "invoke",
        "stream",
        "get_state",
        "get_state_history",
        "update_state",
        "bulk_update_state",
        "get_graph",
    ]:
        function, twin = getattr(compiled, name), getattr(compiled, f"a{name}")
        _takes(t, function)
        t.note(
            "twin", list(inspect.signature(function).parameters) == list(inspect.signature(twin).parameters)
        )
    for name in ["get_subgraphs", "clear_cache", "with_config"]:
        _takes(t, getattr(compiled, name))


@differs("parameters of flowfn's own")
async def parameters_of_types(t: Trace) -> None:
    """What the types are made of."""
    from langgraph import types

    for cls in [
        types.Send,
        types.Command,
        types.Interrupt,
        types.RetryPolicy,
        types.CachePolicy,
        types.TimeoutPolicy,
    ]:
        _takes(t, cls)
    for cls in [types.Overwrite, types.StateUpdate, types.GraphOutput, types.PregelTask, types.StateSnapshot]:
        _takes(t, cls)
    _takes(t, types.interrupt)


@differs("an interrupt shows what it has")
async def values_of_types(t: Trace) -> None:
    """They compare, hash and print by their fields."""
    from langgraph import types

    send = types.Send("a", 1)
    t.note(
        "send",
        (send == types.Send("a", 1), send == types.Send("a", 2), len({send, types.Send("a", 1)}), repr(send)),
    )
    command = types.Command(goto="a")
    t.note("command", (command == types.Command(goto="a"), command != types.Command(), repr(command)))
    t.note("long command", repr(types.Command(graph="g", update={"a": 1}, resume=2, goto=["b", send])))
    t.note("interrupt", repr(types.Interrupt(value=1, id="i")))
    t.raises(setattr, command, "goto", "b")
    t.note("retry", types.RetryPolicy(max_attempts=2)._replace(jitter=False).max_attempts)


@differs("a RetryPolicy is no tuple")
async def a_retry_policy_with_other_values(t: Trace) -> None:
    """It can be copied with changes, and sliced."""
    from langgraph import types

    t.raises(lambda: types.RetryPolicy(max_attempts=2)[3:5])


async def members_of_a_graph(t: Trace) -> None:
    """A compiled graph has the attributes that programs look at."""
    from langgraph import graph, pregel
    from langgraph.graph import state

    names = (
        "invoke ainvoke stream astream batch abatch get_state aget_state update_state aupdate_state get_graph"
    )
    names += " get_input_jsonschema get_output_jsonschema get_context_jsonschema with_config clear_cache aclear_cache"
    names += (
        " nodes channels checkpointer store cache name builder input_channels output_channels stream_mode"
    )
    compiled = graph.StateGraph(dict).add_node("a", lambda state: state).set_entry_point("a").compile()
    t.note("missing", [name for name in names.split() if not hasattr(compiled, name)])
    t.note("kinds", (isinstance(compiled, pregel.Pregel), isinstance(compiled, state.CompiledStateGraph)))
    t.note("protocol", isinstance(compiled, pregel.protocol.PregelProtocol))
    t.note("nothing", (compiled.checkpointer, compiled.store, compiled.cache))


@differs("what LangGraph runs by isn't there")
async def parts_that_langgraph_runs_by(t: Trace) -> None:
    """A graph has its plan among its attributes, and a saver its connection's lock and its SQL."""
    from langgraph import graph
    from langgraph.checkpoint.postgres import PostgresSaver
    from langgraph.checkpoint.sqlite import SqliteSaver

    compiled = graph.StateGraph(dict).add_node("a", lambda state: state).set_entry_point("a").compile()
    with SqliteSaver.from_conn_string(":memory:") as saver:
        t.note("saver", [name for name in ("cursor", "is_setup", "lock") if hasattr(saver, name)])
    t.note("SQL", [name for name in ("MIGRATIONS", "SELECT_SQL") if hasattr(PostgresSaver, name)])
    t.note(
        "plan", [name for name in ("schema_to_mapper", "node_error_handler_map") if hasattr(compiled, name)]
    )


async def type_parameters(t: Trace) -> None:
    """A class takes as many types as an annotation may name; the later ones may be left out."""
    from langgraph import channels, graph, prebuilt, pregel, runtime, types
    from langgraph.graph import state
    from langgraph.managed import base

    classes = [graph.StateGraph, state.CompiledStateGraph, pregel.Pregel, types.Command, types.GraphOutput]
    classes += [runtime.Runtime, prebuilt.ToolRuntime, base.ManagedValue]
    classes += [channels.LastValue, channels.Topic, channels.EphemeralValue, channels.BinaryOperatorAggregate]
    classes += [channels.AnyValue, channels.DeltaChannel, channels.UntrackedValue]
    classes += [types.CachePolicy, types.Interrupt, state.StateNodeSpec]
    for cls in classes:
        for count in range(1, 6):
            try:
                cls[(int,) * count]
            except TypeError:
                t.note("refused", (cls.__name__, count))
            else:
                t.note("taken", (cls.__name__, count))
    t.note("made", graph.StateGraph[dict](dict).add_node("a", lambda value: value).nodes.keys())


async def names_beside_their_homes(t: Trace) -> None:
    """Names that programs import from where they are used, rather than from where they are made."""
    from langgraph import config, func
    from langgraph.channels import binop, last_value
    from langgraph.checkpoint import base, memory, sqlite
    from langgraph.graph import message, state
    from langgraph.prebuilt import chat_agent_executor, tool_node
    from langgraph.pregel import main, protocol
    from langgraph.store import memory as store

    _has(
        t,
        state,
        "Send Command BaseStore BaseChannel EphemeralValue Pregel InvalidUpdateError INTERRUPT TAG_HIDDEN",
    )
    _has(t, func, "BaseCache BaseCheckpointSaver BaseStore")
    _has(t, config, "BaseStore CONF")
    _has(t, binop, "Overwrite EmptyChannelError InvalidUpdateError")
    _has(t, last_value, "EmptyChannelError InvalidUpdateError")
    _has(t, base, "uuid6 JsonPlusSerializer ChannelProtocol maybe_add_typed_methods")
    _has(t, memory, "Checkpoint CheckpointMetadata CheckpointTuple")
    _has(t, sqlite, "Checkpoint CheckpointMetadata CheckpointTuple")
    _has(t, store, "BaseStore Item SearchItem GetOp PutOp SearchOp IndexConfig tokenize_path")
    _has(t, main, "Command Interrupt Send StateSnapshot Checkpoint BaseStore Runtime GraphRecursionError")
    _has(t, protocol, "GraphOutput StreamPart")
    _has(t, chat_agent_executor, "BaseStore Runtime add_messages")
    _has(t, tool_node, "BaseStore Command Send GraphBubbleUp")
    t.note("is there", hasattr(message, "Messages"))
    t.note("writes", [base.ERROR, base.INTERRUPT, base.RESUME, base.SCHEDULED])
    t.note("unknown", tool_node.INVALID_TOOL_NAME_ERROR_TEMPLATE)
    t.note("called", tool_node.TOOL_CALL_ERROR_TEMPLATE)
    t.note("invoked", tool_node.TOOL_INVOCATION_ERROR_TEMPLATE)
    t.note("executed", tool_node.TOOL_EXECUTION_ERROR_TEMPLATE)
    t.note("blocks", tool_node.TOOL_MESSAGE_BLOCK_TYPES)


async def default_cache_keys(t: Trace) -> None:
    """A key is of all that was given, in whatever order it was named."""
    from langgraph.types import default_cache_key

    deep = {"z": [{"y": 1, "x": (1, [2])}], "a": bytearray(b"x"), "s": {3}}
    for args, named in (((), {"b": 1, "a": 2}), ((1, "x"), {"q": [1, 2]}), (([1], {"b": 1}), {"deep": deep})):
        t.note("key", default_cache_key(*args, **named))


async def modules_without_an_import(t: Trace) -> None:
    """A module that LangGraph's own imports load is an attribute of its package, whoever imported it."""
    from langgraph import config, errors, graph, pregel, store

    modules = (pregel.protocol, pregel.main, config, store.base, errors, graph.message)
    t.note("modules", [module.__name__.rpartition(".")[2] for module in modules])


async def copies_with_breakpoints(t: Trace) -> None:
    """A copy of a graph stops where it was told to, and the graph itself doesn't."""
    from langgraph.graph import StateGraph

    builder = StateGraph(dict).add_node("a", lambda state: state).add_node("b", lambda state: state)
    graph = builder.add_edge("__start__", "a").add_edge("a", "b").compile()
    for update in ({"interrupt_before_nodes": ["b"]}, {"interrupt_after_nodes": "*"}, {"name": "other"}):
        made = graph.copy(update)
        t.note("copy", (made.name, made.interrupt_before_nodes, made.interrupt_after_nodes))
        await t.stream(made, {"x": 1})
    t.note("itself", (graph.interrupt_before_nodes, graph.interrupt_after_nodes))
    await t.stream(graph, {"x": 1})


@differs("fields of flowfn's own")
async def fields_of_an_interrupt(t: Trace) -> None:
    """What programs see that write an interrupt out field by field."""
    from langgraph.types import Interrupt

    found = dataclasses.asdict(Interrupt(value=1, id="i"))
    t.note("fields", {name: found[name] for name in sorted(found)})


async def keys_that_may_be_left_out(t: Trace) -> None:
    """What a typed dict requires, by which validators and factories of test data go."""
    from langgraph import graph, types
    from langgraph.prebuilt import chat_agent_executor

    states = [graph.MessagesState, chat_agent_executor.AgentState]
    states += [chat_agent_executor.AgentStateWithStructuredResponse]
    parts = [types.TaskPayload, types.TaskResultPayload, types.CheckpointTask, types.CheckpointPayload]
    parts += [
        types.ValuesStreamPart,
        types.UpdatesStreamPart,
        types.MessagesStreamPart,
        types.TasksStreamPart,
    ]
    for cls in (*states, *parts):
        t.note(cls.__name__, (sorted(cls.__required_keys__), sorted(cls.__optional_keys__)))


async def mocks_of_graphs(t: Trace) -> None:
    """A mock that is made of a class, or of a graph, has what a graph has, and code can be patched in either."""
    from unittest.mock import MagicMock, create_autospec, patch

    from langgraph import graph, prebuilt, pregel
    from langgraph.graph.state import CompiledStateGraph

    compiled = graph.StateGraph(dict).add_node("a", lambda state: state).set_entry_point("a").compile()
    names = (
        "as_tool assign astream_log bind config_specs get_prompts input_schema map output_schema pick pipe "
    )
    names += "transform with_config with_fallbacks with_listeners with_retry with_types batch abatch stream"
    of_graphs = " checkpointer store cache name stream_mode stream_eager step_timeout config context_schema"
    specs = [(CompiledStateGraph, of_graphs), (pregel.Pregel, of_graphs), (compiled, of_graphs)]
    for spec, more in [*specs, (prebuilt.ToolNode, ""), (prebuilt.ToolNode([]), "")]:
        mock = MagicMock(spec=spec)
        t.note("missing", [name for name in (names + more).split() if not hasattr(mock, name)])
    for name in ("with_retry", "bind", "stream"):
        with patch.object(CompiledStateGraph, name, return_value="patched"):
            t.note(name, getattr(compiled, name)())
        with patch.object(compiled, name, return_value="patched"):
            t.note(name, getattr(compiled, name)())
    made = create_autospec(compiled)
    made.with_retry.return_value.invoke.return_value = {"x": 1}
    t.note("made", made.with_retry(stop_after_attempt=2).invoke({}))
    t.note("itself", compiled.with_retry(stop_after_attempt=1).invoke({"x": 2}))
