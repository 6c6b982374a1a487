"""A token from a secret as a request header carries it."""

import re

# What ends up in a request header must not be able to end it, nor to break the client.
_CAN_BE_SENT = re.compile(r"[\x21-\x7e]+")
NO_TOKEN = "it has blanks, line breaks or letters beyond ASCII, which no token has"


def bearer(token: str) -> str | None:
    """Return the header's value, or None where the text is no token.

    Blanks and line ends around it are left out: they came with it out of a file or a shell.
    """
    bare = token.strip()
    return f"Bearer {bare}" if _CAN_BE_SENT.fullmatch(bare) else None
