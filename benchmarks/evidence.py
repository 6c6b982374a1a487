"""What was seen on GPUs, as one page: `docs/evidence.md`, out of files of `benchmarks/results`.

    python benchmarks/evidence.py [--check]

Nothing on the page is written by hand but the list of what is wanted of a GPU: what of it has no
result there is listed as not run. With `--check`, exit 1 where the page is stale.
"""

import argparse
import json
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks import evidence_clients as clients
from benchmarks import evidence_encoder_speed as encoder_speed
from benchmarks import evidence_encoders as encoders
from benchmarks import evidence_faults as faults
from benchmarks import evidence_formats as formats
from benchmarks import evidence_lookahead as lookahead
from benchmarks import evidence_media as media
from benchmarks import evidence_memory as memory
from benchmarks import evidence_native as native
from benchmarks import evidence_quantization as quantization
from benchmarks import evidence_serving as serving
from benchmarks import evidence_trtllm as trtllm
from benchmarks import evidence_two_devices as two_devices
from benchmarks.evidence_summary import summary
from benchmarks.evidence_table import (
    about,
    came_through,
    engine_lines,
    one_line,
    section,
    step_seconds,
    what_of,
)
from benchmarks.gpu.wanted import WANTED

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "benchmarks/results"
PAGE = ROOT / "docs/evidence.md"
_INTRODUCTION = """\
# Evidence

What was seen on GPUs, where and when; generated from the files of `benchmarks/results` by
`python benchmarks/evidence.py`. `benchmarks/README.md` holds the figures taken on CPUs, their bars
and their rivals. The raw outputs are in `benchmarks/results/raw`.
"""


def main() -> int:
    """Write the page, or say whether it is fresh."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true")
    text = page()
    if parser.parse_args().check:
        return 0 if PAGE.read_text() == text else 1
    PAGE.write_text(text)
    return 0


def page(folder: Path = RESULTS) -> str:
    """Return the page as the results that are kept in a folder make it."""
    by_name = {path.name: json.loads(path.read_text()) for path in sorted(folder.glob("*.json"))}
    results = {
        name: each for name, each in by_name.items() if isinstance(each, list) or "gpu" in each
    }
    sections = [_section(name, each) for name, each in results.items()]
    sections += encoder_speed.sections(by_name)
    return "\n".join([_INTRODUCTION, summary(results), *sections, _not_run(results)])


def _section(name: str, content: Any) -> str:
    what = what_of(name)
    if what in _TELLS_FAILURE or came_through(content):
        return _SECTIONS[what](name, content)
    rows = [("the stage", f"failed: {one_line(content['reason'])}")]
    return section(about("Seen on a GPU, and not as it should be", name), name, content, rows)


def _build(name: str, found: Mapping[str, Any]) -> str:
    smoke = found["smoke_test"]
    rows = [
        ("weights", found.get("weights", "SmolLM2-135M-Instruct, its own")),
        *_quantized(found),
        ("started by the smoke test", f"{smoke['engine']['engine']} {smoke['engine']['version']}, "
                                      "from the published artifact"),
        ("its answer", f"“{one_line(smoke['answer'])}” to “{smoke['question']}”"),
        ("one stream, by the smoke test", f"{smoke['tokens_per_second']} tokens per second, the "
                                          f"first after {smoke['first_token_seconds']} s"),
        *((each["name"], f"{step_seconds(each)} s") for each in found["steps"]),
    ]  # fmt: skip
    title = f"A build on a GPU: `{_name_of(found)}`"
    return section(title, name, found, rows, engine_lines(found))


def _name_of(found: Mapping[str, Any]) -> str:
    return str(found["config_text"].partition("\n")[0].partition(": ")[2])


def _faults_and_build(name: str, found: Mapping[str, Any]) -> str:
    """Return what went wrong and, where it came through, the build that followed."""
    parts = [faults.told(name, found), *([_build(name, found)] if "smoke_test" in found else [])]
    return "\n".join(parts)


def _quantized(found: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield what calibration and gate told; nothing of a build that leaves weights as they are."""
    calibrated, gate = found.get("calibrate"), found.get("gate")
    if not calibrated or not gate:
        yield "quantized", "no: the weights as they are"
        return
    figures, used = gate["figures"], calibrated["calibration"]
    yield (
        "quantized",
        (
            f"`{calibrated['quantization_type']}`: {calibrated['layers_quantized']} "
            f"linear layers, {calibrated['kv_cache_layers']} layers of KV cache"
        ),
    )
    yield (
        "calibrated on the GPU",
        (f"{used['used']} samples, {used['tokens']:,} tokens, {calibrated['seconds']} s"),
    )
    yield (
        "gate",
        (
            f"{gate['state']}: perplexity {figures['perplexity_original']:.2f} → "
            f"{figures['perplexity_quantized']:.2f} ({figures['perplexity_change']:+.1%}), by "
            f"{gate['measured_by']}"
        ),
    )


def _not_run(results: Mapping[str, Any]) -> str:
    """Return what is wanted of a GPU and has no result that came through."""
    done = {what_of(name) for name, content in results.items() if came_through(content)}
    missing = [f"- {words}" for what, words in WANTED.items() if what not in done]
    devices = sorted({each["gpu"].partition(",")[0].rpartition(" × ")[2]
                      for each in results.values() if isinstance(each, dict)})  # fmt: skip
    others = f"- any of it on another GPU than {' and '.join(devices)}" if devices else ""
    return "\n".join(["## Not run yet", "", "No claim of ours:", "", *missing, others, ""])


_SECTIONS: Mapping[str, Callable[[str, Any], str]] = {
    "build": _build,
    "documented": _build,
    "documented_small": _build,
    "documented_lookahead": _build,
    "documented_ask": serving.deployed,
    "clients": clients.asked,
    "embedder": encoders.asked,
    "reranker": encoders.asked,
    "classifier": encoders.asked,
    "large_build": _build,
    "no_quant": _build,
    "memory": memory.beside_reports,
    "large_fp8_kv": memory.report_of,
    "large_no_quant": memory.report_of,
    "native": native.compared,
    "native_deploy": native.deployed,
    "deploy": serving.deployed,
    "large_deploy": serving.deployed,
    "kill": faults.told,
    "out_of_memory": _faults_and_build,
    "ask": serving.asked,
    "media": media.asked,
    "media_images": media.asked,
    "speed": serving.speed,
    "large_speed": serving.speed,
    "formats": formats.loaded,
    "lookahead_longer": lookahead.measured,
    "lookahead_gateway": lookahead.measured,
    "lookahead_singly": lookahead.measured,
    "quantization_speed": quantization.measured,
    "take_down": serving.taken_down,
    "large_take_down": serving.taken_down,
    "trtllm": trtllm.asked,
    "lookahead": lookahead.measured,
    "two_devices_build": _build,
    "two_devices": two_devices.divided,
    "two_devices_kill": two_devices.killed,
    "two_replicas_build": _build,
    "two_replicas": two_devices.replicas,
    "two_replicas_kill": two_devices.killed,
    "two_stages_build": _build,
    "two_stages": two_devices.divided,
}
_TELLS_FAILURE = ("kill", "out_of_memory", "trtllm", "two_devices_kill", "two_replicas_kill")
"""What is told by its own section even where it failed."""


if __name__ == "__main__":
    sys.exit(main())
