"""A call of a task: from who it is to its recorded outcome.

- `spawn` is the way in: `identifying` says who it is, and `placing` which recorded call that is. `reusing` hands back
  what is recorded of it, `holding` keeps it until that is known, or `attempt` runs it, which `closing` ends; `resting`
  is between two attempts, and `blame` says of an error which calls it has ended.
- `call`, `frame`, `made` and `injection`: what it is, what its code sees, what that calls, and what it is given.
- Other ways to an outcome: `elsewhere`, on an executor; `caching`, not at all; `once`, values of chance. `belated`:
  begun later than called.
"""
