"""The agent's process: its settings, its lock, its work, and what becomes of engines at its end."""

import logging
import os
import signal

from controlplane.process_settings.wrong import WrongSetting
from workers.agent.control_plane import NotEnrolled
from workers.agent.ending import Ending
from workers.agent.enrollment import EnrolledControlPlane
from workers.agent.folders import try_lock
from workers.agent.hints import Hints
from workers.agent.metrics import AgentMetrics, WatchedControlPlane
from workers.agent.settings import Settings, read_settings
from workers.agent.supervision import Agent
from workers.metrics_server import metrics_serve
from workers.watchdog import Watchdog

_log = logging.getLogger("workers.agent")


def work(ending: Ending) -> int:
    """Return the exit status, once a signal has come: 2 where a setting is wrong."""
    logging.basicConfig(format="%(levelname)s %(name)s %(message)s")
    try:
        settings = read_settings(os.environ)
        logging.getLogger().setLevel(settings.log_level)
        settings.home.mkdir(parents=True, exist_ok=True, mode=0o700)
        if try_lock(settings.home / "agent.lock") is None:
            raise WrongSetting(f"DATA_DIR: another agent already works on `{settings.home}`.")
        return _work(settings, ending)
    except (WrongSetting, NotEnrolled) as error:
        _log.error("%s", error)
        return 2


def _work(settings: Settings, ending: Ending) -> int:
    hints = Hints(settings.broker_url, settings.node_name)
    watchdog = Watchdog()
    metrics = AgentMetrics()
    control_plane = WatchedControlPlane(EnrolledControlPlane(settings), metrics)
    agent = Agent(settings, control_plane, hints, came_on=watchdog.turned)
    ending.call(agent.stop)
    hints.start()
    metrics_serve(metrics, settings.metrics_listen)
    watchdog.start()
    agent.run()
    if signal.SIGINT in ending.came or settings.stop_engines_on_exit:
        agent.stop_engines()
    return 0
