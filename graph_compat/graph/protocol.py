"""What every graph can be asked, whatever runs it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Generic

from graph_compat.types import Command, StateSnapshot, StateUpdate
from graph_compat.typing import ContextT, InputT, OutputT, StateT

if TYPE_CHECKING:
    from langchain_core.runnables import RunnableConfig

Config = Mapping[str, Any]


class PregelProtocol(ABC, Generic[StateT, ContextT, InputT, OutputT]):
    """The methods of a graph. Derive from it to give a graph that runs elsewhere LangGraph's interface.

    An object with `invoke` and `ainvoke` can be a node.
    """

    @abstractmethod
    def with_config(self, config: Config | None = None, **kwargs: Any) -> Any:
        """A copy that every call of which has this configuration."""

    @abstractmethod
    def get_graph(self, config: Config | None = None, *, xray: int | bool = False) -> Any:
        """The graph's drawing."""

    @abstractmethod
    async def aget_graph(self, config: Config | None = None, *, xray: int | bool = False) -> Any:
        """`get_graph` for asyncio."""

    @abstractmethod
    def get_state(self, config: Config, *, subgraphs: bool = False) -> StateSnapshot:
        """The state of a thread."""

    @abstractmethod
    async def aget_state(self, config: Config, *, subgraphs: bool = False) -> StateSnapshot:
        """`get_state` for asyncio."""

    @abstractmethod
    def get_state_history(
        self,
        config: Config,
        *,
        filter: dict[str, Any] | None = None,
        before: Config | None = None,
        limit: int | None = None,
    ) -> Iterator[StateSnapshot]:
        """The states of a thread, the newest first."""

    @abstractmethod
    def aget_state_history(
        self,
        config: Config,
        *,
        filter: dict[str, Any] | None = None,
        before: Config | None = None,
        limit: int | None = None,
    ) -> AsyncIterator[StateSnapshot]:
        """`get_state_history` for asyncio."""

    @abstractmethod
    def bulk_update_state(self, config: Config, updates: Sequence[Sequence[StateUpdate]]) -> RunnableConfig:
        """Update the state of a thread several times over."""

    @abstractmethod
    async def abulk_update_state(
        self, config: Config, updates: Sequence[Sequence[StateUpdate]]
    ) -> RunnableConfig:
        """`bulk_update_state` for asyncio."""

    @abstractmethod
    def update_state(
        self, config: Config, values: dict[str, Any] | Any | None, as_node: str | None = None
    ) -> RunnableConfig:
        """Update the state of a thread."""

    @abstractmethod
    async def aupdate_state(
        self, config: Config, values: dict[str, Any] | Any | None, as_node: str | None = None
    ) -> RunnableConfig:
        """`update_state` for asyncio."""

    @abstractmethod
    def stream(
        self, input: InputT | Command[Any] | None, config: Config | None = None, **kw: Any
    ) -> Iterator[Any]:
        """Run and yield what happens."""

    @abstractmethod
    def astream(
        self, input: InputT | Command[Any] | None, config: Config | None = None, **kw: Any
    ) -> AsyncIterator[Any]:
        """`stream` for asyncio."""

    @abstractmethod
    def invoke(self, input: InputT | Command[Any] | None, config: Config | None = None, **kw: Any) -> Any:
        """Run and return the result."""

    @abstractmethod
    async def ainvoke(
        self, input: InputT | Command[Any] | None, config: Config | None = None, **kw: Any
    ) -> Any:
        """`invoke` for asyncio."""
