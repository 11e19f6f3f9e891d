"""`create_agent` with summarisation, a limit on calls, and middleware of one's own at every hook."""

import asyncio

from acting import Actor, actor, calls, show
from langchain.agents import AgentState, create_agent
from langchain.agents.middleware import (
    AgentMiddleware,
    ModelCallLimitMiddleware,
    SummarizationMiddleware,
    TodoListMiddleware,
    ToolRetryMiddleware,
    after_model,
    before_model,
    dynamic_prompt,
    hook_config,
    wrap_model_call,
    wrap_tool_call,
)
from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver

THREAD = {"configurable": {"thread_id": "1"}}


@tool
def look(what: str) -> str:
    """Look something up."""
    return f"found {what}"


def summarising():
    heard = []

    def answer(messages, tools):
        heard.append(len(messages))
        return f"answer {len(heard)}"

    shortens = SummarizationMiddleware(
        model=Actor(answer=lambda messages, tools: "what was said before"),
        trigger=("messages", 6),
        keep=("messages", 2),
    )
    chat = create_agent(Actor(answer=answer), [look], middleware=[shortens], checkpointer=InMemorySaver())
    for turn in range(5):
        result = chat.invoke({"messages": f"question {turn}"}, THREAD)
    show(result["messages"], "summarised")
    show(heard, "messages that the model heard")


class Counting(AgentMiddleware):
    """Says when its hooks run, and stops after two calls of the model."""

    class state_schema(AgentState):
        rounds: int

    def before_agent(self, state, runtime):
        print("before agent")
        return {"rounds": 0}

    @hook_config(can_jump_to=["end"])
    def before_model(self, state, runtime):
        print("before model", state["rounds"])
        if state["rounds"] == 2:
            return {"messages": [AIMessage("enough")], "jump_to": "end"}
        return {"rounds": state["rounds"] + 1}

    def after_model(self, state, runtime):
        print("after model", state["rounds"], runtime.context)

    def after_agent(self, state, runtime):
        print("after agent", len(state["messages"]))


def hooks():
    agent = create_agent(
        actor(*(calls(("look", {"what": str(n)}), first=n) for n in range(9))),
        [look],
        middleware=[Counting()],
        context_schema=dict,
    )
    result = agent.invoke({"messages": "Go."}, context={"user": "ada"})
    show(result, "stopped")
    show(sorted((edge.source, edge.target, edge.conditional) for edge in agent.get_graph().edges), "edges")


def wrapped():
    @dynamic_prompt
    def prompt(request):
        return f"There are {len(request.messages)} messages."

    @wrap_model_call
    def louder(request, handler):
        response = handler(request)
        return AIMessage(response.result[0].content.upper(), tool_calls=response.result[0].tool_calls)

    @wrap_tool_call
    def marked(request, handler):
        message = handler(request)
        return message.model_copy(update={"content": f"<{message.content}> {sorted(request.state)}"})

    @before_model
    def note(state, runtime):
        return {"messages": [HumanMessage("noted")]}

    @after_model
    def seen(state, runtime):
        print("seen", len(state["messages"]))

    agent = create_agent(
        actor(calls(("look", {"what": "a"}), said="looking"), "done"),
        [look],
        middleware=[prompt, louder, marked, note, seen],
    )
    show(list(agent.stream({"messages": "Go."}, stream_mode="updates")), "wrapped")


def limits():
    agent = create_agent(
        actor(*(calls(("look", {"what": str(n)}), first=n) for n in range(9))),
        [look],
        middleware=[ModelCallLimitMiddleware(run_limit=3, exit_behavior="end")],
    )
    show(agent.invoke({"messages": "Go."})["messages"], "limited")


def todos():
    tasks = [{"content": "look", "status": "pending"}]
    agent = create_agent(
        actor(calls(("write_todos", {"todos": tasks})), "planned"), [look], middleware=[TodoListMiddleware()]
    )
    result = agent.invoke({"messages": "Plan."})
    show((result["todos"], result["messages"]), "planned")


async def retrying():
    failures = [ConnectionError("down"), ConnectionError("down")]

    @tool
    async def fetch(page: int) -> str:
        """Fetch a page."""
        if failures:
            raise failures.pop()
        return f"page {page}"

    agent = create_agent(
        actor(calls(("fetch", {"page": 1}), ("fetch", {"page": 2})), "fetched"),
        [fetch],
        middleware=[ToolRetryMiddleware(max_retries=3, initial_delay=0.001, jitter=False)],
    )
    show((await agent.ainvoke({"messages": "Go."}))["messages"], "retried")


summarising()
hooks()
wrapped()
limits()
todos()
asyncio.run(retrying())
