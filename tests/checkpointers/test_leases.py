"""G4 between machines, processes and savers: whose lease counts, and until when."""

from __future__ import annotations

import contextlib
import gc
import os
import signal
import sqlite3
import subprocess
import sys
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from checkpointers import MemorySaver, SqliteSaver
from checkpointers.conformance.rows import PlainSerde, checkpoint, claimed
from checkpointers.leases import Doubt, Held, Holder, is_alive
from checkpointers.liveness import Owner, start_of
from flowfn.errors import DatabaseLocked, LeaseLost, SaverError
from flowfn.ports import Busy, Commit, Lease, Versioned

FUTURE, PAST = time.time() + 1e6, time.time() - 1e6
LASTING, EXPIRED = False, True


def this_process(**changes: Any) -> Owner:
    return Owner.new()._replace(**changes)


def test_an_owner_s_name_can_be_read_back() -> None:
    """Whatever the host is called."""
    owner = this_process(host="a@b c")
    assert Owner.parse(str(owner)) == owner


def test_a_lease_of_this_process_counts_while_its_saver_holds_it() -> None:
    """The registry decides, not the expiry: not before it is taken, nor once it is dropped."""
    holder, lease = Holder(), Lease("t", 7)
    assert not is_alive(holder.owner, "t", 7, LASTING)
    holder.take(lease)
    assert is_alive(holder.owner, "t", 7, EXPIRED)
    assert not is_alive(holder.owner, "t", 6, LASTING)
    holder.drop(Lease("t", 6))
    assert is_alive(holder.owner, "t", 7, EXPIRED)
    holder.drop(lease)
    assert not is_alive(holder.owner, "t", 7, LASTING)


def test_a_lease_counts_while_it_is_taken() -> None:
    """Whoever sees the row of a lease before its holder knows the token takes nothing away."""
    holder = Holder()
    with holder.taking("t", []), holder.taking("t", []):
        assert is_alive(holder.owner, "t", 7, LASTING)
        assert not is_alive(holder.owner, "u", 7, LASTING)
    assert not is_alive(holder.owner, "t", 7, LASTING)
    with holder.taking("t", []):
        holder.take(Lease("t", 7))
    assert is_alive(holder.owner, "t", 7, EXPIRED)


def test_what_a_claim_took_that_ended_with_an_error_is_given_back_unless_another_claim_has_it() -> None:
    """Of a thread whose row says that this process has it, one that is just being taken may be the one in the row."""
    saver = Renewing()
    holder = Holder(saver.renew)
    row = Held(1, "t", holder.owner, 7, LASTING)

    def owed_after(look: Callable[[list[Doubt]], None]) -> list[Lease]:
        fail_to_claim(holder)
        look(holder.doubted())
        return holder.owed()

    def look_while_taking(doubts: list[Doubt]) -> None:
        with holder.taking("t", []):
            holder.looked_at(doubts, [row])

    assert owed_after(look_while_taking) == []
    assert [doubt.thread for doubt in holder.doubted()] == ["t"]
    assert owed_after(lambda all: holder.looked_at(all, [row._replace(owner=str(this_process()))])) == []
    assert holder.doubted() == []
    assert owed_after(lambda doubts: holder.looked_at(doubts, [row])) == [Lease("t", 7)]
    holder.close()


def test_what_was_read_before_another_claim_ended_with_an_error_says_nothing_of_that() -> None:
    """It may have taken the thread since: nobody would look at it again."""
    saver = Renewing()
    holder = Holder(saver.renew)
    fail_to_claim(holder)
    doubts = holder.doubted()
    fail_to_claim(holder)
    holder.looked_at(doubts, [])
    assert [doubt.thread for doubt in holder.doubted()] == ["t"]
    holder.close()


def fail_to_claim(holder: Holder) -> None:
    with pytest.raises(ConnectionError), holder.taking("t", []):
        raise ConnectionError


def test_many_leases_that_were_taken_as_ctrl_c_came_are_given_back(tmp_path: Path) -> None:
    """It comes when the transaction has ended, and they are put in the order in which they were asked for."""

    class Interrupted(list[str]):
        looks = 0

        def __iter__(self) -> Iterator[str]:
            self.looks += 1
            if self.looks == 2:
                raise KeyboardInterrupt
            return super().__iter__()

    with SqliteSaver(tmp_path / "runs.db", serde=PlainSerde()) as saver:
        with pytest.raises(KeyboardInterrupt):
            saver.claim_free(Interrupted(["a", "b"]))
        saver._renew()
        with contextlib.closing(sqlite3.connect(tmp_path / "runs.db")) as other:
            assert other.execute("SELECT owner FROM thread").fetchall() == [(None,), (None,)]


