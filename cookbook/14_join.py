"""Three branches side by side, of different lengths, and a node that waits for all of them.

`add_edge([a, b, c], d)` runs `d` once, when all three have run, whichever superstep that is in. Three plain
edges to `d` would run it after the first that finishes, and again after the others.

Output:
    step 1: flour, oven, water
    step 2: dough
    step 3: bake
    ['bake', 'dough', 'flour', 'oven', 'water']
"""

import operator
from typing import Annotated, Any, TypedDict

# from langgraph.graph import START, StateGraph  # LangGraph
from graph_compat.graph import START, StateGraph


class State(TypedDict):
    done: Annotated[list[str], operator.add]


def doing(name: str) -> Any:
    return lambda state: {"done": [name]}


builder = StateGraph(State)
for name in ("flour", "water", "oven", "dough", "bake"):
    builder.add_node(name, doing(name))
for name in ("flour", "water", "oven"):
    builder.add_edge(START, name)
builder.add_edge(["flour", "water"], "dough")
builder.add_edge(["dough", "oven"], "bake")
graph = builder.compile()


if __name__ == "__main__":
    steps: dict[int, list[str]] = {}
    for event in graph.stream({"done": []}, stream_mode="debug"):
        if event["type"] == "task":
            steps.setdefault(event["step"], []).append(event["payload"]["name"])
    for step, names in steps.items():
        print(f"step {step}:", ", ".join(sorted(names)))
    print(sorted(graph.invoke({"done": []})["done"]))
