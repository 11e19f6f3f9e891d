"""What a run asks its humans: `interrupts` asks, and never twice; `waiting` is what a thread waits on, as it is kept;
`answers` takes what they say; `offers` brings it to what is asked anew; `open` has what waits, and `listing` says so
meanwhile.
"""
