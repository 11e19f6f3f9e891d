"""Programs of channels and nodes, which graphs are made of."""

from __future__ import annotations

from graph_compat.pregel.builder import NodeBuilder
from graph_compat.pregel.program import Pregel

__all__ = ["NodeBuilder", "Pregel"]
