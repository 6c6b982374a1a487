"""`python -m workers.runtimes.container ORDER -- COMMAND`: stands for a container on this host.

It creates and starts the container, passes on its output, forwards SIGTERM, and ends as the engine
ended. Whoever supervises it as a process supervises the container: when it is killed, the
container's input closes, and the container ends (see `lifeline`).
"""

import json
import os
import signal
import sys
from pathlib import Path

from workers.runtimes.container.failures import ContainerRefused
from workers.runtimes.container.foreground import Foreground
from workers.runtimes.container.order import Order

_EXIT_REFUSED, _STATUS_OF_A_SIGNAL = 2, 128


def main() -> int:
    """Return the engine's status; a signal that ended it ends this process too."""
    order = Order.read(Path(sys.argv[1]))
    try:
        status = Foreground(order, sys.argv[sys.argv.index("--") + 1 :], os.environ).run()
    except ContainerRefused as refused:
        Path(order.failure_file).write_text(json.dumps(refused.failure.to_json()))
        sys.stderr.write(f"{refused.failure.code}: {refused.failure.sentence}\n")
        if refused.failure.detail:
            sys.stderr.write(f"{refused.failure.detail}\n")
        return _EXIT_REFUSED
    number = status - _STATUS_OF_A_SIGNAL
    return _end_by(number) if number in signal.valid_signals() else status


def _end_by(number: int) -> int:
    if number != signal.SIGKILL:
        signal.signal(number, signal.SIG_DFL)
    os.kill(os.getpid(), number)
    return _STATUS_OF_A_SIGNAL + number


if __name__ == "__main__":
    sys.exit(main())
