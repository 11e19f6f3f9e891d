"""A worker process: `python -m flowfn.executors.worker FD` calls what comes through the pipe, one after another.

It ends when the pipe does; and at once, in the middle of a call, when the process that started it has gone. What a
call forks has no part in the pipe: else it could answer as well, or hide that the worker has died.
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
    threading.Thread(target=_end_with_parent, args=(_taken_input(),), daemon=True).start()
    os.set_inheritable(descriptor, False)
    with Connection(descriptor) as pipe:
        os.register_at_fork(after_in_child=pipe.close)
        sys.path[:] = pipe.recv()
        import_module("flowfn.executors.shipping")  # before anybody counts the time
        pipe.send_bytes(b"ready")
        while True:
            try:
                reply = _reply(pipe.recv_bytes())
                pipe.send_bytes(reply)
            except (EOFError, OSError):
                return


def _reply(body: bytes) -> bytes:
    import cloudpickle

    try:
        function, args, kwargs = pickle.loads(body)
        return bytes(cloudpickle.dumps((True, function(*args, **kwargs))))
    except Exception as error:
        return bytes(cloudpickle.dumps((False, error)))


def _taken_input() -> int:
    """Standard input, which is the parent's; in its place is one that is at its end, for calls that ask there."""
    taken, empty = os.dup(0), os.open(os.devnull, os.O_RDONLY)
    os.dup2(empty, 0)
    os.close(empty)
    return taken


def _end_with_parent(descriptor: int) -> None:
    """What the parent holds open ends when it does: nobody would take the result."""
    while os.read(descriptor, 1):
        pass
    os._exit(1)


if __name__ == "__main__":
    main(int(sys.argv[1]))
