"""`python -m tests.workers.gateway.stage.tight`: a gateway with little memory for bodies."""

import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace

from workers.gateway import __main__, settings

BUFFERED_BYTES = 16 * 1024 * 1024


def read_settings(arguments: Sequence[str], environ: Mapping[str, str]) -> settings.Settings:
    """Return the settings, with less memory than their options can say."""
    read = settings.read_settings(arguments, environ)
    bounds = replace(read.bounds, buffered_bytes=BUFFERED_BYTES)
    return read.model_copy(update={"bounds": bounds})


if __name__ == "__main__":
    __main__.read_settings = read_settings
    sys.exit(__main__.main())
