"""Threads in every state, written by a script as its user runs it, and the command that looks at them."""

import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

APP = """
import os, signal, sys
from dataclasses import dataclass
from flowfn import entrypoint, gather, interrupt, task

@dataclass
class Receipt:
    total: int

@task
def price(item: str) -> int:
    return len(item)

@task
def approve(name: str) -> str:
    return interrupt(f"{name}?", key=name)

@task
def charge(total: int) -> Receipt:
    if "decline" in os.environ:
        raise ValueError("card declined")
    return Receipt(total)

@task
def die() -> None:
    if "survive" not in os.environ:
        os.kill(os.getpid(), signal.SIGKILL)

@entrypoint
def basket(items: list[str]) -> int:
    return sum(price(item).result() for item in items)

@entrypoint(checkpointer="runs.db")
def order(items: list[str]) -> str:
    total = basket(items)
    answer = interrupt({"approve": total}, type=bool)
    return f"charged {charge(total).result().total}" if answer else "left"

@entrypoint(checkpointer="runs.db")
def buy(items: list[str]) -> Receipt:
    return charge(basket(items)).result()

@entrypoint(checkpointer="runs.db")
def committee(names: list[str]) -> list[str]:
    return gather(*[approve(name) for name in names]).result()

@entrypoint(checkpointer="runs.db")
def doomed(item: str) -> int:
    found = price(item).result()
    die().result()
    return found

if __name__ == "__main__":
    print("main ran")
    order.invoke(["ink", "pen"], thread_id="asks-1")
    order.invoke(["ink"], thread_id="asks-2")
    committee.invoke(["ann", "bob"], thread_id="both")
    buy.invoke(["ink"], thread_id="paid")
    os.environ["decline"] = "yes"
    try:
        buy.invoke(["ink"], thread_id="broke")
    except ValueError:
        pass
    doomed.invoke("ink", thread_id="dead")
"""


class Ran(NamedTuple):
    """A finished command."""

    code: int
    out: str
    err: str


Flowfn = Callable[..., Ran]


@pytest.fixture(scope="session")
def shop_once(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with `app.py`, and `runs.db` as the script left it when it died."""
    import os
    import subprocess

    import flowfn

    folder = tmp_path_factory.mktemp("shop")
    (folder / "app.py").write_text(APP)
    path = {"PYTHONPATH": str(Path(next(iter(flowfn.__path__))).resolve().parent)}
    done = subprocess.run(
        [sys.executable, "app.py"], cwd=folder, env={**os.environ, **path}, capture_output=True, text=True
    )
    assert done.returncode == -9, done.stderr
    return folder


@pytest.fixture
def shop(shop_once: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the shop, and the current directory."""
    folder = tmp_path / "shop"
    shutil.copytree(shop_once, folder)
    monkeypatch.chdir(folder)
    return folder


@pytest.fixture
def flowfn(capsys: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Flowfn]:
    """`flowfn ARGUMENTS` in this process; scripts that it imports are forgotten afterwards."""
    from flowfn.cli import main

    monkeypatch.delenv("FLOWFN_DB", raising=False)
    monkeypatch.setattr(sys, "path", [*sys.path])
    before = set(sys.modules)

    def run(*arguments: str | Path) -> Ran:
        capsys.readouterr()
        code = main([str(word) for word in arguments])
        return Ran(code, *capsys.readouterr())

    yield run
    for name in set(sys.modules) - before:
        if str(getattr(sys.modules[name], "__file__", None)).startswith(str(tmp_path)):
            del sys.modules[name]
