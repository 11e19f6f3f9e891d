"""G1: an agent that is killed in the middle of a tool's call repeats that call alone."""

import signal
from pathlib import Path

import pytest

from ..conftest import RunPython

AGENT = """
import asyncio, os, signal, sys, time
from graph_compat.prebuilt import create_react_agent

version, caller = sys.argv[1:]
thread = {"configurable": {"thread_id": "1"}}

def note(what):
    with open("log", "a") as log:
        print(what, file=log)

def recorded():
    tasks = agent.get_state(thread).tasks
    done = [task for task in tasks if task.result] + [call for task in tasks for call in task.calls or ()]
    return len([each for each in done if getattr(each, "status", "done") == "done"])

def work(name: str) -> str:
    note(name)
    if name == "c" and not os.path.exists("killed"):
        while recorded() < 2:  # the others run beside it
            time.sleep(0.01)
        open("killed", "w").close()
        os.kill(os.getpid(), signal.SIGKILL)
    return name.upper()

def call(name):
    return {"id": name, "type": "function", "function": {"name": "work", "arguments": '{"name": "%s"}' % name}}

def model(messages, tools):
    note("model")
    if messages[-1]["role"] == "tool":
        return "".join(message["content"] for message in messages if message["role"] == "tool")
    return {"role": "assistant", "content": "", "tool_calls": [call(name) for name in "abc"]}

agent = create_react_agent(model, [work], version=version, checkpointer="runs.db")
given = None if os.path.exists("killed") else {"messages": "go"}
result = asyncio.run(agent.ainvoke(given, thread)) if caller == "asyncio" else agent.invoke(given, thread)
print(result["messages"][-1]["content"])
"""


@pytest.mark.parametrize("version", ["v1", "v2"])
@pytest.mark.parametrize("caller", ["blocking", "asyncio"])
def test_finished_calls_are_not_repeated(
    run_python: RunPython, tmp_path: Path, version: str, caller: str
) -> None:
    """Killed in the third of three parallel calls, and gone on with: the model and two tools have run once."""
    first = run_python("-c", AGENT, version, caller)
    assert (first.returncode, first.stderr) == (-signal.SIGKILL, "")
    second = run_python("-c", AGENT, version, caller)
    assert (second.stdout, second.stderr) == ("ABC\n", "")
    ran = (tmp_path / "log").read_text().split()
    assert sorted(ran) == ["a", "b", "c", "c", "model", "model"]
