"""A question that is a form, one that lapses, and who answered.

`type=` says what an answer has to be. What doesn't fit is refused before anything of the run is called, and the
question stays open; a web page can draw its form from the JSON schema. `timeout=` and `default=` are a deadline:
afterwards the default counts, and an answer comes too late.

Output:
    the form asks for: approved, cents
    refused: Input should be greater than 0
    approved by ann: charged 3500
    too late: the deadline of {'deal?': 'bob'} passed
    bob: no answer in time
"""

import time
from pathlib import Path
from tempfile import TemporaryDirectory

from pydantic import BaseModel, Field

from flowfn import InvalidAnswer, NoPendingInterrupt, entrypoint, interrupt, task

folder = TemporaryDirectory()


class Approval(BaseModel):
    approved: bool
    cents: int = Field(gt=0)


@task
def charge(cents: int) -> str:
    return f"charged {cents}"


@entrypoint(checkpointer=Path(folder.name) / "runs.db")
def order(cents: int) -> str:
    answer = interrupt({"approve": cents}, key="approval", type=Approval)
    return charge(answer.cents).result() if answer.approved else "left"


@entrypoint(checkpointer=Path(folder.name) / "runs.db")
def offer(to: str, seconds: float) -> str:
    answer = interrupt({"deal?": to}, type=str, timeout=seconds, default="no answer in time")
    return f"{to}: {answer}"


if __name__ == "__main__":
    thread = order.thread("order-42")
    thread.invoke(4000)
    (question,) = thread.state.interrupts
    print("the form asks for:", ", ".join(question.response_schema["properties"]))

    try:
        thread.resume({"approved": True, "cents": -3})
    except InvalidAnswer as error:
        print("refused:", str(error).splitlines()[2].partition(" [")[0].strip())
    result = thread.resume({"approved": True, "cents": 3500}, by="ann")
    *_, start = thread.history()
    asked = next(call for call in start.tasks[0].calls if call.name == "interrupt")
    print(f"approved by {asked.answered_by}: {result}")

    thread = offer.thread("offer-7")
    thread.invoke({"to": "bob", "seconds": 0.01})
    (question,) = thread.state.interrupts
    while time.time() < question.expires_at.timestamp():
        time.sleep(0.01)
    try:
        thread.resume("yes")
    except NoPendingInterrupt as error:
        print("too late:", str(error).partition(" passed ")[0], "passed")
    print(thread.resume())
