"""A conversation: each turn is a call on the same thread, and `previous` is what the last one saved.

`entrypoint.final` gives one value to the caller and saves another for the next turn. A thread's history
has a state per step, so a conversation can be taken up again from any earlier turn, on a fork of its
own that leaves the original alone.

Output:
    you: hello
    bot: I don't know your name yet.
    you: I am Ada
    bot: Nice to meet you, Ada.
    you: who am I?
    bot: You are Ada.
    its history, newest first:
      You are Ada.
      Nice to meet you, Ada.
      I don't know your name yet.
    on a fork from the first turn: I don't know your name yet.
    on the original: You are Ada.
"""

from dataclasses import dataclass, field, replace
from pathlib import Path
from tempfile import TemporaryDirectory

from flowfn import entrypoint, final, task

folder = TemporaryDirectory()


@dataclass(frozen=True)
class Memory:
    name: str = ""
    messages: tuple[str, ...] = field(default=())


@task
def answer(message: str, memory: Memory) -> str:
    """Stands for a language model."""
    if message.startswith("I am "):
        return f"Nice to meet you, {message.removeprefix('I am ')}."
    return f"You are {memory.name}." if memory.name else "I don't know your name yet."


@entrypoint(checkpointer=Path(folder.name) / "chat.db")
def chat(message: str, *, previous: Memory | None = None) -> final[str, Memory]:
    memory = previous or Memory()
    reply = answer(message, memory).result()
    name = message.removeprefix("I am ") if message.startswith("I am ") else memory.name
    memory = replace(memory, name=name, messages=(*memory.messages, message, reply))
    return entrypoint.final(value=reply, save=memory)


if __name__ == "__main__":
    conversation = chat.thread("ada")
    for message in ["hello", "I am Ada", "who am I?"]:
        print("you:", message)
        print("bot:", conversation(message))

    print("its history, newest first:")
    turns = [state for state in conversation.history() if not state.next]
    for turn in turns:
        print(" ", turn.values)

    fork = conversation.fork(turns[-1].config["configurable"]["checkpoint_id"])
    print("on a fork from the first turn:", fork("who am I?"))
    print("on the original:", conversation("who am I?"))
