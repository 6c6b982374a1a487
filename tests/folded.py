"""A page's HTML without the white space that only its source has."""

import re

_INLINE = "a|b|code|del|em|ins|kbd|small|strong|time"


def folded(page: str) -> str:
    """Return it in one line, with single spaces, and none beside a tag but those within a text."""
    line = re.sub(r"[ \n]+", " ", page)
    return re.sub(rf" ?(</?(?!(?:{_INLINE})\b)[a-z][^>]*>) ?", r"\1", line).replace(" >", ">")
