"""Cached reuse: results that outlive the run, and know the code that made them.

Three runs of one script. The second finds everything that the first computed. Before the third, a helper is
edited: only the task whose results depend on it runs again, and `explain` says why.

Output:
    first run: loaded, measured, 12 words
    second run: 12 words
    a miss: ("helper '17_cached_reuse.words' was edited",)
    -    return len(text.split())
    +    return len(set(text.split()))
    third run: measured, 7 words
    other texts: loaded, measured, 2 words
"""

from pathlib import Path
from tempfile import TemporaryDirectory

from flowfn import entrypoint, task
from flowfn.caching import DiskCache

folder = TemporaryDirectory()
cache = DiskCache(Path(folder.name) / "cache")
TEXTS = {"poem": "a rose is a rose is a rose and so it goes", "note": "buy milk"}
log: list[str] = []


def words(text: str) -> int:
    return len(text.split())


@task(cache=cache)
def load(name: str) -> str:
    log.append("loaded")
    return TEXTS[name]


@task(cache=cache)
def measure(text: str) -> int:
    log.append("measured")
    return words(text)


@entrypoint
def report(name: str) -> str:
    count = measure(load(name).result()).result()
    return ", ".join([*log, f"{count} words"])


def run(name: str) -> str:
    log.clear()
    return report(name)


def unique_words(text: str) -> int:
    return len(set(text.split()))


if __name__ == "__main__":
    print("first run:", run("poem"))
    print("second run:", run("poem"))

    words = unique_words  # an edit of the helper, as the next version of the script would have it
    words.__name__, words.__qualname__ = "words", "words"
    found = measure.cache.explain(TEXTS["poem"])
    print("a miss:", found.reasons)
    print(*[line for line in found.diff.splitlines() if line[1:2] == " " and line[0] in "+-"], sep="\n")

    print("third run:", run("poem"))
    print("other texts:", run("note"))
    cache.close()
