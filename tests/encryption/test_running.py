"""Workflows on an encrypted saver: killed, resumed, asked, rotated, forked and looked at as on any other."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from checkpointers import EncryptedSaver, MemorySaver, SqliteSaver
from flowfn import CachePolicy, Command, MemoryCache, interrupt
from flowfn.encryption import EncryptedCache, KeyRing, UnknownKeyError

from ..worlds import KINDS, World, asked

OLD, NEW = "old:" + "AAAA" * 10 + "AAA=", "new:" + "AQEB" * 10 + "AQE="


def ring(monkeypatch: pytest.MonkeyPatch, text: str) -> KeyRing:
    monkeypatch.setenv("FLOWFN_KEY", text)
    return KeyRing.from_env()


@pytest.fixture(params=KINDS, ids=str)
def world(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[World]:
    """Each world in turn, encrypted with the old key."""
    inner: Any = MemorySaver() if request.param.saver == "memory" else SqliteSaver(tmp_path / "runs.db")
    made = World(request.param, EncryptedSaver(inner, ring(monkeypatch, OLD)))
    yield made
    made.close()


def test_a_run_goes_on_under_a_new_key(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was recorded under the old key is reused, and the answer is written with the new one."""

    @world.task
    async def draft(text: str) -> str:
        world.ran.append(text)
        return text.upper()

    async def publish(text: str) -> str:
        first = await world.value(draft(text))
        answer = interrupt({"publish?": first}, key="publish")
        return f"{first} {answer} {await world.value(draft(answer))}"

    workflow = world.entrypoint(publish)
    assert asked(world.invoke(workflow, "secret", thread_id="t")) == [{"publish?": "SECRET"}]
    assert isinstance(world.saver, EncryptedSaver)
    world.saver = EncryptedSaver(world.saver.saver, ring(monkeypatch, f"{NEW},{OLD}"))
    workflow = world.entrypoint(publish)
    assert world.invoke(workflow, Command(resume="yes"), thread_id="t") == "SECRET yes YES"
    assert world.ran == ["secret", "yes"]
    assert world.state(workflow, "t").values == "SECRET yes YES"
    world.saver = EncryptedSaver(world.saver.saver, ring(monkeypatch, NEW))
    with pytest.raises(UnknownKeyError, match="'old'"):
        world.history(world.entrypoint(publish), "t")


def test_cached_results_are_sealed_where_the_cache_is(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """The saver's keys don't reach the cache: it has a wrapper of its own."""
    inner = MemoryCache()
    cache = EncryptedCache(inner, ring(monkeypatch, OLD))

    @world.task(cache_policy=CachePolicy())
    async def fetch(text: str) -> str:
        world.ran.append(text)
        return f"secret {text}"

    async def twice(text: str) -> list[str]:
        return [await world.value(fetch(text)), await world.value(fetch(text))]

    workflow = world.entrypoint(cache=cache)(twice)
    assert world.invoke(workflow, "x", thread_id="a") == ["secret x"] * 2
    assert world.invoke(workflow, "x", thread_id="b") == ["secret x"] * 2
    assert world.ran == ["x"]
    assert b"secret" not in b"".join(data for data, _ in inner._entries.values())


SCRIPT = """
import asyncio, os, signal, sys
from checkpointers import EncryptedSaver
from flowfn import entrypoint, task
from flowfn.encryption import KeyRing

@task
def step(number):
    with open("ran", "a") as log:
        log.write(f"{number} ")
    if number == 3 and "DIE" in os.environ:
        os.kill(os.getpid(), signal.SIGKILL)
    return f"secret-{number}"

saver = EncryptedSaver("runs.db", KeyRing.from_env())

@entrypoint(checkpointer=saver)
def blocking(n):
    return [step(i).result() for i in range(n)][-1]

@entrypoint(checkpointer=saver)
async def coroutines(n):
    return [await step(i) for i in range(n)][-1]

if __name__ == "__main__":
    print(blocking(5) if sys.argv[1] == "blocking" else asyncio.run(coroutines(5)))
"""


@pytest.fixture
def script(tmp_path: Path) -> Path:
    path = tmp_path / "app.py"
    path.write_text(SCRIPT)
    return path


def start(script: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=script.parent,
        env={**os.environ, "PYTHONPATH": ":".join(sys.path), **environment},
        capture_output=True,
        text=True,
    )


@pytest.mark.parametrize("caller", ["blocking", "coroutines"])
def test_a_killed_run_goes_on_from_its_encrypted_record(script: Path, caller: str) -> None:
    """G1: SIGKILL in the fourth task; the direct call finds its run again, after a rotation, too."""
    killed = start(script, "app.py", caller, FLOWFN_KEY=OLD, DIE="1")
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    assert start(script, "app.py", caller, FLOWFN_KEY=f"{NEW},{OLD}").stdout == "secret-4\n"
    assert (script.parent / "ran").read_text().split() == ["0", "1", "2", "3", "3", "4"]
    stored = b"".join(file.read_bytes() for file in script.parent.glob("runs.db*"))
    assert (b"secret-" in stored, b"blocking" in stored or b"coroutines" in stored) == (False, True)


def test_a_killed_run_is_not_begun_again_without_its_key(script: Path) -> None:
    """G2: the direct call can't tell whose run was left, so that it says so and runs nothing."""
    start(script, "app.py", "blocking", FLOWFN_KEY=OLD, DIE="1")
    refused = start(script, "app.py", "blocking", FLOWFN_KEY=NEW)
    assert "UnknownKeyError: Thread '" in refused.stderr
    assert (script.parent / "ran").read_text().split() == ["0", "1", "2", "3"]
    assert start(script, "app.py", "blocking", FLOWFN_KEY=f"{NEW},{OLD}").stdout == "secret-4\n"


def flowfn(script: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return start(script, "-m", "flowfn", *arguments, **environment)


def test_the_command_line_reads_with_the_keys_of_its_environment(script: Path) -> None:
    """`show` and `resume` with `FLOWFN_KEY`; `ls` works without."""
    start(script, "app.py", "blocking", FLOWFN_KEY=OLD, DIE="1")
    listed = flowfn(script, "ls", "--json")
    assert '"status": "killed"' in listed.stdout, listed.stderr
    thread = listed.stdout.split('"thread": "')[1].split('"')[0]
    assert "secret-2" in flowfn(script, "show", thread, "--json", FLOWFN_KEY=OLD).stdout
    resumed = flowfn(script, "resume", thread, "app.py", FLOWFN_KEY=OLD)
    assert resumed.stdout == "secret-4\n", resumed.stderr


@pytest.mark.parametrize(
    ("key", "said"),
    [
        ("", "encrypted with key 'old'"),
        (NEW, "this ring has new"),
        ("old:" + NEW[4:], "another key of that id"),
        ("nonsense", "FLOWFN_KEY holds no keys"),
    ],
)
def test_the_command_line_says_which_key_it_needs(script: Path, key: str, said: str) -> None:
    """One line, exit code 2, and no traceback."""
    start(script, "app.py", "blocking", FLOWFN_KEY=OLD)
    thread = flowfn(script, "ls", "--json").stdout.split('"thread": "')[1].split('"')[0]
    shown = flowfn(script, "show", thread, FLOWFN_KEY=key)
    assert (shown.returncode, shown.stdout) == (2, "")
    assert said in " ".join(shown.stderr.split())
    assert "Traceback" not in shown.stderr
