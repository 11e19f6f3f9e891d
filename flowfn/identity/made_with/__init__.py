"""What functions, classes and objects were made with: it tells those from each other that have one name and one code.

Rule: what can't change in place counts, and what was given; not what a call, a state or a clock has left in them.

- `captured`: of a function its closure and defaults, of a class what its methods captured, of an object what it holds.
  `states`: which of what it captured is a state.
- `given`, `assignments`: which attributes of an object tell what it was given; they are read from its class's code.
- `together`: which functions of one name were made together. `factories`: what tells workflows of one factory apart.
"""
