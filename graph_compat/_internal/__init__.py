"""Private paths of LangGraph's that libraries, and tests of programs, import from.

Rule: a module here has what is named elsewhere in graph_compat too, under LangGraph's path; what only LangGraph's
engine needs isn't there.
"""
