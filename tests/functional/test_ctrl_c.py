"""Ctrl-C at the worst moment: the process goes on, as a notebook does, and so do its threads of work."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from checkpointers import SqliteSaver
from flowfn import entrypoint, task
from flowfn.hosts import threads


def test_a_call_that_was_taken_and_not_begun_is_waited_for_by_nobody(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The interrupted thread had taken it to run it in place; the run ends, and the next one runs it."""
    settle = threads._settle
    interrupted: list[bool] = []

    def once(*job: Any) -> None:
        if not interrupted:
            interrupted.append(True)
            raise KeyboardInterrupt
        settle(*job)

    monkeypatch.setattr(threads, "_settle", once)

    @task
    def double(x: int) -> int:
        return 2 * x

    with SqliteSaver(tmp_path / "runs.db") as saver:

        @entrypoint(checkpointer=saver)
        def doubled(x: int) -> int:
            return double(x).result()

        with pytest.raises(KeyboardInterrupt):
            doubled.invoke(21, thread_id="t")
        assert doubled.invoke(None, thread_id="t") == 42


def test_a_reading_transaction_that_was_left_open_is_ended_by_the_next(tmp_path: Path) -> None:
    """It came between its beginning and what ends it; every later read failed, or saw what was there then."""
    with SqliteSaver(tmp_path / "runs.db") as saver:
        saver._database._connected().reader().execute("BEGIN")
        assert saver.threads() == []
