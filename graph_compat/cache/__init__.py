"""Where nodes and tasks with a cache policy keep their results."""

from flowfn.python.lazy import lazily

# Modules that LangGraph's own imports have loaded by the time that a program looks at them.
__getattr__, __dir__ = lazily(__name__, {}, ("base",))
