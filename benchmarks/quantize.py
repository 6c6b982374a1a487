"""A folder of SmolLM2-135M into a gated FP8 artifact, step by step as a build runs it.

16 samples of 256 tokens on two threads; each step is the real child process, its start and its
imports included. The rival is a plain ModelOpt script on the same samples, which loads, calibrates
and exports and measures nothing, on threads that sleep while they wait, as ours do. Both run one
after the other; the bars compare their CPU seconds, and the seconds at the clock stand beside.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from benchmarks import report  # noqa: E402
from controlplane.domain.spec import parse_mapping  # noqa: E402
from workers.build_steps import outputs  # noqa: E402
from workers.build_steps.child import OutcomeKind, StepCommand, Verdict, run_step  # noqa: E402
from workers.build_steps.job import Job  # noqa: E402

SAMPLES, TOKENS, THREADS = 16, 256, 2
BARS = {
    "quantized_and_gated_cpu_ratio_to_script": report.at_most(2.3),
    "whole_build_cpu_ratio_to_script": report.at_most(3.4),
}
RECORDED_RIVAL_SECONDS = 22.0 + 1.3
"""Calibration and export alone, in float32, as recorded on a quiet machine, 2026-11-27."""
STEPS = ("fetch", "inspect", "calibrate", "gate", "package", "smoke_test")
RIVAL = """
import json, sys, time
import torch, transformers
import modelopt.torch.quantization as mtq
from modelopt.torch.export import export_hf_checkpoint
folder, rows, out, threads = sys.argv[1:]
torch.set_num_threads(int(threads))
model = transformers.AutoModelForCausalLM.from_pretrained(folder, dtype="auto")
tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
texts = [json.loads(line)["text"] for line in open(rows)][:16]
def loop(model):
    for text in texts:
        model(**tokenizer(text, truncation=True, max_length=256, return_tensors="pt"))
with torch.no_grad():
    mtq.quantize(model, mtq.FP8_DEFAULT_CFG, loop)
    export_hf_checkpoint(model, export_dir=out)
"""


def main() -> int:
    """Return the exit status: 0 where every bar is met."""
    options = _parser().parse_args()
    told = report.Report(as_json=options.json)
    with tempfile.TemporaryDirectory(prefix="enginehouse-quantize-") as folder:
        figures = measure(Path(folder), options.model)
    return told.end(figures, BARS)


def measure(folder: Path, model: Path | None) -> dict[str, Any]:
    """Return the seconds of each step, what the gate found, and the rival's seconds."""
    figures: dict[str, Any] = {}
    if model is None:
        model = folder / "smollm2"
        convert = [sys.executable, "-m", "workers.runtimes.native.gguf_to_hf", "--output"]
        _timed(figures, "conversion_from_gguf", [*convert, str(model)])
    rows = folder / "rows.jsonl"
    write_rows(rows)
    results = build(folder, model, rows, figures)
    figures["calibration_tokens"] = results["calibrate"]["calibration"]["tokens"]
    figures["calibration_peak_host_megabytes"] = results["calibrate"]["peak_host_bytes"] // 10**6
    gate = results["gate"]
    figures["gate_state"] = gate["state"]
    figures["gate_held_out_tokens"] = gate["figures"]["tokens"]
    figures["gate_perplexity_change_percent"] = round(100 * gate["figures"]["perplexity_change"], 2)
    rival = [sys.executable, "-c", RIVAL, str(model), str(rows), str(folder / "rival")]
    _timed(figures, "script", [*rival, str(THREADS)])
    figures["script_recorded_seconds"] = RECORDED_RIVAL_SECONDS
    return {**_ratios(figures), **figures}


def _ratios(figures: dict[str, Any]) -> dict[str, float]:
    """Return what takes how often what the script takes, of the processor and at the clock."""
    parts = {"quantized_and_gated": ("calibrate", "gate"), "whole_build": STEPS}
    ratios = {}
    for name, steps in parts.items():
        for unit in ("cpu_seconds", "seconds"):
            spent = sum(figures[f"{step}_{unit}"] for step in steps)
            ratio = f"{name}_{unit.removesuffix('seconds')}ratio_to_script"
            ratios[ratio] = round(spent / figures[f"script_{unit}"], 2)
    return ratios


