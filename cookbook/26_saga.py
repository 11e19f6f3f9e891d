"""A saga: what was done is undone, last first, when a later step fails; also if the process dies meanwhile.

Each step is a task, and so is each compensation. They are plain `try` and `except` around plain calls: no
state machine, and no table of what was done, as the record is that table. A crash in the middle of undoing
goes on undoing: an error that the code went on after is on record too, so that the car isn't tried again.

Output:
    book the flight, book the hotel, book the car: sold out, undo the hotel, power cut
    second life: undo the flight
    no trip: the car is sold out
    book the flight, book the hotel, book the car
    booked: flight, hotel, car
"""

from pathlib import Path
from tempfile import TemporaryDirectory

from flowfn import entrypoint, task

folder = TemporaryDirectory()
world = {"cars": 0, "power": False}
log: list[str] = []


class SoldOut(Exception):
    pass


class PowerCut(BaseException):
    """Stands for `kill -9`: no `except Exception` sees it."""


@task
def book(what: str) -> str:
    log.append(f"book the {what}" + (": sold out" if what == "car" and not world["cars"] else ""))
    if what == "car" and not world["cars"]:
        raise SoldOut(f"the {what} is sold out")
    return what


@task
def undo(what: str) -> None:
    if what == "flight" and not world["power"]:
        world["power"] = True
        log.append("power cut")
        raise PowerCut
    log.append(f"undo the {what}")


@entrypoint(checkpointer=Path(folder.name) / "runs.db")
def trip(parts: list[str]) -> str:
    done: list[str] = []
    try:
        for part in parts:
            done.append(book(part).result())
    except SoldOut as error:
        for part in reversed(done):
            undo(part).result()
        return f"no trip: {error}"
    return "booked: " + ", ".join(done)


def say(label: str = "") -> None:
    print(label + ", ".join(log))
    log.clear()


if __name__ == "__main__":
    thread = trip.thread("holiday")
    try:
        thread(["flight", "hotel", "car"])
    except PowerCut:
        say()
    result = thread(["flight", "hotel", "car"])
    say("second life: ")
    print(result)
    world["cars"] = 1
    result = trip.thread("another")(["flight", "hotel", "car"])
    say()
    print(result)
