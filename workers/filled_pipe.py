"""A pipe that is filled and closed before anybody reads it: how a secret reaches a child."""

import fcntl
import json
import os
from collections.abc import Mapping, Sequence

_LARGEST_BYTES = 1024 * 1024


def filled_pipe(values: Mapping[str, str]) -> int:
    """Return the read end of a pipe that holds the values and ends after them."""
    content = json.dumps(dict(values)).encode()
    read_end, write_end = os.pipe()
    try:
        fcntl.fcntl(write_end, fcntl.F_SETPIPE_SZ, _LARGEST_BYTES)
        os.set_blocking(write_end, False)
        if os.write(write_end, content) != len(content):
            raise ValueError(f"values of {len(content)} bytes do not fit a pipe")
    except BaseException:
        os.close(read_end)
        raise
    finally:
        os.close(write_end)
    return read_end


def read_pipe(descriptor: int | None) -> dict[str, str]:
    """Return the values, and close the pipe; nothing where there is none."""
    if descriptor is None:
        return {}
    with os.fdopen(descriptor, "rb") as pipe:
        values: dict[str, str] = json.load(pipe)
        return values


def store_descriptor(argv: Sequence[str]) -> int | None:
    descriptors = [int(argv[at + 1]) for at, word in enumerate(argv) if word == "--store-fd"]
    return descriptors[0] if descriptors else None
