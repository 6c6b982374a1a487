"""The native engine on a card against Transformers on the same card, greedy, in bfloat16."""

import json
import os
import subprocess
import sys
import time
import urllib.request
from pathlib import Path
from typing import Any

PROMPTS = (
    "The capital of France is",
    "Once upon a time, in a small village by the sea,",
    "def fibonacci(n):",
    "Water boils at",
)
TOKENS = 32
_PORT = 18099
_REFERENCE = """
import json, sys, torch
from transformers import AutoModelForCausalLM, AutoTokenizer
folder, device = sys.argv[1], sys.argv[2]
tokenizer = AutoTokenizer.from_pretrained(folder)
model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.bfloat16).to(device)
for prompt in json.loads(sys.argv[3]):
    ids = tokenizer(prompt, return_tensors="pt").input_ids.to(device)
    made = model.generate(ids, max_new_tokens=int(sys.argv[4]), do_sample=False)[0, ids.shape[1]:]
    print(json.dumps(tokenizer.decode(made, skip_special_tokens=True)))
"""


def compare(checkpoint: Path) -> dict[str, Any]:
    """Return both answers to each prompt and how long they agree."""
    device = os.environ.get("NATIVE_DEVICE", "cuda")
    expected = _reference(checkpoint, device)
    command = [
        *(sys.executable, "-m", "workers.runtimes.native", "--model-dir", str(checkpoint)),
        *("--device", device, "--dtype", "bfloat16", "--port", str(_PORT)),
        *("--max-seq-len", "2048", "--kv-cache-bytes", str(2**30)),
    ]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as engine:
        try:
            _wait(engine)
            started = time.perf_counter()
            answers = [_ask(prompt) for prompt in PROMPTS]
            seconds = time.perf_counter() - started
        finally:
            engine.terminate()
    rows = [
        {"prompt": prompt, "native": ours, "transformers": theirs, "same": ours == theirs,
         "same_characters": _agreement(ours, theirs)}
        for prompt, ours, theirs in zip(PROMPTS, answers, expected, strict=True)
    ]  # fmt: skip
    return {
        "device": device,
        "rows": rows,
        "identical": sum(row["same"] for row in rows),
        "of": len(rows),
        "tokens_per_second_one_stream": round(TOKENS * len(PROMPTS) / seconds, 1),
    }


def _reference(checkpoint: Path, device: str) -> list[str]:
    words = [str(checkpoint), device, json.dumps(PROMPTS), str(TOKENS)]
    output = subprocess.check_output([sys.executable, "-c", _REFERENCE, *words], text=True)
    return [json.loads(line) for line in output.strip().splitlines()]


def _wait(engine: "subprocess.Popen[bytes]") -> None:
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline:
        if engine.poll() is not None:
            assert engine.stdout is not None
            raise RuntimeError(f"the engine ended: {engine.stdout.read()[-2000:]!r}")
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{_PORT}/health", timeout=2):
                return
        except OSError:
            time.sleep(0.2)
    raise RuntimeError("the engine did not become ready within 120 s")


def _ask(prompt: str) -> str:
    body = {"model": "any", "prompt": prompt, "max_tokens": TOKENS, "temperature": 0}
    request = urllib.request.Request(
        f"http://127.0.0.1:{_PORT}/v1/completions",
        data=json.dumps(body).encode(),
        headers={"Content-Type": "application/json"},
    )
    with urllib.request.urlopen(request, timeout=60) as answer:
        return str(json.loads(answer.read())["choices"][0]["text"])


def _agreement(ours: str, theirs: str) -> int:
    """Return how many characters are the same from the start."""
    pairs = zip(ours, theirs, strict=False)
    return next(
        (place for place, (a, b) in enumerate(pairs) if a != b), min(len(ours), len(theirs))
    )
