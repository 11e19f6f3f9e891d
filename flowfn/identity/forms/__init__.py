"""One form for all values that mean the same: what a digest is taken of.

Rule: every kind of value has its file, which says what counts of it; `canonical` walks a value and chooses.

- `notation`: how forms are written.
- `leaves`, `containers`, `objects`, `callables`, `exceptions`, `arrays`, `frames`: the forms of values of each kind.
- `attributes`: what an instance carries.
"""
