"""One whole installation beside a hub, shared by everything that a newcomer does.

The hub's model has a well-known name and half a megabyte of random weights.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from tests.browser.conftest import chromium, playwright
from tests.e2e.installation import Installation, installation
from tests.hub_server import HubServer
from tests.tiny_checkpoint import make_tiny_checkpoint

__all__ = ["chromium", "playwright"]

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
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    """Everything of Enginehouse, embedded, with its checkpoints on the loopback."""
    folder = tmp_path_factory.mktemp("newcomer")
    tiny = make_tiny_checkpoint(folder / "of-the-hub")
    with HubServer() as hub, pytest.MonkeyPatch.context() as patch:
        hub.add(MODEL, tiny)
        hub.add(MOVING, tiny)
        hub.add(MOVING, tiny, branch=BRANCH)
        patch.setenv("HF_ENDPOINT", hub.url)
        with installation(folder / "data") as here:
            yield Stack(here=here, hub=hub)
