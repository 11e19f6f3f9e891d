"""What the code of a function or class is, so that an edit is seen and nothing else is.

Rule: code is read, never called, and of libraries' code nothing counts.

- `source`, `fstrings`: a function's text, reduced to what it does, and `scopes`: the names in it; `compiled`: what is
  read where there is none; `around`: the code of the functions around.
  `marked`: the attributes of functions.
- `unwrapping`, `functions`, `classes`, `hints`: what is under wrappers, and what functions, classes and type hints are
  made of.
- `fingerprint`: the version of a function, and of all that it leads to; `dependencies`: what else a kept result
  depends on, with `assigned`, the lines that make what can change in place, `cells`, where a notebook has these,
  `texts`, what lines and imports lead to, and `drawn`, which lines give another value in each process; `sources` of
  such values.
  `lines`: where in it a call stands.
- `watch`: how long what was read holds; `seen`: whether a function or class was edited, `meaning`: whether a name in it
  means other code, and `held`: whether a container holds other code.
"""
