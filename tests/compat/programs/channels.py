"""Channels used by themselves: update, get, consume, finish, checkpoint (behaviour of section 2.6)."""

import operator
from typing import Annotated

from langgraph._internal._typing import MISSING
from langgraph.channels import (
    AnyValue,
    BinaryOperatorAggregate,
    DeltaChannel,
    EphemeralValue,
    LastValue,
    LastValueAfterFinish,
    NamedBarrierValue,
    NamedBarrierValueAfterFinish,
    Topic,
    UntrackedValue,
)
from langgraph.channels.base import BaseChannel
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.errors import EmptyChannelError
from langgraph.graph import START, StateGraph
from langgraph.types import Overwrite
from typing_extensions import TypedDict

from ..parts import ONE
from ..trace import differs


def see(t, channel):
    """Record what there is to see of a channel."""
    t.note("available", channel.is_available())
    t.note("value", t.raises(channel.get))


def update(t, channel, *values):
    t.note("changed", t.raises(channel.update, list(values)))
    see(t, channel)


async def last_value(t):
    """LastValue keeps one value a step, and refuses two."""
    channel = LastValue(int, "k")
    see(t, channel)
    update(t, channel)
    update(t, channel, 1)
    update(t, channel)
    update(t, channel, 2, 3)
    t.note("consumed", channel.consume())
    t.note("finished", channel.finish())


async def last_value_after_finish(t):
    """LastValueAfterFinish shows its value once finished, and loses it once consumed."""
    channel = LastValueAfterFinish(int)
    update(t, channel, 1, 2)
    t.note("consumed", channel.consume())
    t.note("finished", channel.finish())
    see(t, channel)
    t.note("finished", channel.finish())
    t.note("consumed", channel.consume())
    see(t, channel)
    t.note("finished", channel.finish())


async def any_value(t):
    """AnyValue keeps the last of several values, and is cleared by none."""
    channel = AnyValue(int)
    update(t, channel)
    update(t, channel, 1, 2)
    update(t, channel)


async def ephemeral_value(t):
    """EphemeralValue lasts one step, and with its guard takes one value."""
    channel = EphemeralValue(int)
    channel.key = "k"
    update(t, channel, 1)
    update(t, channel)
    update(t, channel)
    update(t, channel, 1, 2)
    channel = EphemeralValue(int, guard=False)
    update(t, channel, 1, 2)


async def untracked_value(t):
    """UntrackedValue stays until it's replaced, and has no checkpoint."""
    channel = UntrackedValue(int)
    channel.key = "k"
    update(t, channel, 1)
    update(t, channel)
    update(t, channel, 1, 2)
    again = channel.from_checkpoint(channel.checkpoint())
    see(t, again)
    channel = UntrackedValue(int, guard=False)
    update(t, channel, 1, 2)


async def topic(t):
    """Topic has the values of its last step, with lists flattened by one level."""
    channel = Topic(str)
    see(t, channel)
    update(t, channel, "a", ["b", "c"], [["d"]])
    update(t, channel)
    update(t, channel)
    update(t, channel, "e", "e")
    t.note("checkpoint", channel.checkpoint())
    see(t, channel.from_checkpoint(["x"]))


async def accumulating_topic(t):
    """An accumulating Topic has the values of all steps."""
    channel = Topic(str, accumulate=True)
    update(t, channel, "a")
    update(t, channel)
    update(t, channel, ["b"])


async def a_topic_is_copied(t):
    """What a Topic gives is a list of its own."""
    channel = Topic(str)
    channel.update(["a"])
    channel.get().append("b")
    see(t, channel)


async def reducer(t):
    """A reducer folds its values into the one it has, which starts as the empty one of its type."""
    channel = BinaryOperatorAggregate(list, operator.add)
    see(t, channel)
    update(t, channel, [1], [2])
    update(t, channel)
    t.note("checkpoint", channel.checkpoint())
    see(t, channel.from_checkpoint([9]))


async def reducer_without_an_empty_value(t):
    """A reducer whose type can't be made empty takes its first value as it is."""
    channel = BinaryOperatorAggregate(int | None, operator.add)
    see(t, channel)
    update(t, channel, 1, 2)


@differs("a channel that refuses a write")
async def overwrite(t):
    """An Overwrite replaces what there was and what comes after it; one a step."""
    channel = BinaryOperatorAggregate(list, operator.add)
    update(t, channel, [1])
    update(t, channel, [2], Overwrite([3]), [4])
    update(t, channel, {"__overwrite__": [5]})
    update(t, channel, {"type": "__overwrite__", "value": [6]})
    update(t, channel, Overwrite([7]), Overwrite([8]))


async def barrier(t):
    """A barrier is open when all its names were seen, and closes when consumed."""
    channel = NamedBarrierValue(str, {"a", "b"})
    channel.key = "k"
    update(t, channel, "a")
    update(t, channel, "a")
    t.note("consumed", channel.consume())
    update(t, channel, "b")
    t.note("consumed", channel.consume())
    see(t, channel)
    update(t, channel, "a")
    t.note("checkpoint", channel.checkpoint())


