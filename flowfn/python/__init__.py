"""Python as flowfn needs it: the process that it runs in, what its library lacks, and where its versions differ.

Rule: nothing here knows what a task or a workflow is.

- The process: `began`, when; `folder`, where; `forking` and `ending`, what to do then; `event_loop`, which one runs;
  `apart`, a coroutine in a context of its own; `handling`, which error code elsewhere handles; `script`, what was
  started; `project`, whose code it is; `traceback`, what its users see of it.
- Missing in the library: `cached_property` and `unlocked`, without a lock; `lazy`, imports when they are used;
  `beside`, imports that no event loop waits for; `loaded`, modules that are imported, and whole; `recent`, what needn't
  be worked out again; `inbox`, a queue whose additions are told in their order; `tally`, numbers that threads count;
  `sifting`, the first few of a kind.
- Values: `plain`, under what subclasses override; `slots`, past the code of their classes; `parametrised`, which models
  were given their types; `annotations`, what is said of types; `structs`, msgspec's; `words`, what code says;
  `typed_dicts`, as pydantic reads them, and `meant`, what it reads otherwise than code means it; `unicode`, which
  strings are text; `moved`, what classes were called before; `published`, one name for what the library keeps in other
  places from version to version.
"""
