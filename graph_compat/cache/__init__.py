"""Where nodes and tasks with a cache policy keep their results."""

from flowfn.python.lazy import lend

# Modules that LangGraph's own imports have loaded by the time that a program looks at them.
lend(__name__, modules=("base",))
