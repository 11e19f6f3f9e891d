"""LangGraph's public module paths, on flowfn's engine: change the import prefix and nothing else.

Or change nothing: `python -m graph_compat app.py`, or `graph_compat.install()`, has `import langgraph` answered here.

Rule: a front end only. It turns graphs into programs; it never reaches into the engine or its hosts, but for
`importing.unfinished`, which writes what the engine would have written.
"""

from graph_compat.import_hook import install

__all__ = ["install"]