async def barrier_and_an_unknown_name(t):
    """A barrier refuses a name that isn't one of its own."""
    channel = NamedBarrierValue(str, {"a"})
    channel.key = "k"
    update(t, channel, "z")


async def barrier_after_finish(t):
    """A barrier of the other kind opens only when finished."""
    channel = NamedBarrierValueAfterFinish(str, {"a", "b"})
    update(t, channel, "a")
    t.note("finished", channel.finish())
    update(t, channel, "b")
    t.note("finished", channel.finish())
    see(t, channel)
    t.note("checkpoint", channel.checkpoint())
    t.note("consumed", channel.consume())
    see(t, channel)


async def delta(t):
    """A DeltaChannel gives all values of a step to its reducer at once, and has no checkpoint."""

    def extend(state, writes):
        return [*state, *(item for write in writes for item in write), len(writes)]

    channel = DeltaChannel(extend, list)
    see(t, channel)
    update(t, channel, ["a"], ["b"])
    update(t, channel)
    see(t, channel.from_checkpoint(channel.checkpoint()))
    t.raises(DeltaChannel, extend, list, snapshot_frequency=0)


async def checkpoints_of_values(t):
    """A channel made of another's checkpoint has its value."""
    for channel, value in (
        (LastValue(int), 1),
        (AnyValue(int), 2),
        (EphemeralValue(int), 3),
        (LastValueAfterFinish(int), 4),
        (BinaryOperatorAggregate(int, operator.add), 5),
    ):
        channel.update([value])
        t.note("checkpoint", channel.checkpoint())
        see(t, channel.from_checkpoint(channel.checkpoint()))


async def equality_of_channels(t):
    """Channels are equal when what they do is."""
    t.note("last values", LastValue(int) == LastValue(str))
    t.note("guards", EphemeralValue(int) == EphemeralValue(int, guard=False))
    t.note("topics", Topic(int) == Topic(int, accumulate=True))
    t.note(
        "reducers", BinaryOperatorAggregate(int, operator.add) == BinaryOperatorAggregate(int, operator.mul)
    )
    t.note("barriers", NamedBarrierValue(str, {"a"}) == NamedBarrierValue(str, {"b"}))
    t.note("kinds", LastValue(int) == AnyValue(int))


async def types_of_channels(t):
    """A channel tells the types of its value and of its updates."""
    t.note("last value", (LastValue(int).ValueType, LastValue(int).UpdateType))
    t.note("topic", (str(Topic(int).ValueType), str(Topic(int).UpdateType)))
    t.note("barrier", (NamedBarrierValue(str, {"a"}).ValueType, NamedBarrierValue(str, {"a"}).UpdateType))


class Longest(BaseChannel):
    """A channel of one's own: the longest text that was written. It has what a channel has to have, and no more."""

    def __init__(self, typ):
        super().__init__(typ)
        self.found = None

    @property
    def ValueType(self):
        return str

    @property
    def UpdateType(self):
        return str

    def from_checkpoint(self, checkpoint):
        made = Longest(self.typ)
        made.key = self.key
        made.found = checkpoint if isinstance(checkpoint, str) else None
        return made

    def update(self, values):
        longest = max([*values, self.found or ""], key=len)
        changed, self.found = longest != (self.found or ""), longest or None
        return changed

    def get(self):
        if self.found is None:
            raise EmptyChannelError()
        return self.found


async def a_channel_of_ones_own(t):
    """It needs no `checkpoint`, `consume` or `finish`: its value is stored, and nothing else changes it."""
    channel = Longest(str)
    see(t, channel)
    update(t, channel, "a", "bcd")
    t.note("stored", (channel.checkpoint(), channel.copy().get()))
    t.note("changed", (channel.consume(), channel.finish()))

    class State(TypedDict):
        text: Annotated[str, Longest(str)]

    builder = StateGraph(State)
    builder.add_node("a", t.node(lambda state: {"text": state["text"] + "!"}))
    builder.add_node("b", t.node(lambda state: {"text": "?"}))
    builder.add_edge(START, "a").add_edge(START, "b")
    graph = builder.compile(checkpointer=InMemorySaver())
    await t.invoke(graph, {"text": "one"}, ONE)
    await t.invoke(graph, {"text": "two"}, ONE)
    await t.history(graph, ONE)


class Greatest(LastValue):
    """Keeps the greatest value: a rule of its own in place of that of its base."""

    def update(self, values):
        if not values:
            return False
        self.value = max(values if self.value is MISSING else [*values, self.value])
        return True


class Newest(BinaryOperatorAggregate):
    """Keeps the last two: what its base does, and something more."""

    def update(self, values):
        changed = super().update(values)
        self.value = self.value[-2:]
        return changed


class Distinct(Topic):
    """Collects what isn't there yet, in the list that its base keeps."""

    def update(self, values):
        new = [value for value in values if value not in self.values]
        self.values.extend(new)
        return bool(new)


