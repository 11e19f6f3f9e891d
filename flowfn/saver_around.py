"""A saver that passes every call on to another; subclasses step in where they have to."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from flowfn.ports import Busy, Commit, Lease, Loaded, Place, Saver, ThreadRow


class SaverAround:
    """Passes calls on to `inner`."""

    def __init__(self, inner: Saver) -> None:
        self.inner = inner
        self.serde = inner.serde

    @property
    def inline(self) -> bool:
        return self.inner.inline

    @property
    def keeps_deltas(self) -> bool:
        return self.inner.keeps_deltas

    def commit(self, commits: Sequence[Commit], *, wait: bool = True) -> list[Exception | None]:
        return self.inner.commit(commits, wait=wait)

    def claim(self, thread: str, *, force: bool = False) -> Lease | Busy:
        return self.inner.claim(thread, force=force)

    def adopt(self, workflow: str, call: str) -> Lease | None:
        return self.inner.adopt(workflow, call)

    def release(self, lease: Lease) -> None:
        self.inner.release(lease)

    def load(self, thread: str, namespace: str = "", checkpoint: str | None = None) -> Loaded | None:
        return self.inner.load(thread, namespace, checkpoint)

    def history(self, thread: str | None, namespace: str | None = "", **options: Any) -> Iterator[Loaded]:
        return self.inner.history(thread, namespace, **options)

    def places(self, thread: str) -> list[Place]:
        return self.inner.places(thread)

    def threads(self, *, limit: int | None = None) -> list[ThreadRow]:
        return self.inner.threads(limit=limit)

    def unfinished(self, workflow: str, *, limit: int | None = None) -> list[ThreadRow]:
        return self.inner.unfinished(workflow, limit=limit)

    def thread(self, thread: str) -> ThreadRow | None:
        return self.inner.thread(thread)

    def delete_thread(self, thread_id: str) -> None:
        self.inner.delete_thread(thread_id)

    def close(self) -> None:
        self.inner.close()
