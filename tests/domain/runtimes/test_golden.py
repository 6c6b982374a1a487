"""Every config of the seeds and of the public cases, as vLLM and TensorRT-LLM are started on it."""

import json
import os
import re
import shlex
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from controlplane.domain.rules.serving.engine_arguments import v2_example
from controlplane.domain.spec import Spec, parse_mapping
from tests.domain.cases import DATA
from tests.domain.runtimes.golden import DRIVERS, FOLDER, LOADER, cases, launch_of, written
from tests.waiting import DEADLINE_SECONDS

FIELDS = json.loads((DATA / "trtllm_fields.json").read_text())
_RANGE = re.compile(r"(>=?) (\d+)|(\d)\.\.(\d)")


@pytest.mark.parametrize("runtime", DRIVERS)
def test_launches_are_as_they_were_read_and_kept(runtime: str) -> None:
    kept = {file.stem: file.read_text() for file in (FOLDER / runtime / "golden").glob("*.yaml")}
    made = {name: written(launch_of(runtime, spec)) for name, spec in cases().items()}
    assert made == kept, "read the difference, then: python -m tests.domain.runtimes.golden"


@pytest.mark.wide
@pytest.mark.parametrize("version", ["1.2", "1.3", "1.4"])
def test_every_engine_file_passes_the_field_table(version: str) -> None:
    for name, spec in {**cases(), **arguments_cases()}.items():
        content = yaml.load(launch_of("trtllm", spec, version=version).files["engine.yaml"], LOADER)
        assert problems(content) == [], name


def arguments_cases() -> dict[str, Spec]:
    """Return configs that pass arguments on, right and wrong ones."""
    given: dict[str, dict[str, Any]] = {
        "ngram": {"speculative_config": {"decoding_type": "ngram", "max_draft_len": 8}},
        "sa": {"speculative_config": {"decoding_type": "SA", "max_draft_len": 8}},
        "eagle": {"speculative_config": {"decoding_type": "Eagle3", "max_draft_len": 3,
                                         "speculative_model": "/draft", "nonsense": 1}},
        "mtp": {"speculative_config": {"decoding_type": "MTP", "num_nextn_predict_layers": 1}},
        "blocks": {"kv_cache_config": {"dtype": "fp8", "unknown": 1, "host_cache_size": 1 << 30},
                   "scheduler_config": {"capacity_scheduler_policy": "max_utilization"},
                   "moe_config": {"backend": "cutlass"}, "tool_parser": "qwen3"},
        "wrong": {"kv_cach_config": {}, "trust_remote_code": True, "b10_routing_config": {}},
    }  # fmt: skip
    parsed = {name: parse_mapping(v2_example(each).content).spec for name, each in given.items()}
    return {name: spec for name, spec in parsed.items() if spec is not None}


def problems(content: dict[str, Any]) -> list[str]:
    """Return what the server would end at: names and types that its arguments do not have."""
    entries = []
    for name, value in content.items():
        if name == "speculative_config":
            kind = {"DraftTarget": "Draft_Target"}.get(
                value["decoding_type"], value["decoding_type"]
            )
            inner = {key: each for key, each in value.items() if key != "decoding_type"}
            names = FIELDS["decoding"][kind] | {"speculative_model_dir": "str or null"}
            entries += of_block(inner, names, name)
        elif value is None and FIELDS["arguments"][name].endswith("or null"):
            continue
        elif name in FIELDS["blocks"]:
            entries += of_block(value, FIELDS["blocks"][name], name)
        else:
            entries += of_block({name: value}, FIELDS["arguments"], "")
    return entries


def of_block(values: dict[str, Any], names: dict[str, str], where: str) -> list[str]:
    unknown = [f"{where}.{name}: unknown" for name in values if name not in names]
    wrong = [
        f"{where}.{name}: {value!r} is not {names[name]}"
        for name, value in values.items()
        if name in names and not fits(value, names[name])
    ]
    return unknown + wrong


def fits(value: Any, words: str) -> bool:
    """Return whether a value is of the type that the table names in words."""
    if value is None:
        return "null" in words
    if isinstance(value, bool):
        return words.startswith("bool")
    if words.startswith(("int", "float")):
        return isinstance(value, int | float) and in_range(value, words)
    if words.startswith(("list", "set")):
        return isinstance(value, list)
    if isinstance(value, str):
        plain = words.startswith("str") or "path" in words
        return plain or value in re.split(r", | or |\"", words)
    return isinstance(value, dict)


def in_range(value: float, words: str) -> bool:
    match = _RANGE.search(words)
    if match is None:
        return True
    if match[1]:
        return value >= int(match[2]) if match[1] == ">=" else value > int(match[2])
    return int(match[3]) <= value <= int(match[4])


@pytest.mark.skipif(
    "TRTLLM_ARGS_CHECK" not in os.environ,
    reason="TensorRT-LLM's classes come with NVIDIA's image only; TRTLLM_ARGS_CHECK names none",
)
def test_every_engine_file_passes_the_classes_of_tensorrt_llm(tmp_path: Path) -> None:
    """`TRTLLM_ARGS_CHECK` is a command that takes YAML files and ends with 1 at the first wrong."""
    for name, spec in {**cases(), **arguments_cases()}.items():
        content = launch_of("trtllm", spec).files["engine.yaml"]
        (tmp_path / f"{name}.yaml").write_text(content)
    command = [*shlex.split(os.environ["TRTLLM_ARGS_CHECK"]), *map(str, tmp_path.glob("*.yaml"))]
    done = subprocess.run(command, capture_output=True, text=True, timeout=DEADLINE_SECONDS)
    assert done.returncode == 0, done.stdout
