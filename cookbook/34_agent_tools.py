"""Tools of an agent: a flaky one is tried again, a slow one is asked once for all threads, and one may say no.

What a tool is durable by stands at the tool, and the loop knows nothing of it: `retry_policy` for a line that
is down, `cache_policy` for what any thread may share, `interrupt` for what a human decides. Two threads ask the
same; the second one asks the weather service nothing. The model is left out: it wants all cities, then to send.

Output:
    monday waits for: send 'Oslo 3, Rome 24' to ada?
    monday: sent
    tuesday waits for: send 'Oslo 3, Rome 24' to ada?
    tuesday: the human said no
    the weather service was asked for Oslo, Oslo, Rome
"""

from pathlib import Path
from tempfile import TemporaryDirectory

from flowfn import CachePolicy, Interrupted, RetryPolicy, entrypoint, interrupt, task

folder = TemporaryDirectory()
asked: list[str] = []


@task(retry_policy=RetryPolicy(max_attempts=3, initial_interval=0.01), cache_policy=CachePolicy(ttl=3600))
def weather(city: str) -> int:
    asked.append(city)
    if city == "Oslo" and asked.count("Oslo") == 1:
        raise ConnectionError("the line is down")
    return {"Rome": 24, "Oslo": 3}[city]


@task
def send(to: str, text: str) -> str:
    return "sent" if interrupt(f"send {text!r} to {to}?") == "yes" else "the human said no"


@entrypoint(checkpointer=Path(folder.name) / "runs.db")
def agent(cities: list[str]) -> str:
    degrees = [weather(city) for city in cities]  # side by side
    report = ", ".join(f"{city} {each.result()}" for city, each in zip(cities, degrees, strict=True))
    return send("ada", report).result()


if __name__ == "__main__":
    for name, answer in (("monday", "yes"), ("tuesday", "no")):
        thread = agent.thread(name)
        try:
            thread(["Oslo", "Rome"])
        except Interrupted as waiting:
            print(name, "waits for:", waiting.interrupts[0].value)
        print(f"{name}: {thread.resume(answer)}")
    print("the weather service was asked for", ", ".join(sorted(asked)))
