"""`langmem`: memories that a model keeps in a store, tools for them in an agent, and summaries."""

import asyncio

from acting import Actor, actor, calls, plain, show
from langchain.agents import create_agent
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.func import entrypoint
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import create_react_agent
from langgraph.store.memory import InMemoryStore
from langmem import (
    ReflectionExecutor,
    create_manage_memory_tool,
    create_memory_manager,
    create_memory_store_manager,
    create_search_memory_tool,
)
from langmem.short_term import SummarizationNode, summarize_messages

CONFIG = {"configurable": {"thread_id": "1", "user": "ada"}}


def in_store(store):
    items = store.search(("memories",), limit=100)
    return sorted((plain(item.namespace), str(plain(item.value))) for item in items)


def tools(maker):
    store = InMemoryStore()
    agent = maker(
        actor(
            calls(("manage_memory", {"content": "Ada likes tides", "action": "create"})),
            calls(("search_memory", {"query": "tides"}), first=2),
            "Noted.",
        ),
        [
            create_manage_memory_tool(namespace=("memories", "{user}")),
            create_search_memory_tool(namespace=("memories", "{user}")),
        ],
        store=store,
    )
    result = agent.invoke({"messages": "I like tides."}, CONFIG)
    show([plain(message)[:2] for message in result["messages"]], "messages")
    show(in_store(store), "store")


def remembers(messages, tools):
    return calls(("Memory", {"content": "Ada likes tides"}))


def managed():
    manager = create_memory_manager(Actor(answer=remembers), enable_inserts=True)
    found = manager.invoke({"messages": [{"role": "user", "content": "I am Ada, and like tides."}]})
    show([plain(memory.content) for memory in found], "managed")


def stored():
    store = InMemoryStore()
    manager = create_memory_store_manager(Actor(answer=remembers), namespace=("memories", "{user}"))

    @entrypoint(store=store)
    def chat(text):
        manager.invoke({"messages": [{"role": "user", "content": text}]})
        return "said"

    show(chat.invoke("I am Ada.", CONFIG), "answer")
    show(in_store(store), "store")

    @entrypoint(store=store)
    async def achat(text):
        await manager.ainvoke({"messages": [{"role": "user", "content": text}]})
        return "said"

    show(asyncio.run(achat.ainvoke("I am Ada.", {"configurable": {"user": "eve"}})), "answer")
    show(in_store(store), "store")


def reflecting():
    store = InMemoryStore()
    manager = create_memory_store_manager(Actor(answer=remembers), namespace=("memories",), store=store)
    executor = ReflectionExecutor(manager, store=store)

    @entrypoint(store=store)
    def chat(text):
        return executor.submit({"messages": [{"role": "user", "content": text}]}, after_seconds=0)

    builder = StateGraph(MessagesState)

    def reflect(state):
        executor.submit({"messages": state["messages"]}, after_seconds=0).result(timeout=20)
        return {"messages": "reflected"}

    builder.add_node("reflect", reflect)
    builder.add_edge(START, "reflect")
    show(builder.compile(store=store).invoke({"messages": "I am Ada."}, CONFIG)["messages"], "messages")
    executor.shutdown()
    show(in_store(store), "store")


def counted(messages):
    return len(messages) * 10


def summarising():
    summary = Actor(answer=lambda messages, tools: "what was said")
    messages = [kind(str(n), id=str(n)) for n in range(6) for kind in (HumanMessage, AIMessage)]
    short = summarize_messages(
        messages,
        running_summary=None,
        model=summary,
        max_tokens=50,
        max_tokens_before_summary=60,
        max_summary_tokens=10,
        token_counter=counted,
    )
    show(short.messages, "short")

    class State(MessagesState):
        context: dict
        llm_input_messages: list

    node = SummarizationNode(
        model=summary,
        max_tokens=50,
        max_tokens_before_summary=40,
        max_summary_tokens=10,
        token_counter=counted,
    )
    heard = []

    def answer(messages, tools):
        heard.append(len(messages))
        return f"answer {len(heard)}"

    class AgentState(State):
        remaining_steps: int

    agent = create_react_agent(
        Actor(answer=answer), [], pre_model_hook=node, state_schema=AgentState, checkpointer=InMemorySaver()
    )
    for turn in range(4):
        result = agent.invoke({"messages": f"question {turn}"}, CONFIG)
    show(result["messages"], "messages")
    show(heard, "messages that the model heard")
    show(result["context"]["running_summary"].summary, "summary")


for maker in (create_react_agent, create_agent):
    tools(maker)
managed()
stored()
reflecting()
summarising()
