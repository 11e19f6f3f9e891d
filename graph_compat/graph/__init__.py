"""Graphs whose nodes share a state."""

from graph_compat.constants import END, START
from graph_compat.graph.message import MessageGraph, MessagesState, add_messages
from graph_compat.graph.state import StateGraph

__all__ = ["END", "START", "MessageGraph", "MessagesState", "StateGraph", "add_messages"]
