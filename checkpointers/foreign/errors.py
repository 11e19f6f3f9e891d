"""What goes wrong with a saver that was written for LangGraph."""

from __future__ import annotations

from flowfn.errors import SaverError


class SaverRaised(SaverError):
    """A saver written for LangGraph raised; `__cause__` is what."""


class MethodMissing(SaverError, NotImplementedError):
    """A saver written for LangGraph lacks a method, or the twin of it that could be called here."""
