"""A ledger that is right whenever the process dies: rows and record in one transaction.

Started by hand it starts itself twice as a child process. The child books three payments into a table of its own
database. Its first life ends inside the second one, by SIGKILL, after the row was written and before the transaction
was committed: the row is gone. Its second life goes on, books what is missing, and nothing twice.

Output:
    first life
      booking ada
      booking bob
    killed by SIGKILL, with booked: ada 995
    second life
      booking bob
      booking eve
      receipts: 1 2 3
    ended well, with booked: ada 995, bob 995, eve 995
"""

import os
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory

from flowfn import entrypoint, task


@task(transaction="shop.db")
def book(customer: str, cents: int, *, transaction: sqlite3.Connection) -> int | None:
    print("  booking", customer, flush=True)
    cursor = transaction.execute("INSERT INTO ledger (customer, cents) VALUES (?, ?)", (customer, cents))
    if customer == "bob" and sys.argv[1] == "first":
        os.kill(os.getpid(), signal.SIGKILL)
    return cursor.lastrowid


@entrypoint(checkpointer="runs.db")
def pay(customers: list[str]) -> list[int | None]:
    return [book(customer, 995).result() for customer in customers]


def live(life: str, folder: str) -> str:
    """Run this script as a child process in `folder`, and say how it ended."""
    print(life, "life", flush=True)
    child = subprocess.run([sys.executable, __file__, life], cwd=folder)
    return f"killed by {signal.Signals(-child.returncode).name}" if child.returncode else "ended well"


def main() -> None:
    with TemporaryDirectory() as folder, closing(sqlite3.connect(Path(folder, "shop.db"))) as shop:
        shop.execute("CREATE TABLE ledger (id INTEGER PRIMARY KEY, customer TEXT, cents INTEGER)")
        for life in ("first", "second"):
            end = live(life, folder)
            booked = shop.execute("SELECT customer, cents FROM ledger").fetchall()
            print(f"{end}, with booked: {', '.join(f'{customer} {cents}' for customer, cents in booked)}")


if __name__ == "__main__":
    if sys.argv[1:]:
        print("  receipts:", *pay(["ada", "bob", "eve"]))
    else:
        main()
