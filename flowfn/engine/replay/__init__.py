"""What the records of earlier attempts mean to this one, whose code may be another by now.

- Which record is whose: `matching` decides; `namesakes`, of functions that share a name; `belonging`, of branches;
  `similar`, of those that differ in times and ids; `origins`, where these come from.
- `remade`: which are left; by that branches hear of outcomes when they did (`hosts/in_turn.py`).
- What the report says of it: `reporting`, with `causes` and `sources` to tell why no record is a call's.
- What only the author can decide: `refusing`, with `lost` and `missed` for what an edit of a graph would cost a thread.
- What runs again: `doubt`, a call that may have run; `failing`, what an error came from.
- `rehearsal` replays a run, and nothing is executed.
"""
