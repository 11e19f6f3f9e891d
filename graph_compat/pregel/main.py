"""LangGraph's module of its program and its builder, for code that imports them from there."""

from __future__ import annotations

from graph_compat.pregel.builder import NodeBuilder
from graph_compat.pregel.program import Pregel

__all__ = ["NodeBuilder", "Pregel"]
