"""What a forked child does before anything else."""

from __future__ import annotations

from pathlib import Path
from typing import Any

IN_A_CHILD = """
import os, sys

def in_a_child(act):
    sys.stdout.flush()  # or the child prints it too, where lines are kept until there are many
    child = os.fork()
    if child == 0:
        act()
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
"""


def printed(run_python: Any, script: str) -> list[str]:
    """The lines that a script prints, in a process that may fork."""
    done = run_python("-c", IN_A_CHILD + script)
    assert done.returncode == 0, done.stderr
    lines: list[str] = done.stdout.splitlines()
    return lines


def test_a_child_acts_and_its_parent_does_not(run_python: Any) -> None:
    """In the order in which it was asked for."""
    script = """
from flowfn.forking import after_fork
heard = []
after_fork(lambda: heard.append("first"))
after_fork(lambda: heard.append("second"))
in_a_child(lambda: print(heard, flush=True))
print(heard)
"""
    assert printed(run_python, script) == ["['first', 'second']", "[]"]


def test_what_is_gone_is_not_acted_on(run_python: Any) -> None:
    """An object is acted on while it lives, and is not kept alive."""
    script = """
from flowfn.forking import each_after_fork

class Named:
    def __init__(self, name):
        self.name = name
    def say(self):
        print(self.name, flush=True)

register = each_after_fork(Named.say)
kept, gone = Named("kept"), Named("gone")
register(kept)
register(gone)
del gone
in_a_child(lambda: None)
"""
    assert printed(run_python, script) == ["kept"]


def test_something_may_be_put_away_before_a_fork(run_python: Any) -> None:
    """And be taken up again on both sides, by what lives."""
    script = """
from flowfn.forking import each_around_fork

class Named:
    def before(self, deadline):
        self.heard = ["before"]
    def parent(self):
        self.heard.append("parent")
    def child(self):
        self.heard.append("child")

register = each_around_fork(Named.before, Named.parent, Named.child)
named, gone = Named(), Named()
register(named)
register(gone)
del gone
in_a_child(lambda: print(named.heard, flush=True))
print(sorted(set(named.heard)))
"""
    assert printed(run_python, script) == ["['before', 'child']", "['before', 'parent']"]


def test_a_lock_that_another_thread_held_is_free_in_a_child(run_python: Any) -> None:
    """Savers, stores and caches in memory, and an encrypted saver, can be used there."""
    script = """
from checkpointers import EncryptedSaver, MemorySaver
from flowfn.caching import MemoryCache
from flowfn.encryption import KeyRing
from flowfn.stores import InMemoryStore

keys = KeyRing({"k": KeyRing.new_key()})
for keeper in (MemorySaver(), EncryptedSaver(MemorySaver(), keys)._known, InMemoryStore(), MemoryCache()):
    with keeper._lock:
        in_a_child(lambda: print(keeper._lock.locked(), flush=True))
        print(keeper._lock.locked())
"""
    assert printed(run_python, script) == ["False", "True"] * 4


def test_nobody_waits_in_a_child_for_a_place_or_a_commit_of_its_parent(run_python: Any) -> None:
    """Neither for what a thread was opening, nor for one that was to write the commits of all."""
    script = """
from checkpointers.group_commit import GroupCommit, _Waiting
from flowfn.opening import Opened

opened, group = Opened({}), GroupCommit()
group._enqueue(_Waiting([]))
with opened._lock, group._mutex:
    in_a_child(lambda: print(opened._lock.locked(), len(group._queue), flush=True))
print(len(group._queue))
"""
    assert printed(run_python, script) == ["False 0", "1"]


def test_a_place_can_be_opened_in_a_child_that_was_forked_while_one_was_opened(run_python: Any) -> None:
    """The lock under which its parent was opening another is its parent's."""
    script = """
from flowfn.opening import Opened

opened = Opened({})

def make(name):
    in_a_child(lambda: print(opened.get("there", str.upper), flush=True))
    return name

print(opened.get("here", make))
"""
    assert printed(run_python, script) == ["THERE", "here"]


def test_a_cache_on_disk_is_opened_anew_in_a_child(run_python: Any, tmp_path: Path) -> None:
    """By whichever of its threads comes first: none of them finds its parent's connections."""
    script = f"""
from flowfn.caching import DiskCache

cache = DiskCache({str(tmp_path)!r})
cache.set("a", b"parent")
def child():
    print("_rows" in cache.__dict__, flush=True)
    cache.set("b", cache.get("a"))
with cache._lock:
    in_a_child(child)
print(cache.get("b"))
"""
    assert printed(run_python, script) == ["False", "b'parent'"]


def test_a_child_knows_nothing_of_what_its_parent_last_wrote(run_python: Any, tmp_path: Path) -> None:
    """G1: its connection to SQLite counts the commits of others from the start, as the parent's did."""
    script = f"""
from checkpointers import SqliteSaver
from checkpointers.conformance.rows import checkpoint, ids, put

saver = SqliteSaver({str(tmp_path / "runs.db")!r})

def chain(first, last):
    for number in range(first, last + 1):
        put(saver, checkpoint(f"c{{number}}", f"c{{number - 1}}" if number > 1 else None))

chain(1, 3)
in_a_child(lambda: chain(4, 6))
chain(7, 8)
print(*ids(saver.history("order-42")), sep="\\n")
"""
    assert printed(run_python, script) == [f"c{number}" for number in range(8, 0, -1)]
