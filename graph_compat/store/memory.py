"""`langgraph.store.memory`: the store in this process."""

from flowfn import stores


class InMemoryStore(stores.InMemoryStore):
    """LangGraph's in-memory store; its searches give each key where it was first put."""

    newest_first = False


__all__ = ["InMemoryStore"]
