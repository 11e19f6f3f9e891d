"""Workflows at the top of a module, as users have them, some with a planted bug. `# BUG` marks its line."""

from __future__ import annotations

import asyncio
import random
import uuid
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from flowfn import current, entrypoint, gather, interrupt, now, task, uuid4

CHARGED: list[str] = []


@task
def charge(customer: str, order: str = "") -> str:
    CHARGED.append(customer)
    return f"receipt of {customer}"


@task
async def fetch(name: str) -> str:
    await asyncio.sleep(0)
    return name.upper()


@task
def confirm(question: str) -> bool:
    return bool(interrupt(question) == "yes")


@entrypoint(name="child")
def child(customer: str) -> str:
    return charge(customer, str(uuid4())).result()


@entrypoint
def sound(customers: list[str]) -> list[Any]:
    """Sequential and parallel tasks, a child workflow, recorded chance, and questions in a body and in a task."""
    assert now().year > 2000
    first = charge(customers[0]).result()
    rest = gather(*charge.map(customers[1:])).result()
    if not confirm("all of them?").result():
        return []
    return [first, *rest, child("kim"), interrupt("who says so?")]


@entrypoint
async def sound_async(customers: list[str]) -> list[str]:
    return [*await asyncio.gather(*fetch.map(customers)), await charge("zoe")]


@entrypoint
def asks(customer: str) -> str:
    return charge(customer).result() if interrupt("ok?") == "yes" else "nothing"


@entrypoint
def random_id(customer: str) -> str:
    order = uuid.uuid4().hex  # BUG
    return charge(customer, order).result()


@entrypoint
def random_id_and_a_question(customer: str) -> str:
    order = uuid.uuid4().hex  # BUG
    receipt = charge(customer, order).result()
    return f"{receipt} {interrupt('ok?')}"


@entrypoint
def random_answer(customer: str) -> float:
    charge(customer).result()
    return random.random()  # BUG


@entrypoint
def random_branch(customer: str) -> str:
    which = random.randrange(10**9)  # BUG
    return charge(f"{customer} {which}").result()


@entrypoint
def charges_in_the_body(customer: str) -> str:
    CHARGED.append(customer)  # BUG
    return str(interrupt("ok?"))


@task
def charges_and_asks(customer: str) -> str:
    CHARGED.append(customer)  # BUG
    return str(interrupt("ok?"))


@entrypoint
def charge_before_a_question(customer: str) -> str:
    return charges_and_asks(customer).result()


@task
async def acharges_and_asks(customer: str) -> str:
    await asyncio.sleep(0)
    CHARGED.append(customer)  # BUG
    return str(interrupt("ok?"))


@entrypoint
async def acharge(customer: str) -> str:
    return await acharges_and_asks(customer)


@entrypoint
def writes_a_file(path: str) -> str:
    Path(path).write_text("charged")  # BUG
    return charge(path).result()


@entrypoint
def by_idempotency_key(customer: str) -> str:
    """Its answer is another one on each thread, and the same on each life of one."""
    return keyed(customer).result()


@task
def keyed(customer: str) -> str:
    return current().idempotency_key


def line_of_bug(function: str) -> str:
    """Where a planted bug is, as file:line."""
    lines = Path(__file__).read_text().splitlines()
    start = next(number for number, line in enumerate(lines) if f"def {function}(" in line)
    number = next(number for number in range(start, len(lines)) if "# BUG" in lines[number])
    return f"{__file__}:{number + 1}"


POOLS: list[ProcessPoolExecutor] = []


@task
def weigh(grams: int) -> int:
    """In a process of a pool, which is begun once and never ended."""
    if not POOLS:
        POOLS.append(ProcessPoolExecutor(1, mp_context=get_context("fork")))
    return POOLS[0].submit(abs, grams).result()


@entrypoint
def weighs(grams: int) -> int:
    return weigh(grams).result()
