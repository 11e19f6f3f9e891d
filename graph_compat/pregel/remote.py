"""LangGraph's proxy of a graph on the hosted server, which graph_compat leaves out."""

from __future__ import annotations

from typing import Any

from graph_compat.left_out import SERVER, left_out, stand_in

RemoteGraph: Any = stand_in(__name__, "RemoteGraph", SERVER)

__getattr__ = left_out(__name__, {"RemoteException": SERVER})
