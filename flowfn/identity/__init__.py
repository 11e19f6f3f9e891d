"""What tells one call from another: the digest of its arguments, and what its function's code is.

Rule: the same in every process and on every version of Python, and of values alone: no address, order or clock counts.

- `digest`: the digest of a call's arguments; `differences`: in what those of two calls differ; `grown`: if only in new
  fields, by the `defaults` of their classes; `renaming`: with futures of other calls in them. `forms`: the one form
  that all values have which mean the same. `volatile`, `glance`, `wording`: which of them look as if they were another
  on every run; `times`: how times are written; `told`: which values tell of a time or an id that another one has.
- `names`: what a function or class is called. `code`: what its code is, and what else a kept result depends on.
- `made_with`: what functions, classes and objects were made with, where their names and code are the same.
- `constant`: what can't change in place.
"""
