"""The same loop ready-made: LangGraph's `create_react_agent`, with plain functions and without LangChain.

The model is any function of messages and tools: dicts in, a dict out, as chat-completion APIs have them.
The tools are plain functions; their schemas come from their signatures. With a chat model of LangChain in
its place, the messages are LangChain's, and nothing else changes.

Output:
    the model is offered: transfer(to: string, cents: integer), balance(of: string)
    asked: transfer 700 cents to bob?
    user      I owe bob 7 euros. Have I got them? Then pay.
    assistant calls balance, transfer
    tool      1200
    tool      paid 700 cents to bob
    assistant You had 1200 cents; paid 700 cents to bob.
    each ran: balance 1, transfer 1
"""

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from graph_compat.prebuilt import create_react_agent
from graph_compat.types import Command, interrupt

folder = TemporaryDirectory()
ran: list[str] = []


def transfer(to: str, cents: int) -> str:
    """Transfer money."""
    if interrupt(f"transfer {cents} cents to {to}?") != "yes":
        return "the human said no"
    ran.append("transfer")
    return f"paid {cents} cents to {to}"


def balance(of: str) -> int:
    """How many cents somebody has."""
    ran.append("balance")
    return 1200


def model(messages: list[dict[str, Any]], tools: list[dict[str, Any]]) -> dict[str, Any] | str:
    """Stands for `client.chat.completions.create(messages=messages, tools=tools)`."""
    results = [message["content"] for message in messages if message["role"] == "tool"]
    if results:
        return f"You had {results[0]} cents; {results[1]}."
    print("the model is offered:", ", ".join(signature(tool["function"]) for tool in tools))
    functions = [
        {"name": "balance", "arguments": '{"of": "me"}'},
        {"name": "transfer", "arguments": '{"to": "bob", "cents": 700}'},
    ]
    calls = [{"id": f["name"], "type": "function", "function": f} for f in functions]
    return {"role": "assistant", "content": "", "tool_calls": calls}


def signature(function: dict[str, Any]) -> str:
    parameters = function["parameters"]["properties"].items()
    shown = ", ".join(f"{name}: {schema['type']}" for name, schema in parameters)
    return f"{function['name']}({shown})"


agent = create_react_agent(model, [transfer, balance], checkpointer=Path(folder.name) / "runs.db")


if __name__ == "__main__":
    thread = {"configurable": {"thread_id": "my bank"}}
    waiting = agent.invoke({"messages": "I owe bob 7 euros. Have I got them? Then pay."}, thread)
    print("asked:", waiting["__interrupt__"][0].value)

    for message in agent.invoke(Command(resume="yes"), thread)["messages"]:
        called = ", ".join(call["function"]["name"] for call in message.get("tool_calls", ()))
        print(f"{message['role']:9}", f"calls {called}" if called else message["content"])
    print("each ran:", ", ".join(f"{name} {ran.count(name)}" for name in sorted(set(ran))))
