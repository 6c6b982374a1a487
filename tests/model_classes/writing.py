"""Turns what was recorded into the product's table and the tests' data.

`python -m tests.model_classes.writing FOLDER` reads every `classes*.jsonl` of the folder.
"""

import json
import math
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from controlplane.domain.facts import checkpoints
from tests.model_classes.settings import changed

ROOT = Path(__file__).parents[2]
DATA = ROOT / "tests/domain/data/model_classes.jsonl"
ROWS = ROOT / "controlplane/domain/facts/class_counts/rows.py"
TOLERANCE = 0.005
USEFUL = 0.05
"""A count that is off by more is none."""
_NOISE = re.compile(
    r"dropout|token_id|_init|initializer|_eps|epsilon|_activation|coef|use_cache|version|"
    r"id2label|label2id|rope_theta|rope_scaling|rope_parameters|feed_forward_chunk|chunk_size_feed|return_dict|"
    r"output_(att|hid|router)|problem_type|^dtype|torch_dtype|jitter|softcap|"
    r"time_step_(min|max|limit|floor)|bias_u_pattern|hidden_act|_scale|scaling|pruned|tokenizer|"
    r"name_or_path|architectures|gradient|task_specific|finetuning|early_stop|repetition|beam|"
    r"prefix|summary_|do_sample|temperature|penalty|no_repeat|bad_words|num_return|suppress|"
    r"cls_token|sep_token|boundary|_loss|theta"
)
_Case = dict[str, Any]


def main(folder: str) -> None:
    lines = sorted(
        (
            json.loads(line)
            for path in Path(folder).glob("classes*.jsonl")
            for line in path.read_text().splitlines()
        ),
        key=lambda line: (line["class"], line["model_type"]),
    )
    rows: dict[str, list[str]] = {}
    cases: list[_Case] = []
    about: dict[str, float] = {}
    for line in lines:
        if "refused" in line:
            cases.append(
                {
                    "class": line["class"],
                    "model_type": line["model_type"],
                    "not_made": line["refused"],
                }
            )
            continue
        forms = [fit for fit in line.get("fits", []) if fit["parts"]]
        plain = next((fit for fit in forms if not fit["set"]), None)
        off = _layers_off(line)
        if off > TOLERANCE and plain is not None:
            rows.setdefault(line["class"], []).extend(
                _row(line, fit) for fit in sorted(forms, key=lambda f: not f["set"])
            )
        elif off > TOLERANCE:
            about[line["class"]] = max(about.get(line["class"], 0.0), off)
        cases.append(_case(line, "layers" if off <= TOLERANCE else "class" if plain else None))
    _write_rows(rows, {name: off for name, off in about.items() if name not in rows})
    _write_cases(cases)


def _write_cases(cases: Sequence[_Case]) -> None:
    """Write one a line; a config that another class has as well is named by that class."""
    known: dict[str, str] = {}
    with DATA.open("w") as out:
        for case in cases:
            text = json.dumps(case.get("config"), sort_keys=True)
            if text in known:
                case = {**case, "config": known[text]}
            elif "config" in case:
                known[text] = f"{case['class']} of {case['model_type']}"
            out.write(json.dumps(case, sort_keys=True, separators=(",", ":")) + "\n")


def _configs(line: _Case) -> Iterator[tuple[dict[str, Any], int]]:
    yield line["config"], line["parameters"]
    for fit in line.get("fits", []):
        for sample in fit["samples"]:
            yield changed(line["config"], sample["changes"]), sample["parameters"]


def _layers_off(line: _Case) -> float:
    """Return by how much the count of the layers is off at worst, over every config of a class."""
    worst = 0.0
    for config, parameters in _configs(line):
        counted = checkpoints.read(
            {**config, "architectures": [line["class"]]}, by_class=False
        ).counts
        worst = max(worst, math.inf if counted is None else abs(counted.total / parameters - 1))
    return worst


def _row(line: _Case, fit: _Case) -> str:
    used = {
        name.lstrip("!").split("=")[0].rstrip("#+")
        for text in fit["parts"].values()
        for term in text.split(" + ")
        for name in re.split(r"[*^]", term)
    }
    plain = {**_leaves(line["config"]), "num_labels": 2}
    defaults = {name: plain[name] for name in sorted(used) if isinstance(plain.get(name), int)}
    unset = tuple(name for name in fit["unset"] if name not in fit["set"])
    entries = tuple(name for name in fit["set"])
    parts = {name: text for name, text in fit["parts"].items() if text}
    return f"Row({_pretty(parts)}, {unset!r}, {entries!r}, {defaults!r})"


def _leaves(config: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    values = {}
    for key, value in config.items():
        if isinstance(value, Mapping):
            values |= _leaves(value, f"{prefix}{key}.")
        else:
            values[f"{prefix}{key}"] = value
    return values


def _pretty(parts: Mapping[str, str]) -> str:
    return "{" + ", ".join(f"{name!r}: {text!r}" for name, text in parts.items()) + "}"


def _case(line: _Case, by: str | None) -> _Case:
    missed = line.get("missed") or next(
        (fit["missed"] for fit in line.get("fits", []) if fit["missed"]), ""
    )
    samples = [sample for fit in line.get("fits", []) for sample in fit["samples"][:2]]
    return {
        "class": line["class"],
        "model_type": line["model_type"],
        "counted_by": by,
        "config": reduced(line["config"]),
        "parameters": line["parameters"],
        "samples": [
            {
                "changes": {k: v for k, v in s["changes"].items() if not _NOISE.search(k)},
                "parameters": s["parameters"],
            }
            for s in samples[:2]
        ]
        if by
        else [],
        **({} if by else {"reason": missed.split(": (")[0].split(": [")[0][:120]}),
    }


def reduced(config: Mapping[str, Any]) -> dict[str, Any]:
    """Return the config without what says nothing of shapes."""
    return {
        key: reduced(value) if isinstance(value, Mapping) else value
        for key, value in config.items()
        if not _NOISE.search(key) and value not in ({}, "")
    }


def _write_rows(rows: Mapping[str, Iterable[str]], about: Mapping[str, float]) -> None:
    head = (
        '"""What classes of transformers 5.24 come to, read 2026-11-29.\n\n'
        'Written by `python -m tests.model_classes.writing`; `row.py` says how.\n"""\n\n'
        "# ruff: noqa: E501\n# fmt: off\n\n"
    )
    text = "".join(f"    {name!r}: ({', '.join(each)},),\n" for name, each in sorted(rows.items()))
    ROWS.write_text(
        head
        + "from collections.abc import Mapping\nfrom types import MappingProxyType\n\n"
        + "from controlplane.domain.facts.class_counts.row import Row\n\n"
        + "ROWS: Mapping[str, tuple[Row, ...]] = MappingProxyType({\n"
        + text
        + "})\n\nABOUT: Mapping[str, float] = MappingProxyType({\n"
        + "".join(
            f"    {name!r}: {math.ceil(off * 100) / 100},\n"
            for name, off in sorted(about.items())
            if off <= USEFUL
        )
        + "})\n"
        + '"""Classes of which the layers are counted, and by how much that was off."""\n\n'
        + f"UNCOUNTED = frozenset({[each for each in sorted(about) if about[each] > USEFUL]!r})\n"
        + '"""Classes of which neither says enough; the headers of their weight files do."""\n'
    )


if __name__ == "__main__":
    main(sys.argv[1])
