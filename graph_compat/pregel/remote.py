"""LangGraph's proxy of a graph on the hosted server, which graph_compat leaves out."""

from __future__ import annotations

from graph_compat.left_out import SERVER, left_out

__getattr__ = left_out(__name__, dict.fromkeys(("RemoteException", "RemoteGraph"), SERVER))
