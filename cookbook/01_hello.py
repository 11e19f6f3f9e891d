"""Hello: two decorators make functions durable, and they stay functions.

`@task` marks what is worth recording. `@entrypoint` marks the function that calls it, and says where
its runs are kept: a path is enough, and means SQLite. Inside a run a task gives a future at once, so
that calls made before the first `.result()` run in parallel. Each result is in the file before
`.result()` returns it.

Output:
    outside a run a task simply runs: Hello, Ada!
    Hello, Ada! Hello, Grace! Hello, Barbara!
    on record:
      greet(name='Ada'): done
      greet(name='Barbara'): done
      greet(name='Grace'): done
      join(parts=['Hello, Ada!', 'Hello, Grace!', 'Hello, Barbara!']): done
"""

from pathlib import Path
from tempfile import TemporaryDirectory

from flowfn import entrypoint, task

folder = TemporaryDirectory()


@task
def greet(name: str) -> str:
    return f"Hello, {name}!"


@task
def join(parts: list[str]) -> str:
    return " ".join(parts)


@entrypoint(checkpointer=Path(folder.name) / "runs.db")
def hello(names: list[str]) -> str:
    greetings = [greet(name) for name in names]
    return join([greeting.result() for greeting in greetings]).result()


if __name__ == "__main__":
    print("outside a run a task simply runs:", greet("Ada").result())

    thread = hello.thread("first")
    print(thread(["Ada", "Grace", "Barbara"]))

    print("on record:")
    *_, start = thread.history()
    for call in sorted(start.tasks[0].calls, key=lambda call: call.arguments):
        print(f"  {call.name}({call.arguments}): {call.status}")
