"""Names of secrets: `-` and `_` are the same letter, as in the hosted product."""

import re

from apps.rest.errors import InvalidInput

_NAME = re.compile(r"[-._a-zA-Z0-9]{1,253}")


def normal_name(name: str) -> str:
    return name.replace("-", "_")


def checked_name(name: str) -> str:
    """Return the normal form of a name that a secret may have. Raises InvalidInput."""
    if not _NAME.fullmatch(name):
        raise InvalidInput(
            f"`{name[:80]}` cannot be the name of a secret.",
            fields=["name"],
            hint="Use 1 to 253 letters, digits, `-`, `_` and `.`.",
        )
    return normal_name(name)
