"""What LangGraph kept, taken over: `flowfn import-langgraph`.

- `threads` of its savers: `kept` reads their databases, `unfinished` takes up a step that had not ended.
- `items` of its stores.
- `tables` tells which of them a database is of.
"""

from graph_compat.importing.items import import_items
from graph_compat.importing.threads import Imported, import_threads, serializer

__all__ = ["Imported", "import_items", "import_threads", "serializer"]
