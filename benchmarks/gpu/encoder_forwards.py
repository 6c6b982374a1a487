"""What a forward of an encoder takes by itself, without HTTP, in bfloat16 and in FP8.

    python -m benchmarks.gpu.encoder_forwards FOLDER --tokenizer FOLDER [--profile]

FOLDER gets `encoder_forwards.json`, written anew after each measurement, and with `--profile` the
kernels of each forward in `kernels-<what>.txt`. The shape is bge-large's, its weights random.
ENCODERS_CONFIG, ENCODERS_SCALE and NATIVE_DEVICE as for `encoders.py`.
"""

import argparse
import json
import math
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import torch

from benchmarks.encoders_parts.fp8 import write_fp8
from benchmarks.encoders_parts.shapes import text, write_checkpoint
from benchmarks.gpu.encoders import DEVICE, SCALE, SMALL, device_name
from workers.engine.pooling.encoding import Cut
from workers.engine.pooling.engine import PoolingEngine
from workers.engine.settings import EngineSettings

FORWARDS: Mapping[str, tuple[int, int]] = {
    "1_text_of_150": (1, 150), "32_texts_of_150": (32, 150), "54_texts_of_150": (54, 150),
    "256_texts_of_8": (256, 8),
}  # fmt: skip
_SECONDS_EACH = 1.5 * SCALE
_COMPARED = 64


def main() -> int:
    """Measure and keep."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--tokenizer", type=Path, required=True)
    parser.add_argument("--profile", action="store_true")
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    figures: dict[str, Any] = {"device": device_name(), "torch": torch.__version__}

    def keep(name: str, found: Any) -> None:
        figures[name] = found
        (options.folder / "encoder_forwards.json").write_text(json.dumps(figures, indent=1))
        print(name, json.dumps(found), flush=True)

    vectors = []
    with tempfile.TemporaryDirectory() as work:
        for name, folder in _folders(Path(work), options.tokenizer):
            began = time.monotonic()
            engine = _engine(folder)
            keep(f"{name}_seconds_to_start", round(time.monotonic() - began, 2))
            keep(f"{name}_emulated", list(engine.model.emulated))
            keep(f"{name}_weights_bytes", engine.model.weights_bytes)
            for forward, (count, tokens) in FORWARDS.items():
                keep(f"{name}_{forward}", _timed(engine, math.ceil(count * SCALE), tokens))
            keep(f"{name}_memory_reserved_bytes", _reserved_bytes())
            vectors.append(_vectors(engine))
            if options.profile and DEVICE != "cpu":
                _profile(engine, options.folder / f"kernels-{name}.txt")
            engine.stop()
    near = torch.nn.functional.cosine_similarity(*vectors)
    keep("fp8_cosine_least", round(float(near.min()), 5))
    keep("fp8_cosine_mean", round(float(near.mean()), 5))
    return 0


def _folders(work: Path, tokenizer: Path) -> Sequence[tuple[str, Path]]:
    plain = write_checkpoint("bge_large", work / "bge_large", tokenizer, SMALL)
    texts = [text(16 + 97 * at % 497, at) for at in range(8)]
    return [
        ("bge_large", plain),
        ("bge_large_fp8", write_fp8(plain, work / "bge_large_fp8", texts, device=DEVICE)),
    ]


def _engine(folder: Path) -> PoolingEngine:
    engine = PoolingEngine(
        EngineSettings(
            model_dir=folder, served_model_name="x", device=DEVICE, dtype="bfloat16",
            max_batch_size=256, max_client_batch_size=1024,
        )
    )  # fmt: skip
    engine.start()
    return engine


def _timed(engine: PoolingEngine, count: int, tokens: int) -> Mapping[str, float]:
    """A forward that is waited for, and one of many that overlap as they do under load."""
    rows = engine.encoder.encode([text(tokens, at) for at in range(count)], Cut(), field="x")
    runner = engine._runner

    def alone() -> None:
        runner.start(rows)()

    def overlapping(forwards: int = 8) -> None:
        finish = runner.start(rows)
        for _ in range(forwards - 1):
            finish, last = runner.start(rows), finish
            last()
        finish()

    waited, lapped = _seconds(alone), _seconds(overlapping) / 8
    return {
        "milliseconds": round(1e3 * waited, 3),
        "milliseconds_overlapped": round(1e3 * lapped, 3),
        "texts_per_second_overlapped": round(count / lapped, 1),
    }


def _seconds(work: Callable[[], object]) -> float:
    """The median of as many turns as fit in a moment."""
    work()
    entries: list[float] = []
    began = time.perf_counter()
    while time.perf_counter() - began < _SECONDS_EACH / 2 or not entries:
        start = time.perf_counter()
        work()
        entries.append(time.perf_counter() - start)
    return sorted(entries)[len(entries) // 2]


def _profile(engine: PoolingEngine, path: Path) -> None:
    from torch.profiler import ProfilerActivity, profile

    rows = engine.encoder.encode([text(150, at) for at in range(54)], Cut(), field="x")
    single = rows[:1]
    reports = []
    for name, request in (("54 texts", rows), ("1 text", single)):
        with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]) as seen:
            for _ in range(5):
                engine._runner.start(request)()
        table = seen.key_averages().table(sort_by="self_cuda_time_total", row_limit=25)
        reports += [f"# {name}, five forwards", table]
    path.write_text("\n".join(reports))


def _reserved_bytes() -> int | None:
    return torch.cuda.memory_reserved() if DEVICE != "cpu" else None


def _vectors(engine: PoolingEngine) -> torch.Tensor:
    texts = [text(16 + 97 * at % 497, at) for at in range(_COMPARED)]
    rows = engine.encoder.encode(texts, Cut(), field="x")
    return torch.stack(engine.submit(rows).answer.result())


if __name__ == "__main__":
    sys.exit(main())
