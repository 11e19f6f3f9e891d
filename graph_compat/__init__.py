"""LangGraph's public module paths, on flowfn's engine: change the import prefix and nothing else.

Rule: a front end only. It turns graphs into programs; it never reaches into the engine or its hosts.
"""

__all__: list[str] = []
