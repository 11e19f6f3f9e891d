"""Long-term memory: what one conversation learns, the next one knows.

A thread's history ends with the thread. A store outlives it: values under a namespace and a key, found by
namespace, by fields, or by likeness to a text. `store="memory.db"` keeps them in an SQLite file; every task and
entrypoint that names a parameter `store` is given it.

Output:
    monday: noted
    friday: You like dogs. You live in Turin.
    about pets: I have a dog called Rex
    facts of 2025: ['I moved to Turin']
    all users: [('users', 'ada'), ('users', 'bob')]
"""

from pathlib import Path
from tempfile import TemporaryDirectory

from flowfn import entrypoint, task
from flowfn.stores import BaseStore, SqliteStore

folder = TemporaryDirectory()
path = Path(folder.name) / "memory.db"

TOPICS = ("dog cat pet animal", "turin city live moved", "tea coffee drink")


def embed(texts: list[str]) -> list[list[float]]:
    """Stands for an embedding model: how many words of each topic a text has."""
    words = [set(text.lower().split()) for text in texts]
    return [[float(len(found & set(topic.split()))) for topic in TOPICS] for found in words]


memory = SqliteStore(path, index={"dims": len(TOPICS), "embed": embed, "fields": ["text"]})


@task
def remember(user: str, text: str, year: int, store: BaseStore) -> None:
    store.put(("users", user), f"fact-{text}", {"text": text, "year": year})


@task
def recall(user: str, store: BaseStore) -> list[str]:
    return [item.value["text"] for item in store.search(("users", user), limit=5)]


@entrypoint(checkpointer="memory://", store=memory)
def chat(user: str, message: str | None = None) -> str:
    if message is not None:
        remember(user, message, 2026).result()
        return "noted"
    facts = " ".join(recall(user).result())
    return f"You like {'dogs' if 'dog' in facts else 'quiet'}. You live in {'Turin' if 'Turin' in facts else '?'}."


if __name__ == "__main__":
    memory.put(("users", "ada"), "fact-old", {"text": "I moved to Turin", "year": 2025})
    memory.put(("users", "bob"), "fact", {"text": "I have a cat", "year": 2026})

    print("monday:", chat.thread("monday")("ada", "I have a dog called Rex"))
    print("friday:", chat.thread("friday")("ada"))

    print("about pets:", memory.search(("users", "ada"), query="which pet", limit=1)[0].value["text"])
    found = memory.search(("users", "ada"), filter={"year": {"$lt": 2026}})
    print("facts of 2025:", [item.value["text"] for item in found])
    print("all users:", memory.list_namespaces(prefix=("users",)))
    memory.close()
