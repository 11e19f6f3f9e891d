"""What the code of a function or class is, so that an edit is seen and nothing else is.

Rule: code is read, never called, and of libraries' code nothing counts.

- What is written: `source`, what a function or class does and names; `index`: where a file has it; `top`: what the file
  gives names, `aliases`: what changes a value under another one; `reducing`, with `fstrings`: what of code doesn't
  count; `scopes`: the names in it; `compiled`: what is read from compiled code, `unsourced`: what stands for the source
  where there is none; `around`: the code of the functions around.
- What things are made of: `unwrapping`: what is under wrappers; `functions` and `marked`: defaults, closures and
  attributes; `classes`: methods and fields; `hints`: types.
- Which version it is: `fingerprint`, that of a function and of all that it leads to.
- What else a kept result depends on: `dependencies`; `decorated`, what decorators say; where no value can tell,
  `assigned`, the lines that make it, in a notebook those of its `cells`; `texts`, what such lines and imports lead to;
  `drawn`: which lines give another value in each process, as they name the clock or `chance`.
- How long what was read holds: `watch`; `seen`: whether a function or class was edited; `meaning`: whether a name in it
  means other code; `held`: whether a container holds other code.
- Where in it a call stands: `lines`, by what is `named` on them.
"""
