"""No loader refuses by config.json alone what no rule has refused before the fetch."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import transformers
from transformers.models.auto import modeling_auto

from controlplane.domain.facts import checkpoints
from controlplane.domain.facts.known_architectures import _ENDINGS, _STEMS
from controlplane.domain.facts.transformers_classes import has_class
from controlplane.domain.rules import Severity, examine
from controlplane.domain.rules.examples import Example
from workers.build_steps.failures import StepFailure
from workers.build_steps.quantization.checkpoint import open_checkpoint
from workers.engine import loader
from workers.engine.errors import CheckpointRefused
from workers.engine.pooling.loader import load_encoder
from workers.engine.scheme_reader import read_scheme

pytestmark = pytest.mark.engine

SHAPE: dict[str, Any] = {
    "hidden_size": 256, "num_hidden_layers": 4, "num_attention_heads": 4, "dtype": "bfloat16",
    "num_key_value_heads": 4, "intermediate_size": 512, "vocab_size": 32_000,
    "max_position_embeddings": 8192, "id2label": {"0": "a"},
}  # fmt: skip
NATIVE, ON_GPU = {"enginehouse.runtime": "native"}, {"resources.accelerator": "H100"}
QUANTIZED = {"trt_llm.build.quantization_type": "fp8"}
ENCODER = {"trt_llm.build.base_model": "encoder"}
STORED: tuple[dict[str, Any], ...] = (
    {"quant_method": "gptq", "bits": 4}, {"quant_method": "awq", "bits": 4},
    {"quant_method": "bitsandbytes", "load_in_4bit": True}, {"quant_method": "mxfp4"},
    {"quant_method": "fp8", "weight_block_size": [128, 128]}, {"quant_method": "hqq"},
    {"quant_method": "modelopt", "quant_algo": "FP8"}, {"quant_method": "torchao"},
    {"quant_method": "modelopt", "quant_algo": "W4A8_AWQ"},
    {"quant_method": "modelopt", "quant_algo": "NVFP4"},
    {"quant_method": "compressed-tensors", "format": "pack-quantized", "config_groups": {
        "group_0": {"targets": ["Linear"], "weights": {"num_bits": 4, "type": "int"}}}},
)  # fmt: skip


_LOADERS = 4


def classes() -> dict[str, str | None]:
    """Return every class of the auto-mappings with its family, and all that rules know."""
    outcome: dict[str, str | None] = {stem + end: None for stem in _STEMS for end in _ENDINGS}
    for name in dir(modeling_auto):
        table = getattr(modeling_auto, name)
        if name.endswith("_MAPPING_NAMES"):
            for family, named in table.items():
                for each in named if isinstance(named, tuple | list) else (named,):
                    outcome[each] = family
    return outcome


def refusal(load: Callable[[], Any], said: str) -> str | None:
    """Return the loader's own refusal; whatever else it breaks at has nothing to do with it."""
    try:
        load()
    except (CheckpointRefused, StepFailure) as refused:
        return str(refused) if said in str(refused) else None
    except Exception:
        return None
    return None


def refusals(
    monkeypatch: pytest.MonkeyPatch, folder: Path, config: dict[str, Any]
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield what a loader says of the class, with the config that would come to it."""
    served = folder / "served"
    served.mkdir(exist_ok=True)
    (served / "model.safetensors").touch()  # without weights both loaders say only that
    for each in (folder, served):
        (each / "config.json").write_text(json.dumps(config))
    is_serving = "The checkpoint's architecture is"
    for load, own in (
        (lambda: loader.find_model_class(served), NATIVE),
        (lambda: pooled(served), {**NATIVE, **ENCODER}),
    ):
        if statement := refusal(load, is_serving):
            yield statement, own
    for own in (ON_GPU, {**ON_GPU, **ENCODER}):
        is_encoder = own is not ON_GPU
        load = lambda: open_checkpoint(folder, served_as_encoder=is_encoder)  # noqa: B023, E731
        if statement := refusal(load, ""):
            yield statement, {**own, **QUANTIZED}


def pooled(folder: Path) -> Any:
    class Settings:
        model_dir = folder

    return load_encoder(Settings())  # type: ignore[arg-type]


def errors(config: dict[str, Any], content: dict[str, Any]) -> set[str]:
    example = Example(config=content, checkpoint=checkpoints.read(config))
    findings = examine(example.content, example.known).report.findings
    return {each.code for each in findings if each.severity is Severity.ERROR}


def unforeseen(
    monkeypatch: pytest.MonkeyPatch, folder: Path, named: dict[str, str | None]
) -> list[tuple[str, str, dict[str, Any]]]:
    """Return the refusals that no rule foresees; each of the four loaders refuses some class."""
    # The class itself is not made: that takes its own config, and is told by the build.
    monkeypatch.setattr(loader, "class_of", lambda *_: None)
    outcome, refused = [], []
    for name, family in named.items():
        config = {**SHAPE, "architectures": [name]} | ({"model_type": family} if family else {})
        for statement, content in refusals(monkeypatch, folder, config):
            if content not in refused:
                refused.append(content)
            if not errors(config, content):
                outcome.append((name, statement, content))
    assert len(refused) == _LOADERS, refused
    return outcome


def test_a_class_that_a_loader_refuses_is_refused_by_a_rule(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    named = dict(sorted(classes().items(), key=lambda each: each[0][::-1])[::60])
    assert unforeseen(monkeypatch, tmp_path, named) == []


@pytest.mark.long
def test_every_class_that_a_loader_refuses_is_refused_by_a_rule(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    assert unforeseen(monkeypatch, tmp_path, classes()) == []


@pytest.mark.parametrize("stored", STORED, ids=lambda each: "-".join(map(str, each.values()))[:40])
def test_a_stored_quantization_that_the_native_engine_refuses_is_refused_by_a_rule(
    tmp_path: Path, stored: dict[str, Any]
) -> None:
    config = {
        **SHAPE, "architectures": ["LlamaForCausalLM"], "model_type": "llama",
        "quantization_config": stored,
    }  # fmt: skip
    statement = refusal(lambda: read_scheme(tmp_path, config), "native engine does not read")
    assert bool(statement) is bool(errors(config, NATIVE)), statement


def test_the_list_of_transformers_classes_has_all_of_the_installed_version() -> None:
    # By its list of names: to ask for one of them would import the model behind it.
    installed = classes().keys() & {*dir(transformers)}
    assert len(installed) > 1000
    assert [name for name in installed if not has_class(name)] == []


def test_a_class_that_everything_loads_has_no_error() -> None:
    config = {**SHAPE, "architectures": ["LlamaForCausalLM"], "model_type": "llama"}
    for content in (NATIVE, ON_GPU, {**ON_GPU, **QUANTIZED}):
        assert errors(config, content) == set()
