"""A library that another thread is in the middle of importing, as a task does that imports it in its body."""

from __future__ import annotations

from typing import Any

import pytest

SCRIPT = """
import importlib, sys, threading
from dataclasses import dataclass
from flowfn import entrypoint, task

name, *before = sys.argv[1:]
begun, go_on = threading.Event(), threading.Event()
loading = threading.Thread(target=importlib.import_module, args=(name,), daemon=True)

def hold(event, _):
    "Have the thread wait as the library imports something while it is being imported itself."
    if event == "import" and threading.current_thread() is loading and name in sys.modules:
        begun.set()
        go_on.wait()

@dataclass
class Price:
    euros: int

class Rebate:
    "Has no form of its own among arguments."

    def __init__(self, euros):
        self.euros = euros

@task
def reduced(price: Price, rebate: Rebate) -> Price:
    return Price(price.euros - rebate.euros)

@entrypoint(checkpointer=":memory:")
def order(price: Price) -> int:
    return reduced(price, Rebate(1)).result().euros

for one in before:
    importlib.import_module(one)
sys.addaudithook(hold)
loading.start()
begun.wait()
print(order(Price(3)), getattr(sys.modules[name].__spec__, "_initializing", False))
go_on.set()
loading.join()
"""


@pytest.mark.parametrize(
    "modules",
    [
        ["numpy"],
        ["pandas", "numpy"],
        ["opentelemetry.trace"],
        ["flowfn.hosts.shared"],
    ],
    ids=lambda modules: modules[0],
)
def test_a_call_goes_on_while_a_thread_imports_a_library(run_python: Any, modules: list[str]) -> None:
    """Nothing is of that library yet, nor runs on an event loop where it is flowfn's own part for those."""
    done = run_python("-c", SCRIPT, *modules)
    assert (done.stdout, done.returncode) == ("2 True\n", 0), done.stderr
