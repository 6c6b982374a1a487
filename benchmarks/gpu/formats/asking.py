"""vLLM as the renderer starts it on each case, several at once, and what it answers."""

import json
import os
import re
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.gpu.formats.agreement import beside, cosine
from benchmarks.gpu.formats.cases import CASES, ENCODER, SERVED_NAME, Case
from controlplane.domain.facts import checkpoints
from controlplane.domain.facts.checkpoints import CheckpointFacts
from controlplane.domain.runtimes.launch import Launch
from controlplane.domain.runtimes.vllm.render import render
from controlplane.domain.spec import parse_text
from controlplane.processes.parent_death import end_with_parent
from workers.runtimes.ports import free_port

_VERSION = "0.25"
_TOLD = {
    "config": "config.json", "hf_quant_config": "hf_quant_config.json",
    "sentence_modules": "modules.json", "pooling_config": "1_Pooling/config.json",
}  # fmt: skip
_READY_SECONDS = 150
_LATEST_RETRY_SECONDS = 240
_TOP = 5
_ERROR = re.compile(r"^.*\b(?:\w*Error|\w*Exception): .*$", re.MULTILINE)
_KERNELS = re.compile(
    r"(?:Detected \w+ .*|Using \w+ .*|Selected \w+.*|quantization=\S+|Available KV cache memory.*"
    r"|Model loading took.*|GPU KV cache size.*)"
)
_TOOL = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "parameters": {
            "type": "object", "properties": {"days": {"type": "integer"}}, "required": ["days"],
            "additionalProperties": False,
        },
    },
}  # fmt: skip


@dataclass(kw_only=True)
class Started:
    """One engine."""

    name: str
    case: Case
    folder: Path
    log: Path
    argv: tuple[str, ...]
    url: str
    process: "subprocess.Popen[bytes]"
    began: float = field(default_factory=time.monotonic)
    seconds: float | None = None
    """Until it answered; None for one that ended first."""


def ask_all(folder: Path, out: Path, names: Sequence[str], at_once: int) -> dict[str, Any]:
    """Return what each case came to.

    What did not load is tried once more: engines that start together disturb each other, by a port
    that two take or by memory that one gives back while another counts it.
    """
    values: dict[str, Any] = {}
    began = time.monotonic()
    for first in range(0, len(names), at_once):
        values |= _ask_some(folder, out, names[first : first + at_once])
    again = [name for name in names if not values[name]["loads"]]
    if again and time.monotonic() - began < _LATEST_RETRY_SECONDS:
        values |= _ask_some(folder, out, again)
    return values


def _ask_some(folder: Path, out: Path, names: Sequence[str]) -> dict[str, Any]:
    ports = _free_ports(len(names))
    engines = [
        _start(folder / name, out, name, port) for name, port in zip(names, ports, strict=True)
    ]
    try:
        _wait(engines)
        return {each.name: _told(each) for each in engines}
    finally:
        for each in engines:
            each.process.terminate()
        for each in engines:
            _end(each.process)


def _free_ports(count: int) -> list[int]:
    """Return ports that differ: none is taken before all engines have theirs."""
    names: set[int] = set()
    while len(names) < count:
        names.add(free_port("127.0.0.1"))
    return sorted(names)


def _start(folder: Path, out: Path, name: str, port: int) -> Started:
    case = CASES[name]
    launch = launch_of(case, name, folder / "model", port)
    log = out / f"{name}.log"
    with log.open("wb") as file:
        process = subprocess.Popen(
            launch.argv, stdout=file, stderr=subprocess.STDOUT, preexec_fn=end_with_parent,
            env={**os.environ, **launch.environment}, start_new_session=True,
        )  # fmt: skip
    print(f"{name}: {' '.join(launch.argv)}", flush=True)
    return Started(
        name=name, case=case, folder=folder, log=log, argv=launch.argv, process=process,
        url=f"http://127.0.0.1:{port}",
    )  # fmt: skip


def launch_of(case: Case, name: str, model: Path, port: int) -> Launch:
    """Return the command as the product writes it for a config and an artifact."""
    kind = os.environ.get("DEVICE_KIND", "H200")
    parsed = parse_text(case.config(name, kind))
    if parsed.spec is None:
        raise ValueError(f"{name}: {parsed.errors}")
    return render(
        parsed.spec, _facts(model), model_dir=str(model),
        host="127.0.0.1", port=port, python=os.environ["VLLM_PYTHON"], threads=2,
        memory_bytes=140 * 2**30, version=_VERSION,
    )  # fmt: skip


def _facts(model: Path) -> CheckpointFacts:
    """Return the facts by the pure reader, which needs none of the packages that fetch."""
    files = {str(each.relative_to(model)): each for each in model.rglob("*") if each.is_file()}
    by_name = {
        name: json.loads(files[file].read_text()) if file in files else None
        for name, file in _TOLD.items()
    }
    template = files.get("chat_template.jinja")
    return checkpoints.read(
        by_name.pop("config"), **by_name, files=tuple(files),
        chat_template=template.read_text() if template else None,
        weight_bytes=sum(each.stat().st_size for each in model.glob("*.safetensors")),
    )  # fmt: skip


