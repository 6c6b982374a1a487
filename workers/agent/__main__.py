"""`python -m workers.agent`: one per host.

SIGTERM leaves engines running, for the next agent to adopt. SIGINT, or SIGTERM with
AGENT_STOP_ENGINES_ON_EXIT=1, drains and ends them first.
"""

import logging
import os
import signal
import sys

from workers.agent.control_plane import NotEnrolled
from workers.agent.enrollment import EnrolledControlPlane
from workers.agent.folders import try_lock
from workers.agent.hints import Hints
from workers.agent.settings import Settings, WrongSetting, read_settings
from workers.agent.supervision import Agent
from workers.watchdog import Watchdog

_log = logging.getLogger("workers.agent")


def main() -> int:
    """Work until a signal; 2 where a setting is wrong, 70 where the watchdog ended it."""
    logging.basicConfig(
        level=os.environ.get("LOG_LEVEL", "INFO").upper(),
        format="%(levelname)s %(name)s %(message)s",
    )
    try:
        settings = read_settings(os.environ)
        settings.home.mkdir(parents=True, exist_ok=True, mode=0o700)
        if try_lock(settings.home / "agent.lock") is None:
            raise WrongSetting(f"DATA_DIR: another agent already works on `{settings.home}`.")
        return _work(settings)
    except (WrongSetting, NotEnrolled) as error:
        _log.error("%s", error)
        return 2


def _work(settings: Settings) -> int:
    hints = Hints(settings.broker_url, settings.node_name)
    watchdog = Watchdog()
    agent = Agent(settings, EnrolledControlPlane(settings), hints, came_on=watchdog.turned)
    came: set[int] = set()

    def end(number: int, frame: object) -> None:
        came.add(number)
        agent.stop()

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, end)
    hints.start()
    watchdog.start()
    agent.run()
    if signal.SIGINT in came or settings.stop_engines_on_exit:
        agent.stop_engines()
    return 0


if __name__ == "__main__":
    sys.exit(main())
