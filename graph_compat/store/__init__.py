"""Long-term memory under LangGraph's paths: `store.base`, `store.memory`, `store.sqlite`, `store.postgres`."""

from flowfn.python.lazy import lazily

# Modules that LangGraph's own imports have loaded by the time that a program looks at them.
__getattr__, __dir__ = lazily(__name__, {}, ("base",))
