"""Watch a run while it goes: tokens as they come, progress of one's own, and each task as it ends.

A task that is a generator streams its items, and its result is the list of them. `writer` sends anything
else. `stream` takes a mode, or several, and then says with each event whose it is.

Output:
    custom {'progress': 'asking for 3 words'}
    custom Time
    custom and
    custom tide
    updates {'answer': ['Time', 'and', 'tide']}
    updates {'shout': 'TIME AND TIDE'}
    updates {'reply': 'TIME AND TIDE'}
"""

from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

from flowfn import StreamWriter, entrypoint, task

folder = TemporaryDirectory()


@task
def answer(words: int) -> Iterator[str]:
    """Stands for a language model that streams."""
    yield from ["Time", "and", "tide", "wait", "for", "nobody"][:words]


@task
def shout(words: list[str]) -> str:
    return " ".join(words).upper()


@entrypoint(checkpointer=Path(folder.name) / "runs.db")
def reply(words: int, writer: StreamWriter) -> str:
    writer({"progress": f"asking for {words} words"})
    return shout(answer(words).result()).result()


if __name__ == "__main__":
    for mode, event in reply.thread("chat").stream(3, stream_mode=["custom", "updates"]):
        print(mode, event)