def build(
    folder: Path,
    model: Path,
    rows: Path,
    figures: dict[str, Any],
    *,
    kind: str = "fp8",
    steps: Sequence[str] = STEPS,
) -> dict[str, dict[str, Any]]:
    """Return what each step told; its seconds go into the figures."""
    spec = _spec(model, rows, kind)
    results: dict[str, dict[str, Any]] = {}
    inputs: dict[str, str] = {}
    for step in steps:
        job = Job(
            build_id="benchmark",
            attempt=1,
            spec=spec,
            inputs=dict(inputs),
            output_dir=str(folder / "tmp" / step),
            options={
                "local_checkpoint_roots": [str(model.parent), str(folder)],
                "artifact_url": (folder / "artifacts").as_uri(),
                "cpu_threads": THREADS,
                "memory_bytes": 6_000_000_000,
            },
        )
        job.write(folder / f"{step}.json")
        with _spent(figures, step):
            results[step] = _run(step, folder)
        outputs.publish(folder / "tmp" / step, folder / "steps" / step)
        inputs[step] = str(folder / "steps" / step)
    return results


def _run(step: str, folder: Path) -> dict[str, Any]:
    log: list[bytes] = []
    outcome = run_step(
        StepCommand(
            step=step,
            job_path=folder / f"{step}.json",
            lease="build/benchmark/1",
            instance=str(folder),
        ),
        on_progress=lambda _progress: None,
        on_log=log.append,
        heartbeat=lambda: Verdict.CONTINUE,
    )
    if outcome.kind is not OutcomeKind.FINISHED or outcome.values is None:
        sys.exit(f"{step}: {outcome.failure}\n{b''.join(log).decode()}")
    return outcome.values


def _spec(model: Path, rows: Path, kind: str) -> dict[str, Any]:
    parsed = parse_mapping(
        {
            "model_name": "benchmark",
            "enginehouse": {"calibration": {"samples": SAMPLES}},
            "trt_llm": {
                "build": {
                    "checkpoint_repository": {"source": "LOCAL", "repo": str(model)},
                    "quantization_type": kind,
                    "quantization_config": {
                        "calib_dataset": str(rows),
                        "calib_max_seq_length": TOKENS,
                    },
                    "max_seq_len": 1024,
                    "max_batch_size": 4,
                }
            },
        }
    )
    if parsed.spec is None:
        sys.exit("\n".join(str(each) for each in parsed.errors))
    return parsed.spec.model_dump(mode="json")


def write_rows(path: Path) -> None:
    """Write the shipped set two texts to a row, so that every sample is full."""
    shipped = ROOT / "workers" / "build_steps" / "calibration" / "general.jsonl"
    texts = [json.loads(line)["text"] for line in shipped.read_text().splitlines()]
    pairs = zip(texts[::2], texts[1::2], strict=False)
    path.write_text(
        "".join(json.dumps({"text": f"{one}\n\n{other}"}) + "\n" for one, other in pairs)
    )


def _timed(figures: dict[str, Any], name: str, command: list[str]) -> None:
    environment = {**os.environ, "OMP_WAIT_POLICY": "PASSIVE"}
    with _spent(figures, name):
        done = subprocess.run(
            command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False
        )
    if done.returncode:
        sys.exit(f"{name}: {done.stderr[-2000:]}")


@contextmanager
def _spent(figures: dict[str, Any], name: str) -> Iterator[None]:
    """Note the seconds that pass, and those that child processes compute meanwhile."""
    started, cpu = time.monotonic(), _cpu_seconds()
    yield
    figures[f"{name}_seconds"] = round(time.monotonic() - started, 2)
    figures[f"{name}_cpu_seconds"] = round(_cpu_seconds() - cpu, 2)


def _cpu_seconds() -> float:
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return children.ru_utime + children.ru_stime


def _parser() -> argparse.ArgumentParser:
    parser = report.parser(__doc__, full="the same: there is one form")
    parser.add_argument("--model", type=Path, help="a converted folder; made where none is named")
    return parser


if __name__ == "__main__":
    sys.exit(main())
