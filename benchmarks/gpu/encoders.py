"""Encoders on one GPU: the native engine and vLLM, asked the same in one run.

    python -m benchmarks.gpu.encoders FOLDER [--shapes bge_large,…] [--tokenizer FOLDER]

FOLDER gets `encoders.json`, written anew after each measurement. VLLM_PYTHON names an interpreter
that has vLLM; without it, its figures are null. The tokenizer is BERT's, MiniLM's by default.
"""

import argparse
import json
import os
import subprocess
import tempfile
import time
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from benchmarks.encoders_parts import load
from benchmarks.encoders_parts.fp8 import write_fp8
from benchmarks.encoders_parts.servers import Server, behind_gateway, native, vllm
from benchmarks.encoders_parts.shapes import SHAPES, text, write_checkpoint
from benchmarks.gpu.encoder_plan import memory_bytes, planned

_TOKENS = 150
SCALE = float(os.environ.get("ENCODERS_SCALE", "1"))
DEVICE = os.environ.get("NATIVE_DEVICE", "cuda")
SMALL: Mapping[str, Any] = json.loads(os.environ.get("ENCODERS_CONFIG", "{}"))
"""Changes of the shapes' numbers, for a rehearsal."""
FP8_SUFFIX = "_fp8"
"""Of a shape's name: the same in FP8, asked of the native engine alone."""
_CALIBRATED_ON = 8
_IN_FLIGHT = (64, 256)
_LARGE_IN_FLIGHT = (32, 64)

Figures = dict[str, Any]


