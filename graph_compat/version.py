"""The version of graph_compat: that of flowfn, which it comes with."""

from __future__ import annotations

from flowfn import __version__

__all__ = ["__version__"]
