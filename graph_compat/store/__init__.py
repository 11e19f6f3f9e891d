"""Long-term memory under LangGraph's paths: `store.base`, `store.memory`, `store.sqlite`, `store.postgres`."""

from flowfn.python.lazy import lend

# Modules that LangGraph's own imports have loaded by the time that a program looks at them.
lend(__name__, modules=("base",))
