import re
from datetime import UTC, datetime
from decimal import Decimal

THIN_SPACE = "\u202f"
"""One at which no line breaks: a number and its unit stay together."""
ABSENT = "–"
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+(?=[A-Z`])")
_GIVEN = re.compile(r"(`[^`]+`)")
_THOUSANDS = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")
_BINARY_UNITS = ("B", "KiB", "MiB", "GiB", "TiB")
_DURATION_UNITS = ((86_400, "d"), (3_600, "h"), (60, "min"), (1, "s"))


def number(value: float | Decimal | None, decimals: int = 0) -> str:
    """Return the number with thin spaces between thousands."""
    if value is None:
        return ABSENT
    return f"{value:,.{decimals}f}".replace(",", THIN_SPACE)


def spaced(sentence: str) -> str:
    """Return the sentence with its numbers written as pages do, but for what stands in backticks.

    Rules and failures write 2,650, for terminals and logs that know ASCII alone.
    """
    parts = _GIVEN.split(sentence)
    parts[::2] = [_THOUSANDS.sub(THIN_SPACE, prose) for prose in parts[::2]]
    return "".join(parts)


def price(value: Decimal) -> str:
    """Return an amount of money with all its decimals, and at least two."""
    fraction = f"{value:f}".partition(".")[2].rstrip("0")
    return number(value, max(2, len(fraction)))


def rate(value: float | None) -> str:
    """Return a number with as many decimals as its size deserves."""
    if value is None:
        return ABSENT
    return number(value, 0 if value >= 100 else 1 if value >= 10 or value == 0 else 2)


def size(value: float | None) -> str:
    """Return bytes in the largest binary unit that leaves a number of 1 or more."""
    if value is None:
        return ABSENT
    amount, unit = float(value), 0
    while abs(amount) >= 1024 and unit < len(_BINARY_UNITS) - 1:
        amount, unit = amount / 1024, unit + 1
    decimals = 0 if unit == 0 or abs(amount) >= 100 else 1
    return f"{number(amount, decimals)}{THIN_SPACE}{_BINARY_UNITS[unit]}"


def duration(seconds: float | None) -> str:
    """Return seconds in its two largest units, a short one with decimals."""
    if seconds is None:
        return ABSENT
    if seconds < 1:
        return f"{_milliseconds(seconds * 1000)}{THIN_SPACE}ms"
    if seconds < 10:
        return f"{seconds:.1f}{THIN_SPACE}s"
    whole = round(seconds)
    parts: list[str] = []
    for length, unit in _DURATION_UNITS:
        amount, whole = divmod(whole, length)
        if amount or parts:
            parts.append(f"{amount}{THIN_SPACE}{unit}" if amount else "")
    return " ".join(part for part in parts[:2] if part)


def _milliseconds(amount: float) -> str:
    tenths = round(amount, 1)
    return f"{amount:.0f}" if amount >= 10 or tenths == round(amount) else f"{tenths:.1f}"


def percent(share: float | None) -> str:
    if share is None:
        return ABSENT
    decimals = 0 if share == 0 or share >= 0.1 else 1 if share >= 0.01 else 2
    return f"{number(share * 100, decimals)}{THIN_SPACE}%"


def first_sentence(text: str) -> str:
    """Return the text up to its first full stop before a capital letter."""
    return _SENTENCE_END.split(text, maxsplit=1)[0]


def exact_time(moment: datetime) -> str:
    """Return the moment to the second, in UTC."""
    return moment.astimezone(UTC).strftime("%-d %b %Y %H:%M:%S UTC")


def relative_time(moment: datetime, now: datetime) -> str:
    seconds = (now - moment).total_seconds()
    amount = abs(seconds)
    if amount < 5:
        return "now"
    for length, unit in _DURATION_UNITS:
        if amount >= length:
            words = f"{int(amount // length)}{THIN_SPACE}{unit}"
            return f"{words} ago" if seconds > 0 else f"in {words}"
    return "now"
