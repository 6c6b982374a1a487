def counted(number: int, noun: str) -> str:
    """Return such as `1 request` or `2,000 requests`."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"
