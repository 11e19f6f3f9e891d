"""flowfn, its peers and the floor of this machine, measured side by side in one run: `python -m benchmarks`.

Absolute figures move from machine to machine by a third and more; the ratios of one run hold.
"""
