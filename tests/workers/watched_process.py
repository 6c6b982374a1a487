"""`python -m tests.workers.watched_process turns|hangs`: a loop under a watchdog that ticks fast.

It says a line when it is watched, and one for each that it reads afterwards.
"""

import asyncio
import sys
import threading

from workers import watchdog


def say(text: str) -> None:
    sys.stdout.write(text)
    sys.stdout.flush()


async def main() -> None:
    loop = asyncio.get_running_loop()
    watchdog.Watchdog().start_on(loop)
    say("watched\n")
    if sys.argv[1] == "hangs":
        threading.Event().wait()
    while line := await loop.run_in_executor(None, sys.stdin.readline):
        say(f"turned {line}")


if __name__ == "__main__":
    watchdog.TICK_SECONDS = 0.1
    watchdog._LONGEST_TICK_SECONDS = 0.5
    asyncio.run(main())
