"""LangGraph's public module paths, on flowfn's engine: change the import prefix and nothing else.

Or change nothing: `python -m graph_compat app.py`, or `graph_compat.install()`, has `import langgraph` answered here.

Rule: a front end only. It turns graphs into programs; it never reaches into the engine or its hosts, but for
`importing.unfinished`, which writes what the engine would have written.
"""

from flowfn.python.lazy import lazily
from graph_compat.import_hook import install

__all__ = ["install"]

# Modules that LangGraph's own imports have loaded by the time that a program looks at them.
_MODULES = """
    cache callbacks channels checkpoint config constants errors func graph managed prebuilt pregel runtime store stream
    types typing warnings
"""
__getattr__, __dir__ = lazily(__name__, {}, _MODULES.split())
