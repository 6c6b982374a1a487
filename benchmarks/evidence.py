"""What was seen on cards, as one page: `docs/evidence.md`, out of files of `benchmarks/results`.

    python benchmarks/evidence.py [--check]

Nothing on the page is written by hand but the list of what is wanted of a card: what of it has no
result there is listed as not run. With `--check`, exit 1 where the page is stale.
"""

import argparse
import datetime
import json
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks import evidence_faults as faults
from benchmarks import evidence_memory as memory
from benchmarks import evidence_serving as serving
from benchmarks.evidence_table import engine_lines, one_line, section
from benchmarks.gpu.wanted import WANTED

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "benchmarks/results"
PAGE = ROOT / "docs/evidence.md"
_INTRODUCTION = """\
# Evidence

What was seen on cards, where and when; generated from the files of `benchmarks/results` by
`python benchmarks/evidence.py`. `benchmarks/README.md` holds the figures taken on CPUs, their bars
and their rivals. The raw outputs are in `benchmarks/results/raw`.
"""
_GIB = 1024**3


def main() -> int:
    """Write the page, or say whether it is fresh."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true")
    text = page()
    if parser.parse_args().check:
        return 0 if PAGE.read_text() == text else 1
    PAGE.write_text(text)
    return 0


def page() -> str:
    """Return the page as the kept results make it."""
    found = {path: json.loads(path.read_text()) for path in sorted(RESULTS.glob("*.json"))}
    results = {
        path: each for path, each in found.items() if isinstance(each, list) or "card" in each
    }
    parts = [_INTRODUCTION]
    for path, content in results.items():
        write = _SECTIONS.get(path.name.partition("-")[0])
        parts.append(write(path.name, content) if write else _plain(path.name, content))
    return "\n".join([*parts, _not_run(results)])


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
        *((each["name"], f"{_seconds(each)} s") for each in found["steps"]),
    ]  # fmt: skip
    title = f"A build on a card: `{_name_of(found)}`"
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
        "calibrated on the card",
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


def _native(name: str, found: Mapping[str, Any]) -> str:
    parted = [row for row in found["rows"] if not row["same"]]
    told = [f"parts at token {row['part_at_token']}, where the best two lie "
            f"{row['gap_of_best_two_there']} apart" for row in parted]  # fmt: skip
    tests = found.get("tests")
    rows = [
        ("answers", f"{found['identical']} of {found['of']} the same text as Transformers', "
                    "greedy, bfloat16"),
        ("the others", "; ".join(told) or "none"),
        ("one stream", f"{found['tokens_per_second_one_stream']} tokens per second"),
    ]  # fmt: skip
    if isinstance(tests, dict):
        rows.append(
            (f"`{tests['file']}`", f"{tests['passed']} passed, {len(tests['failed'])} failed")
        )
        rows += [("failed", f"`{each}`") for each in tests["failed"]]
        rows += [("why", tests["why"])] if "why" in tests else []
    return section("The native engine on a card", name, found, rows)


def _native_deploy(name: str, found: Mapping[str, Any]) -> str:
    kept = found["memory"]
    planned, said = kept["planned"], kept["report"]
    parted = [row for row in found["rows"] if not row["same"]]
    told = [f"parts at token {row['part_at_token']}, where the best two lie "
            f"{row['gap_of_best_two_there']} apart" for row in parted]  # fmt: skip
    rows = [
        ("answers behind the gateway", f"{found['identical']} of {found['of']} the same text as "
                                       "Transformers', greedy, bfloat16"),
        ("the others", "; ".join(told) or "none"),
        ("computed in", f"{said['dtype']} on {said['device']}"),
        ("from the order to active", f"{found['seconds_to_active']} s"),
        ("one stream", f"{found['tokens_per_second_one_stream']} tokens per second"),
        *((words, f"{_amount(key, planned[key])} planned, {_amount(key, said[key])} reported")
          for words, key in (("weights", "weights_bytes"), ("KV cache", "kv_cache_bytes"),
                             ("KV tokens", "kv_tokens"))),
        ("taken of the card", f"{kept['taken_of_the_card_bytes'] / _GIB:.3f} GiB; planned at "
                              f"most {_at_most(planned) / _GIB:.3f} GiB"),
    ]  # fmt: skip
    return section("The native engine through the product", name, found, rows)


def _at_most(planned: Mapping[str, int]) -> int:
    return sum(size for key, size in planned.items() if key.endswith("_bytes"))


def _plain(name: str, found: Mapping[str, Any]) -> str:
    """Return the figures of a benchmark that prints one object."""
    rows = [(key.replace("_", " "), str(value)) for key, value in found.items()
            if isinstance(value, int | float | bool)]  # fmt: skip
    return section(name.partition("-")[0].replace("_", " ").capitalize(), name, found, rows)


def _not_run(results: Mapping[Path, Any]) -> str:
    """Return what is wanted of a card and has no result that came through."""
    done = {
        each.name.partition("-")[0] for each, content in results.items() if _came_through(content)
    }
    missing = [f"- {words}" for what, words in WANTED.items() if what not in done]
    return "\n".join(["## Not run yet", "", "Written, and no claim of ours:", "",
                       *missing, ""])  # fmt: skip


def _came_through(content: Any) -> bool:
    return not isinstance(content, dict) or content.get("state", "done") == "done"


def _amount(key: str, value: int) -> str:
    return f"{value:,}" if key == "kv_tokens" else f"{value / _GIB:.3f} GiB"


def _seconds(step: Mapping[str, Any]) -> float:
    began, ended = (datetime.datetime.fromisoformat(step[key].replace("Z", "+00:00"))
                    for key in ("started_at", "finished_at"))  # fmt: skip
    return round((ended - began).total_seconds(), 1)


_SECTIONS = {
    "build": _build,
    "large_build": _build,
    "no_quant": _build,
    "memory": memory.beside_reports,
    "large_fp8_kv": memory.report_of,
    "large_no_quant": memory.report_of,
    "native": _native,
    "native_deploy": _native_deploy,
    "deploy": serving.deployed,
    "large_deploy": serving.deployed,
    "kill": faults.told,
    "out_of_memory": _faults_and_build,
    "ask": serving.asked,
    "speed": serving.speed,
    "large_speed": serving.speed,
    "take_down": serving.taken_down,
    "large_take_down": serving.taken_down,
}


if __name__ == "__main__":
    sys.exit(main())
