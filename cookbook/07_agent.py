"""An agent as one durable function: each call of the model and of a tool is a task. No framework for agents.

The loop is the one that chat-completion APIs ask for: call the model, run the tools that it calls, give it
their results, until it calls none. `ask_model` stands for your client. What a task has come to is in the
file, so a crash in the second turn repeats neither the first turn nor a tool that had finished, and money
is spent once. A flaky tool is tried again. The cached one is asked once for all threads. A tool that sends
something waits for a human, for days if need be.

Output:
    [model] 1 message
    [model] 4 messages
    waits for: send 'Rome 24, Oslo 3' to ada?
    [send] ada
    [model] 6 messages
    Done: I told ada that it is Rome 24, Oslo 3.
    another thread
    [model] 1 message
    [model] 4 messages
    waits for: send 'Rome 24, Oslo 3' to ada?
    [model] 6 messages
    Done: I told ada nothing.
    the weather service was asked for Oslo, Oslo, Rome
"""

import json
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from flowfn import CachePolicy, Interrupted, RetryPolicy, entrypoint, interrupt, task

folder = TemporaryDirectory()
asked: list[str] = []

Message = dict[str, Any]


# -- tools: functions, made durable ---------------------------------------------------------------


@task(retry_policy=RetryPolicy(max_attempts=3, initial_interval=0.01), cache_policy=CachePolicy(ttl=3600))
def weather(city: str) -> int:
    asked.append(city)
    if city == "Oslo" and asked.count("Oslo") == 1:
        raise ConnectionError("the line is down")
    return {"Rome": 24, "Oslo": 3}[city]


@task
def send(to: str, text: str) -> str:
    if interrupt(f"send {text!r} to {to}?") != "yes":
        return "the human said no"
    print(f"[send] {to}")
    return "sent"


TOOLS = {"weather": weather, "send": send}


# -- the model --------------------------------------------------------------------------------------


@task(retry_policy=RetryPolicy(max_attempts=5))
def ask_model(messages: list[Message]) -> Message:
    """Stands for `client.chat.completions.create(messages=messages, tools=…)`."""
    print(f"[model] {len(messages)} message{'s' if len(messages) > 1 else ''}")
    results = [message["content"] for message in messages if message["role"] == "tool"]
    if not results:
        return calls(("weather", {"city": "Rome"}), ("weather", {"city": "Oslo"}))
    report = f"Rome {results[0]}, Oslo {results[1]}"
    if len(results) == 2:
        return calls(("send", {"to": "ada", "text": report}))
    told = f"that it is {report}" if results[2] == "sent" else "nothing"
    return {"role": "assistant", "content": f"Done: I told ada {told}."}


def calls(*wanted: tuple[str, dict[str, Any]]) -> Message:
    """What a model says that calls tools."""
    return {
        "role": "assistant",
        "content": "",
        "tool_calls": [
            {"id": f"call-{name}-{place}", "function": {"name": name, "arguments": json.dumps(arguments)}}
            for place, (name, arguments) in enumerate(wanted)
        ],
    }


# -- the agent ----------------------------------------------------------------------------------------


@entrypoint(checkpointer=Path(folder.name) / "runs.db")
def agent(question: str) -> str:
    messages: list[Message] = [{"role": "user", "content": question}]
    while True:
        answer = ask_model(messages).result()
        messages = [*messages, answer]
        if not answer.get("tool_calls"):
            return str(answer["content"])
        running = [(call["id"], run(call["function"])) for call in answer["tool_calls"]]
        results = [{"role": "tool", "tool_call_id": id, "content": future.result()} for id, future in running]
        messages = [*messages, *results]


def run(call: dict[str, Any]) -> Any:
    """Start a tool; those of one turn run side by side."""
    return TOOLS[call["name"]](**json.loads(call["arguments"]))


def talk(thread: str, answer: str) -> None:
    try:
        agent.thread(thread)("What is the weather in Rome and Oslo? Tell ada.")
    except Interrupted as waiting:
        print("waits for:", waiting.interrupts[0].value)
    print(agent.thread(thread).resume(answer))


if __name__ == "__main__":
    talk("monday", "yes")
    print("another thread")
    talk("tuesday", "no")
    print("the weather service was asked for", ", ".join(sorted(asked)))
