"""Agents need no LangChain: not to be imported, and not to run."""

from ..conftest import RunPython

AGENT = """
import sys
sys.modules["langchain_core"] = None  # as if it weren't installed
from typing import Annotated, Any
from graph_compat.checkpoint.memory import InMemorySaver
from graph_compat.graph import START, MessagesState, StateGraph
from graph_compat.prebuilt import InjectedState, ToolNode, ToolRuntime, create_react_agent, tools_condition
from graph_compat.types import Command, interrupt

def add(a: int, runtime: ToolRuntime, state: Annotated[dict, InjectedState]) -> str:
    return f"{a} {runtime.tool_call_id} {len(state['messages'])} {interrupt('sure?')}"

def call(number):
    arguments = '{"a": %d}' % number
    return {"id": str(number), "type": "function", "function": {"name": "add", "arguments": arguments}}

def model(messages, tools=None):
    if messages[-1]["role"] == "tool":
        return "done"
    return {"role": "assistant", "content": "", "tool_calls": [call(1)]}

thread = {"configurable": {"thread_id": "1"}}
agent = create_react_agent(model, [add], checkpointer=InMemorySaver())
print(agent.invoke({"messages": "hi"}, thread)["__interrupt__"][0].value)
print([m["content"] for m in agent.invoke(Command(resume="yes"), thread)["messages"]])

builder = StateGraph(MessagesState)
builder.add_node("model", lambda state: {"messages": [model(state["messages"])]})
builder.add_node("tools", ToolNode([add]))
builder.add_edge(START, "model")
builder.add_conditional_edges("model", tools_condition)
builder.add_edge("tools", "model")
graph = builder.compile(checkpointer=InMemorySaver())
graph.invoke({"messages": "hi"}, thread)
print([m["content"] for m in graph.invoke(Command(resume="yes"), thread)["messages"]])
"""

LOADED = """
import sys
import graph_compat.prebuilt
import graph_compat.prebuilt.chat_agent_executor, graph_compat.prebuilt.tool_node
import graph_compat.prebuilt.interrupt, graph_compat.prebuilt.tool_validator

def model(messages, tools):
    if messages[-1]["role"] == "tool":
        return "done"
    call = {"id": "1", "type": "function", "function": {"name": "add", "arguments": '{"a": 1}'}}
    return {"role": "assistant", "content": "", "tool_calls": [call]}

def add(a: int) -> int:
    return a + 1

agent = graph_compat.prebuilt.create_react_agent(model, [add])
print(agent.invoke({"messages": "hi"})["messages"][-1])
print([name for name in sys.modules if name.split(".")[0] == "langchain_core"])
"""


def test_an_agent_runs_where_langchain_is_not_installed(run_python: RunPython) -> None:
    """Dicts, plain functions, injections, questions; as an agent and as a graph of one's own."""
    done = run_python("-W", "error", "-c", AGENT)
    expected = "['hi', '', '1 1 2 yes', 'done']"
    assert (done.stdout.splitlines(), done.stderr) == (["sure?", expected, expected], "")


def test_an_agent_of_dicts_loads_no_langchain(run_python: RunPython) -> None:
    """Where it is installed, importing and running cost nothing of it."""
    done = run_python("-W", "error", "-c", LOADED)
    assert done.stdout.splitlines() == ["{'role': 'assistant', 'content': 'done'}", "[]"]
