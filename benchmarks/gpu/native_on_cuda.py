"""The native engine on a GPU against Transformers on the same GPU, greedy, in bfloat16.

python -m benchmarks.gpu.native_on_cuda CHECKPOINT OUTPUT.json
"""

import json
import os
import re
import subprocess
import sys
import time
import urllib.request
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from controlplane.processes.parent_death import end_with_parent
from workers.runtimes.ports import free_port

PROMPTS = (
    "The capital of France is",
    "Once upon a time, in a small village by the sea,",
    "def fibonacci(n):",
    "Water boils at",
)
TOKENS = 32
ROOT = Path(__file__).resolve().parents[2]
TESTS = "tests/workers/engine/test_cuda.py"
_REFERENCE = """
import json, sys, torch
from transformers import AutoModelForCausalLM, AutoTokenizer
folder, device = sys.argv[1], sys.argv[2]
tokenizer = AutoTokenizer.from_pretrained(folder)
model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.bfloat16).to(device)
for prompt in json.loads(sys.argv[3]):
    ids = tokenizer(prompt, return_tensors="pt").input_ids.to(device)
    found = model.generate(ids, max_new_tokens=int(sys.argv[4]), do_sample=False,
                           output_scores=True, return_dict_in_generate=True)
    made = found.sequences[0, ids.shape[1]:]
    gaps = [float((two := each[0].float().topk(2).values)[0] - two[1]) for each in found.scores]
    texts = [tokenizer.decode(made[:end + 1], skip_special_tokens=True) for end in range(len(made))]
    print(json.dumps({"texts": texts, "gaps": gaps}))
"""


def main() -> None:
    """Write both sides, and how the engine's own tests for a GPU ended."""
    tests = _start_tests()
    comparison = compare(Path(sys.argv[1]))
    if tests is not None:
        output, _ = tests.communicate(timeout=120)
        comparison["tests"] = {"exit": tests.returncode, **told_by_pytest(output)}
        comparison["log"] = output.splitlines()[-400:]
    Path(sys.argv[2]).write_text(json.dumps(comparison, indent=1))


def _start_tests() -> "subprocess.Popen[str] | None":
    if not (ROOT / TESTS).exists():
        return None
    return subprocess.Popen(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--noconftest",
         "-c", "/dev/null", "--rootdir", str(ROOT), str(ROOT / TESTS)],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, cwd=ROOT,
        preexec_fn=end_with_parent,
    )  # fmt: skip


def told_by_pytest(output: str) -> dict[str, Any]:
    """Return how many tests passed and which failed, by the last lines of a run."""
    passed = re.findall(r"(\d+) passed", output)
    failed = re.findall(r"^(?:FAILED|ERROR) (\S+)", output, re.MULTILINE)
    return {"file": TESTS, "passed": int(passed[-1]) if passed else 0, "failed": failed}


def compare(checkpoint: Path) -> dict[str, Any]:
    """Return both answers to each prompt and how long they agree."""
    device = os.environ.get("NATIVE_DEVICE", "cuda")
    expected = reference(checkpoint, device)
    url = f"http://127.0.0.1:{(port := free_port('127.0.0.1'))}"
    command = [
        *(sys.executable, "-m", "workers.runtimes.native", "--model-dir", str(checkpoint)),
        *("--device", device, "--dtype", "bfloat16", "--port", str(port)),
        *("--max-seq-len", "2048", "--kv-cache-bytes", str(2**30)),
    ]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, preexec_fn=end_with_parent
    ) as engine:
        try:
            _wait(engine, url)
            started = time.perf_counter()
            answers = [_ask(url, prompt) for prompt in PROMPTS]
            seconds = time.perf_counter() - started
        finally:
            engine.terminate()
    rows = beside(answers, expected)
    return {
        "device": device,
        "rows": rows,
        "identical": sum(row["same"] for row in rows),
        "of": len(rows),
        "tokens_per_second_one_stream": round(TOKENS * len(PROMPTS) / seconds, 1),
    }


def beside(answers: Sequence[str], expected: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return each answer beside Transformers' own, and where they part."""
    return [
        {"prompt": prompt, "native": ours, "transformers": theirs["texts"][-1],
         "same": ours == theirs["texts"][-1], **_parting(ours, theirs)}
        for prompt, ours, theirs in zip(PROMPTS, answers, expected, strict=True)
    ]  # fmt: skip


def reference(checkpoint: Path, device: str) -> list[dict[str, Any]]:
    """Return Transformers' greedy answers in bfloat16, each also cut after every token."""
    words = [str(checkpoint), device, json.dumps(PROMPTS), str(TOKENS)]
    output = subprocess.check_output([sys.executable, "-c", _REFERENCE, *words], text=True)
    return [json.loads(line) for line in output.strip().splitlines()]


def _wait(engine: "subprocess.Popen[bytes]", url: str) -> None:
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline:
        if engine.poll() is not None:
            assert engine.stdout is not None
            raise RuntimeError(f"the engine ended: {engine.stdout.read()[-2000:]!r}")
        try:
            with urllib.request.urlopen(f"{url}/health", timeout=2):
                return
        except OSError:
            time.sleep(0.2)
    raise RuntimeError("the engine did not become ready within 120 s")


def _ask(url: str, prompt: str) -> str:
    body = {"model": "any", "prompt": prompt, "max_tokens": TOKENS, "temperature": 0}
    request = urllib.request.Request(
        f"{url}/v1/completions",
        data=json.dumps(body).encode(),
        headers={"Content-Type": "application/json"},
    )
    with urllib.request.urlopen(request, timeout=60) as answer:
        return str(json.loads(answer.read())["choices"][0]["text"])


def _parting(ours: str, theirs: dict[str, Any]) -> dict[str, Any]:
    """Return at which token the answers part, and how close the best two were there."""
    for place, (text, gap) in enumerate(zip(theirs["texts"], theirs["gaps"], strict=True)):
        # A character may still lack bytes of the next token.
        if not ours.startswith(text.rstrip("\ufffd")):
            return {"part_at_token": place, "gap_of_best_two_there": round(gap, 4)}
    return {"part_at_token": None, "gap_of_best_two_there": None}


if __name__ == "__main__":
    main()
