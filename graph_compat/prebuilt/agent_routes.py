"""Where an agent goes from each of its nodes; `chat_agent_executor` has them as a table.

Rule: with v2 a call is sent without the state, which the node reads when it runs: a superstep of many calls
stores the messages once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from flowfn.values import Send
from graph_compat.constants import END, START
from graph_compat.graph.action import immediate
from graph_compat.graph.branch import BranchSpec
from graph_compat.prebuilt.agent_nodes import value_of
from graph_compat.prebuilt.chat import calls_of, field_of, last_of_model, open_calls_in, role_of
from graph_compat.prebuilt.requests import CALL_WITH_CONTEXT


@dataclass(frozen=True)
class Routes:
    """Where an agent goes: `start` begins a turn, `end` closes the last one.

    `hooked` says that a hook follows the model, and may have answered its calls.
    """

    version: str
    start: str
    end: str
    direct: frozenset[str]
    hooked: bool

    def after_model(self, state: Any) -> Any:
        """To the tools for the calls of the last message that nobody has answered; else to the end, also where somebody
        said something instead: without a hook only the model, or who answers a call of it, leads to tools."""
        messages = value_of(state, "messages")
        if not self.hooked and role_of(messages[-1]) not in ("assistant", "tool"):
            return self.end
        open_calls = open_calls_in(messages)
        if not open_calls:
            return self.start if self.hooked and role_of(messages[-1]) == "tool" else self.end
        if self.version == "v1" and open_calls == calls_of(last_of_model(messages)):
            return "tools"
        return [Send("tools", {"__type": CALL_WITH_CONTEXT, "tool_call": call}) for call in open_calls]

    def after_tools(self, state: Any) -> str:
        """To the end if one of the last calls is to be returned as it is, and nobody has said anything since, not even
        a tool beside its answer; else from the top."""
        messages = value_of(state, "messages")
        return self.start if self.direct.isdisjoint(_called_last(messages)) else END


def _called_last(messages: Sequence[Any]) -> Iterator[str]:
    """The tools whose answers come last, and those that the model's message right before these calls.

    With v2 each call decides by itself, and sees no other call's answer.
    """
    for message in reversed(messages):
        if role_of(message) != "tool":
            yield from (call["name"] for call in calls_of(message))
            return
        yield field_of(message, "name")


def connect(builder: Any, routes: Routes) -> None:
    """Add all edges between the nodes of an agent."""
    builder.add_edge(START, routes.start)
    if routes.start != "agent":
        builder.add_edge(routes.start, "agent")
    if routes.hooked:
        builder.add_edge("agent", "post_model_hook")
    if routes.end != END:
        builder.add_edge(routes.end, END)
    last = "post_model_hook" if routes.hooked else "agent"
    if "tools" not in builder.nodes:
        builder.add_edge(last, routes.end)
        return
    back = [routes.start] if routes.hooked else []
    name = "post_model_hook_router" if routes.hooked else "should_continue"
    _branch(builder, last, name, routes.after_model, ["tools", *back, routes.end])
    if routes.direct:
        _branch(builder, "tools", "route_tool_responses", routes.after_tools, [routes.start, END])
    else:
        builder.add_edge("tools", routes.start)


def _branch(builder: Any, source: str, name: str, path: Callable[[Any], Any], ends: list[str]) -> None:
    """A conditional edge whose function takes no time; callbacks are told of it by LangGraph's name."""
    builder.branches[source][name] = BranchSpec(immediate(path, name, path), {end: end for end in ends})
