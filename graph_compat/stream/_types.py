"""LangGraph's path of `graph_compat.stream.transformer`."""

from graph_compat.stream.transformer import ProtocolEvent, StreamTransformer

__all__ = ["ProtocolEvent", "StreamTransformer"]
