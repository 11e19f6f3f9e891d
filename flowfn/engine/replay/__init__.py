"""What the records of earlier attempts mean to this one, whose code may be another by now.

- Which record is whose: `matching` decides; `namesakes`, of functions that share a name.
- Why none is: `causes` and `sources` tell the report.
- What runs again: `doubt`, a call that may have run; `failing`, what an error came from.
- `rehearsal` replays a run, and nothing is executed. `lost`, `missed`: what an edit of a graph would cost a thread.
"""