class Measured:
    """What was measured so far, on the disk."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / "encoders.json"
        self._began = time.monotonic()
        self.figures: Figures = {"device": device_name(), "tokens": _TOKENS, "shapes": {}}

    def keep(self, shape: str, name: str, measure: Callable[[], Any]) -> Any:
        """Measure one thing; a failure is a figure too."""
        measurement: Any
        try:
            measurement = measure()
        except Exception:
            measurement = {"error": traceback.format_exc()[-3000:]}
        self.figures["shapes"].setdefault(shape, {})[name] = measurement
        self.figures["took_seconds"] = round(time.monotonic() - self._began, 1)
        self._path.write_text(json.dumps(self.figures, indent=1))
        print(shape, name, self.figures["took_seconds"], json.dumps(measurement)[:400], flush=True)
        return measurement


def main() -> None:
    """Measure each shape under each server."""
    options = _options()
    options.folder.mkdir(parents=True, exist_ok=True)
    measured = Measured(options.folder)
    with tempfile.TemporaryDirectory() as folder:
        for name in options.shapes.split(","):
            _compare(measured, name, _checkpoint(name, Path(folder), options.tokenizer))


def _checkpoint(name: str, folder: Path, tokenizer: Path) -> Path:
    plain = name.removesuffix(FP8_SUFFIX)
    made = folder / plain
    if not made.exists():
        write_checkpoint(plain, made, tokenizer, SMALL)
    if name == plain:
        return made
    return write_fp8(
        made, folder / name, _texts(_CALIBRATED_ON, mixed=True)[:_CALIBRATED_ON], device=DEVICE
    )


def _compare(measured: Measured, name: str, checkpoint: Path) -> None:
    plain = name.removesuffix(FP8_SUFFIX)
    ask = _rerank if SHAPES[plain].pooling is None else _embed
    on_gpu = DEVICE != "cpu"
    before = memory_bytes() if on_gpu else 0
    with _started(measured, name, "native", lambda: native(checkpoint, device=DEVICE)) as server:
        if server:
            ask(measured, name, "native", server, 1.0)
            if on_gpu:
                measured.keep(name, "native_memory_bytes", lambda: memory_bytes() - before)
                measured.keep(name, "planned", lambda: planned(checkpoint, *_planned_as(plain)))
            with behind_gateway(server) as gateway:
                ask(measured, name, "native_through_gateway", gateway, 1.0)
    if "VLLM_PYTHON" in os.environ and name == plain:
        with _started(measured, name, "vllm", lambda: vllm(checkpoint)) as server:
            if server:
                ask(measured, name, "vllm", server, 0.3)


def _planned_as(shape: str) -> tuple[str, str]:
    """Return the kind of GPU, and what a config would call the model."""
    kind = device_name().removeprefix("NVIDIA ")
    return kind, "encoder" if SHAPES[shape].architecture.startswith("Qwen") else "encoder_bert"


@contextmanager
def _started(
    measured: Measured, shape: str, side: str, start: Callable[[], Any]
) -> Iterator[Server | None]:
    """Give the server; none where it does not start, which is kept."""
    with ExitStack() as until_end:
        try:
            server = until_end.enter_context(start())
        except RuntimeError as error:
            values = {"error": str(error)}
            measured.keep(shape, f"{side}_started", lambda: values)
            yield None
            return
        measured.keep(shape, f"{side}_seconds_to_ready", lambda: server.seconds_to_ready)
        yield server


def _embed(measured: Measured, shape: str, side: str, server: Server, share: float) -> None:
    singles, mixed = _texts(5000 * share), _texts(4000 * share, mixed=True)

    def keep(name: str, measure: Callable[[], Any]) -> Any:
        return measured.keep(shape, f"{side}_{name}", measure)

    load.embeddings(server, singles[:200], batch=1, in_flight=64)  # warm
    rates = [
        keep(
            f"single_{many}_in_flight",
            lambda many=many: load.embeddings(server, singles, batch=1, in_flight=many),
        )
        for many in _IN_FLIGHT
    ]
    large = _texts(12800 * share)
    for many in _LARGE_IN_FLIGHT:
        keep(
            f"batch_32_{many}_in_flight",
            lambda many=many: load.embeddings(server, large, batch=32, in_flight=many),
        )
    keep("mixed", lambda: load.embeddings(server, mixed, batch=1, in_flight=256))
    bodies = [{"model": "served", "input": each} for each in singles]
    keep("alone", lambda: load.alone(server, "/v1/embeddings", bodies[:300]))
    top = max((each.get("requests_per_second", 0.0) for each in rates), default=0.0)
    if top:
        keep(
            "half_rate",
            lambda: load.paced(server, "/v1/embeddings", bodies[: int(2 * top)], rate=top / 2),
        )


def _rerank(measured: Measured, shape: str, side: str, server: Server, share: float) -> None:
    bodies = [
        {"model": "served", "query": text(22, at), "documents": [text(_TOKENS - 20, -at)]}
        for at in range(int(4000 * share * SCALE))
    ]
    for many in _IN_FLIGHT:
        measured.keep(
            shape, f"{side}_single_{many}_in_flight",
            lambda many=many: load.posted(server, "/rerank", bodies, in_flight=many),
        )  # fmt: skip
    large = [
        {"model": "served", "query": text(22, at),
         "documents": [text(_TOKENS - 20, 32 * at + n) for n in range(32)]}
        for at in range(int(200 * share * SCALE))
    ]  # fmt: skip
    for many in _LARGE_IN_FLIGHT:
        measured.keep(
            shape, f"{side}_batch_32_{many}_in_flight",
            lambda many=many: load.posted(server, "/rerank", large, in_flight=many, texts=32),
        )  # fmt: skip


def _texts(count: float, *, mixed: bool = False) -> Sequence[str]:
    def tokens(at: int) -> int:
        return 16 + 97 * at % 497 if mixed else _TOKENS

    return [text(tokens(at), at) for at in range(max(64, int(count * SCALE)))]


def device_name() -> str:
    if DEVICE == "cpu":
        return "cpu"
    requests = ["nvidia-smi", "--query-gpu=name", "--format=csv,noheader"]
    return subprocess.run(requests, capture_output=True, text=True, check=True).stdout.strip()


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--shapes", default=",".join(SHAPES))
    parser.add_argument("--tokenizer", type=Path, default=None)
    options = parser.parse_args()
    if options.tokenizer is None:
        from tests.workers.engine.pooling.minilm import minilm

        options.tokenizer = minilm()
    return options


if __name__ == "__main__":
    main()
