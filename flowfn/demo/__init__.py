"""`flowfn demo`: a durable job on real input, killed half way and resumed.

`job` is the workflow, and all that a newcomer needs to read. `worker` is the process that runs it and
gets killed, `conductor` the one that starts and kills it, `screen` what is said meanwhile.
"""
