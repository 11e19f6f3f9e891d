"""What a run asks its humans: `interrupts` asks, and never twice; `answers` takes what they say; `offers` brings it to
what is asked anew; `open` has what waits, and `listing` says so meanwhile.
"""
