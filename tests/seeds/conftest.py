"""A real engine for scripts that ask, whose answers come to an end by themselves.

Imports wait for who asks for it: most of these tests load no client and no weights.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.workers.runtimes.native.server import EngineServer

PRODUCTION = "/m/modelaaa/environments/production"


@pytest.fixture(scope="session")
def indifferent(tmp_path_factory: pytest.TempPathFactory) -> "Iterator[EngineServer]":
    """An engine that finds every token equally likely."""
    import numpy as np
    from safetensors.numpy import load_file, save_file

    from tests.tiny_checkpoint import make_tiny_checkpoint
    from tests.workers.runtimes.native.engine_here import EngineHere

    folder = make_tiny_checkpoint(tmp_path_factory.mktemp("seeds") / "tiny")
    weights = load_file(folder / "model.safetensors")
    weights["lm_head.weight"] = np.zeros_like(weights["lm_head.weight"])
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    options = (
        "--generic-tools", "--max-batch-size", "20", "--kv-cache-bytes", "16777216",
        "--lookahead-ngram-size", "8",
    )  # fmt: skip
    with EngineHere(folder, options=options) as server:
        yield server


@pytest.fixture
def environment(
    tmp_path: Path, indifferent: "EngineServer", monkeypatch: pytest.MonkeyPatch
) -> Iterator[str]:
    """The URL of an environment at a gateway, with the engine behind it; the key is set."""
    from tests.workers.gateway.stage.house import House
    from tests.workers.gateway.stage.routes import KEY, NATIVE

    monkeypatch.setenv("BASETEN_API_KEY", KEY)
    house = House(tmp_path)
    house.publish(indifferent, route_table=NATIVE)
    yield f"{house.gateway().url}{PRODUCTION}"
    house.close()
