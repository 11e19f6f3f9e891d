"""The process that runs the demo's workflow, and that gets killed.

    python -P -m flowfn.demo.worker THREAD < ORDER

`ORDER` is JSON: `{"start": input}`, `{"resume": null}` or `{"answer": text}`. It prints JSON, a line each:

| line | when |
|---|---|
| `{"recorded": n}` | at the start: so many files are measured, and recorded, already |
| `{"measured": file}` | one more is recorded |
| `{"question": text}` | the run waits for an answer |
| `{"report": {…}}` | it ended with this report |
| `{"reused": n}` | at the end: so many recorded calls were handed back |
"""

import json
import sys
from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from flowfn import Command
from flowfn.demo.job import Summary, index_library

MEASURE = "measure"
"""The task whose calls are counted."""

AT_ONCE = 4
"""Files measured at the same time, and so at most in flight when the process dies."""


def main(thread: str, order: dict[str, Any]) -> None:
    """Carry out an order, telling what happens."""
    _say(recorded=_recorded(thread))
    config = {"configurable": {"thread_id": thread}, "max_concurrency": AT_ONCE}
    for mode, chunk in index_library.stream(_given(order), config, stream_mode=["tasks", "values"]):
        for line in _lines(mode, chunk):
            _say(**line)
    _say(reused=index_library.thread(thread).report.reused)


def _given(order: dict[str, Any]) -> Any:
    """What to call the workflow with: an input, an answer, or nothing, to go on."""
    return Command(resume=order["answer"]) if "answer" in order else order.get("start")


def _recorded(thread: str) -> int:
    calls = [call for task in index_library.thread(thread).state.tasks for call in task.calls]
    return sum(call.name == MEASURE and call.status == "done" for call in calls)


def _lines(mode: str, chunk: Any) -> Iterator[dict[str, Any]]:
    """What a chunk of the stream means to the parent."""
    if mode == "tasks":
        if chunk["name"] == MEASURE and chunk.get("result"):
            yield {"measured": chunk["result"]["__return__"].name}
    elif isinstance(chunk, Summary):
        yield {"report": asdict(chunk)}
    else:
        yield {"question": chunk["__interrupt__"][0].value}


def _say(**line: Any) -> None:
    print(json.dumps(line), flush=True)


if __name__ == "__main__":
    main(sys.argv[1], json.loads(sys.stdin.readline()))