class Doubled(UntrackedValue):
    """Isn't kept, as its base isn't."""

    def update(self, values):
        return super().update([2 * value for value in values])


class Total(DeltaChannel):
    """Shows what it folds as a text."""

    def get(self):
        return f"{super().get()}"


class Unkept(BaseChannel):
    """Has a value while a run goes on, and stores none."""

    ValueType = UpdateType = str
    text = MISSING

    def from_checkpoint(self, checkpoint):
        return Unkept(str)

    def checkpoint(self):
        return MISSING

    def update(self, values):
        self.text = "".join(values) or self.text
        return bool(values)

    def get(self):
        if self.text is MISSING:
            raise EmptyChannelError()
        return self.text


def _graph(t, schema, **functions):
    builder = StateGraph(schema)
    for name, function in functions.items():
        builder.add_node(name, t.node(function))
    names = list(functions)
    for before, after in zip([START, *names], names, strict=False):
        builder.add_edge(before, after)
    return builder.compile(checkpointer=InMemorySaver())


async def classes_that_extend_a_channel(t):
    """A class of one's own that extends a channel has the last word on what is written to it."""

    class State(TypedDict):
        most: Annotated[int, Greatest]
        new: Annotated[list, Newest(list, operator.add)]
        once: Annotated[list, Distinct(int, accumulate=True)]
        total: Annotated[int, Total(lambda value, writes: value + sum(writes), int)]

    def a(state):
        return {"most": 3, "new": [3], "once": [1, 2], "total": 3}

    def b(state):
        return {"most": 2, "new": [4], "once": 3, "total": 4}

    graph = _graph(t, State, a=a, b=b)
    await t.stream(graph, {"most": 1, "new": [1, 2], "once": [1], "total": 1}, ONE, stream_mode="values")
    await t.invoke(graph, {"most": 5, "new": [5], "once": [9], "total": 2}, ONE)
    t.note("values", (await t.call(graph, "get_state", ONE)).values)


async def classes_whose_value_is_not_stored(t):
    """What such a channel of one's own holds is there as long as the run, and gone after it."""

    class State(TypedDict):
        text: str
        twice: Annotated[int, Doubled(int)]
        unkept: Annotated[str, Unkept(str)]

    def a(state):
        return {"text": f"{state.get('twice')} {state.get('unkept')}"}

    graph = _graph(t, State, a=a, b=lambda state: {"text": state["text"] + "!"}, c=a)
    await t.stream(graph, {"text": "i", "twice": 2, "unkept": "u"}, ONE, stream_mode="values")
    await t.invoke(graph, {"text": "i"}, ONE)
    await t.state(graph, ONE)


async def attributes_of_channels(t):
    """What a channel holds can be read, and set, where its methods look for it."""

    def held(channel):
        names = [name for name in ("value", "values", "seen", "finished") if hasattr(channel, name)]
        found = {name: getattr(channel, name) for name in names}
        t.note("held", {name: "nothing" if value is MISSING else value for name, value in found.items()})

    for channel, values in (
        (LastValue(int), [1]),
        (AnyValue(int), [1, 2]),
        (EphemeralValue(int), [1]),
        (UntrackedValue(int), [1]),
        (Topic(int), [1, 2]),
        (BinaryOperatorAggregate(int, operator.add), [1, 2]),
        (DeltaChannel(lambda value, writes: value + sum(writes), int).from_checkpoint(MISSING), [1, 2]),
        (NamedBarrierValue(str, {"a", "b"}), ["a"]),
        (NamedBarrierValueAfterFinish(str, {"a", "b"}), ["a", "b"]),
        (LastValueAfterFinish(int), [1]),
    ):
        held(channel)
        channel.update(values)
        held(channel)
        channel.finish()
        held(channel)
        channel.consume()
        held(channel)
    value, topic, barrier = LastValue(int), Topic(int, True), NamedBarrierValue(str, {"a", "b"})
    value.value, topic.values, barrier.seen = 5, [5], {"a"}
    update(t, value)
    update(t, topic, 6)
    update(t, barrier, "b")
    late, joined = LastValueAfterFinish(int), NamedBarrierValueAfterFinish(str, {"a"})
    late.value, joined.seen = 1, {"a"}
    late.finished = joined.finished = True
    see(t, late)
    see(t, joined)


class Bounded(BinaryOperatorAggregate):
    """Keeps so many at most."""

    def __init__(self, typ, operator=operator.add, bound=3):
        super().__init__(typ, operator)
        self.bound = bound

    def update(self, values):
        changed = super().update(values)
        self.value = self.value[-self.bound :]
        return changed


@differs("a channel keeps what it was made with")
async def what_a_class_that_extends_a_channel_was_given(t):
    """An argument that its base doesn't know."""

    class State(TypedDict):
        new: Annotated[list, Bounded(list, bound=2)]

    graph = _graph(t, State, a=lambda state: {"new": [3]}, b=lambda state: {"new": [4]})
    await t.invoke(graph, {"new": [1, 2]}, ONE)
