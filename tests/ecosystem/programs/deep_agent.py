"""`deepagents`: files in the state, sub-agents side by side, a human who is asked before a file is written."""

import asyncio

from acting import Actor, actor, calls, plain, show
from deepagents import create_deep_agent
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command

THREAD = {"configurable": {"thread_id": "1"}}


@tool
def measure(what: str) -> str:
    """Measure something."""
    return f"{what} is {len(what)} long"


def files(result):
    return {path: file["content"] for path, file in result["files"].items()}


def working():
    agent = create_deep_agent(
        actor(
            calls(("measure", {"what": "a rope"}), ("measure", {"what": "a thread"})),
            calls(("write_file", {"file_path": "/notes.txt", "content": "one\ntwo\n"}), first=3),
            calls(
                ("edit_file", {"file_path": "/notes.txt", "old_string": "two", "new_string": "three"}),
                first=4,
            ),
            calls(("read_file", {"file_path": "/notes.txt"}), ("ls", {"path": "/"}), first=5),
            calls(("grep", {"pattern": "three"}), ("read_file", {"file_path": "/absent"}), first=7),
            "All written.",
        ),
        [measure],
        system_prompt="You measure.",
        checkpointer=InMemorySaver(),
    )
    result = agent.invoke({"messages": "Measure a rope."}, THREAD)
    show(result["messages"], "messages")
    show(files(result), "files")
    show(sorted(agent.get_state(THREAD).values), "keys of the state")


def delegating():
    task = {"subagent_type": "surveyor"}
    agent = create_deep_agent(
        actor(
            calls(
                ("task", {"description": "the bridge", **task}),
                ("task", {"description": "the tower", **task}),
            ),
            calls(("read_file", {"file_path": "/the tower"}), first=3),
            "Both are measured.",
        ),
        [],
        subagents=[
            {
                "name": "surveyor",
                "description": "Measures buildings.",
                "system_prompt": "You are a surveyor.",
                "tools": [measure],
                "model": Actor(answer=survey),
            }
        ],
        checkpointer=InMemorySaver(),
    )
    return agent


def survey(messages, tools):
    """Measures what it is told to, writes that down, and says so."""
    asked = next(message.content for message in messages if message.type == "human")
    answers = [message for message in messages if message.type == "tool"]
    if not answers:
        return calls(("measure", {"what": asked}))
    if len(answers) == 1:
        return calls(("write_file", {"file_path": f"/{asked}", "content": answers[0].content}))
    return f"{asked}: {answers[0].content}"


def shown(result):
    show(result["messages"], "messages")
    show(dict(sorted(files(result).items())), "files")


async def delegating_in_asyncio():
    agent = delegating()
    chunks = agent.astream({"messages": "Measure."}, THREAD, stream_mode="updates", subgraphs=True)
    names = [(len(namespace), sorted(chunk)) async for namespace, chunk in chunks]
    show(sorted(names), "updates")
    shown((await agent.aget_state(THREAD)).values)


def asking():
    agent = create_deep_agent(
        actor(calls(("write_file", {"file_path": "/a", "content": "x"})), "Written.", "Not written."),
        [],
        interrupt_on={"write_file": True},
        checkpointer=InMemorySaver(),
    )
    asked = agent.invoke({"messages": "Write."}, THREAD)
    show(plain(asked["__interrupt__"]), "asked")
    result = agent.invoke(Command(resume={"decisions": [{"type": "approve"}]}), THREAD)
    show((result["messages"], files(result)), "approved")


working()
shown(delegating().invoke({"messages": "Measure."}, THREAD))
asyncio.run(delegating_in_asyncio())
asking()
