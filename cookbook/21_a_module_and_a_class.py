"""Functions of a module, and methods of a class, become tasks and stay what they were.

`task(module.function)` wraps a function where it is used and leaves its module alone: other code goes on
calling the plain one. Here each function of `colorsys` that has "to_rgb" in its name becomes a task; a module
of your own is no different. `@task` on a method keeps it a method, and makes the object an argument like any
other: a data class counts by its fields, so that the paint of two walls is two records.

Output:
    the module is as it was: True
    a method outside a run: a red wall
    mixing red
    mixing blue
    stopped: out of brushes
    reused: 4 calls, ran: 1
    red wall (204, 51, 51), blue wall (51, 51, 204)
"""

import colorsys
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from types import SimpleNamespace

from flowfn import entrypoint, task

folder = TemporaryDirectory()
HUES = {"red": 0.0, "blue": 2 / 3}
brushes: list[str] = []

# All at once: a namespace of tasks beside the module.
durable = SimpleNamespace(**{name: task(f) for name, f in vars(colorsys).items() if "to_rgb" in name})


@dataclass(frozen=True)
class Wall:
    color: str
    value: float = 0.8

    @task
    def mix(self, rgb: list[float]) -> list[int]:
        print("mixing", self.color)
        return [round(255 * part) for part in rgb]

    @task
    def describe(self) -> str:
        return f"a {self.color} wall"

    @task
    @staticmethod
    def paint(walls: list[str]) -> str:
        if not brushes:
            raise RuntimeError("out of brushes")
        return ", ".join(walls)


@entrypoint(checkpointer=Path(folder.name) / "runs.db")
def room(walls: list[Wall]) -> str:
    mixed = []
    for wall in walls:
        rgb = durable.hsv_to_rgb(HUES[wall.color], 0.75, wall.value).result()
        mixed.append(f"{wall.color} wall {tuple(wall.mix(list(rgb)).result())}")
    return Wall.paint(mixed).result()


if __name__ == "__main__":
    print("the module is as it was:", durable.hsv_to_rgb.func is colorsys.hsv_to_rgb)
    print("a method outside a run:", Wall("red").describe().result())

    thread = room.thread("kitchen")
    try:
        thread([Wall("red"), Wall("blue")])
    except RuntimeError as error:
        print("stopped:", error)

    brushes.append("flat")
    painted = thread([Wall("red"), Wall("blue")])
    print(f"reused: {thread.report.reused} calls, ran: {thread.report.ran}")
    print(painted)
