"""The files that an earlier push wrote to the same place, by the list that it left there."""

import json
from collections.abc import Iterable
from pathlib import PurePosixPath

UNFINISHED_NAME = "enginehouse-unfinished.json"
"""Lies in a bucket's folder while a push is under way: each file that may be of some push."""


def listed_paths(content: bytes | None) -> frozenset[str]:
    """Return the files that a manifest, or the list of an unfinished push, names.

    Anyone may have written it: what is no such list names nothing, and no path leads out.
    """
    try:
        files = json.loads(content or b"{}")["files"]
        paths = {str(each["path"]) for each in files}
    except (ValueError, KeyError, TypeError):
        return frozenset()
    return frozenset(filter(_stays_inside, paths))


def unfinished_list(paths: Iterable[str]) -> bytes:
    return json.dumps({"files": [{"path": each} for each in sorted(paths)]}, indent=1).encode()


def _stays_inside(path: str) -> bool:
    relative = PurePosixPath(path)
    return str(relative) == path and not relative.is_absolute() and ".." not in relative.parts
