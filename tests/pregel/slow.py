"""A slow interpreter written straight from the rules of planning and applying, to compare the fast one with.

Its channels are objects that change in place and its loops visit everything; it shares no code with
`flowfn.pregel` but the values.
"""

from __future__ import annotations

from typing import Any

from flowfn.values import MISSING, Overwrite, Send


class Cell:
    """A channel as an object: `update`, `consume` and `finish` say whether they changed it."""

    value: Any = MISSING

    def read(self) -> Any:
        return self.value

    def holds(self) -> bool:
        """Whether there is anything in it, to be read or not."""
        return self.value is not MISSING

    def update(self, writes: list[Any]) -> bool:
        raise NotImplementedError

    def consume(self) -> bool:
        return False

    def finish(self) -> bool:
        return False


class Last(Cell):
    def update(self, writes):
        if writes:
            self.value = writes[-1]
        return bool(writes)


class Ephemeral(Cell):
    def update(self, writes):
        changed = bool(writes) or self.value is not MISSING
        self.value = writes[-1] if writes else MISSING
        return changed


class Deferred(Cell):
    finished = False

    def read(self):
        return self.value if self.finished else MISSING

    def update(self, writes):
        if writes:
            self.value, self.finished = writes[-1], False
        return bool(writes)

    def consume(self):
        changed = self.finished
        if changed:
            self.value, self.finished = MISSING, False
        return changed

    def finish(self):
        changed = self.value is not MISSING and not self.finished
        self.finished = self.finished or changed
        return changed


class Topics(Cell):
    def __init__(self, accumulate):
        self.accumulate, self.items = accumulate, []

    def read(self):
        return list(self.items) or MISSING

    def holds(self):
        return bool(self.items)

    def update(self, writes):
        flat = []
        for write in writes:
            flat.extend(write if isinstance(write, list) else [write])
        changed = bool(flat) or (not self.accumulate and bool(self.items))
        self.items = (self.items if self.accumulate else []) + flat
        return changed


class Sum(Cell):
    value = ()

    def update(self, writes):
        overwrites = [w for w in writes if isinstance(w, Overwrite)]
        if overwrites:
            self.value = overwrites[0].value
        else:
            for write in writes:
                self.value = self.value + write
        return bool(writes)


class Barrier(Cell):
    def __init__(self, names, deferred):
        self.names, self.deferred, self.seen, self.finished = names, deferred, set(), False

    def holds(self):
        return bool(self.seen)

    def is_open(self):
        return self.seen == self.names and (self.finished or not self.deferred)

    def read(self):
        return None if self.is_open() else MISSING

    def update(self, writes):
        changed = not set(writes) <= self.seen
        self.seen |= set(writes)
        return changed

    def consume(self):
        changed = self.is_open()
        if changed:
            self.seen, self.finished = set(), False
        return changed

    def finish(self):
        changed = self.deferred and self.seen == self.names and not self.finished
        self.finished = self.finished or changed
        return changed


class Interpreter:
    """One thread of a program. `nodes` maps a name to its triggers; a task is `(path, name, triggers)`."""

    def __init__(self, nodes: dict[str, list[str]], channels: dict[str, Cell]) -> None:
        self.nodes, self.channels = nodes, channels
        self.versions: dict[str, int] = {}
        self.clock = 0
        self.seen: dict[str, dict[str, int]] = {}
        self.updated: set[str] | None = None

    def values(self) -> dict[str, Any]:
        return {name: c.read() for name, c in self.channels.items() if c.read() is not MISSING}

    def plan(self) -> list[tuple[Any, ...]]:
        packets = self.values().get("sends", [])
        tasks = [
            (("push", i), packet.node, ("__pregel_push",))
            for i, packet in enumerate(packets)
            if isinstance(packet, Send) and packet.node in self.nodes
        ]
        names = sorted(self.nodes) if self.updated else list(self.nodes)
        for name in names:
            subscribed = not self.updated or self.updated & set(self.nodes[name])
            if subscribed and any(self.fires(name, trigger) for trigger in self.nodes[name]):
                tasks.append((("pull", name), name, tuple(sorted(self.nodes[name]))))
        return tasks

    def fires(self, name: str, trigger: str) -> bool:
        if self.channels[trigger].read() is MISSING:
            return False
        return name not in self.seen or self.versions.get(trigger, 0) > self.seen[name].get(trigger, 0)

    def forgets(self) -> bool:
        """Whether no trigger outlives the superstep that it triggers nodes in, so that what was seen doesn't matter."""
        triggers = {trigger for names in self.nodes.values() for trigger in names}
        return all(isinstance(self.channels[name], Ephemeral | Deferred | Barrier) for name in triggers)

    def apply(self, tasks: list[tuple[Any, ...]], writes: dict[Any, list[tuple[str, Any]]]) -> None:
        ordered = sorted(tasks, key=lambda task: task[0])
        bump = any(triggers for _, _, triggers in ordered)
        if bump and self.forgets():
            self.seen = {}
        for _, name, triggers in ordered:
            if triggers:
                entry = self.seen.setdefault(name, {})
                entry.update({t: self.versions[t] for t in triggers if t in self.versions})
        version = self.clock + 1
        for name in {t for _, _, triggers in ordered for t in triggers if t in self.channels}:
            if self.channels[name].consume():
                self.versions[name] = version
        updated = set()
        for name, channel in self.channels.items():
            mine = [value for path, _, _ in ordered for key, value in writes.get(path, []) if key == name]
            if mine and channel.update(mine):
                self.versions[name] = version
                if channel.read() is not MISSING:
                    updated.add(name)
        if bump:
            for name, channel in self.channels.items():
                if name not in updated and channel.read() is not MISSING and channel.update([]):
                    self.versions[name] = version
        if bump and not any(updated & set(triggers) for triggers in self.nodes.values()):
            for name, channel in self.channels.items():
                if channel.finish():
                    self.versions[name] = version
                    if channel.read() is not MISSING:
                        updated.add(name)
        self.updated = updated
        if version in self.versions.values():
            self.clock = version
        self.versions = {name: v for name, v in self.versions.items() if self.channels[name].holds()}
