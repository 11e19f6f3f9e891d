"""Programs of channels and nodes, which graphs are made of.

- `program`: `Pregel`, which runs; `builder`: a node of one. `main` has both where LangGraph has them.
- `lowering`: a program as one of the engine's. `picturing`: what it looks like.
- `protocol`: what every graph can be asked. `remote`: what is left out.
- `types`, `debug`, `_checkpoint`: what programs also import from here.
"""

from __future__ import annotations

import graph_compat.graph  # noqa: F401 - its graphs are Pregels, and so it has to be loaded first
from flowfn.python.lazy import lend
from graph_compat.pregel.builder import NodeBuilder
from graph_compat.pregel.program import Pregel

__all__ = ["NodeBuilder", "Pregel"]

# Modules that LangGraph's own imports have loaded by the time that a program looks at them.
lend(__name__, modules=("debug", "main", "protocol"))
