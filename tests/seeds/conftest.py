"""An engine for scripts that ask: a real process whose answers come to an end by themselves.

Imports wait for who asks for it: most of these tests load no client and no weights.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.workers.runtimes.native.server import EngineServer


@pytest.fixture(scope="module")
def indifferent(tmp_path_factory: pytest.TempPathFactory) -> "Iterator[EngineServer]":
    """An engine that finds every token equally likely."""
    import numpy as np
    from safetensors.numpy import load_file, save_file

    from tests.tiny_checkpoint import make_tiny_checkpoint
    from tests.workers.runtimes.native.server import EngineServer

    folder = make_tiny_checkpoint(tmp_path_factory.mktemp("seeds") / "tiny")
    weights = load_file(folder / "model.safetensors")
    weights["lm_head.weight"] = np.zeros_like(weights["lm_head.weight"])
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    log = tmp_path_factory.mktemp("log") / "engine.log"
    options = (
        "--generic-tools", "--max-batch-size", "20", "--kv-cache-bytes", "16777216",
        "--lookahead-ngram-size", "8",
    )  # fmt: skip
    with EngineServer(folder, log=log, options=options) as server:
        yield server
