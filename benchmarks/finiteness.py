"""What it costs to look at every number of a weight file in the pass that digests it.

A hundred tensors of each type, in the pieces that a fetch reads: sha256 alone, and sha256 with the
look beside it. The bar compares CPU seconds of the same bytes, the least of five turns each.
"""

import hashlib
import json
import struct
import sys
import time
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

import numpy as np  # noqa: E402

from benchmarks import report  # noqa: E402
from controlplane.artifacts.digests import CHUNK_BYTES  # noqa: E402
from workers.build_steps.weights.finiteness import NotFinite  # noqa: E402

TENSORS, TENSOR_NUMBERS, TURNS = 100, 320 * 1024, 5
TYPES = {"BF16": 2, "F16": 2, "F32": 4, "F8_E4M3": 1}
BARS = {f"{name.lower()}_cpu_ratio_to_sha256": report.at_most(1.5) for name in TYPES}


def main() -> int:
    """Return the exit status: 0 where every bar is met."""
    options = report.parser(__doc__, full="ten times the bytes").parse_args()
    told = report.Report(as_json=options.json)
    numbers = TENSOR_NUMBERS * (10 if options.full else 1)
    figures = {}
    for name, size_bytes in TYPES.items():
        content = _file(name, size_bytes, numbers)
        alone = min(_seconds(content, looks=False) for _ in range(TURNS))
        with_look = min(_seconds(content, looks=True) for _ in range(TURNS))
        figures[f"{name.lower()}_sha256_cpu_seconds"] = round(alone, 4)
        figures[f"{name.lower()}_sha256_and_look_cpu_seconds"] = round(with_look, 4)
        figures[f"{name.lower()}_cpu_ratio_to_sha256"] = round(with_look / alone, 3)
    return told.end(figures, BARS)


def _file(dtype: str, size_bytes: int, numbers: int) -> bytes:
    """Return a file of small numbers: what is no number is counted, and costs more."""
    each = numbers * size_bytes
    header = {
        f"layer.{index}.weight": {
            "dtype": dtype,
            "shape": [numbers],
            "data_offsets": [index * each, (index + 1) * each],
        }
        for index in range(TENSORS)
    }
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    weights = np.random.default_rng(0).integers(0, 0x3C, TENSORS * each, dtype=np.uint8)
    return struct.pack("<Q", len(text)) + text + weights.tobytes()


def _seconds(content: bytes, *, looks: bool) -> float:
    digest = hashlib.sha256()
    look = NotFinite().look("model.safetensors") if looks else None
    started = time.process_time()
    for chunk in _chunks(content):
        digest.update(chunk)
        if look is not None:
            look.update(chunk)
    return time.process_time() - started


def _chunks(content: bytes) -> Iterator[bytes]:
    for start in range(0, len(content), CHUNK_BYTES):
        yield content[start : start + CHUNK_BYTES]


if __name__ == "__main__":
    sys.exit(main())
