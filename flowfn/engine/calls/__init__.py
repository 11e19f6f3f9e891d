"""A call of a task: from who it is to its recorded outcome.

- `identifying` says who it is, and `spawn` hands back what is recorded of it, or has `attempt` run it, which `closing`
  ends; `resting` is between two attempts.
- `call`, `frame` and `injection`: what it is, what its code sees, and what that is given.
- Other ways to an outcome: `elsewhere`, on an executor; `caching`, not at all; `once`, values of chance. `belated`:
  begun later than called.
"""
