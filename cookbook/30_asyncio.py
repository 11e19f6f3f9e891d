"""The same in asyncio: `async def`, `await`, and branches that run side by side.

Two branches call one task in turns, with no order between them. After a failure each gets its own results back,
also where they now finish in another order. A slow call has a timeout, and a flaky one is tried again.

Output:
    stopped: the mail server is away
    ran again: send
    {'north': 'north 1, north 2', 'south': 'south 1, south 2', 'weather': 'unknown'}
"""

import asyncio
from pathlib import Path
from tempfile import TemporaryDirectory

from flowfn import RetryPolicy, TaskTimeout, entrypoint, task

folder = TemporaryDirectory()
ran: list[str] = []
state = {"tries": 0, "north is slow": True, "mail": False}


@task
async def measure(station: str, number: int) -> str:
    ran.append(f"{station} {number}")
    if (station == "north") == state["north is slow"]:
        await asyncio.sleep(0.01)
    return f"{station} {number}"


@task(timeout=0.05)
async def weather() -> str:
    await asyncio.sleep(60)
    return "sunny"


@task(retry_policy=RetryPolicy(max_attempts=2, initial_interval=0.01))
async def send(report: dict[str, str]) -> dict[str, str]:
    ran.append("send") if "send" not in ran else None
    if not state["mail"]:
        raise ConnectionError("the mail server is away")
    return report


async def branch(station: str) -> str:
    return ", ".join([await measure(station, number) for number in (1, 2)])


@entrypoint(checkpointer=Path(folder.name) / "runs.db")
async def report(stations: list[str]) -> dict[str, str]:
    branches = await asyncio.gather(*map(branch, stations))
    found = dict(zip(stations, branches, strict=True))
    try:
        found["weather"] = await weather()
    except TaskTimeout:
        found["weather"] = "unknown"
    return await send(found)


async def main() -> None:
    thread = report.thread("today")
    try:
        await thread(["north", "south"])
    except ConnectionError as error:
        print("stopped:", error)

    ran.clear()
    state.update({"north is slow": False, "mail": True})
    found = await thread(["north", "south"])
    print("ran again:", *ran)
    print(found)


if __name__ == "__main__":
    asyncio.run(main())