class Renewing:
    """What a heartbeat calls."""

    def renew(self) -> None: ...


def test_what_a_claim_took_as_ctrl_c_came_is_given_back_by_the_next_beat(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its row is written and nobody was told: other processes would wait for it as long as this one lives."""
    with SqliteSaver(tmp_path / "runs.db", serde=PlainSerde()) as saver:
        end = saver._database.end

        def interrupted() -> None:
            end()
            raise KeyboardInterrupt

        monkeypatch.setattr(saver._database, "end", interrupted)
        with pytest.raises(KeyboardInterrupt):
            saver.claim("t")
        monkeypatch.undo()
        saver._renew()
        with contextlib.closing(sqlite3.connect(tmp_path / "runs.db")) as other:
            assert other.execute("SELECT owner FROM thread").fetchall() == [(None,)]
        assert (saver._holder.doubted(), saver._holder.owed()) == ([], [])


def test_a_lease_of_a_saver_that_is_gone_is_free() -> None:
    """Dropped without `close`: nobody can write with it any more."""
    saver = MemorySaver(serde=PlainSerde())
    claimed(saver, "t")
    holder = weakref.ref(saver._holder)
    owner = saver._holder.owner
    del saver
    gc.collect()
    assert holder() is None
    assert not is_alive(owner, "t", 1, LASTING)


def test_a_saver_in_memory_reads_no_file(run_python: Any) -> None:
    """It may be made on an event loop, and used there: what has to be known of this process is known by then."""
    program = """
import sys
from checkpointers import MemorySaver

MemorySaver().close()
opened = []
sys.addaudithook(lambda event, arguments: event == "open" and opened.append(arguments[0]))
saver = MemorySaver()
first, second = saver.claim("1"), saver.claim("1")
print(type(second).__name__, opened)
"""
    assert run_python("-c", program).stdout == "Busy []\n"


def test_a_forked_process_is_another_owner(run_python: Any) -> None:
    """What is known of this process isn't taken over by its children."""
    program = """
import os
from checkpointers.liveness import Owner, start_of

mine = Owner.new()
child = os.fork()
if child:
    os.waitpid(child, 0)
else:
    new = Owner.new()
    print(new.pid == os.getpid(), new.start == start_of(os.getpid()), mine.is_this_process(), flush=True)
    os._exit(0)
"""
    assert run_python("-c", program).stdout == "True True False\n"


def test_a_lease_of_another_process_here_counts_while_that_lives() -> None:
    """However old its expiry is: one that computes for an hour, or wakes with its machine, isn't dead."""
    process = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    owner = this_process(pid=process.pid, start=start_of(process.pid))
    assert is_alive(str(owner), "t", 1, EXPIRED)
    process.communicate()
    assert not is_alive(str(owner), "t", 1, LASTING)


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells who is stopped")
def test_a_lease_of_a_stopped_process_here_counts_until_its_expiry() -> None:
    """Nobody knows whether it will ever be continued; if it is, its lease counts again, unless somebody took it."""
    process = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    owner = this_process(pid=process.pid, start=start_of(process.pid))
    reused = owner._replace(start="1")
    for told, how in ((signal.SIGSTOP, os.WSTOPPED), (signal.SIGCONT, os.WCONTINUED)):
        process.send_signal(told)
        os.waitid(os.P_PID, process.pid, how | os.WNOWAIT)
        assert is_alive(str(owner), "t", 1, LASTING)
        assert is_alive(str(owner), "t", 1, EXPIRED) is (told is signal.SIGCONT)
        assert not is_alive(str(reused), "t", 1, LASTING)
    process.communicate()


def test_a_reused_pid_is_somebody_else() -> None:
    """Same pid, other start time."""
    assert not is_alive(str(this_process(pid=os.getppid(), start="1")), "t", 1, LASTING)


@pytest.mark.parametrize("change", [{"machine": "other boot/1"}, {"host": "elsewhere"}])
def test_a_lease_of_another_machine_counts_until_its_expiry(change: dict[str, str]) -> None:
    """Also of another boot and another container: its pids say nothing here."""
    owner = str(this_process(**change))
    assert is_alive(owner, "t", 1, LASTING)
    assert not is_alive(owner, "t", 1, EXPIRED)


def test_two_savers_of_one_file_exclude_each_other(tmp_path: Path) -> None:
    """Also in one process, where the process table would say that the owner lives."""
    path = tmp_path / "runs.db"
    with SqliteSaver(path, serde=PlainSerde()) as first, SqliteSaver(path, serde=PlainSerde()) as second:
        lease = claimed(first, "t")
        assert isinstance(second.claim("t"), Busy)
        first.release(lease)
        assert isinstance(second.claim("t"), Lease)
        assert isinstance(first.claim("t"), Busy)


def test_an_expired_lease_of_another_machine_is_claimed(tmp_path: Path) -> None:
    """And its owner isn't listed."""
    path = tmp_path / "runs.db"
    with SqliteSaver(path, serde=PlainSerde()) as saver:
        assert saver.commit([Commit("t", claimed(saver, "t"), [checkpoint("c1")], release=True)]) == [None]
        for expires, expected in ((FUTURE, Busy), (PAST, Lease)):
            connection = sqlite3.connect(path)
            owner = str(this_process(pid=1, host="elsewhere"))
            connection.execute("UPDATE thread SET owner = ?, expires = ?", (owner, expires))
            connection.commit()
            connection.close()
            row = saver.thread("t")
            assert row is not None
            assert row.owner == ("process 1 on elsewhere" if expected is Busy else None)
            assert isinstance(saver.claim("t"), expected)


def test_a_holder_that_seemed_dead_may_not_go_on_from_what_was_forgotten(tmp_path: Path) -> None:
    """Its next commit is refused, for values that it shares may be gone; and the thread is free, though it lives."""
    path = tmp_path / "runs.db"
    with SqliteSaver(path, serde=PlainSerde()) as late, SqliteSaver(path, serde=PlainSerde()) as saver:
        lease = claimed(late, "t")
        rows = [checkpoint("c1", versions={"a": 1}, values={"a": Versioned(1, b"a")}), checkpoint("c2")]
        assert late.commit([Commit("t", lease, rows)]) == [None]
        connection = sqlite3.connect(path)
        owner = str(this_process(pid=os.getppid(), start=start_of(os.getppid()), host="elsewhere"))
        connection.execute("UPDATE thread SET owner = ?, expires = ?", (owner, PAST))
        connection.commit()
        saver.forget("t", [("", "c1")])
        assert connection.execute("SELECT owner FROM thread").fetchone() == (None,)
        connection.close()
        (refusal,) = late.commit([Commit("t", lease, [checkpoint("c3", "c1", versions={"a": 1})])])
        assert isinstance(refusal, LeaseLost)


def test_a_holder_that_left_off_may_not_go_on_from_what_was_forgotten() -> None:
    """In memory, too, where nobody else could hold it."""
    saver = MemorySaver(serde=PlainSerde())
    lease = claimed(saver, "t")
    assert saver.commit([Commit("t", lease, [checkpoint("c1")])]) == [None]
    saver.abandon()
    saver.forget("t", [("", "c1")])
    (refusal,) = saver.commit([Commit("t", lease, [checkpoint("c2", "c1")])])
    assert isinstance(refusal, LeaseLost)


@pytest.mark.parametrize("owner", ["", "nonsense", "one@2@3@4@5", b"\xff@1"])
def test_an_owner_that_nobody_can_read_holds_a_thread_until_its_expiry(tmp_path: Path, owner: Any) -> None:
    """The other threads are listed, and the row is whole again once the thread is taken."""
    path = tmp_path / "runs.db"
    with SqliteSaver(path, serde=PlainSerde()) as saver:
        assert saver.commit([Commit("t", claimed(saver, "t"), [checkpoint("c1")], release=True)]) == [None]
        for expires, holder in ((FUTURE, "process 0 on an unknown machine"), (PAST, None)):
            connection = sqlite3.connect(path)
            connection.execute("UPDATE thread SET owner = ?, expires = ?", (owner, expires))
            connection.commit()
            connection.close()
            assert [row.owner for row in saver.threads()] == [holder]
            found = saver.claim("t")
            assert (found.owner if isinstance(found, Busy) else None) == holder


class Renewals:
    """Counts what a heartbeat does, and lets a test wait for it."""

    def __init__(self) -> None:
        self.beaten = threading.Event()

    def renew(self) -> None:
        self.beaten.set()


def heartbeats() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name == "flowfn-lease"]


