"""The first process of an engine's container: it starts the engine, and ends with its supervisor.

The container's standard input is held by the process that started it on the host. When that is
gone, however it ended, the input closes and this process leaves: the kernel then ends everything
in the container. Runs under whatever Python 3 the image has and imports nothing of ours.
"""

import os
import signal
import sys
import threading

EXIT_ORPHANED = 75
EXIT_NOT_FOUND = 127


def main() -> None:
    """Run the command of the arguments; leave with its status, 128 and more for a signal."""
    # Held back until the handler is there: the first process of a container ignores it otherwise.
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
    engine = os.fork()
    if engine == 0:
        _become(sys.argv[1:])
    signal.signal(signal.SIGTERM, lambda *_: os.kill(engine, signal.SIGTERM))
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTERM})
    threading.Thread(target=_watch, daemon=True).start()
    while True:
        ended, status = os.wait()  # whatever the engine left to it is collected as well
        if ended == engine:
            code = os.waitstatus_to_exitcode(status)
            os._exit(code if code >= 0 else 128 - code)


def _become(command: list[str]) -> None:
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTERM})
    try:
        os.execvp(command[0], command)  # nosec B606 (the engine's own argv)
    except OSError as error:
        os.write(2, f"`{command[0]}`: {error.strerror}\n".encode())
        os._exit(EXIT_NOT_FOUND)


def _watch() -> None:
    while os.read(0, 4096):
        pass
    os._exit(EXIT_ORPHANED)


if __name__ == "__main__":
    main()
