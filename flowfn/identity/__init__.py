"""What tells one call from another: the digest of its arguments, and what its function's code is.

Rule: the same in every process and on every version of Python, and of values alone: no address, order or clock counts.

- `names`: what a function or class is called. `source`, `fstrings`, `fingerprint`: what its code is; `lines`: where in
  it a call stands; `project`: whose it is. `dependencies`: what else a kept result depends on; `constant`: what can't
  change in place.
- `functions`, `classes`, `attributes`: what functions, classes and instances are made of; `unwrapping`: and what is
  under wrappers; `codes`: compiled code, and what is inside it.
- `captured`: what functions, classes and objects were made with. `given`, `assignments`: which attributes of an object
  tell that. `together`: which functions of one name there are; `factories`: what tells workflows of one factory apart.
- `canonical`: one form for all values that mean the same; `digest`: the digest of it. `differences`: in what two
  forms differ.
- `leaves`, `containers`, `callables`, `exceptions`, `objects`, `arrays`, `frames`: the forms of values of each kind.
  `notation`: how forms are written.
- `volatile`, `glance`, `wording`: which values look as if they were another on every run.
"""
