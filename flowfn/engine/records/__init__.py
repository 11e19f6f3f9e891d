"""What is kept of a run: its rows, and when they are durable.

- `journal` decides when, `backlog` commits later, `notes` ride along.
- Written: `rows`, a checkpoint; `thinning`, what changed in its values; `keeping`, what came of a call; `reader`, what
  a stream told those inside the run who read it.
- Read: `record`, what the rows of a call say; `ledger`, all of a superstep, and `index`, where it looks
  for one; `unclaimed`, what is left of that.
"""
