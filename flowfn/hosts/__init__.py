"""How a run waits, and where its user code runs: on threads, or on an event loop."""
