"""One whole installation beside a hub, shared by everything that a newcomer does.

The hub's model has a well-known name and half a megabyte of random weights.
"""

import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.browser.conftest import chromium, started_browser
from tests.e2e.installation import Installation, installation
from tests.hub_server import HubServer
from tests.tiny_checkpoint import make_tiny_checkpoint

__all__ = ["chromium", "started_browser"]

MODEL = "HuggingFaceTB/SmolLM2-135M-Instruct"
MOVING = "org/moving"
"""A repository of whose branches one is about to go."""
BRANCH = "candidate"


@dataclass(frozen=True, kw_only=True)
class Stack:
    """What runs."""

    here: Installation
    hub: HubServer


@pytest.fixture(scope="package")
def stack() -> Iterator[Stack]:
    """Everything of Enginehouse, embedded, with its checkpoints on the loopback."""
    # Not below pytest's own folder, which each run of pytest closes to all users but its own, and
    # so to a PostgreSQL that is at work there.
    with tempfile.TemporaryDirectory(prefix="eh-newcomer-", ignore_cleanup_errors=True) as folder:
        Path(folder).chmod(0o755)
        yield from _running(Path(folder))


def _running(folder: Path) -> Iterator[Stack]:
    tiny = make_tiny_checkpoint(folder / "of-the-hub")
    with HubServer() as hub, pytest.MonkeyPatch.context() as patch:
        hub.add(MODEL, tiny)
        hub.add(MOVING, tiny)
        hub.add(MOVING, tiny, branch=BRANCH)
        patch.setenv("HF_ENDPOINT", hub.url)
        with installation(folder / "data") as here:
            yield Stack(here=here, hub=hub)
