"""What the tests of agents share: both callers, a scripted model, and short ways to write what it says."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any, NamedTuple

from graph_compat.constants import START
from graph_compat.graph.state import StateGraph
from graph_compat.prebuilt.agent_states import DictAgentState

ONE = {"configurable": {"thread_id": "1"}}


class Caller(NamedTuple):
    """A blocking or an asyncio program."""

    name: str

    @property
    def asyncio(self) -> bool:
        return self.name == "asyncio"

    def invoke(self, graph: Any, *args: Any, **kw: Any) -> Any:
        """The graph's result."""
        return asyncio.run(graph.ainvoke(*args, **kw)) if self.asyncio else graph.invoke(*args, **kw)

    def stream(self, graph: Any, *args: Any, **kw: Any) -> list[Any]:
        """The graph's chunks."""
        if not self.asyncio:
            return list(graph.stream(*args, **kw))

        async def collect() -> list[Any]:
            return [chunk async for chunk in graph.astream(*args, **kw)]

        return asyncio.run(collect())


BLOCKING, ASYNCIO = Caller("blocking"), Caller("asyncio")


def calls(*asked: tuple[str, Any]) -> dict[str, Any]:
    """A model's message that calls tools `("name", {"argument": 1})`, with the ids "0", "1", …; text stays as it is."""
    return {
        "role": "assistant",
        "content": "",
        "tool_calls": [
            {
                "id": str(number),
                "type": "function",
                "function": {"name": name, "arguments": args if isinstance(args, str) else json.dumps(args)},
            }
            for number, (name, args) in enumerate(asked)
        ],
    }


def says(text: str) -> dict[str, Any]:
    """A model's message of text."""
    return {"role": "assistant", "content": text}


class Script:
    """A model that says its lines in turn; `heard` has what it was told each time, `offered` its tools."""

    def __init__(self, *lines: Any) -> None:
        self.lines = list(lines)
        self.heard: list[list[dict[str, Any]]] = []
        self.offered: Any = None
        self.format: Any = None

    def __call__(self, messages: list[dict[str, Any]], tools: Any = None, response_format: Any = None) -> Any:
        self.heard.append(messages)
        self.offered, self.format = tools, response_format
        return self.lines[len(self.heard) - 1]


def node_graph(node: Any, schema: Any = DictAgentState, **compiled: Any) -> Any:
    """A graph of this one node."""
    builder: Any = StateGraph(schema)
    builder.add_node("tools", node)
    builder.add_edge(START, "tools")
    return builder.compile(**compiled)


def contents(result: Any) -> list[Any]:
    """The contents of the answers to tools' calls."""
    return [message["content"] for message in result["messages"] if message["role"] == "tool"]


Function = Callable[..., Any]
