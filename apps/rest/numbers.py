_MOST_DIGITS = 9
"""What fits a column of the database."""


def whole_number(given: str) -> int | None:
    """Return the number, None for what is none or cannot be one that is kept."""
    return int(given) if given.isdecimal() and len(given) <= _MOST_DIGITS else None
