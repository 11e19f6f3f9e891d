"""Where LangGraph's savers have their queries, which are left out."""

from graph_compat.left_out import left_out

__getattr__ = left_out(__name__, {"BasePostgresSaver": "its queries are LangGraph's: use PostgresSaver"})
