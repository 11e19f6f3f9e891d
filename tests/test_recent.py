"""What a process remembers is bounded, and nobody waits for it."""

from flowfn.python.recent import Recent


def remembered(recent: Recent[str, str], keys: str) -> str:
    return "".join(key for key in keys if recent.get(key) is not None)


def test_what_was_kept_longest_ago_goes_first() -> None:
    """Of more than there is room for, the last are there; keeping a thing again makes it a new one."""
    recent: Recent[str, str] = Recent(most=3, size=100)
    for key in "abcad":
        recent.keep(key, key, 1)
    assert remembered(recent, "abcd") == "acd"


def test_the_bytes_are_bounded() -> None:
    """What is larger than all the room isn't kept, and what is replaced counts once."""
    recent: Recent[str, str] = Recent(most=9, size=10)
    for size in (4, 6):
        recent.keep("a", "a", size)
    recent.keep("b", "b", 4)
    assert remembered(recent, "ab") == "ab"
    recent.keep("c", "c", 11)
    assert remembered(recent, "abc") == ""


def test_nobody_waits_for_it() -> None:
    """A thread that finds another one at it goes on: it is a memory, and no record."""
    recent: Recent[str, str] = Recent(most=9, size=10)
    with recent._lock:
        recent.keep("a", "a", 1)
        recent.drop("a")
    assert remembered(recent, "a") == ""


def test_all_can_be_forgotten() -> None:
    """What it took is free again."""
    recent: Recent[str, str] = Recent(most=9, size=10)
    recent.keep("a", "a", 6)
    recent.forget()
    recent.keep("b", "b", 4)
    recent.keep("c", "c", 6)
    assert remembered(recent, "abc") == "bc"