def await_silence() -> None:
    """Wait until every heartbeat has ended."""
    for thread in heartbeats():
        thread.join(60)


def test_the_heart_beats_while_a_lease_is_held() -> None:
    """One daemon thread, which starts with the first lease and ends soon after the last."""
    await_silence()
    renewals = Renewals()
    holder = Holder(renewals.renew, ttl=0.03)
    assert heartbeats() == []
    holder.take(Lease("t", 1))
    holder.take(Lease("u", 2))
    assert [thread.daemon for thread in heartbeats()] == [True]
    assert renewals.beaten.wait(60)
    holder.drop(Lease("t", 1))
    holder.drop(Lease("u", 2))
    await_silence()
    holder.take(Lease("t", 3))
    assert len(heartbeats()) == 1
    holder.close()
    await_silence()
    assert heartbeats() == []


def test_the_heart_beats_while_a_lease_is_owed() -> None:
    """One that couldn't be given back: it counts as free here at once, and others have to wait until it is settled."""
    await_silence()
    renewals = Renewals()
    holder = Holder(renewals.renew, ttl=0.03)
    lease = Lease("t", 1)
    holder.take(lease)
    holder.owe(lease)
    assert not is_alive(holder.owner, *lease[:2], LASTING)
    assert (holder.leases(), holder.owed()) == ([], [lease])
    assert renewals.beaten.wait(60)
    assert len(heartbeats()) == 1
    holder.settle([lease])
    await_silence()
    assert holder.owed() == []