def _wait(engines: Sequence[Started]) -> None:
    """Wait until each answers or has ended; none is stopped before all are through."""
    deadline = time.monotonic() + _READY_SECONDS
    waiting = list(engines)
    while waiting and time.monotonic() < deadline:
        for each in [*waiting]:
            if each.process.poll() is not None:
                waiting.remove(each)
            elif _answers(each.url):
                each.seconds = round(time.monotonic() - each.began, 1)
                waiting.remove(each)
        time.sleep(0.5)


def _answers(url: str) -> bool:
    try:
        with urllib.request.urlopen(f"{url}/health", timeout=2):
            return True
    except OSError:
        return False


def _told(engine: Started) -> dict[str, Any]:
    log = engine.log.read_text(errors="replace")
    values: dict[str, Any] = {
        "argv": list(engine.argv), "loads": engine.seconds is not None,
        "seconds_until_ready": engine.seconds,
        "engine_lines": list(dict.fromkeys(_KERNELS.findall(log)))[:40],
    }  # fmt: skip
    if engine.seconds is None:
        values["error"] = _error(log)
        values["log"] = log.splitlines()[-60:]
        return values
    try:
        return values | _asked(engine)
    except (OSError, KeyError, ValueError, IndexError) as error:
        return values | {"error": f"asked: {type(error).__name__}: {error}"}


def _error(log: str) -> str:
    """Return the first error that is not about the engine's core having ended."""
    matches = [each for each in _ERROR.findall(log) if "Engine core" not in each]
    return matches[0][-600:] if matches else "\n".join(log.splitlines()[-5:])


def _asked(engine: Started) -> dict[str, Any]:
    native = json.loads((engine.folder / "native.json").read_text())
    if engine.case.kind == ENCODER:
        return _vectors(engine.url, native)
    rows = [_row(engine.url, each) for each in native]
    tools = {"tools": _called(engine.url)} if engine.case.calls_tools else {}
    return {"rows": rows, **_summed(rows), **tools}


def _row(url: str, native: Mapping[str, Any]) -> dict[str, Any]:
    body = {
        "model": SERVED_NAME, "prompt": native["prompt"], "max_tokens": len(native["steps"]),
        "temperature": 0, "logprobs": _TOP, "return_tokens_as_token_ids": True, "ignore_eos": True,
    }  # fmt: skip
    answer = _post(url, "/v1/completions", body)
    steps = [
        {token.removeprefix("token_id:"): value for token, value in each.items()}
        for each in answer["choices"][0]["logprobs"]["top_logprobs"]
    ]
    return {"prompt": native["prompt"], "vllm": steps, "native": native["steps"],
            **beside(native["steps"], steps)}  # fmt: skip


def _summed(rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    return {
        "tokens": sum(row["tokens"] for row in rows),
        "same": sum(row["same"] for row in rows),
        "first_tokens_same": sum(row["same"] > 0 for row in rows),
        "largest_difference": max(row["largest_difference"] for row in rows),
        "gaps_where_they_part": [
            row["gap_where_they_part"] for row in rows if row["gap_where_they_part"] is not None
        ],
    }


def _called(url: str) -> dict[str, Any]:
    """Return the answers to a request that may call a function, and to one that must."""
    base = {
        "model": SERVED_NAME, "messages": [{"role": "user", "content": "The weather?"}],
        "max_tokens": 48, "temperature": 0, "tools": [_TOOL],
    }  # fmt: skip
    named = {"type": "function", "function": {"name": "get_weather"}}
    return {
        "auto": _choice(url, {**base, "tool_choice": "auto"}),
        "named": _choice(url, {**base, "tool_choice": named}),
    }


def _choice(url: str, body: Mapping[str, Any]) -> Any:
    try:
        return _post(url, "/v1/chat/completions", body)["choices"][0]
    except urllib.error.HTTPError as error:
        return {"status": error.code, "error": error.read().decode(errors="replace")[:600]}


def _vectors(url: str, native: Mapping[str, Any]) -> dict[str, Any]:
    body = {"model": SERVED_NAME, "input": native["texts"]}
    vectors = [each["embedding"] for each in _post(url, "/v1/embeddings", body)["data"]]
    pairs = zip(native["vectors"], vectors, strict=True)
    return {"cosines_to_native": [round(cosine(*pair), 6) for pair in pairs]}


def _post(url: str, path: str, body: Mapping[str, Any]) -> Any:
    request = urllib.request.Request(
        f"{url}{path}", json.dumps(body).encode(), {"Content-Type": "application/json"}
    )
    with urllib.request.urlopen(request, timeout=90) as answer:
        return json.load(answer)


def _end(process: "subprocess.Popen[bytes]") -> None:
    try:
        process.wait(30)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
