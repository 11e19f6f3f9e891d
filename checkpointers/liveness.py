"""Whether the process that took a lease still lives.

Rule: an owner's name says which process of which machine it was, so that another process of that
machine can look, and everybody else has to go by the lease's expiry.

- Linux: machine is boot id, pid namespace and host name; a process is its pid and its start time, so
  that a reused pid is somebody else, and a zombie counts as dead. One that somebody has stopped (SIGSTOP, a debugger)
  lives until its lease expires, as it can't renew it: nobody knows whether it will ever go on.
- Other POSIX systems know no start time cheaply: a process counts as alive while its pid exists and
  its lease has not expired.
- Windows: by expiry alone, because `os.kill(pid, 0)` would end the process there.
"""

from __future__ import annotations

import os
import sys
from functools import cache
from typing import NamedTuple

from flowfn.python.forking import after_fork

_NEVER_STARTED = ""
"""The start time where the system doesn't tell it."""


class Owner(NamedTuple):
    """One opening of a saver by one process. `str()` is what a database keeps."""

    pid: int
    start: str
    opening: str
    machine: str
    host: str

    def __str__(self) -> str:
        return "@".join((str(self.pid), self.start, self.opening, self.machine, self.host))

    @classmethod
    def parse(cls, text: str) -> Owner:
        """The owner that `str()` wrote. Of what it didn't write, it is somebody elsewhere, whose lease expires: one row
        that rotted is no reason to list no thread."""
        try:
            pid, start, opening, machine, host = text.split("@", 4)
            return cls(int(pid), start, opening, machine, host)
        except (ValueError, TypeError, AttributeError):
            return _UNREADABLE

    @classmethod
    def new(cls) -> Owner:
        """A name for a saver that this process opens now."""
        pid = os.getpid()
        return cls(pid, _own_start(pid), os.urandom(6).hex(), _machine(), _host())

    @property
    def label(self) -> str:
        """For people."""
        return f"process {self.pid} on {self.host}"

    def is_here(self) -> bool:
        """Whether it runs, or ran, where its process can be looked up."""
        return self.machine == _machine() and self.host == _host()

    def is_this_process(self) -> bool:
        return self.is_here() and self.pid == os.getpid() and self.start == _own_start(self.pid)

    def lives(self) -> bool | None:
        """Whether its process lives; None where only the expiry can tell."""
        if not self.is_here():
            return None
        start, stopped = _look_up(self.pid)
        if start and self.start:
            return None if stopped and start == self.start else start == self.start
        return None if _exists(self.pid) else False


_UNREADABLE = Owner(0, _NEVER_STARTED, "", "", "an unknown machine")


def start_of(pid: int) -> str:
    """When a process started, in clock ticks since boot; empty if it is dead or the system won't say."""
    return _look_up(pid)[0]


def _look_up(pid: int) -> tuple[str, bool]:
    """When a process started, as `start_of` says it, and whether it is stopped now."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            stat = file.read()
    except OSError:
        return _NEVER_STARTED, False
    # The second field is the command in brackets, which may hold spaces and brackets itself.
    state, *fields = stat[stat.rindex(b")") + 2 :].split()
    return _NEVER_STARTED if state in (b"Z", b"X") else fields[18].decode(), state in (b"T", b"t")


def _exists(pid: int) -> bool:
    """Whether the pid may belong to a process: zombies excluded, and unreadable ones included."""
    if sys.platform == "win32":
        return True
    if os.path.exists(f"/proc/{pid}/stat"):
        return False  # readable, and `start_of` found no start: a zombie
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


@cache
def _host() -> str:
    import socket

    return socket.gethostname()


@cache
def _machine() -> str:
    """The boot and the pid namespace within which a pid means something; empty where unknown."""
    try:
        with open("/proc/sys/kernel/random/boot_id") as file:
            boot = file.read().strip()
        return f"{boot}/{os.stat('/proc/self/ns/pid').st_ino}"
    except OSError:
        return ""


@cache
def _own_start(pid: int) -> str:
    """When this process started, whose pid this is: that doesn't change, and so is read once."""
    return start_of(pid)


# A forked child may have the pid that a process before it had.
after_fork(_own_start.cache_clear)

# Now, and not as a saver is made: that may be on an event loop, where reading a file counts as blocking.
_machine()
_own_start(os.getpid())
