"""One JSON file out of what `trtllm.sh` kept: GPU, date, command, versions, answers, memory.

python benchmarks/gpu/trtllm_result.py OUT --config F --model DIR --results DIR --command TEXT
"""

import argparse
import datetime
import json
import re
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from benchmarks.gpu.beside_plan import compared
from benchmarks.gpu.keep import keep_one
from controlplane.domain.facts.gpus import PLANNABLE_GPUS
from controlplane.domain.runtimes import trtllm
from controlplane.domain.spec import parse_text
from workers.runtimes.trtllm.report import read_report

_HTTP = re.compile(r"\nhttp (\d+), ([\d.]+) s\n?$")
_MIB = 1024**2


def main() -> int:
    """Write the result, keep it, and say where; 1 where an answer is not what was asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("--config", type=Path, required=True)
    parser.add_argument("--model", type=Path, required=True)
    parser.add_argument("--results", type=Path, required=True)
    parser.add_argument("--command", required=True)
    options = parser.parse_args()
    outcome = result(options.out, options.config.read_text(), options.model, options.command)
    own = options.out / "trtllm.json"
    own.write_text(json.dumps(outcome, indent=1, ensure_ascii=False) + "\n")
    print(keep_one(outcome, options.results) or own)
    return 0 if outcome["state"] == "done" else 1


def result(out: Path, config: str, model: Path, command: str) -> dict[str, Any]:
    """Return what was seen, each part under its name."""
    log = (out / "engine.log").read_text(errors="replace")
    pages = {"/version": out / "version.txt"}
    report = read_report(lambda path: pages[path].read_bytes(), log) or {}
    device = _line_after(out / "device.csv", 1)
    answers = {name: _answer(out / f"{name}.txt", name) for name in _AS_ASKED}
    wrong = [name for name, each in answers.items() if not each["as_asked"]]
    return {
        "what": "trtllm",
        "state": "failed" if wrong else "done",
        "reason": f"not as asked: {', '.join(wrong)}" if wrong else "",
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
        "gpu": device,
        "command": command,
        "versions": (out / "versions.txt").read_text().splitlines(),
        "files": {name: (out / name).read_text() for name in ("rendered.txt", "engine.yaml")},
        "answers": answers,
        "metrics": trtllm.metrics.read((out / "metrics.txt").read_text(errors="replace")),
        "device_memory_mib": {
            "free_before": _line_after(out / "device.csv", 1).split(",")[-1].strip(),
            "used_ready": _line_after(out / "device_ready.csv", 1),
        },
        "memory": _memory(config, model, device, report),
    }


def _memory(config: str, model: Path, device: str, report: Mapping[str, Any]) -> dict[str, Any]:
    """Return the plan beside the engine's report, or the report alone where nothing is planned."""
    spec = parse_text(config).spec
    named = spec.accelerator.kind if spec and spec.accelerator else None
    kind = named or next((each for each in PLANNABLE_GPUS if each in device.split(",")[0]), None)
    size = re.search(r"(\d+) MiB", device)
    if kind is None or size is None or not (model / "config.json").exists():
        return {"report": dict(report)}
    seen = {"kind": kind, "memory_bytes": int(size[1]) * _MIB}
    try:
        return compared(seen, config, model, report, runtime="trtllm")
    except (ValueError, KeyError) as error:
        return {"report": dict(report), "not_planned": str(error)}


def _answer(path: Path, name: str) -> dict[str, Any]:
    text = path.read_text(errors="replace")
    status = _HTTP.search(text)
    body = text[: status.start()] if status else text
    return {
        "status": int(status[1]) if status else None,
        "seconds": float(status[2]) if status else None,
        "as_asked": bool(status and status[1] == "200" and _AS_ASKED[name](body)),
        "text": body[:4000],
    }


def _content(body: str) -> str:
    return str(json.loads(body)["choices"][0]["message"]["content"])


def _is_chat(body: str) -> bool:
    return _holds(lambda: bool(_content(body).strip()))


def _is_stream(body: str) -> bool:
    return body.rstrip().endswith("data: [DONE]") and '"usage"' in body


def _is_of_the_schema(body: str) -> bool:
    return _holds(lambda: isinstance(json.loads(_content(body))["colours"], list))


def _is_long(body: str) -> bool:
    return _holds(lambda: json.loads(body)["usage"]["completion_tokens"] == 512)


def _holds(question: Any) -> bool:
    try:
        return bool(question())
    except (ValueError, KeyError, IndexError, TypeError):
        return False


_AS_ASKED = {
    "chat": _is_chat, "stream": _is_stream, "schema": _is_of_the_schema, "long": _is_long,
}  # fmt: skip
"""Each question -> whether its answer is what was asked for."""


def _line_after(path: Path, head: int) -> str:
    lines = path.read_text().splitlines()
    return lines[head].strip() if len(lines) > head else ""


if __name__ == "__main__":
    sys.exit(main())
