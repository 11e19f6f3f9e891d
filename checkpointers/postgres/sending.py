"""How commits go to Postgres: a group of them in one transaction.

Rule: what needs no answer before the next statement is one pipeline. Where all threads differ, the order of their
statements says nothing, and those of one kind go as one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import nullcontext
from typing import Any

import psycopg

from checkpointers.postgres import leases as postgres_leases
from checkpointers.postgres import looks as postgres_looks
from checkpointers.postgres.commits import Bundle, bundles
from checkpointers.postgres.maps import Heads
from flowfn.ports import Commit
from flowfn.postgres.schema import Connection


def write(db: Connection, commits: Sequence[Commit], heads: Heads) -> list[Commit]:
    """Write commits in one transaction; returns those whose lease still held."""
    try:
        return _send(db, bundles(commits, heads, new=True), heads)
    except psycopg.errors.UniqueViolation:
        if len(commits) > 1:
            raise
        db.rollback()
        return _send(db, bundles(commits, heads, new=False), heads)


def made_before(db: Connection, commits: Sequence[Commit], made: Sequence[Commit]) -> list[Commit]:
    """Commits whose answer was lost with a connection, and that gave their lease back, which others have had since."""
    kept = set(map(id, made))
    releasing = {one.lease[:2]: one for one in commits if one.release and one.lease and id(one) not in kept}
    leases = [one.lease for one in releasing.values() if one.lease is not None]
    return [releasing[lease[:2]] for lease in postgres_leases.given_back(db, leases)] if leases else []


def _send(db: Connection, made: Sequence[Bundle], heads: Heads) -> list[Commit]:
    """Write bundles in one transaction; returns the commits whose lease still held.

    Who looks waits for answers, and a pooler may hold those of a pipeline back until its end.
    """
    alike = [made] if len(made) == 1 else list(_alike(made))
    if len(alike) == 1 and (statements := made[0].statements) is not None and len(statements) == 1:
        return [commit for bundle in _sent(db, made, heads, db.ask)() for commit in bundle.commits]
    with nullcontext() if any(one.statements is None for one in made) else db.pipeline():
        db.execute("BEGIN ISOLATION LEVEL READ COMMITTED")
        heard = [_sent(db, some, heads, db.execute) for some in alike]
        db.execute("COMMIT")
    held = {id(bundle) for hear in heard for bundle in hear()}
    return [commit for bundle in made if id(bundle) in held for commit in bundle.commits]


def _alike(made: Sequence[Bundle]) -> Iterable[Sequence[Bundle]]:
    """Bundles that are written by one statement: of threads that differ, and so in any order."""
    if len({bundle.commits[0].thread for bundle in made}) < len(made):
        return [[bundle] for bundle in made]
    alike: dict[object, list[Bundle]] = {}
    for bundle in made:
        single = bundle.statements[0].many if bundle.statements and len(bundle.statements) == 1 else None
        alike.setdefault(single or id(bundle), []).append(bundle)
    return alike.values()


def _sent(
    db: Connection, alike: Sequence[Bundle], heads: Heads, send: Callable[..., psycopg.Cursor[Any]]
) -> Callable[[], list[Bundle]]:
    """Send what bundles write. What it returns is called once that is durable, and gives those whose lease held."""
    if len(alike) > 1:
        return _sent_at_once(alike, send)
    (bundle,) = alike
    if bundle.statements is None:
        (commit,) = bundle.commits
        heard = postgres_looks.write(db, commit, heads)
        return lambda: [bundle] if heard() else []
    statements = bundle.statements
    answers = [send(*statement[:2]) for statement in statements]

    def hear() -> list[Bundle]:
        for statement, answer in zip(statements, answers, strict=True):
            if statement.tell is not None and (told := answer.fetchone()) is not None:
                statement.tell(told)
        return [bundle] if answers[0].rowcount > 0 else []

    return hear


def _sent_at_once(
    alike: Sequence[Bundle], send: Callable[..., psycopg.Cursor[Any]]
) -> Callable[[], list[Bundle]]:
    """As `_sent`, of bundles whose statements have one of all of them."""
    statements = [statement for bundle in alike for statement in bundle.statements or ()]
    columns = zip(*(statement.parameters for statement in statements), strict=True)
    answer = send(statements[0].many or "", [list(column) for column in columns])

    def hear() -> list[Bundle]:
        held = []
        for nth, *told in answer.fetchall():
            if (tell := statements[nth - 1].tell) is not None:
                tell(tuple(told))
            held.append(alike[nth - 1])
        return held

    return hear
