"""The process that reads a stranger's file: `python -m controlplane.calibration_files …`."""

import argparse
import json
import resource
import sys
from collections.abc import Sequence
from pathlib import Path

from controlplane.artifacts.durable import means_disk_full
from controlplane.calibration_files.found import DISK_FULL_STATUS
from controlplane.calibration_files.inspection import inspect_rows
from controlplane.calibration_files.problems import BadFile

_MEMORY_BYTES = 6 * 1024**3
"""Address space; Parquet's library reserves far more than it uses."""


def main(arguments: Sequence[str]) -> int:
    """Print what the file holds, or what is wrong with it, as one JSON object."""
    options = _parser().parse_args(arguments)
    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY_BYTES, _MEMORY_BYTES))
    resource.setrlimit(resource.RLIMIT_CPU, (options.seconds, options.seconds))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    try:
        inspection = inspect_rows(
            options.file,
            options.ending,
            rewritten=options.rewritten,
            limit_bytes=options.limit_bytes,
        )
    except BadFile as refused:
        json.dump({"problem": refused.problem.to_json()}, sys.stdout)
        return 0
    except OSError as error:
        if means_disk_full(error):
            return DISK_FULL_STATUS
        raise
    json.dump({"found": inspection.to_json()}, sys.stdout)
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m controlplane.calibration_files")
    parser.add_argument("file", type=Path)
    parser.add_argument("--ending", required=True)
    parser.add_argument("--rewritten", type=Path, required=True)
    parser.add_argument("--limit-bytes", type=int, required=True)
    parser.add_argument("--seconds", type=int, required=True)
    return parser


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
