"""Kinds of values that variables have; what a check refuses, it refuses with a whole sentence."""

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, Literal
from urllib.parse import urlsplit

from pydantic import AfterValidator, BeforeValidator


def url_of(*schemes: str) -> Callable[[str], str]:
    """Return a check that takes URLs of these schemes, and their last slash away."""

    def check(text: str) -> str:
        scheme = urlsplit(text).scheme
        if scheme not in schemes:
            known = ", ".join(f"`{each}://`" for each in schemes)
            raise ValueError(f"`{scheme or text}` is not one of {known}.")
        return text.rstrip("/")

    return check


def absolute(path: Path) -> Path:
    """Return the path from the root on. Raises ValueError for the home of nobody."""
    try:
        return path.expanduser().absolute()
    except RuntimeError:
        raise ValueError(f"`{path}` begins with nobody's home folder.") from None


def split_by(separator: str) -> Callable[[Any], Any]:
    def split(value: Any) -> Any:
        if not isinstance(value, str):
            return value
        return [part.strip() for part in value.split(separator) if part.strip()]

    return split


def ports_of(text: str) -> tuple[str, range]:
    """Return the host and the ports of `host:port` or `host:first-last`. Raises ValueError."""
    host, _, ports = text.rpartition(":")
    first, _, last = ports.partition("-")
    try:
        port_range = range(int(first), int(last or first) + 1)
    except ValueError:
        port_range = range(0)
    if not host or not port_range or not (port_range[0] > 0 and port_range[-1] < 65_536):
        raise ValueError(
            f"`{text}` is not an address with a port, such as `127.0.0.1:9471`, or with some, such "
            "as `127.0.0.1:9471-9479`."
        )
    return host.strip("[]"), port_range


def listened_on(text: str) -> str:
    """Return the text. Raises ValueError unless it is empty, or as `ports_of` reads it."""
    if text:
        ports_of(text)
    return text


Listen = Annotated[str, AfterValidator(listened_on)]
Folder = Annotated[Path, AfterValidator(absolute)]
HttpUrl = Annotated[str, AfterValidator(url_of("http", "https"))]
CommaList = Annotated[list[str], BeforeValidator(split_by(","))]
LowerList = Annotated[CommaList, AfterValidator(lambda parts: [part.lower() for part in parts])]
LogLevel = Annotated[
    Literal["DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL"], BeforeValidator(str.upper)
]
