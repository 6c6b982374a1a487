"""`python -m tests.workers.agent.patient_agent`: an agent that asks by itself once an hour only."""

import sys

from workers.agent import __main__, supervision

if __name__ == "__main__":
    supervision.REPORT_SECONDS = 3600.0
    sys.exit(__main__.main())
