"""Agents and their parts: the node that runs tools, and the loop of a model and its tools.

Importing this loads no LangChain. The marks (`InjectedState`, `InjectedStore`, `ToolRuntime`) do, where it is
installed: its tools go by them.

- An agent: `chat_agent_executor` puts it together, of `agent_states`, `agent_nodes` and `agent_routes`; `chat_models`
  and `prompts`: what it asks, and how; `chat`: messages. `agent_parts`: what copies of it take.
- Tools: `tool_node` answers calls, which `tool_input` reads and `requests` shows to interceptors. `tool` is one, of
  LangChain's (`langchain_tools`) or a function; `injected` are the parameters that the graph fills, by `marks`;
  `tool_results` and `tool_errors`: what becomes of what it returns and raises. `tool_validator`: checks alone.
- `run.tool_calls` of stream events v3: `_tool_call_transformer` shows a `_tool_call_stream` for each call.
- `interrupt`: how a program and a human talk of a call.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from flowfn.python.lazy import lend
from graph_compat.prebuilt.chat_agent_executor import create_react_agent
from graph_compat.prebuilt.tool_node import ToolNode, tools_condition
from graph_compat.prebuilt.tool_validator import ValidationNode

if TYPE_CHECKING:
    from graph_compat.prebuilt._tool_call_transformer import ToolCallTransformer
    from graph_compat.prebuilt.marks import InjectedState, InjectedStore, ToolRuntime

__all__ = [
    "InjectedState",
    "InjectedStore",
    "ToolCallTransformer",
    "ToolNode",
    "ToolRuntime",
    "ValidationNode",
    "create_react_agent",
    "tools_condition",
]

# The marks load LangChain where it is installed.
lend(
    __name__,
    {
        **dict.fromkeys(("InjectedState", "InjectedStore", "ToolRuntime"), "graph_compat.prebuilt.marks"),
        "ToolCallTransformer": "graph_compat.prebuilt._tool_call_transformer",
    },
)
