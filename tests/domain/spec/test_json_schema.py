"""The JSON Schema of the config takes what the parser takes, and refuses what people mistype."""

import json
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from controlplane.domain.presets import PRESETS
from controlplane.domain.rules.catalogue import ALL_RULES
from controlplane.domain.rules.examples import BASE_CONFIG
from controlplane.domain.spec import parse_mapping, parse_text
from controlplane.domain.spec.json_schema import config_schema
from tests.domain.cases import as_config_yaml, lines

ROOT = Path(__file__).resolve().parents[3]
FILES = [*(ROOT / "examples").glob("*/config.yaml"), *(ROOT / "tests/seeds/data").glob("*.yaml")]
WHOLE = [path for path in FILES if parse_text(path.read_text()).spec is not None]


@cache
def validator() -> Any:
    jsonschema.Draft7Validator.check_schema(config_schema())
    return jsonschema.Draft7Validator(config_schema())


def complaints(config: Any) -> list[str]:
    # As JSON has it: YAML's dates and tuples are texts and lists there.
    plain = json.loads(json.dumps(config, default=str))
    return [f"{error.json_path}: {error.message}" for error in validator().iter_errors(plain)]


@pytest.mark.parametrize("path", WHOLE, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_a_config_of_the_seeds_and_of_the_examples_is_valid(path: Path) -> None:
    assert complaints(yaml.safe_load(path.read_text())) == []


def test_every_example_is_among_them_and_the_whole_files_of_the_seeds() -> None:
    assert {path.parent for path in FILES if path.name == "config.yaml"} <= {
        path.parent for path in WHOLE
    }
    assert len(WHOLE) >= 12


def test_a_public_config_is_valid_where_it_parses() -> None:
    wrong = {}
    for case in lines("truss_configs.jsonl"):
        config = as_config_yaml(case["facts"])
        if parse_mapping(config).spec is not None and (outcome := complaints(config)):
            wrong[case["id"]] = outcome
    assert wrong == {}


def test_a_preset_and_an_example_of_a_rule_are_valid() -> None:
    assert {each.name: complaints(yaml.safe_load(each.text)) for each in PRESETS} == {
        each.name: [] for each in PRESETS
    }
    wrong = {rule.code: complaints(rule.bad.content) for rule in ALL_RULES}
    assert {code: outcome for code, outcome in wrong.items() if outcome} == {}


def config(**changes: Any) -> dict[str, Any]:
    return {**BASE_CONFIG, **changes}


def engine(stack: str | None = None, **build: Any) -> dict[str, Any]:
    block: dict[str, Any] = {"build": {**BASE_CONFIG["trt_llm"]["build"], **build}}
    return config(trt_llm=block | ({"inference_stack": stack, "runtime": {}} if stack else {}))


MISTAKES: dict[str, dict[str, Any]] = {
    "nothing to build": {"model_name": "x"},
    "an unknown key at the top": config(resource={"accelerator": "H100"}),
    "an unknown key in a block": engine(quantisation_type="fp8"),
    "a value outside its set": engine(quantization_type="fp16"),
    "a number above its limit": engine(max_batch_size=5000),
    "a number that is no multiple": engine(quantization_config={"calib_size": 100}),
    "text for a number": engine(max_seq_len="long"),
    "a word for a switch": config(resources={"use_gpu": "sometimes"}),
    "an unknown GPU": config(resources={"accelerator": "H1000"}),
    "no number of GPUs": config(resources={"accelerator": "H100:many"}),
    "memory without a unit that exists": config(resources={"memory": "10GB"}),
    "no checkpoint": config(trt_llm={"build": {"max_seq_len": 1}}),
    "an address for a hub id": engine(
        checkpoint_repository={"source": "HF", "repo": "https://huggingface.co/a/b"}
    ),
    "an unknown stack": engine("v3"),
    "a limit of v1 in v2": engine("v2", max_seq_len=4096),
    "two lists of packages": config(requirements=["a"], requirements_file="b.txt"),
    "two caches": config(
        model_cache=[{"repo_id": "a/b", "use_volume": False}],
        weights=[{"source": "hf://a/b", "mount_location": "/a"}],
    ),
    "our block twice": config(
        enginehouse={"pool": "a"}, model_metadata={"enginehouse": {"pool": "b"}}
    ),
    "an unknown runtime": config(enginehouse={"runtime": "sglang"}),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_a_typical_mistake_is_refused_as_the_parser_refuses_it(name: str) -> None:
    assert complaints(MISTAKES[name]) != []
    assert parse_mapping(MISTAKES[name]).errors != ()


def test_a_mistake_is_placed_where_it_stands_and_in_its_own_stack() -> None:
    (outcome,) = complaints(engine("v2", max_seq_len=None) | {"model_name": 3})
    assert outcome.startswith("$.model_name")
    (outcome,) = complaints(engine(quantization_type="fp16"))
    assert outcome.startswith("$.trt_llm.build.quantization_type")


def test_what_excludes_something_else_may_stand_empty_beside_it() -> None:
    empty = config(requirements=[], requirements_file="b.txt", model_cache=[], weights=[])
    assert complaints(empty) == []
    assert parse_mapping(empty).spec is not None


@pytest.mark.parametrize("given", ["H100", "H100:2", {"accelerator": "H100", "count": 2}, None])
def test_an_accelerator_is_written_in_each_way_that_the_parser_reads(given: Any) -> None:
    request = config(resources={"accelerator": given})
    assert complaints(request) == []
    assert parse_mapping(request).spec is not None
