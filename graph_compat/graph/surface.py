"""What LangGraph's graphs may be asked and told besides being run.

Rule: nothing here runs anything. Whatever is set counts from the next call on.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal

from flowfn.workflow import Workflow
from graph_compat.cache.port import clear_names, port_of
from graph_compat.graph.action import Action
from graph_compat.graph.configs import merged_config
from graph_compat.graph.json_schemas import model_of_config
from graph_compat.graph.node import stops
from graph_compat.graph.protocol import PregelProtocol
from graph_compat.langchain.runnable import AsRunnable, of_runnables
from graph_compat.types import All
from graph_compat.warnings import LangGraphDeprecatedSinceV10, warn

if TYPE_CHECKING:
    from flowfn.drawing import Graph
    from flowfn.invocation import Setup
    from flowfn.pregel import Program


class Surface(AsRunnable, Workflow[Any, Any]):
    """The methods of a compiled graph that LangGraph's users call beside `invoke` and `stream`."""

    name: str
    cache: Any
    context_schema: type[Any] | None
    config: Mapping[str, Any] | None
    stream_transformers: Sequence[Any]
    _program: Program
    _made: tuple[tuple[Any, ...], Setup] | None = None
    """What the program was set up with, and the setup; None once something of it was changed."""

    @property
    def interrupt_before_nodes(self) -> Any:
        """The nodes that a run stops before, or "*"; may be set."""
        return _names(self._program.interrupt_before)

    @interrupt_before_nodes.setter
    def interrupt_before_nodes(self, names: All | Sequence[str]) -> None:
        self._program, self._made = replace(self._program, interrupt_before=stops(names)), None

    @property
    def interrupt_after_nodes(self) -> Any:
        """The nodes that a run stops after, or "*"; may be set."""
        return _names(self._program.interrupt_after)

    @interrupt_after_nodes.setter
    def interrupt_after_nodes(self, names: All | Sequence[str]) -> None:
        self._program, self._made = replace(self._program, interrupt_after=stops(names)), None

    @property
    def stream_channels_list(self) -> list[str]:
        """The channels that streams show."""
        return list(self._program.stream_channels)

    @property
    def stream_channels_asis(self) -> Any:
        """The channels that streams show: a name where it is one value."""
        return self._program.stream_channels[0] if self._program.lone else list(self._program.stream_channels)

    def stream_events(
        self,
        input: Any,
        config: Mapping[str, Any] | None = None,
        *,
        version: Literal["v1", "v2", "v3"] = "v2",
        transformers: Any = None,
        **kwargs: Any,
    ) -> Any:
        """With version "v3" a run that is read by what it shows (`GraphRunStream`); else LangChain's events of one.

        Args:
            transformers: of v3: what makes more projections of the run, after those that the graph was compiled with.
            kwargs: of v3: those of `stream`, but for `stream_mode`, `subgraphs` and `version`.

        Raises:
            NotImplementedError: version "v1" or "v2", which LangChain has for asyncio alone.
            TypeError: a transformer is none, or `transformers` are given with another version.
        """
        if version == "v3":
            from graph_compat.stream.running import started

            return started(self, input, config, transformers=transformers, **kwargs)
        _refuse_transformers(version, transformers)
        return of_runnables("stream_events", self, type(self))(input, config, version=version, **kwargs)

    def astream_events(
        self,
        input: Any,
        config: Mapping[str, Any] | None = None,
        *,
        version: Literal["v1", "v2", "v3"] = "v2",
        transformers: Any = None,
        **kwargs: Any,
    ) -> Any:
        """`stream_events` for asyncio; with version "v3" it is awaited."""
        if version == "v3":
            from graph_compat.stream.running import astarted

            return astarted(self, input, config, transformers=transformers, **kwargs)
        _refuse_transformers(version, transformers)
        return of_runnables("astream_events", self, type(self))(input, config, version=version, **kwargs)

    def validate(self) -> Any:
        """The graph: it was checked when it was made."""
        return self

    def config_schema(self, *, include: Sequence[str] | None = None) -> Any:
        """A pydantic model of its configuration: the context as `configurable`, and the keys of `include`.

        Deprecated in favour of `get_context_jsonschema()`.
        """
        warn(
            "`config_schema` is deprecated. Use `get_context_jsonschema` for the relevant schema instead.",
            LangGraphDeprecatedSinceV10,
        )
        return self._config_model(include)

    def get_config_jsonschema(self, *, include: Sequence[str] | None = None) -> dict[str, Any]:
        """The JSON schema of `config_schema`; as deprecated."""
        warn(
            "`get_config_jsonschema` is deprecated. Use `get_context_jsonschema` instead.",
            LangGraphDeprecatedSinceV10,
        )
        found: dict[str, Any] = self._config_model(include).model_json_schema()
        return found

    def _config_model(self, include: Sequence[str] | None) -> Any:
        return model_of_config(self.get_name("Config"), self.context_schema, include or ())

    def __getstate__(self) -> dict[str, Any]:
        """Of a copy in another place or process: what was set up, and opened, is for each to make itself."""
        return {**self.__dict__, "_made": None}

    def copy(self, update: Mapping[str, Any] | None = None) -> Any:
        """A copy with other attributes."""
        new = self.__class__.__new__(self.__class__)
        new.__dict__.update(self.__dict__)
        for name, value in (update or {}).items():
            if _may_be_set(type(new), name):
                setattr(new, name, value)
            else:
                new.__dict__[name] = value
        new._made = None
        return new

    def with_config(self, config: Mapping[str, Any] | None = None, **kwargs: Any) -> Any:
        """A copy that every call of which has this configuration, unless the call says otherwise."""
        merged = merged_config(self.config, {**(config or {}), **kwargs})
        merged.setdefault("configurable", {})  # programs look there without asking whether it is
        return self.copy({"config": merged})

    def get_subgraphs(
        self, *, namespace: str | None = None, recurse: bool = False
    ) -> Iterator[tuple[str, Any]]:
        """The graphs nested in nodes, by node; with `recurse` also those nested in them."""
        for node in self._program.nodes:
            if namespace is not None and not (namespace == node or namespace.startswith(f"{node}|")):
                continue
            graph = self._graph_in(node) or self._elsewhere_in(node)
            if graph is None or getattr(graph, "checkpointer", None) is False:
                continue
            if namespace in (None, node):
                yield node, graph
            if recurse and namespace != node and isinstance(graph, Surface):
                rest = None if namespace is None else namespace[len(node) + 1 :]
                for name, inner in graph.get_subgraphs(namespace=rest, recurse=True):
                    yield f"{node}|{name}", inner

    async def aget_subgraphs(
        self, *, namespace: str | None = None, recurse: bool = False
    ) -> AsyncIterator[tuple[str, Any]]:
        """`get_subgraphs` for asyncio."""
        for found in self.get_subgraphs(namespace=namespace, recurse=recurse):
            yield found

    def clear_cache(self, nodes: Sequence[str] | None = None) -> None:
        """Forget what these nodes have cached; all of them for None, or where none is named.

        Raises:
            ValueError: the graph has no cache.
        """
        self._clear(self._needed_cache(), nodes)

    async def aclear_cache(self, nodes: Sequence[str] | None = None) -> None:
        """`clear_cache` for asyncio."""
        import asyncio

        await asyncio.to_thread(self._clear, self._needed_cache(), nodes)

    def _needed_cache(self) -> Any:
        if self.cache is None:
            raise ValueError("No cache is set for this graph. Cannot clear cache.")
        return port_of(self.cache)

    def _clear(self, cache: Any, nodes: Sequence[str] | None) -> None:
        known = self._program.nodes
        meant = [known[name] for name in nodes or known if name in known]
        clear_names(cache, [node.run.qualified for node in meant])  # type: ignore[attr-defined]

    def _drawn_in(self, node: str, xray: int | bool) -> Graph | None:
        """The picture of the graph in a node; None where there is none."""
        found = dict(self.get_subgraphs()).get(node)
        return found.get_graph(xray=xray) if isinstance(found, PregelProtocol) else None

    def _self_awaits(self, around: Sequence[Workflow[Any, Any]] = ()) -> bool:
        nodes, here = self._program.nodes, (*around, self)
        if any(node.run.is_async for node in nodes.values()):  # type: ignore[attr-defined]
            return True
        parts = [part for name in nodes if (part := self._graph_in(name)) is not None]
        return any(part._self_awaits(here) for part in parts if not any(part is each for each in here))

    def _graph_in(self, node: str) -> Workflow[Any, Any] | None:
        action = self._action_of(node)
        return None if action is None else action.graph

    def _elsewhere_in(self, node: str) -> PregelProtocol[Any, Any, Any, Any] | None:
        """The graph of the program's own kind that is a node: one that runs elsewhere, say."""
        source = getattr(self._action_of(node), "source", None)
        return source if isinstance(source, PregelProtocol) else None

    def _action_of(self, node: str) -> Action | None:
        found = self._program.nodes.get(node)
        step = getattr(getattr(found, "run", None), "function", None)
        return getattr(getattr(step, "__self__", None), "action", None)


PregelProtocol.register(Surface)


def _may_be_set(cls: type, name: str) -> bool:
    """Whether it is an attribute that isn't kept under its name, and may be set."""
    found = getattr(cls, name, None)
    return isinstance(found, property) and found.fset is not None


def _names(stops: str | Sequence[str]) -> str | list[str]:
    return stops if isinstance(stops, str) else list(stops)


def _refuse_transformers(version: str, transformers: Any) -> None:
    if transformers:
        raise TypeError(f"version={version!r} of stream_events() takes no transformers: pass version='v3'")
