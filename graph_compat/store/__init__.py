"""Long-term memory under LangGraph's paths: `store.base`, `store.memory`, `store.sqlite`, `store.postgres`."""
