"""A compiled state graph: its builder's schemas, in what it takes, gives and shows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from flowfn.python.cached_property import cached_property
from flowfn.values import Command, Write
from graph_compat.constants import START
from graph_compat.graph.action import action_of
from graph_compat.graph.compiled import CompiledGraph
from graph_compat.graph.json_schemas import json_schema, model_of, model_of_result
from graph_compat.graph.lowering import declared, replaced
from graph_compat.graph.shown import Shape, ShownNode, shown_channels, shown_nodes
from graph_compat.graph.writes import Writer, goto, with_ids
from graph_compat.pregel.program import Pregel
from graph_compat.typing import ContextT, InputT, OutputT, StateT

if TYPE_CHECKING:
    from flowfn.invocation import Ending
    from flowfn.streams import Version
    from graph_compat.drawing import Description
    from graph_compat.graph.state import StateGraph


class CompiledStateGraph(Pregel[StateT, ContextT, InputT, OutputT]):
    """A state graph that runs; made by `StateGraph.compile()`."""

    def __init__(self, *, builder: StateGraph[Any, Any, Any, Any], **options: Any) -> None:
        CompiledGraph.__init__(self, context_schema=builder.context_schema, **options)
        self.builder = builder
        self._shape = Shape.of(builder)
        self._writer = Writer(builder.channels)

    @cached_property
    def nodes(self) -> Mapping[str, ShownNode]:
        """The nodes, the hidden first one included: `graph.nodes["a"].invoke(state)` runs one by itself."""
        return shown_nodes(self._program, self._run_instead)

    def _run_instead(self, name: str, runnable: Any) -> None:
        """Run something else as a node, with the node's own policies, ways and schema."""
        program = self._program
        node = replaced(program.nodes[name], action_of(runnable, name))
        self._program, self._made = replace(program, nodes={**program.nodes, name: node}), None

    @property
    def channels(self) -> Mapping[str, Any]:
        """The channels, those of edges and the managed values included."""
        return shown_channels(self.builder, self._program)

    @property
    def trigger_to_nodes(self) -> Mapping[str, Sequence[str]]:
        """By channel, the nodes that a write to it runs."""
        return {channel: list(names) for channel, names in self._program.subscribers.items()}

    @property
    def input_channels(self) -> str:
        """The channel that the input is written to."""
        return START

    @property
    def output_channels(self) -> Any:
        """The channels that a result shows: a name where it is one value."""
        return output if isinstance(output := self._program.output, str) else list(output)

    @property
    def stream_channels(self) -> Any:
        """The channels that streams show: a name where it is one value."""
        return self.stream_channels_asis

    def _returned(self, ending: Ending, output_keys: Any, version: Version) -> Any:
        found = super()._returned(ending, output_keys, version)
        whole = output_keys is None or (output_keys and not isinstance(output_keys, str))
        if version == "v2" and whole:
            return replace(found, value=declared(self.builder, self.builder.output_schema, found.value))
        return found

    def _commanded(self, command: Command[Any]) -> Sequence[Write]:
        writer = self._writer
        return [*goto(command.goto), *with_ids(writer.of_update(command.update), writer.identifying)]

    # -- what it takes and gives ------------------------------------------------------------------

    @property
    def InputType(self) -> Any:
        """The type of its input."""
        return self.builder.input_schema

    @property
    def OutputType(self) -> Any:
        """The type of its result, where that is one value."""
        return self.builder.output_schema if self._program.lone else None

    def get_input_schema(self, config: Any = None) -> Any:
        """A pydantic model of its input."""
        return model_of(self.builder.input_schema, self.get_name("Input"))

    def get_output_schema(self, config: Any = None) -> Any:
        """A pydantic model of its result."""
        schema = self.builder.output_schema
        return model_of_result(schema, self._program.output_channels, self.get_name("Output"))

    def get_input_jsonschema(self, config: Any = None) -> dict[str, Any]:
        """The JSON schema of its input."""
        return json_schema(self.builder.input_schema, self.get_name("Input"))

    def get_output_jsonschema(self, config: Any = None) -> dict[str, Any]:
        """The JSON schema of its result."""
        return json_schema(self.builder.output_schema, self.get_name("Output"))

    def _described(self) -> Description:
        from graph_compat.graph.picturing import described

        return described(self)

    def _repr_mimebundle_(self, **options: Any) -> dict[str, Any]:
        """The picture, for notebooks."""
        bundle: dict[str, Any] = self.get_graph()._repr_mimebundle_(**options)
        return bundle

    def attach_node(self, key: str, node: Any) -> None:
        """Belongs to LangGraph's way of compiling; here a graph is compiled whole."""
        raise NotImplementedError("attach_node: add nodes to the StateGraph, then compile() it again")

    attach_edge = attach_branch = attach_node
