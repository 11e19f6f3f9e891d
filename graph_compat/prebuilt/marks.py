"""What LangChain has to recognise as its own: marks on parameters that the model doesn't see, and an error.

Rule: these derive from LangChain's classes where it is installed, so this module loads it then; whoever
needs none of them doesn't import it. flowfn itself goes by `injects`, which needs no import.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Generic

from typing_extensions import TypeVar

from flowfn.context import current_frame
from graph_compat.langchain.tool_calls import tell_of_tool

if TYPE_CHECKING:

    class _Injected: ...

    class _Direct: ...

    class _Error(Exception): ...
else:
    try:
        from langchain_core.tools import InjectedToolArg as _Injected
        from langchain_core.tools import ToolException as _Error
        from langchain_core.tools.base import _DirectlyInjectedToolArg as _Direct
    except ImportError:

        class _Injected: ...

        class _Direct: ...

        _Error = Exception

ContextT = TypeVar("ContextT", default=Any)
StateT = TypeVar("StateT", default=Any)


class InjectedState(_Injected):
    """Marks a tool's parameter that gets the graph's state, or a key of it, and that the model doesn't see.

    `Annotated[dict, InjectedState]`, or `Annotated[str, InjectedState("key")]`.
    """

    injects = "state"

    def __init__(self, field: str | None = None) -> None:
        self.field = field


class InjectedStore(_Injected):
    """Marks a tool's parameter that gets the graph's store: `Annotated[BaseStore, InjectedStore()]`."""

    injects = "store"


@dataclass
class ToolRuntime(_Direct, Generic[ContextT, StateT]):
    """What a tool may know of the call that it answers; given to a parameter of this type, or named `runtime`."""

    state: StateT
    context: ContextT
    config: Any
    stream_writer: Any
    tool_call_id: str | None
    store: Any
    tools: list[Any] = field(default_factory=list)
    execution_info: Any = None
    server_info: Any = None

    injects = "runtime"

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: Any) -> Any:
        """A tool's schema takes an instance as it is, whatever its parts are annotated with."""
        from pydantic_core import core_schema

        return core_schema.is_instance_schema(cls)

    def emit_output_delta(self, delta: Any) -> None:
        """Show a piece of the output, in `run.tool_calls` of stream events v3 and in the `tools` stream mode."""
        tell_of_tool(current_frame.get(), "tool-output-delta", self.tool_call_id, delta=delta)


class ToolInvocationError(_Error):
    """The arguments of a call don't fit the tool; the text is for the model, which may try again.

    `tool_kwargs` are the arguments that the model gave, `filtered_errors` what pydantic says of them.
    """

    def __init__(
        self,
        tool_name: str,
        source: Exception,
        tool_kwargs: Any,
        filtered_errors: list[Any] | None = None,
    ) -> None:
        told = str(source)
        if filtered_errors is not None:
            told = "\n".join(f"{'.'.join(map(str, e['loc']))}: {e['msg']}" for e in filtered_errors)
        self.message = (
            f"Error invoking tool '{tool_name}' with kwargs {tool_kwargs} with error:\n {told}\n"
            " Please fix the error and try again."
        )
        self.tool_name = tool_name
        self.source = source
        self.tool_kwargs = tool_kwargs
        self.filtered_errors = filtered_errors
        super().__init__(self.message)
