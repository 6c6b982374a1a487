"""vLLM alone on the GPU: does it start from what was packed, and answer?

    python benchmarks/gpu/alone.py OUT FOLDER [words of vllm serve …]

`FOLDER` holds a config.json and a tokenizer; weights are made up (`--load-format dummy`). Needs
`VLLM_PYTHON`; writes `vllm_alone.json` and `vllm_alone.log` into OUT. It imports nothing of ours.
"""

import json
import os
import re
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

PORT = 18077
SECONDS = 240.0
_LINES = re.compile(
    r"Model loading took|Available KV cache|GPU KV cache size|torch.compile takes|Graph capturing"
    r"|init engine|Using .*(?:backend|Kernel)|Maximum concurrency|V2|memory profiling"
)


def main() -> int:
    """0 once it has answered."""
    out, folder, words = Path(sys.argv[1]), sys.argv[2], sys.argv[3:]
    name = os.environ.get("ALONE_NAME", "vllm_alone")
    out.mkdir(parents=True, exist_ok=True)
    command = [os.environ["VLLM_PYTHON"], "-m", "vllm.entrypoints.cli.main", "serve", folder,
               "--load-format", "dummy", "--port", str(PORT), "--served-model-name", "alone",
               *words]  # fmt: skip
    log = out / f"{name}.log"
    started = time.monotonic()
    with log.open("wb") as output:
        engine = subprocess.Popen(command, stdout=output, stderr=output)
    try:
        result = _watch(engine, started)
    finally:
        engine.terminate()
        try:
            engine.wait(15)
        except subprocess.TimeoutExpired:
            engine.kill()
    lines = log.read_text(errors="replace").splitlines()
    result["lines"] = [line[-300:] for line in lines if _LINES.search(line)]
    result["command"] = " ".join(["vllm", *command[3:]])
    result["last_lines"] = [] if result["answers"] else [line[-300:] for line in lines[-60:]]
    (out / f"{name}.json").write_text(json.dumps(result, indent=1) + "\n")
    print(json.dumps(result)[:2000], flush=True)
    return 0 if result["answers"] else 1


def _watch(engine: "subprocess.Popen[bytes]", started: float) -> dict[str, object]:
    while time.monotonic() < started + SECONDS:
        if engine.poll() is not None:
            return {"answers": False, "exit": engine.returncode, **_after(started)}
        if _get("/health") is not None:
            ready = _after(started)
            return {"answers": True, **ready, "answer": _ask(), "metrics": _cache_line()}
        time.sleep(0.2)
    return {"answers": False, "exit": None, **_after(started)}


def _after(started: float) -> dict[str, float]:
    return {"seconds": round(time.monotonic() - started, 1)}


def _get(path: str) -> str | None:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{PORT}{path}", timeout=2) as answer:
            content: bytes = answer.read()
            return content.decode()
    except OSError:
        return None


def _cache_line() -> str:
    page = _get("/metrics") or ""
    return next((line for line in page.splitlines() if "cache_config_info{" in line), "")


def _ask() -> object:
    body = {"model": "alone", "prompt": "Once upon a time", "max_tokens": 16, "temperature": 0}
    request = urllib.request.Request(
        f"http://127.0.0.1:{PORT}/v1/completions",
        data=json.dumps(body).encode(),
        headers={"Content-Type": "application/json"},
    )
    with urllib.request.urlopen(request, timeout=60) as answer:
        return json.loads(answer.read())["usage"]


if __name__ == "__main__":
    sys.exit(main())
