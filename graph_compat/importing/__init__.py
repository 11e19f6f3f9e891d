"""What LangGraph kept, taken over: `flowfn import-langgraph`.

- `kept` reads its databases; `threads` makes threads of flowfn of what it finds, `unfinished` of a step that had not
  ended.
"""

from graph_compat.importing.threads import Imported, import_threads, serializer

__all__ = ["Imported", "import_threads", "serializer"]
