"""Whether an engine on a GPU asked for an image that a request named, section by section."""

from collections.abc import Iterator, Mapping
from typing import Any

from benchmarks.evidence_table import engine_lines, section

_TITLES = {
    "media": "An image by its address, for a model that takes none",
    "media_images": "An image by its address, for a model that takes images",
}


def asked(name: str, found: Mapping[str, Any]) -> str:
    """Return what each place answered, and how many connections the counting server saw."""
    rows = [
        ("connections at the server that was named", str(found["connections_counted"])),
        *_answers(found, "gateway", "the gateway answered"),
        *_answers(found, "engine", "the engine itself answered"),
    ]
    if "with_the_image_itself" in found:
        rows.append(("with the image as a `data:` URL", str(_status(found))))
    return section(_TITLES[found["what"]], name, found, rows, engine_lines(found))


def _answers(found: Mapping[str, Any], at: str, words: str) -> Iterator[tuple[str, str]]:
    entries = [
        f"{each['status']} ({each['route']})" for each in found["answers"] if each["at"] == at
    ]
    yield words, ", ".join(entries)


def _status(found: Mapping[str, Any]) -> int:
    status: int = found["with_the_image_itself"]["status"]
    return status
