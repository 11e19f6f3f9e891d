"""A run asks several people at once, ends, and goes on as their answers come in.

`interrupt(question)` inside a task stops that task, not its siblings. When nothing can go on without an
answer the run ends, and holds no process, thread or connection while people think: it is a row in the
file. Answers are given by the question's id or key, one or many at a time, in any order. A question
that was answered is never asked again, and work done before it isn't repeated.

Output:
    estimating paper
    estimating chairs
    estimating laptops
    chairs: 400 for chairs?
    laptops: 9000 for laptops?
    refused: the answer to '400 for chairs?' does not fit: ...
    waiting for: chairs laptops
    waiting for: laptops
    {'paper': True, 'chairs': True, 'laptops': False}
"""

from pathlib import Path
from tempfile import TemporaryDirectory

from flowfn import Command, Interrupt, InvalidAnswer, entrypoint, interrupt, task

folder = TemporaryDirectory()
PRICES = {"paper": 12, "chairs": 400, "laptops": 9_000}


@task
def estimate(item: str) -> int:
    print("estimating", item)
    return PRICES[item]


@task
def approve(item: str, price: int) -> bool:
    if price < 100:
        return True
    approved: bool = interrupt(f"{price} for {item}?", key=item, type=bool)
    return approved


@entrypoint(checkpointer=Path(folder.name) / "runs.db")
def purchase(items: list[str]) -> dict[str, bool]:
    prices = {item: estimate(item).result() for item in items}
    approvals = {item: approve(item, price) for item, price in prices.items()}
    return {item: approval.result() for item, approval in approvals.items()}


def waiting() -> dict[str | None, Interrupt]:
    """The open questions by their keys, in alphabetical order."""
    return {question.key: question for question in sorted(order.state.interrupts, key=lambda q: q.value)}


if __name__ == "__main__":
    order = purchase.thread("order-42")

    order.invoke(["paper", "chairs", "laptops"])
    asked = waiting()
    for key, question in asked.items():
        print(f"{key}: {question.value}")

    try:
        order.resume({"chairs": "ask me tomorrow"})
    except InvalidAnswer as error:
        print("refused:", str(error).splitlines()[0])
    print("waiting for:", *waiting())

    order.resume({asked["chairs"].id: True})
    print("waiting for:", *waiting())

    # LangGraph's words mean the same. One question is left, so that a plain answer will do.
    print(purchase.invoke(Command(resume=False), order.config))
