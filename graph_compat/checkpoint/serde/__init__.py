"""LangGraph's `langgraph.checkpoint.serde`: values to typed bytes and back.

Rule: what is written is flowfn's own format, under LangGraph's tags; what LangGraph itself wrote is read as well.
Types come from an allowlist, in either format, and nothing is imported because data names it.
"""

from flowfn.python.lazy import lend

# Modules that LangGraph's own imports have loaded by the time that a program looks at them.
lend(__name__, modules=("encrypted",))
