"""Texts and embeddings of items, under LangGraph's path."""

from flowfn.stores.embedding import AEmbeddingsFunc, EmbeddingsFunc, ensure_embeddings
from flowfn.stores.paths import get_text_at_path, tokenize_path

__all__ = ["AEmbeddingsFunc", "EmbeddingsFunc", "ensure_embeddings", "get_text_at_path", "tokenize_path"]
