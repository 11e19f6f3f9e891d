"""LangGraph's `langgraph.checkpoint`: where threads are kept, and how values become bytes."""
