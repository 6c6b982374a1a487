"""Starts the native engine: `python -m workers.runtimes.native --model-dir DIR …`."""

import sys

from workers.runtimes.native.command_line import parse
from workers.runtimes.native.process import serve

if __name__ == "__main__":
    address, settings = parse(sys.argv[1:])
    sys.exit(serve(address, settings))
