"""Graphs whose nodes share a state.

- `state`: the builder. `schema` reads what a class declares, `keys` puts a graph's schemas together; `checking` says
  what no graph may be. `action`: what a node or a branch runs, and `bound` that as a runnable; `branch`: where a
  function may lead.
- `lowering`: the builder as a program of the engine; `node`, `writes`: what runs there, and what its value means.
- `compiled`: what runs, is streamed and asked, for `Pregel` too; `compiled_state`: of a builder; `nested`: inside
  another run; `watched`: where a method was replaced. `surface`, `shown`, `json_schemas`, `picturing`: what it tells of
  itself, as `protocol` lists it; `updating`: what changes a thread; `configs`: LangChain's.
- `message`, `ui`: states of messages, and of pieces of a user interface.
"""

from graph_compat.constants import END, START
from graph_compat.graph.message import MessageGraph, MessagesState, add_messages
from graph_compat.graph.state import StateGraph

__all__ = ["END", "START", "MessageGraph", "MessagesState", "StateGraph", "add_messages"]
