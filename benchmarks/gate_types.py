"""What each type of quantization costs SmolLM2-135M, as the gate measures it on a CPU.

16 samples of 256 tokens of the shipped texts, and what the gate finds on those that were held out.
No bars: the figures stand in docs/quantization.md.
"""

import argparse
import shutil
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from benchmarks import checkpoints, quantize, report  # noqa: E402
from workers.build_steps import outputs  # noqa: E402

KINDS = ("fp8", "fp4", "int4_awq")
STEPS = ("fetch", "inspect", "calibrate", "gate")
KEPT = ("perplexity_change", "logit_drift_nats", "same_choice", "tokens")


def main() -> int:
    """Return the exit status."""
    options = _parser().parse_args()
    figures = report.Report(as_json=options.json)
    with tempfile.TemporaryDirectory(prefix="enginehouse-gate-types-") as folder:
        return figures.end(measure(options.work or Path(folder), options.kinds), {})


def measure(folder: Path, kinds: Sequence[str]) -> dict[str, Any]:
    """Return by type what the gate found."""
    model = checkpoints.smollm2()
    return {kind: _gated(folder / kind, model, kind) for kind in kinds}


def _gated(folder: Path, model: Path, kind: str) -> dict[str, Any]:
    published = folder / "steps" / "gate"
    if not published.exists():
        shutil.rmtree(folder, ignore_errors=True)
        (folder / "tmp").mkdir(parents=True)
        rows = folder / "rows.jsonl"
        quantize.write_rows(rows)
        quantize.build(folder, model, rows, {}, kind=kind, steps=STEPS)
    gate = outputs.read(published).values
    return {"state": gate["state"], **{name: gate["figures"][name] for name in KEPT}}


def _parser() -> argparse.ArgumentParser:
    parser = report.parser(__doc__, full="the same: there is one form")
    parser.add_argument("--work", type=Path, help="a folder to keep the steps in, and go on in")
    parser.add_argument("--kinds", nargs="+", choices=KINDS, default=KINDS)
    return parser


if __name__ == "__main__":
    sys.exit(main())
