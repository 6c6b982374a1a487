"""`python -m tests.workers.agent.hanging_agent`: an agent whose loop hangs with a ready engine.

Its watchdog's clock stands until then, and goes as fast as it can from then on.
"""

import sys
import threading
from functools import partial

from tests.workers.gait import Gait
from workers.agent import __main__, process
from workers.agent.supervision import Agent
from workers.watchdog import Watchdog

if __name__ == "__main__":
    clock = Gait()
    step = Agent.step

    def hanging(self: Agent) -> None:
        if any(each.observed()["state"] == "ready" for each in self._replicas.values()):
            clock.hangs.set()
            threading.Event().wait()
        step(self)

    Agent.step = hanging  # type: ignore[method-assign]
    process.Watchdog = partial(Watchdog, clock=clock)  # type: ignore[misc]
    sys.exit(__main__.main())
