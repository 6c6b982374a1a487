def counted(number: int, noun: str) -> str:
    """Return the number with its noun: `1 request`, `2,000 requests`."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"
