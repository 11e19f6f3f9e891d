"""Threads in this process's memory."""

from __future__ import annotations

from checkpointers import MemorySaver as InMemorySaver

MemorySaver = InMemorySaver

__all__ = ["InMemorySaver", "MemorySaver"]
