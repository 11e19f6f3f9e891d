"""Channels used by themselves: update, get, consume, finish, checkpoint (behaviour of section 2.6)."""

import operator
from typing import Annotated

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
