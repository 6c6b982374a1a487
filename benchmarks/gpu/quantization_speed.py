"""Engines of one checkpoint in several precisions, asked by the product's own load generator.

Started by `quantization_speed.sh`: engines start together on one device, and are asked one after
another. With REHEARSAL in the environment the native engine serves on the CPU, which says nothing
of precisions.
"""

import argparse
import asyncio
import json
import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from benchmarks.gpu.lookahead import device as _device
from benchmarks.gpu.lookahead_parts.servers import FIRST_OWN_PORT, OWN_PORTS
from controlplane.clock import SYSTEM
from controlplane.domain.benchmarks.order import BenchmarkOrder, Lengths, Load, LoadKind, Target
from controlplane.domain.benchmarks.shapes import Kind
from workers.benchmarking.connection import Client
from workers.benchmarking.target import TargetRun, level_by_level

PRECISIONS = ("no_quant", "fp8", "fp8_kv")
IS_REHEARSAL = "REHEARSAL" in os.environ
PROMPT_TOKENS, COMPLETION_TOKENS = (32, 16) if IS_REHEARSAL else (256, 256)
LOAD_SECONDS = 600.0
KV_BYTES = 16 * 2**30
"""Of each engine, as much as the most requests take: none measures what another takes meanwhile."""


def main() -> int:
    """Return the exit status: 0 where every precision was measured."""
    options = _parser().parse_args()
    values: dict[str, Any] = {}
    with ExitStack() as running:
        engines = {
            each.name: running.enter_context(_engine(each, each.name, number, options.out))
            for number, each in enumerate(_folders(options.checkpoints))
        }
        for process, port in engines.values():
            _wait(process, port)
        for precision, (_, port) in engines.items():
            values[precision] = _measured(
                f"http://127.0.0.1:{port}", options.seconds, options.levels
            )
            _keep(options.out, values)
    return 0 if len(values) == len(PRECISIONS) else 1


def _folders(checkpoints: Path) -> Iterator[Path]:
    for precision in PRECISIONS:
        if (checkpoints / precision).is_dir():
            yield checkpoints / precision
        else:
            print(f"{checkpoints / precision} is not there.", file=sys.stderr)


def _keep(out: Path, found: dict[str, Any]) -> None:
    values = {
        "what": "quantization_speed", "gpu": _device(), "date": time.strftime("%Y-%m-%d"),
        "command": "benchmarks/gpu/quantization_speed.sh --out <results> --checkpoints <folder>",
        "prompt_tokens": PROMPT_TOKENS, "completion_tokens": COMPLETION_TOKENS,
        "rehearsal": IS_REHEARSAL, "precisions": found, "speedup": _speedup(found),
    }  # fmt: skip
    (out / "quantization-speed.json").write_text(json.dumps(values, indent=1))
    print(json.dumps(values["speedup"]), flush=True)


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
def _engine(
    folder: Path, precision: str, number: int, out: Path
) -> Iterator[tuple["subprocess.Popen[bytes]", int]]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    own = {
        "VLLM_CACHE_ROOT": str(out / f"cache-{precision}"),
        "VLLM_PORT": str(FIRST_OWN_PORT + OWN_PORTS * number),
    }
    with (out / f"engine-{precision}.log").open("wb") as log:
        process = subprocess.Popen(
            _command(folder, precision, port), stdout=log, stderr=log, env=os.environ | own
        )
        try:
            yield process, port
        finally:
            process.terminate()
            process.wait(timeout=60)
            shutil.rmtree(own["VLLM_CACHE_ROOT"], ignore_errors=True)


def _command(folder: Path, precision: str, port: int) -> list[str]:
    if IS_REHEARSAL:
        return [sys.executable, "-m", "workers.runtimes.native", "--model-dir", str(folder),
                "--port", str(port), "--threads", "1", "--max-batch-size", "8",
                "--max-seq-len", "2048", "--kv-cache-bytes", str(1 << 28),
                "--served-model-name", "served"]  # fmt: skip
    kv = ["--kv-cache-dtype", "fp8"] if precision == "fp8_kv" else []
    server = [os.environ["VLLM_PYTHON"], "-m", "vllm.entrypoints.openai.api_server"]
    named = ["--model", str(folder), "--served-model-name", "served", "--port", str(port),
             "--host", "127.0.0.1", "--max-model-len", "4096", "--gpu-memory-utilization", "0.04",
             "--kv-cache-memory-bytes", str(KV_BYTES)]  # fmt: skip
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
