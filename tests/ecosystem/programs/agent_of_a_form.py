"""`create_agent` with structured output: by a tool, with an answer that doesn't fit first, and by the provider."""

import asyncio

from acting import Actor, actor, calls, show
from langchain.agents import create_agent
from langchain.agents.structured_output import ProviderStrategy, ToolStrategy
from langchain_core.messages import AIMessage
from langchain_core.tools import tool
from pydantic import BaseModel


class Report(BaseModel):
    """A report."""

    city: str
    degrees: int


class Excuse(BaseModel):
    """Why there is none."""

    reason: str


@tool
def weather(city: str) -> str:
    """The weather in a city."""
    return f"21 degrees in {city}"


LOOK = calls(("weather", {"city": "Rome"}))
BAD = calls(("Report", {"city": "Rome", "degrees": "warm"}), first=2)
GOOD = calls(("Report", {"city": "Rome", "degrees": 21}), first=3)
BOTH = calls(("Report", {"city": "Rome", "degrees": 21}), ("Excuse", {"reason": "none"}), first=4)


def agent(form, *lines):
    return create_agent(actor(*lines), [weather], response_format=form)


show(agent(ToolStrategy(Report), LOOK, GOOD).invoke({"messages": "Report."}), "by a tool")
show(agent(ToolStrategy(Report), LOOK, BAD, GOOD).invoke({"messages": "Report."}), "repaired")
show(agent(ToolStrategy(Report | Excuse), BOTH, GOOD).invoke({"messages": "Report."}), "one of two")
answered = ToolStrategy(Report, tool_message_content="noted")
show(list(agent(answered, LOOK, GOOD).stream({"messages": "Report."}, stream_mode="updates")), "updates")
try:
    agent(ToolStrategy(Report, handle_errors=False), BAD).invoke({"messages": "Report."})
except Exception as error:
    show((type(error).__name__, str(error).splitlines()[0]), "error")

text = AIMessage('{"city": "Rome", "degrees": 21}')
show(agent(ProviderStrategy(Report), LOOK, text).invoke({"messages": "Report."}), "by the provider")
show(asyncio.run(agent(Report, LOOK, GOOD).ainvoke({"messages": "Report."})), "either")
schema = {"title": "Form", "type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
filled = calls(("Form", {"city": "Oslo"}))
show(agent(ToolStrategy(schema), filled).invoke({"messages": "Report."}), "a JSON schema")
named = Actor(answer=lambda messages, tools: calls((tools[-1], {"city": "Bonn", "degrees": len(tools)})))
show(
    create_agent(named, [weather], response_format=ToolStrategy(Report)).invoke({"messages": "Go."}), "tools"
)
