"""Threads that LangGraph's own `SqliteSaver` kept, in `stored/threads.sqlite`.

`python tests/compat/stored_threads.py` has LangGraph write that file anew, where it is installed, and prints
what `HISTORIES` is to be.
"""

import operator
import sqlite3
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, TypedDict

FILE = Path(__file__).parent / "stored" / "threads.sqlite"

HISTORIES: dict[str, list[tuple[int, str, list[Any]]]] = {
    "done": [
        (-1, "input", []),
        (0, "loop", [0]),
        (1, "loop", [0, "a"]),
        (2, "loop", [0, "a", "b", "c", "yes"]),
        (3, "loop", [0, "a", "b", "c", "yes", "d"]),
    ],
    "asks": [(-1, "input", []), (0, "loop", [0]), (1, "loop", [0, "a"])],
    "forked": [
        (-1, "input", []),
        (0, "loop", [0]),
        (1, "loop", [0, "a"]),
        (2, "update", [0, "a", "left"]),
        (2, "update", [0, "a", "right"]),
    ],
    "fails": [(-1, "input", []), (0, "loop", ["fail"])],
}
"""By thread: step, source and `xs` of each checkpoint, in the order in which they were made."""


@dataclass
class Note:
    text: str


class State(TypedDict):
    xs: Annotated[list[Any], operator.add]


def write() -> None:
    """Have LangGraph write them all."""
    from langgraph.checkpoint.sqlite import SqliteSaver
    from langgraph.func import entrypoint
    from langgraph.graph import START, StateGraph
    from langgraph.types import Command, interrupt

    def first(state: State) -> State:
        if state["xs"] == ["fail"]:
            raise ValueError("declined")
        return {"xs": ["a"]}

    def inner(state: State) -> State:
        return {"xs": ["in"]}

    FILE.unlink(missing_ok=True)
    saver = SqliteSaver(sqlite3.connect(FILE, check_same_thread=False))
    below = StateGraph(State).add_node("inner", inner).add_edge(START, "inner").compile(checkpointer=True)
    graph: Any = StateGraph(State)
    graph.add_node("a", first)
    graph.add_node("b", lambda state: {"xs": ["b"]})
    graph.add_node("c", lambda state: {"xs": ["c", interrupt("ok?")]})
    graph.add_node("d", lambda state: {"xs": ["d"]})
    graph.add_edge(START, "a").add_edge("a", "b").add_edge("a", "c").add_edge(["b", "c"], "d")
    app = graph.compile(checkpointer=saver)

    def config(thread: str, **more: Any) -> Any:
        return {"configurable": {"thread_id": thread, **more}}

    app.invoke({"xs": [0]}, config("done"))
    app.invoke(Command(resume="yes"), config("done"))
    app.invoke({"xs": [0]}, config("asks", user="u1"))
    app.invoke({"xs": [0]}, config("forked"))
    at = app.get_state(config("forked")).config
    app.update_state(at, {"xs": ["left"]}, as_node="d")
    app.update_state(at, {"xs": ["right"]}, as_node="d")
    with suppress(ValueError):
        app.invoke({"xs": ["fail"]}, config("fails"))
    nesting = StateGraph(State).add_node("below", below).add_edge(START, "below").compile(checkpointer=saver)
    nesting.invoke({"xs": [0]}, config("nested"))

    @entrypoint(checkpointer=saver)
    def counter(n: int, *, previous: Any = None) -> Any:
        return (previous or 0) + n

    counter.invoke(1, config("counted"))
    counter.invoke(2, config("counted"))

    @entrypoint(checkpointer=saver)
    def noted(text: str) -> Any:
        return Note(text)

    noted.invoke("x", config("noted"))
    for thread in HISTORIES:
        history = reversed(list(app.get_state_history(config(thread))))
        print(thread, [(s.metadata["step"], s.metadata["source"], s.values["xs"]) for s in history])
    saver.conn.execute("PRAGMA journal_mode=DELETE")
    saver.conn.execute("VACUUM")
    saver.conn.close()


if __name__ == "__main__":
    import stored_threads  # not __main__, so that the class is named as the tests name it

    stored_threads.write()
