"""Where LangGraph's engine has what it makes checkpoints with, for test kits that import it from there."""

from __future__ import annotations

from graph_compat.checkpoint.base import copy_checkpoint, create_checkpoint, empty_checkpoint

__all__ = ["copy_checkpoint", "create_checkpoint", "empty_checkpoint"]
