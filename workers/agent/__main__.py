"""`python -m workers.agent`: one per host.

SIGTERM leaves engines running, for the next agent to adopt. SIGINT, or SIGTERM with
AGENT_STOP_ENGINES_ON_EXIT=1, drains and ends them first.
"""

import sys

from workers.agent.ending import Ending
from workers.gates import pass_gate


def main() -> int:
    """Work until a signal; 2 where a setting is wrong, 70 where the watchdog ended it."""
    ending = Ending()
    ending.listen()
    pass_gate("agent.begins")
    # Only now: loading takes a second, in which a signal would end this process and not the
    # engines that an agent before it has left.
    from workers.agent.process import work

    return work(ending)


if __name__ == "__main__":
    sys.exit(main())
