"""`create_agent` read by stream events v3: messages, tool calls, agents that tools call, and what is kept from view."""

import asyncio
import warnings

from acting import actor, calls, show
from langchain.agents import create_agent
from langchain.agents.middleware import PIIMiddleware
from langchain.tools import ToolRuntime
from langchain_core._api import LangChainBetaWarning
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage
from langchain_core.tools import tool
from langgraph.stream import UpdatesTransformer

warnings.simplefilter("ignore", LangChainBetaWarning)
ASK = {"messages": "Is it warm in Rome?"}


@tool
def weather(city: str, runtime: ToolRuntime) -> str:
    """The weather in a city."""
    runtime.emit_output_delta("looking")
    return f"21 degrees in {city}"


def supervisor():
    clerk = create_agent(
        actor(calls(("weather", {"city": "Rome"}), first=7), "It is warm."), [weather], name="clerk"
    )

    @tool
    def delegate(question: str) -> str:
        """Ask the clerk."""
        return clerk.invoke({"messages": question})["messages"][-1].text

    @tool("delegate")
    async def adelegate(question: str) -> str:
        """Ask the clerk."""
        return (await clerk.ainvoke({"messages": question}))["messages"][-1].text

    said = (calls(("delegate", {"question": "warm?"})), "The clerk says: warm.")
    return create_agent(actor(*said), [delegate], name="boss"), create_agent(
        actor(*said), [adelegate], name="boss"
    )


def talker():
    model = GenericFakeChatModel(messages=iter([AIMessage("write to me@example.com now")] * 3))
    hidden = PIIMiddleware("email", apply_to_output=True, apply_to_input=False)
    return create_agent(model, [], middleware=[hidden])


def of_call(call):
    return call.tool_name, call.input, call.output, call.error, call.completed


def blocking():
    agent = supervisor()[0]
    run = agent.stream_events(ASK, version="v3", transformers=[UpdatesTransformer])
    show(sorted(run.extensions), "projections")
    for name, item in run.interleave("messages", "tool_calls", "subagents", "updates"):
        if name == "subagents":
            show((item.name, item.cause, item.status), "subagent")
            for call in item.tool_calls:
                show(list(call.output_deltas), "pieces")
                show(of_call(call), "its call")
            show((item.output["messages"][-1].text, item.status), "subagent came to")
        elif name == "messages":
            show((item.node, str(item.text), item.output.tool_calls), "message")
        elif name == "updates":
            show(sorted(item), "update")
        else:
            show((item.tool_name, item.input), "call")
    show(run.output["messages"][-1].text, "output")
    show([each["event"] for each in agent_lifecycle()], "lifecycle")
    show(
        "".join("".join(message.text) for message in talker().stream_events(ASK, version="v3").messages),
        "redacted",
    )


def agent_lifecycle():
    return supervisor()[0].stream_events(ASK, version="v3").lifecycle


async def awaited():
    run = await supervisor()[1].astream_events(ASK, version="v3")

    async def calls_of():
        return [of_call(call)[:2] async for call in run.tool_calls]

    async def subagents():
        return [
            (each.name, (await each.output())["messages"][-1].text, each.status)
            async for each in run.subagents
        ]

    async def messages():
        return [await message.text async for message in run.messages]

    found = await asyncio.gather(calls_of(), subagents(), messages(), run.interrupted())
    for label, each in zip(("calls", "subagents", "messages", "interrupted"), found, strict=True):
        show(each, label)
    run = await talker().astream_events(ASK, version="v3")
    show([await message.text async for message in run.messages], "redacted")


blocking()
asyncio.run(awaited())
