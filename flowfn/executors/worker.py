"""A worker process: `python -m flowfn.executors.worker FD` calls what comes through the pipe, one after another.

It ends when the pipe does; and at once, in the middle of a call, when the process that started it has gone.
"""

from __future__ import annotations

import os
import pickle
import signal
import sys
import threading
from importlib import import_module
from multiprocessing.connection import Connection


def main(descriptor: int) -> None:
    """Serve one pipe until its other end is closed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the parent's to handle
    threading.Thread(target=_end_with_parent, daemon=True).start()
    with Connection(descriptor) as pipe:
        sys.path[:] = pipe.recv()
        import_module("flowfn.executors.shipping")  # before anybody counts the time
        pipe.send_bytes(b"ready")
        while True:
            try:
                body = pipe.recv_bytes()
            except (EOFError, OSError):
                return
            pipe.send_bytes(_reply(body))


def _reply(body: bytes) -> bytes:
    import cloudpickle

    try:
        function, args, kwargs = pickle.loads(body)
        return bytes(cloudpickle.dumps((True, function(*args, **kwargs))))
    except Exception as error:
        return bytes(cloudpickle.dumps((False, error)))


def _end_with_parent() -> None:
    """Standard input ends when the parent does: nobody would take the result."""
    while os.read(0, 1):
        pass
    os._exit(1)


if __name__ == "__main__":
    main(int(sys.argv[1]))
