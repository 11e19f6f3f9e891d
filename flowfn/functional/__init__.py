"""The front end for functions: `@task` and `@entrypoint` turn them into programs and calls of them.

- `entrypoint`, `task`: the decorators, and what they return, which `wrapping` gives a function's name and signature.
- `calling`: a call of an entrypoint, as a run or as a part of one. `lowering`: an entrypoint as a program; `shape`: its
  parameters as one input; `final`: one value for the caller, another for the next call.
- A task: `generators` as one, `outside` any run, `transacting` in the user's database; `joining` waits for several.
- `recorded`: what a workflow may ask of the world without a task.
"""
