"""A saver whose rows are encrypted, around any other.

Each piece of a thread is bound to its place: a write to its checkpoint, task, index and channel; a value to its channel
and version; a delta to the very bytes that it changes as well; a checkpoint to all that its row says and to the values
that it holds, empty ones too. So a row that was changed, moved, swapped or put there is refused, and so is one that is
missing from a checkpoint. An older copy of a whole thread, put in its place, isn't noticed.

- `saver` is what users hold, and has the saver that keeps the rows. `sealing` seals and opens them: by `places`, what
  each is bound to; `known` is what the last checkpoints hold, which the next ones share.
"""

from checkpointers.encrypted.saver import EncryptedSaver

__all__ = ["EncryptedSaver"]
