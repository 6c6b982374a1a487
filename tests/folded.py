"""A page's HTML without the white space that only its source has."""

import re


def folded(page: str) -> str:
    """Return it in one line, with single spaces, and none beside a tag."""
    line = re.sub(r"\s+", " ", page)
    return re.sub(r" ?(?=</?[a-z])|(?<=>) | (?=>)", "", line)
