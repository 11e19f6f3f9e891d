"""LangGraph's `langgraph.checkpoint.serde`: values to typed bytes and back.

Rule: what is written is flowfn's own format, under LangGraph's tags; what LangGraph itself wrote is read as well.
Types come from an allowlist, in either format, and nothing is imported because data names it.
"""
