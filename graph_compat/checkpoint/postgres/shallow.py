"""LangGraph's module of the savers in Postgres that keep no past, for code that imports them from there."""

from __future__ import annotations

from graph_compat.checkpoint.postgres import ShallowPostgresSaver
from graph_compat.checkpoint.postgres.aio import AsyncShallowPostgresSaver

__all__ = ["AsyncShallowPostgresSaver", "ShallowPostgresSaver"]
