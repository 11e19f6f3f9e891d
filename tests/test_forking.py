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
from flowfn.python.forking import after_fork
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
from flowfn.python.forking import each_after_fork

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
from flowfn.python.forking import each_around_fork

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


def test_no_lock_stays_a_parents_threads(run_python: Any) -> None:
    """A lock that another thread of the parent held is free in the child, and held in the parent."""
    script = """
import threading
from flowfn.python.forking import let_go_by_fork

lock, held, done = let_go_by_fork(threading.Lock()), threading.Event(), threading.Event()

def hold():
    with lock:
        held.set()
        done.wait()

holder = threading.Thread(target=hold)
holder.start()
held.wait()
in_a_child(lambda: print(lock.acquire(blocking=False), flush=True))
print(lock.acquire(blocking=False))
done.set()
holder.join()
"""
    assert printed(run_python, script) == ["True", "False"]


def test_a_fork_waits_for_what_a_thread_imports(run_python: Any, tmp_path: Path) -> None:
    """The child would wait for ever for the module, which nobody there is importing."""
    (tmp_path / "cloudpickle.py").write_text(
        "import __main__\n__main__.importing.set()\n__main__.go.wait()\n"
    )
    script = """
import flowfn.python.forking, importlib, threading

importing, go = threading.Event(), threading.Event()
thread = threading.Thread(target=importlib.import_module, args=("cloudpickle",))
thread.start()
importing.wait()
os.register_at_fork(before=go.set)
in_a_child(lambda: print(importlib.import_module("cloudpickle").__name__, flush=True))
thread.join()
"""
    assert printed(run_python, script) == ["cloudpickle"]


def test_what_a_thread_still_imports_is_imported_anew_in_a_child(run_python: Any, tmp_path: Path) -> None:
    """Where a fork couldn't wait any longer, and where the thread began after the last look."""
    (tmp_path / "cloudpickle.py").write_text(
        "import __main__\n__main__.importing.set()\n__main__.go.wait()\nwhole = True\n"
    )
    script = """
import flowfn.python.forking, importlib, threading
flowfn.python.forking.PATIENCE = 0

def import_it():
    go.set()
    print(importlib.import_module("cloudpickle").whole, flush=True)

importing, go = threading.Event(), threading.Event()
thread = threading.Thread(target=importlib.import_module, args=("cloudpickle",))
thread.start()
importing.wait()
in_a_child(import_it)
go.set()
thread.join()
"""
    assert printed(run_python, script) == ["True"]


def test_a_fork_does_not_wait_for_modules_of_the_users(run_python: Any, tmp_path: Path) -> None:
    """One may serve for as long as its process lives."""
    (tmp_path / "serving.py").write_text("import __main__\n__main__.serving.set()\n__main__.end.wait()\n")
    script = """
import flowfn.python.forking, importlib, threading
flowfn.python.forking.PATIENCE = 3600

serving, end = threading.Event(), threading.Event()
thread = threading.Thread(target=importlib.import_module, args=("serving",))
thread.start()
serving.wait()
in_a_child(lambda: print("forked", flush=True))
end.set()
thread.join()
"""
    assert printed(run_python, script) == ["forked"]


def test_what_comes_up_while_a_fork_waits_is_prepared_too(run_python: Any) -> None:
    """Once each: a thread may open a file while another, that is still written to, holds up the fork."""
    script = """
from flowfn.python.forking import each_around_fork

class Named:
    said = []
    def before(self, deadline):
        self.said.append("before")
        if len(self.said) < 3:
            more.append(Named())
            register(more[-1])

more, register = [], each_around_fork(Named.before, lambda one: None, lambda one: None)
first = Named()
register(first)
in_a_child(lambda: print(Named.said, flush=True))
"""
    assert printed(run_python, script) == ["['before', 'before', 'before']"]


def test_all_is_put_away_at_least_once(run_python: Any) -> None:
    """Everything is put away once before a fork, however short the patience."""
    script = """
import flowfn.python.forking
flowfn.python.forking.PATIENCE = 0

class Named:
    def before(self, deadline):
        print("before", flush=True)

named = Named()
flowfn.python.forking.each_around_fork(Named.before, lambda one: None, lambda one: None)(named)
in_a_child(lambda: None)
"""
    assert printed(run_python, script) == ["before"]


def test_a_fork_waits_until_a_file_is_closed_that_nobody_has_any_more(
    run_python: Any, tmp_path: Path
) -> None:
    """SQLite keeps locks of its own meanwhile, and the child would wait for ever for one of them."""
    script = f"""
import threading
from checkpointers import SqliteSaver
from flowfn.sqlite.connections import Connections

closing, go, said = threading.Event(), threading.Event(), []
close = Connections.close

def closed(self):
    closing.set()
    go.wait()
    close(self)
    said.append("closed")

def let_go():
    SqliteSaver({str(tmp_path / "runs.db")!r})

Connections.close = closed
thread = threading.Thread(target=let_go)
thread.start()
closing.wait()
os.register_at_fork(before=go.set)
in_a_child(lambda: print(said, flush=True))
thread.join()
"""
    assert printed(run_python, script) == ["['closed']"]


def test_what_is_registered_while_a_fork_waits_is_prepared_too(run_python: Any, tmp_path: Path) -> None:
    """A module that a thread is importing may be the one that has something to put away."""
    (tmp_path / "cloudpickle.py").write_text(
        "import __main__\n"
        "from flowfn.python.forking import each_around_fork\n"
        "__main__.importing.set()\n"
        "__main__.go.wait()\n"
        "said = []\n"
        "one = type('One', (), {'before': lambda self, deadline: said.append('before')})()\n"
        "each_around_fork(type(one).before, lambda one: None, lambda one: None)(one)\n"
    )
    script = """
import flowfn.python.forking, importlib, threading

importing, go = threading.Event(), threading.Event()
thread = threading.Thread(target=importlib.import_module, args=("cloudpickle",))
thread.start()
importing.wait()
os.register_at_fork(before=go.set)
in_a_child(lambda: print(importlib.import_module("cloudpickle").said, flush=True))
thread.join()
"""
    assert printed(run_python, script) == ["['before']"]
