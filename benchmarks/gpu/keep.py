"""Put what `run.sh` found where the page of evidence, `memory_plan.py` and its tests read it.

python -m benchmarks.gpu.keep OUT --results benchmarks/results

A stage's JSON file becomes `<what>-<device>-<date>.json`; its log goes below `raw/`, and its plan
beside the engine's report into `memory-<device>-<date>.json`. Paths of the host are left out. What
was not run is not kept, and what failed only where nothing better is there.
"""

import argparse
import json
import os
import platform
import re
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from workers.agent.nvidia import kind_of

ROOT = Path(__file__).resolve().parents[2]
_ENGINE_LINES = re.compile(
    r"(?:Detected ModelOpt|Selected \w+Kernel|Using FlashAttention|Loading weights took"
    r"|Model loading took|Directly load AOT|torch\.compile took|Available KV cache memory"
    r"|GPU KV cache size|Graph capturing finished|init engine)\b.*"
)
_FIGURES = {"weights_bytes", "kv_cache_bytes", "kv_tokens"}
"""What a report must tell to stand beside a plan."""
_HUNDREDTH_OF_A_GIB = 2**30 // 100
_ROUNDED_BYTES = {"vllm": _HUNDREDTH_OF_A_GIB, "trtllm": _HUNDREDTH_OF_A_GIB}
"""To how many bytes a runtime rounds the weights that it reports; others say the byte."""


def main() -> int:
    """Say which files were written."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("--results", type=Path, default=ROOT / "benchmarks/results")
    options = parser.parse_args()
    for path in keep(options.out, options.results):
        print(path)
    return 0


def keep(out: Path, results: Path) -> list[Path]:
    """Keep each stage that ran; return the files of those stages."""
    paths = [path for path in sorted(out.glob("*.json")) if path.stem != "start"]
    names = _names_of_the_host(out)
    stages = [json.loads(_without(names, path.read_text())) for path in paths]
    return [path for each in stages if (path := keep_one(each, results)) is not None]


def keep_one(found: Mapping[str, Any], results: Path) -> Path | None:
    """Keep one result, and apart from it its log and its plan beside the engine's report."""
    path = results / file_name(found["what"], found)
    state = found.get("state", "done")
    if state == "not run" or (state != "done" and path.exists()):
        return None
    content = {**found}
    log = content.pop("log", [])
    if lines := list(dict.fromkeys(_ENGINE_LINES.findall("\n".join(log)))):
        content["engine_lines"] = lines
    (results / "raw").mkdir(parents=True, exist_ok=True)
    if log:
        (results / "raw" / path.with_suffix(".log").name).write_text("\n".join([*log, ""]))
    if state == "done":
        _keep_memory(content, path, results)
    _write(path, content)
    return path


def file_name(what: str, found: Mapping[str, Any]) -> str:
    """Return the name under which a result of a GPU and a date is kept."""
    product = str(found["gpu"]).partition(",")[0].partition(":")[0]
    count, _, one = product.rpartition(" × ")
    kind = kind_of(one, sys.maxsize).removeprefix("NVIDIA_").lower().replace("-", "_")
    return f"{what}-{kind}{count and f'x{count}'}-{found['date']}.json"


def _keep_memory(content: dict[str, Any], path: Path, results: Path) -> None:
    """Put the plan and the report of a result among those of its GPU, in place of an older one."""
    memory = content.get("memory", {})
    if "planned" not in memory or not memory["report"].keys() >= _FIGURES:
        return
    entry = {
        **memory,
        "date": content["date"],
        "device_name": content["gpu"],
        "source": path.name,
        "weights_rounded_to_bytes": _ROUNDED_BYTES.get(memory["runtime"], 0),
        **({"note": content["note"]} if "note" in content else {}),
    }
    target = results / file_name("memory", content)
    present = json.loads(target.read_text()) if target.exists() else []
    _write(target, [each for each in present if each["source"] != path.name] + [entry])


def _names_of_the_host(out: Path) -> dict[str, str]:
    """Return what of a result is of this host alone, the longest first, and what it becomes."""
    start = out / "start.json"
    data = json.loads(start.read_text()).get("data") if start.exists() else None
    home, target = Path.home(), os.environ.get("TARGET")
    names = {
        str(out.resolve()): "<results>",
        str(ROOT): "<repository>",
        platform.release(): "<kernel>",
        **({data: "<data>"} if data else {}),
        **({target: "<target>"} if target else {}),
        **({str(home): "<home>"} if home != Path("/") else {}),
    }
    return dict(sorted(names.items(), key=lambda each: -len(each[0])))


def _without(names: Mapping[str, str], text: str) -> str:
    for name, word in names.items():
        text = text.replace(name, word)
    return text


def _write(path: Path, content: Any) -> None:
    path.write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    sys.exit(main())
