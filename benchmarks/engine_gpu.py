"""What engines do on an NVIDIA GPU: runs `gpu/run.sh` where there is one.

    python benchmarks/engine_gpu.py [--json] [--full]

Where there is none it prints the newest results that are kept, with GPU and age, and exits 3. The
bars are on the Qwen3-8B shape: what the gateway costs of vLLM's tokens per second, 2 %, which only
`--full` measures; and what the native engine takes in FP8 to verify 64 tokens of one row, 4.5 ms,
which no stage measures. What was not measured is null and not judged. VLLM_PYTHON names an
interpreter that has vLLM, as `gpu/run.sh` says.
"""

import datetime
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from benchmarks import report  # noqa: E402  (found through the line above)
from benchmarks.machine_speed import loop_seconds  # noqa: E402

RESULTS = ROOT / "benchmarks/results"
_SHORT = "build,native,deploy,ask,speed"
_BARS = {"gateway_cost_percent": 2.0, "native_verify_64_milliseconds": 4.5}
_RIVALS = {
    "vllm_0_25_1_verify_milliseconds": 8.1,
    "compiled_probe_milliseconds": 6.8,
    "vllm_0_25_1_fp8_qwen3_8b_tokens_per_second_1_stream": 219.4,
    "vllm_0_25_1_fp8_qwen3_8b_tokens_per_second_64_streams": 5975,
}
"""As recorded on one H100, 2026-11-27."""


def main() -> int:
    """Return the exit status: 0 where stages and bars were met, 3 where there is no GPU."""
    options = report.parser(__doc__, full="every stage, a quarter of an hour").parse_args()
    has_device = shutil.which("nvidia-smi") is not None
    outcome, status = _run(options.full) if has_device else (_newest(), report.NO_HARDWARE)
    judged = {
        "gateway_cost_percent": _gateway_cost(outcome),
        "native_verify_64_milliseconds": None,
    }
    missed = [
        name for name, figure in judged.items() if figure is not None and figure > _BARS[name]
    ]
    figures = {
        "results": outcome,
        **judged,
        "bars": _BARS,
        "bars_missed": missed,
        "bars_met": False if missed else None,
        "rivals": _RIVALS,
        "machine": report.machine(),
        "machine_loop_seconds": round(loop_seconds(), 4),
        "command": f"python benchmarks/engine_gpu.py --json{' --full' if options.full else ''}",
    }
    print(json.dumps(figures, indent=1) if options.json else _table(outcome, has_device=has_device))
    return status or int(bool(missed))


def _gateway_cost(found: list[dict[str, Any]]) -> float | None:
    """Return the most that it costs of the large shape's rate, at any number of streams."""
    costs = [
        row["cost_percent"]
        for each in found
        if each["what"] == "large_speed"
        for row in each.get("rows", ())
    ]
    return max(costs, default=None)


def _run(full: bool) -> tuple[list[dict[str, Any]], int]:
    with tempfile.TemporaryDirectory() as folder:
        words = [] if full else ["--stages", _SHORT]
        kept = ["--results", f"{folder}/kept"]
        command = [str(ROOT / "benchmarks/gpu/run.sh"), "--out", folder, *kept, *words]
        environment = {"ENGINEHOUSE_PYTHON": sys.executable, **os.environ}
        # Its progress is none of the one object that goes to standard output.
        status = subprocess.run(command, env=environment, stdout=sys.stderr, check=False).returncode
        return [
            json.loads(each.read_text()) for each in sorted(Path(folder).glob("*.json"))
        ], status


def _newest() -> list[dict[str, Any]]:
    """Return the newest kept result of each kind that was taken on a GPU."""
    newest = {each["what"]: each for each in sorted(_kept(), key=lambda each: str(each["date"]))}
    return [newest[what] for what in sorted(newest)]


def _kept() -> Iterator[dict[str, Any]]:
    for path in RESULTS.glob("*.json"):
        content = json.loads(path.read_text())
        if isinstance(content, dict) and "gpu" in content:
            yield content | {"file": path.name, "age_days": _age(content["date"])}


def _age(date: str) -> int:
    """Return the days since; none by a clock that is behind the one of the GPU's host."""
    today = datetime.datetime.now(datetime.UTC).date()
    return max(0, (today - datetime.date.fromisoformat(date)).days)


def _table(found: list[dict[str, Any]], *, has_device: bool) -> str:
    lines = [] if has_device else ["No NVIDIA GPU here; the newest results that are kept:"]
    for each in found:
        age = f", {each['age_days']} days old" if "age_days" in each else ""
        lines.append(f"{each['what']:<14} {each.get('state', 'done'):<8} {each['device']}{age}")
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
