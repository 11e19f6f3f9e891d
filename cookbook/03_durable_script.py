"""A script that is killed in the middle, with SIGKILL, and started again.

Started by hand it plays the operator, and starts itself twice as a child process. The child is an
ordinary durable script: it calls its workflow as a function. Its first life ends inside the third
charge. Its second makes the very same call, which finds the unfinished run and goes on with it: what
was recorded isn't run again. The charge in flight runs twice, under one idempotency key: that is what
a bank needs to book it once.

Output:
    first life
      charging ada
      charging bob
      charging eve
    killed by SIGKILL
    second life
      charging eve
      charging joe
      charged: ada bob eve joe
    ended well
    the bank was asked 5 times, under 4 keys
"""

import os
import signal
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from flowfn import current, entrypoint, task

BANK = Path("bank.log")


@task
def charge(customer: str) -> str:
    print(f"  charging {customer}", flush=True)
    with BANK.open("a") as bank:
        bank.write(current().idempotency_key + "\n")
    if customer == "eve" and sys.argv[1] == "first":
        os.kill(os.getpid(), signal.SIGKILL)
    return customer


@entrypoint(checkpointer="runs.db")
def charge_all(customers: list[str]) -> str:
    return " ".join(charge(customer).result() for customer in customers)


def live(life: str, folder: str) -> str:
    """Run this script as a child process in `folder`, and say how it ended."""
    print(life, "life", flush=True)
    child = subprocess.run([sys.executable, __file__, life], cwd=folder)
    return f"killed by {signal.Signals(-child.returncode).name}" if child.returncode else "ended well"


def main() -> None:
    with TemporaryDirectory() as folder:
        print(live("first", folder))
        print(live("second", folder))
        keys = Path(folder, BANK).read_text().split()
        print(f"the bank was asked {len(keys)} times, under {len(set(keys))} keys")


if __name__ == "__main__":
    if sys.argv[1:]:
        print("  charged:", charge_all(["ada", "bob", "eve", "joe"]))
    else:
        main()
