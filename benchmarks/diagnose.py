"""How fast the checks answer, beside the plain reading of the same YAML.

Measures `diagnose()` with every rule and all facts known, and `examine`, which parses, plans and
diagnoses, over configs that are clean and that are not. The rival is `yaml.load` of the same text
by libyaml's safe loader, in turns with them. All of it is computation on one thread, so CPU time is
compared, which other work on the machine does not stretch. A bar is on the median of the configs'
ratios, each the ratio of two medians. Exit 1 when one is missed.
"""

import json
import sys
import time
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

import yaml

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks import report
from controlplane.domain.facts.gpus import GIB
from controlplane.domain.presets import PRESETS
from controlplane.domain.rules import ALL_RULES, Known, context_of, diagnose, every_kind, examine
from controlplane.domain.rules.examples import LLAMA_8B, SMOLLM2_135M
from controlplane.domain.rules.trials import State
from controlplane.domain.runtimes import RUNTIMES, Start
from controlplane.domain.spec import parse_text, write_yaml

BARS = {
    "diagnose_ratio_to_yaml_load": report.at_most(6),
    "examine_ratio_to_yaml_load": report.at_most(10),
    "a_trial_ratio_to_examine": report.at_most(1),
}
_ROUNDS, _FULL_ROUNDS, _WARM_UP = 50, 500, 5
_BAD_TEXT = "\n".join(
    [
        "resources: {accelerator: h100}",
        "trt_llm:",
        "  build:",
        "    quantisation_type: fp8",
        "    max_batch_size: 9999",
        "    max_seq_len: '4096'",
        "    kv_cache_free_gpu_mem_fraction: 0.5",
        "    checkpoint_repository: {source: HF, repo: 'a b'}",
    ]
)
"""Every line an error: describing them is the slow part of parsing."""
RIVAL = "yaml_load"
_TRIAL = "a_trial"
Spent = Mapping[str, list[float]]
"""CPU milliseconds of every round, by what was done."""


def main() -> int:
    """Return the exit status: 0 where every bar is met."""
    options = report.parser(__doc__, full="ten times the rounds").parse_args()
    figures = report.Report(as_json=options.json)
    return figures.end(measure(_FULL_ROUNDS if options.full else _ROUNDS), BARS)


def measure(rounds: int) -> dict[str, Any]:
    """Return the CPU time of each part in milliseconds, and its ratio to the rival's."""
    facts = Known(
        checkpoint=LLAMA_8B,
        secret_names=frozenset({"hf_access_token"}),
        devices=every_kind(cpu_memory_bytes=64 * GIB),
    )
    configs = {name: _parts(text, facts) for name, text in _texts().items()}
    spent = {name: _timed(parts, rounds) for name, parts in configs.items()}
    return {
        "rules": len(ALL_RULES),
        "configs": len(configs),
        "rounds": rounds,
        **_ratios("diagnose", spent),
        **_ratios("examine", spent),
        "a_trial_ratio_to_examine": round(_trial_ratio(spent), 2),
        **_percentiles(spent),
    }


def _texts() -> dict[str, str]:
    """Return each preset as a person writes it and as a store writes it, in full, and a bad one."""
    texts = {"all_errors": _BAD_TEXT}
    for preset in PRESETS:
        texts[preset.name] = preset.text
        if spec := parse_text(preset.text).spec:
            written = type(spec).model_validate(spec.model_dump(mode="json"))
            texts[f"{preset.name}_in_full"] = write_yaml(written)
    return texts


def _parts(text: str, facts: Known) -> dict[str, Callable[[], object]]:
    """Return what is timed of a config; one that does not parse is never diagnosed."""
    parts: dict[str, Callable[[], object]] = {
        RIVAL: partial(yaml.load, text, Loader=yaml.CSafeLoader),
        "examine": partial(examine, text, facts),
        "examine_and_render": partial(_whole, text, facts),
        "parse": partial(parse_text, text),
    }
    parsed = parse_text(text)
    if spec := parsed.spec:
        parts["diagnose"] = lambda: diagnose(context_of(spec, facts), ALL_RULES)
        state = State(parsed=parsed, known_for=lambda _: facts)
        parts[_TRIAL] = lambda: state.after({"resources.accelerator": "H100:8"}).report
    return parts


def _whole(text: str, facts: Known) -> None:
    examination = examine(text, facts)
    if examination.spec is not None:
        start = Start(
            model_dir="/artifacts/model",
            host="127.0.0.1",
            port=9000,
            python="/usr/bin/python3",
            threads=2,
            memory_bytes=8 * GIB,
        )
        RUNTIMES["native"].render(examination.spec, SMOLLM2_135M, start)
    json.dumps(examination.to_json())


def _trial_ratio(spent: Mapping[str, Spent]) -> float:
    """Return what a trial of a fix costs beside `examine`, the median over the configs."""
    tried = [each for each in spent.values() if _TRIAL in each]
    return median(median(each[_TRIAL]) / median(each["examine"]) for each in tried)


def _timed(parts: Mapping[str, Callable[[], object]], rounds: int) -> Spent:
    spent: dict[str, list[float]] = {name: [] for name in parts}
    for number in range(rounds + _WARM_UP):
        for name, call in parts.items():
            started = time.thread_time()
            call()
            used = (time.thread_time() - started) * 1000
            if number >= _WARM_UP:
                spent[name].append(used)
    return spent


def _ratios(part: str, spent: Mapping[str, Spent]) -> dict[str, Any]:
    ratios = {
        name: median(each[part]) / median(each[RIVAL])
        for name, each in spent.items()
        if part in each
    }
    worst = max(ratios, key=lambda name: ratios[name])
    return {
        f"{part}_ratio_to_yaml_load": round(median(ratios.values()), 2),
        f"{part}_ratio_to_yaml_load_at_worst": round(ratios[worst], 2),
        f"{part}_worst_config": worst,
    }


def _percentiles(spent: Mapping[str, Spent]) -> dict[str, float]:
    figures = {}
    for part in (RIVAL, "diagnose", "parse", "examine", "examine_and_render"):
        values = [value for each in spent.values() for value in each.get(part, ())]
        for name, share in (("p50", 0.5), ("p95", 0.95), ("p99", 0.99)):
            figures[f"{part}_{name}_cpu_milliseconds"] = round(report.percentile(values, share), 3)
    return figures


if __name__ == "__main__":
    sys.exit(main())
