"""How fast the checks answer.

Measures `diagnose()` with every rule and all facts known, and the whole of parse, plan, diagnose
and render, over configs that are clean and that are not. All of it is computation on one thread, so
the bars are held against its CPU time, which other work on the machine does not stretch; wall time
is printed beside it. Exit 1 when a bar of the design is missed.
"""

import argparse
import json
import os
import platform
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from controlplane.domain.facts.gpus import GIB
from controlplane.domain.presets import PRESETS
from controlplane.domain.rules import ALL_RULES, Context, Known, diagnose, every_kind, examine
from controlplane.domain.rules.examples import LLAMA_8B, SMOLLM2_135M
from controlplane.domain.runtimes import RUNTIMES
from controlplane.domain.spec import parse_text, write_yaml

_BARS = {"diagnose_p99_ms": 2.0, "parse_plan_diagnose_render_p95_ms": 25.0}
_ROUNDS, _FULL_ROUNDS, _WARM_UP = 400, 4000, 20
_BAD_TEXT = "\n".join(
    [
        "resources: {accelerator: h100}",
        "trt_llm:",
        "  build:",
        "    quantisation_type: fp8",
        "    max_batch_size: 9999",
        "    max_seq_len: '4096'",
        "    kv_cache_free_gpu_mem_fraction: 0.5",
        "    checkpoint_repository: {source: HF, repo: 'a b'}",
    ]
)
"""Every line an error: describing them is the slow part of parsing."""


def main() -> int:
    """Return the exit status: 0 where every bar is met."""
    options = _options()
    figures = measure(_FULL_ROUNDS if options.full else _ROUNDS)
    figures["bars"] = _BARS
    figures["bars_met"] = all(figures[name] <= bar for name, bar in _BARS.items())
    figures["machine"] = (
        f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}"
    )
    figures["command"] = "python benchmarks/diagnose.py --json"
    print(json.dumps(figures, indent=1) if options.json else _table(figures))
    return 0 if figures["bars_met"] else 1


def measure(rounds: int) -> dict[str, Any]:
    """Return the percentiles of each part, in milliseconds."""
    texts = [*_texts(), _BAD_TEXT]
    facts = Known(
        checkpoint=LLAMA_8B,
        secret_names=frozenset({"hf_access_token"}),
        cards=every_kind(cpu_memory_bytes=64 * GIB),
    )
    specs = [spec for text in texts if (spec := parse_text(text).spec)]
    diagnosed, diagnosed_wall = _timed(
        [lambda s=spec: diagnose(Context(spec=s, known=facts), ALL_RULES) for spec in specs],  # type: ignore[misc]
        rounds,
    )
    whole, whole_wall = _timed([lambda t=text: _whole(t, facts) for text in texts], rounds)  # type: ignore[misc]
    parsed, _ = _timed([lambda t=text: parse_text(t) for text in texts], rounds)  # type: ignore[misc]
    return {
        "rules": len(ALL_RULES),
        "configs": len(texts),
        "rounds": rounds,
        "diagnose_p50_ms": _percentile(diagnosed, 0.50),
        "diagnose_p99_ms": _percentile(diagnosed, 0.99),
        "diagnose_wall_p99_ms": _percentile(diagnosed_wall, 0.99),
        "parse_p50_ms": _percentile(parsed, 0.50),
        "parse_p95_ms": _percentile(parsed, 0.95),
        "parse_plan_diagnose_render_p50_ms": _percentile(whole, 0.50),
        "parse_plan_diagnose_render_p95_ms": _percentile(whole, 0.95),
        "parse_plan_diagnose_render_wall_p95_ms": _percentile(whole_wall, 0.95),
    }


def _texts() -> list[str]:
    """Return each preset as a person writes it and as a store writes it, in full."""
    written = [preset.text for preset in PRESETS]
    specs = [spec for text in written if (spec := parse_text(text).spec)]
    in_full = [
        write_yaml(type(spec).model_validate(spec.model_dump(mode="json"))) for spec in specs
    ]
    return written + in_full


def _whole(text: str, facts: Known) -> None:
    examination = examine(text, facts)
    if examination.spec is not None:
        RUNTIMES["native"].render.render(
            examination.spec,
            SMOLLM2_135M,
            model_dir="/artifacts/model",
            host="127.0.0.1",
            port=9000,
            python="/usr/bin/python3",
            threads=2,
            memory_bytes=8 * GIB,
        )
    json.dumps(examination.to_json())


def _timed(calls: list[Callable[[], object]], rounds: int) -> tuple[list[float], list[float]]:
    """Return CPU and wall seconds of each round, in order of size."""
    cpu, wall = [], []
    for number in range(rounds + _WARM_UP):
        call = calls[number % len(calls)]
        started, started_cpu = time.perf_counter(), time.thread_time()
        call()
        used, passed = time.thread_time() - started_cpu, time.perf_counter() - started
        if number >= _WARM_UP:
            cpu.append(used)
            wall.append(passed)
    return sorted(cpu), sorted(wall)


def _percentile(ordered: list[float], share: float) -> float:
    return round(ordered[min(len(ordered) - 1, int(share * len(ordered)))] * 1000, 3)


def _table(figures: dict[str, Any]) -> str:
    lines = []
    for name, value in figures.items():
        if name in ("bars", "command"):
            continue
        bar = f"   (bar {_BARS[name]})" if name in _BARS else ""
        lines.append(f"{name:<36} {value}{bar}")
    return "\n".join(lines)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--full", action="store_true", help="ten times the rounds")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
