"""Engines of one checkpoint in several precisions, asked by the product's own load generator.

Started by `quantization_speed.sh`, one engine after another on the same device. With REHEARSAL in
the environment the native engine serves on the CPU, which says nothing of precisions.
"""

import argparse
import asyncio
import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from controlplane.clock import SYSTEM
from controlplane.domain.benchmarks.order import BenchmarkOrder, Lengths, Load, LoadKind, Target
from controlplane.domain.benchmarks.shapes import Kind
from workers.benchmarking.connection import Client
from workers.benchmarking.target import TargetRun, level_by_level

PRECISIONS = ("no_quant", "fp8", "fp8_kv")
IS_REHEARSAL = "REHEARSAL" in os.environ
PROMPT_TOKENS, COMPLETION_TOKENS = (32, 16) if IS_REHEARSAL else (256, 256)
LOAD_SECONDS = 600.0


def main() -> int:
    """Return the exit status: 0 where every precision was measured."""
    options = _parser().parse_args()
    found: dict[str, Any] = {}
    for precision in PRECISIONS:
        folder = options.checkpoints / precision
        if not folder.is_dir():
            print(f"{folder} is not there.", file=sys.stderr)
            continue
        with _engine(folder, precision, options.out) as url:
            found[precision] = _measured(url, options.seconds, options.levels)
    told = {"rehearsal": IS_REHEARSAL, "precisions": found, "speedup": _speedup(found)}
    (options.out / "quantization-speed.json").write_text(json.dumps(told, indent=1))
    print(json.dumps(told["speedup"]))
    return 0 if len(found) == len(PRECISIONS) else 1


def _measured(url: str, seconds: float, levels: list[float]) -> list[dict[str, Any]]:
    target = Target(
        label="engine", url=url, route="/v1/chat/completions", kind=Kind.CHAT, model="served"
    )
    load = Load(kind=LoadKind.CONCURRENCY, levels=tuple(levels), seconds=seconds)
    lengths = Lengths(prompt_tokens=PROMPT_TOKENS, completion_tokens=COMPLETION_TOKENS)
    order = BenchmarkOrder(targets=(target,), lengths=lengths, load=load)

    async def run() -> list[dict[str, Any]]:
        client = Client(url, headers={}, clock=SYSTEM)
        measuring = TargetRun(order, target, client)
        await level_by_level([measuring])
        client.close()
        return measuring.stages

    return asyncio.run(run())


def _speedup(found: dict[str, Any]) -> dict[str, dict[str, float]]:
    """Return tokens a second of each precision as multiples of those in 16 bits, by level."""
    name = "completion_tokens_per_second"
    base = {each["level"]: each[name] for each in found.get("no_quant", ())}
    return {
        precision: {
            f"{each['level']:g}": round(each[name] / base[each["level"]], 3)
            for each in stages
            if base.get(each["level"])
        }
        for precision, stages in found.items()
    }


@contextmanager
def _engine(folder: Path, precision: str, out: Path) -> Iterator[str]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with (out / f"engine-{precision}.log").open("wb") as log:
        process = subprocess.Popen(_command(folder, precision, port), stdout=log, stderr=log)
        try:
            _wait(process, port)
            yield f"http://127.0.0.1:{port}"
        finally:
            process.terminate()
            process.wait(timeout=60)


def _command(folder: Path, precision: str, port: int) -> list[str]:
    if IS_REHEARSAL:
        return [sys.executable, "-m", "workers.runtimes.native", "--model-dir", str(folder),
                "--port", str(port), "--threads", "1", "--max-batch-size", "8",
                "--max-seq-len", "2048", "--kv-cache-bytes", str(1 << 28),
                "--served-model-name", "served"]  # fmt: skip
    kv = ["--kv-cache-dtype", "fp8"] if precision == "fp8_kv" else []
    server = [os.environ["VLLM_PYTHON"], "-m", "vllm.entrypoints.openai.api_server"]
    named = ["--model", str(folder), "--served-model-name", "served", "--port", str(port)]
    return [*server, *named, *kv]


def _wait(process: "subprocess.Popen[bytes]", port: int) -> None:
    give_up_at = time.monotonic() + LOAD_SECONDS
    while process.poll() is None and time.monotonic() < give_up_at:
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
        except OSError:
            time.sleep(0.2)
        else:
            return
    raise RuntimeError(f"the engine did not listen within {LOAD_SECONDS:g} s; see its log")


def _numbers(text: str) -> list[float]:
    return [float(each) for each in text.split(",")]


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="quantization_speed.sh")
    parser.add_argument("checkpoints", type=Path)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--seconds", type=float, default=30.0)
    parser.add_argument("--levels", type=_numbers, default=[1.0, 8.0, 64.0], help="1,8,64")
    return parser


if __name__ == "__main__":
    sys.exit(main())
