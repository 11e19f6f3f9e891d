"""`Pregel`: channels, and nodes that run when what they subscribe to is written."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Generic

from flowfn.policies import CachePolicy, RetryPolicy, policies_of
from flowfn.values import Command, Send, Write
from graph_compat.channels import Topic
from graph_compat.constants import SENDS
from graph_compat.graph.compiled import CompiledGraph
from graph_compat.graph.json_schemas import context_schema, model_of_channels
from graph_compat.graph.writes import goto
from graph_compat.pregel.builder import NodeBuilder, PregelNode
from graph_compat.pregel.lowering import Description, Names, lower
from graph_compat.types import All, Checkpointer, StreamMode, ensure_valid_checkpointer
from graph_compat.typing import ContextT, InputT, OutputT, StateT
from graph_compat.warnings import LangGraphDeprecatedSinceV10, refuse_others, renamed

if TYPE_CHECKING:
    from flowfn.drawing import Graph
    from graph_compat import drawing


class Pregel(CompiledGraph, Generic[StateT, ContextT, InputT, OutputT]):
    """A program of channels and nodes that runs in supersteps; `StateGraph` is the comfortable way to one.

    Args:
        nodes: by name, what `NodeBuilder` described.
        channels: by name; a channel of `graph_compat.channels`, or a managed value.
        input_channels: the channel that an input is written to, or several, for an input that is a mapping.
        output_channels: the channel whose value is the result, or several, for a mapping.
        stream_channels: what `values` and `updates` streams show; default: all channels.
        stream_mode: what `stream()` yields where its caller doesn't say.
        interrupt_before_nodes, interrupt_after_nodes: nodes to stop at, or "*" for all.
        checkpointer, store, cache: as for `StateGraph.compile`.
        retry_policy, cache_policy: of nodes, and of tasks that they call, that have none of their own.
        node_error_handler_map: by node, the node that handles its errors.
        stream_transformers: what makes more projections of its runs by `stream_events(version="v3")`.
        auto_validate, stream_eager, trigger_to_nodes: belong to how LangGraph runs, and change nothing here.

    Raises:
        ValueError: a name is reserved, or stands for nothing.
        NotImplementedError: a limit on the time of a superstep.
    """

    def __init__(
        self,
        *,
        nodes: Mapping[str, PregelNode | NodeBuilder],
        channels: Mapping[str, Any] | None,
        auto_validate: bool = True,
        stream_mode: StreamMode = "values",
        stream_eager: bool = False,
        output_channels: str | Sequence[str],
        stream_channels: str | Sequence[str] | None = None,
        interrupt_after_nodes: All | Sequence[str] = (),
        interrupt_before_nodes: All | Sequence[str] = (),
        input_channels: str | Sequence[str],
        step_timeout: float | None = None,
        debug: bool | None = None,
        checkpointer: Checkpointer = None,
        store: Any = None,
        cache: Any = None,
        retry_policy: RetryPolicy | Sequence[RetryPolicy] = (),
        cache_policy: CachePolicy | None = None,
        context_schema: type[Any] | None = None,
        config: Mapping[str, Any] | None = None,
        trigger_to_nodes: Mapping[str, Sequence[str]] | None = None,
        node_error_handler_map: Mapping[str, str] | None = None,
        name: str = "LangGraph",
        stream_transformers: Any = None,
        **deprecated: Any,
    ) -> None:
        context_schema = renamed(
            deprecated, "config_type", "context_schema", context_schema, LangGraphDeprecatedSinceV10
        )
        refuse_others(deprecated, "Pregel()")
        ensure_valid_checkpointer(checkpointer)
        self._description = Description(
            nodes={key: n.build() if isinstance(n, NodeBuilder) else n for key, n in nodes.items()},
            channels=dict(channels or {}),
            input_channels=input_channels,
            output_channels=output_channels,
            stream_channels=stream_channels,
            interrupt_before=interrupt_before_nodes,
            interrupt_after=interrupt_after_nodes,
            cache_policy=cache_policy,
            handlers=node_error_handler_map or {},
        )
        self.retry_policy = policies_of(retry_policy)
        self.cache_policy = cache_policy
        super().__init__(
            program=lower(self._description, name),
            checkpointer=checkpointer,
            cache=cache,
            store=store,
            debug=bool(debug),
            name=name,
            stream_mode=stream_mode,
            context_schema=context_schema,
            config=config,
            step_timeout=step_timeout,
            stream_transformers=stream_transformers,
        )

    def _commanded(self, command: Command[Any]) -> Sequence[Write]:
        update = command.update
        pairs = update.items() if isinstance(update, Mapping) else update or ()
        return [*goto(command.goto), *(Write(channel, value) for channel, value in pairs)]

    @property
    def nodes(self) -> Mapping[str, Any]:
        """The nodes, as they were described."""
        return self._description.nodes

    @property
    def channels(self) -> Mapping[str, Any]:
        """The channels, that of `Send`s included."""
        return {**self._description.channels, SENDS: Topic(Send)}

    @property
    def input_channels(self) -> Names:
        """What an input is written to."""
        return self._description.input_channels

    @property
    def output_channels(self) -> Names:
        """What a result shows."""
        return self._description.output_channels

    @property
    def stream_channels(self) -> Names | None:
        """What streams show, as it was given."""
        return self._description.stream_channels

    @property
    def InputType(self) -> Any:
        """The type of the one input channel; None where there are several."""
        return self._type_of(self.input_channels, "UpdateType")

    @property
    def OutputType(self) -> Any:
        """The type of the one output channel; None where there are several."""
        return self._type_of(self.output_channels, "ValueType")

    def get_graph(self, config: Any = None, *, xray: int | bool = False) -> Graph:
        """The picture of the program; with `xray` also of the graphs in its nodes, or of so many levels of them."""
        from graph_compat.drawing import picture

        return picture(self._described(), xray, self._drawn_in)

    def _described(self) -> drawing.Description:
        from graph_compat.pregel.picturing import described

        return described(self._description)

    async def aget_graph(self, config: Any = None, *, xray: int | bool = False) -> Graph:
        """`get_graph` for asyncio."""
        return self.get_graph(config, xray=xray)

    def get_input_schema(self, config: Any = None) -> Any:
        """A pydantic model of its input."""
        return self._model(self.input_channels, "UpdateType", "Input")

    def get_output_schema(self, config: Any = None) -> Any:
        """A pydantic model of its result."""
        return self._model(self.output_channels, "ValueType", "Output")

    def get_input_jsonschema(self, config: Any = None) -> dict[str, Any]:
        """The JSON schema of its input."""
        found: dict[str, Any] = self.get_input_schema(config).model_json_schema()
        return found

    def get_output_jsonschema(self, config: Any = None) -> dict[str, Any]:
        """The JSON schema of its result."""
        found: dict[str, Any] = self.get_output_schema(config).model_json_schema()
        return found

    def get_context_jsonschema(self) -> dict[str, Any] | None:
        """The JSON schema of its context; None where it has none."""
        return context_schema(self.context_schema)

    def _model(self, names: Names, which: str, role: str) -> Any:
        types = {name: getattr(channel, which) for name, channel in self.channels.items()}
        return model_of_channels(names, types, self.get_name(role))

    def _type_of(self, names: Names, which: str) -> Any:
        return getattr(self.channels[names], which) if isinstance(names, str) else None
