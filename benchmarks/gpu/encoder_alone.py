"""Where the time of one text goes that an encoder on a GPU is asked alone: p50s in milliseconds.

    python -m benchmarks.gpu.encoder_alone FOLDER [--tokenizer FOLDER]

The shape of bge-large with random weights, a text of 150 tokens. FOLDER gets `encoder_alone.json`.
"""

import argparse
import json
import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch

from benchmarks.encoders_parts import load
from benchmarks.encoders_parts.servers import native
from benchmarks.encoders_parts.shapes import text, write_checkpoint
from benchmarks.gpu.encoders import DEVICE, device_name
from workers.engine.pooling.encoding import Cut
from workers.engine.pooling.engine import PoolingEngine
from workers.engine.settings import EngineSettings

TEXTS = [text(150, number) for number in range(300)]
_WARMING = 20


def main() -> None:
    """Measure in the process, then over HTTP."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--tokenizer", type=Path, required=True)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        write_checkpoint("bge_large", made := Path(folder) / "bge", options.tokenizer, {})
        figures = {"device": device_name(), **in_process(made), **over_http(made)}
    (options.folder / "encoder_alone.json").write_text(json.dumps(figures, indent=1) + "\n")
    print(json.dumps(figures))


def in_process(folder: Path) -> dict[str, float]:
    """Return what tokens, a forward, and the way to the model's thread and back take."""
    engine = PoolingEngine(
        EngineSettings(model_dir=folder, served_model_name="x", device=DEVICE, max_batch_size=256)
    )
    rows = [engine.encoder.encode([each], Cut(), field="x") for each in TEXTS]
    engine.start()
    figures = {
        "tokens": p50(lambda at: engine.encoder.encode([TEXTS[at]], Cut(), field="x")),
        "tokens_queued_computed": p50(lambda at: _answer(engine, TEXTS[at])),
        "queued_computed": p50(lambda at: engine.submit(rows[at]).answer.result()),
    }
    engine.stop()
    return figures | {"forward": p50(_forward(engine, rows))}


def _answer(engine: PoolingEngine, single: str) -> Any:
    return engine.submit(engine.encoder.encode([single], Cut(), field="x")).answer.result()


def _forward(engine: PoolingEngine, rows: Sequence[Any]) -> Callable[[int], Any]:
    def forward(at: int) -> Any:
        with torch.inference_mode():
            return engine._runner.start(rows[at])()  # below what the engine offers: no thread

    return forward


def over_http(folder: Path) -> dict[str, float]:
    """Return what a client waits for 150 tokens and for one word."""
    whole = [{"model": "served", "input": each} for each in TEXTS]
    words = [{"model": "served", "input": "x"} for _ in TEXTS]
    with native(folder, device=DEVICE) as server:
        load.alone(server, "/v1/embeddings", words)
        return {
            f"http_{name}": load.alone(server, "/v1/embeddings", bodies)["p50_milliseconds"]
            for name, bodies in (("150_tokens", whole), ("one_word", words))
        }


def p50(ask: Callable[[int], Any]) -> float:
    """Return the median milliseconds of a call, once it is warm."""
    times = []
    for at in range(len(TEXTS)):
        began = time.perf_counter()
        ask(at)
        times.append(1e3 * (time.perf_counter() - began))
    return round(statistics.median(times[_WARMING:]), 3)


if __name__ == "__main__":
    main()