def test_what_could_not_be_given_back_is_given_back_by_the_next_beat(tmp_path: Path) -> None:
    """Else nobody of another process would get the thread, as long as this one lives."""
    path = tmp_path / "runs.db"
    with SqliteSaver(path, serde=PlainSerde(), timeout=0.01) as saver:
        lease = claimed(saver, "t")
        other = sqlite3.connect(path, isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(DatabaseLocked):
            saver.release(lease)
        saver._renew()
        other.execute("ROLLBACK")
        assert other.execute("SELECT owner FROM thread").fetchone() != (None,)
        saver._renew()
        assert other.execute("SELECT owner FROM thread").fetchone() == (None,)
        assert saver._holder.owed() == []
        other.close()


def test_closing_gives_back_what_could_not_be_given_back(tmp_path: Path) -> None:
    """With what is still held."""
    path = tmp_path / "runs.db"
    other = sqlite3.connect(path, isolation_level=None)
    with SqliteSaver(path, serde=PlainSerde(), timeout=0.01) as saver:
        lease = claimed(saver, "t")
        claimed(saver, "u")
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(DatabaseLocked):
            saver.release(lease)
        other.execute("ROLLBACK")
    assert other.execute("SELECT DISTINCT owner FROM thread").fetchall() == [(None,)]
    other.close()


def test_a_closed_saver_gives_back_later_what_it_could_not(tmp_path: Path) -> None:
    """As when its file is locked, or its disk full; to its users it is closed meanwhile."""
    await_silence()
    path = tmp_path / "runs.db"
    other = sqlite3.connect(path, isolation_level=None)
    saver = SqliteSaver(path, serde=PlainSerde(), timeout=0.01)
    saver._holder.ttl = 0.03
    claimed(saver, "t")
    other.execute("BEGIN IMMEDIATE")
    saver.close()
    assert saver.closed
    with pytest.raises(SaverError, match="is closed"):
        saver.load("t")
    assert other.execute("SELECT owner FROM thread").fetchall() != [(None,)]
    other.execute("ROLLBACK")
    await_silence()
    assert other.execute("SELECT owner FROM thread").fetchall() == [(None,)]
    other.close()
    saver.close()


def test_a_closed_saver_whose_file_is_gone_has_nothing_to_give_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing is tried again, and the file isn't made anew."""
    path, later = tmp_path / "runs.db", []
    monkeypatch.setattr("checkpointers.sqlite.saver.give_back_later", lambda *given: later.append(given))
    saver = SqliteSaver(path, serde=PlainSerde())
    claimed(saver, "t")
    path.unlink()
    saver.close()
    assert (saver.closed, later, path.exists()) == (True, [], False)


def test_a_beat_pushes_the_expiry_on(tmp_path: Path) -> None:
    """Of the leases that are held and not lost."""
    path = tmp_path / "runs.db"
    with SqliteSaver(path, serde=PlainSerde()) as saver, SqliteSaver(path, serde=PlainSerde()) as thief:
        claimed(saver, "kept")
        claimed(saver, "lost")
        claimed(thief, "lost", force=True)
        connection = sqlite3.connect(path)
        connection.execute("UPDATE thread SET expires = 1")
        connection.commit()
        saver._renew()
        rows = dict(connection.execute("SELECT id, expires FROM thread"))
        connection.close()
        assert rows["kept"] > time.time()
        assert rows["lost"] == 1
