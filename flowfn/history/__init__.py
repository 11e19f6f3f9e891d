"""Threads, looked at and changed from outside their runs.

- `state`: a thread as its program sees it, at any checkpoint; `changing`: what updates of it make;
  `copying`: threads that begin as its copies.
- `reading`: what is recorded of its last run, without the program that wrote it; `supersteps`, the nodes of a graph's;
  `moments`, its checkpoints; `call_trees`: calls within calls.
- `rewinding`: where a run was before one of its calls. `due`: which runs would go on if somebody called.
"""
