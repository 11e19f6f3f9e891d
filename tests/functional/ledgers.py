"""A script that books into the ledger that `LEDGER` names, to be killed."""

import asyncio
import inspect
import os
import signal
import sys
from contextlib import suppress
from typing import Any

from flowfn import current, entrypoint, task


async def add(transaction: Any, customer: str) -> None:
    """A row, on a connection of either database and colour."""
    mark = "%s" if "://" in os.environ["LEDGER"] else "?"
    added = transaction.execute(
        f"INSERT INTO ledger VALUES ({mark}, 1, {mark})", (customer, current().idempotency_key)
    )
    if inspect.isawaitable(added):
        await added


def connect() -> Any:
    """A blocking connection."""
    target = os.environ["LEDGER"]
    if "://" in target:
        import psycopg

        return psycopg.connect(target)
    import sqlite3

    return sqlite3.connect(target, isolation_level=None, check_same_thread=False)


def aconnect() -> Any:
    """A connection for coroutines: psycopg's is awaited."""
    target = os.environ["LEDGER"]
    if "://" in target:
        import psycopg

        return psycopg.AsyncConnection.connect(target)
    return connect()


@task(transaction=connect)
def book(customer: str, *, transaction: Any) -> str:
    with suppress(StopIteration):
        add(transaction, customer).send(None)
    if customer == "bob" and sys.argv[1:] == ["die"]:
        os.kill(os.getpid(), signal.SIGKILL)
    return customer


@task(transaction=aconnect)
async def abook(customer: str, *, transaction: Any) -> str:
    await add(transaction, customer)
    return customer


@entrypoint(checkpointer="runs.db")
def pay(customers: list[str]) -> list[str]:
    return [book(customer).result() for customer in customers]


@entrypoint(checkpointer="runs.db")
async def apay(customers: list[str]) -> list[str]:
    return await asyncio.gather(*[abook(customer) for customer in customers])


MAIN = """
print(pay(["ada", "bob", "eve"]))
"""
