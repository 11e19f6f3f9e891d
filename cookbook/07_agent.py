"""An agent as one durable function: each call of the model and of a tool is a task. No framework for agents.

The loop is the one that chat-completion APIs ask for: call the model, run the tools that it calls, give it
their results, until it calls none. What a task came to is in the file, so a crash in the second turn repeats
neither the first turn nor a tool that had finished, and money is spent once. A tool that sends something
waits for a human, for days if need be. How tools are tried again and shared is in 34.

Output:
    [model] 1 message(s)
    [model] 4 message(s)
    waits for: send 'Rome 24, Oslo 3' to ada?
    [send] ada
    [model] 6 message(s)
    I told ada: sent
"""

import json
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from flowfn import Interrupted, RetryPolicy, entrypoint, interrupt, task

folder = TemporaryDirectory()


@task
def weather(city: str) -> int:
    return {"Rome": 24, "Oslo": 3}[city]


@task
def send(to: str, text: str) -> str:
    if interrupt(f"send {text!r} to {to}?") != "yes":
        return "not sent"
    print(f"[send] {to}")
    return "sent"


@task(retry_policy=RetryPolicy(max_attempts=5))
def ask_model(messages: list[dict[str, Any]]) -> dict[str, Any]:
    """Stands for `client.chat.completions.create(messages=messages, tools=…)`."""
    print(f"[model] {len(messages)} message(s)")
    results = [message["content"] for message in messages if message["role"] == "tool"]
    if len(results) == 3:
        return {"role": "assistant", "content": f"I told ada: {results[2]}"}
    wanted = [("weather", {"city": "Rome"}), ("weather", {"city": "Oslo"})]
    if results:
        wanted = [("send", {"to": "ada", "text": "Rome {}, Oslo {}".format(*results)})]
    calls = [{"name": name, "arguments": json.dumps(given)} for name, given in wanted]
    return {"role": "assistant", "tool_calls": [{"id": str(i), "function": c} for i, c in enumerate(calls)]}


@entrypoint(checkpointer=Path(folder.name) / "runs.db")
def agent(question: str) -> str:
    tools = {"weather": weather, "send": send}
    messages: list[dict[str, Any]] = [{"role": "user", "content": question}]
    while True:
        answer = ask_model(messages).result()
        if "tool_calls" not in answer:
            return str(answer["content"])
        calls = [(call["id"], call["function"]) for call in answer["tool_calls"]]
        running = [(id, tools[it["name"]](**json.loads(it["arguments"]))) for id, it in calls]  # side by side
        results = [{"role": "tool", "tool_call_id": id, "content": each.result()} for id, each in running]
        messages = [*messages, answer, *results]


if __name__ == "__main__":
    thread = agent.thread("monday")
    try:
        thread("What is the weather in Rome and Oslo? Tell ada.")
    except Interrupted as waiting:
        print("waits for:", waiting.interrupts[0].value)
    print(thread.resume("yes"))
