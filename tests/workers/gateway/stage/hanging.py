"""`python -m tests.workers.gateway.stage.hanging`: a gateway whose loop a request can stop.

Its watchdog's clock stands until then, and goes as fast as it can from then on.
"""

import sys
import threading
from functools import partial

from tests.workers.gait import Gait
from workers.gateway import __main__
from workers.gateway.gateway import Gateway
from workers.gateway.request import Request
from workers.watchdog import Watchdog

if __name__ == "__main__":
    clock = Gait()
    admit = Gateway.admit

    def hanging(self: Gateway, request: Request) -> None:
        if request.query == b"hang":
            clock.hangs.set()
            threading.Event().wait()
        admit(self, request)

    Gateway.admit = hanging  # type: ignore[method-assign]
    __main__.Watchdog = partial(Watchdog, clock=clock)  # type: ignore[misc]
    sys.exit(__main__.main())
