"""Every YAML block of the five source documents, with what the checks say of it.

Source: docs.baseten.co as of 2026-11-27. The blocks of the quantization guide have their
indentation put back, which its copy had lost.
"""

from pathlib import Path

import pytest

from controlplane.domain.facts.checkpoints import CheckpointFacts
from controlplane.domain.rules import Examination, Known, examine
from controlplane.domain.rules.examples import EVERY_KIND, LLAMA_8B, LLAMA_70B, QWEN2_7B
from controlplane.domain.spec import parse_text, write_yaml

DATA = Path(__file__).parent / "data"
LLAMA_3B = LLAMA_8B.model_copy(update={"parameters": 3_212_749_824, "layers": 28})
QWEN2_32B = QWEN2_7B.model_copy(
    update={
        "parameters": 32_763_876_352, "layers": 64, "hidden_size": 5120, "attention_heads": 40,
        "kv_heads": 8,
    }
)  # fmt: skip

WHOLE: dict[str, tuple[CheckpointFacts, set[str]]] = {
    "engine-builder-llm-overview-2": (
        LLAMA_70B,
        {"EH219", "EH220", "EH659", "EH906"},
    ),
    "engine-builder-llm-overview-3": (
        QWEN2_32B,
        {
            "EH230",
            "EH402",
            "EH421",
            "EH430",
            "EH433",
            "EH434",
            "EH659",
            "EH906",
        },
    ),
    "engine-builder-llm-overview-4": (LLAMA_3B, {"EH206", "EH220", "EH659"}),
    "lookahead-decoding-1": (QWEN2_7B, {"EH402", "EH501"}),
    "lookahead-decoding-9": (QWEN2_7B, {"EH206", "EH421", "EH431", "EH433"}),
}
_NO_ENGINE = {"trt_llm", "speculator"}
_NO_CHECKPOINT = {"trt_llm.build.checkpoint_repository"}
FRAGMENTS: dict[str, set[str]] = {
    "engine-builder-llm-overview-1": _NO_CHECKPOINT,
    "engine-builder-llm-overview-5": {"model", "tensor_parallel_size", "quantization"},
    "lookahead-decoding-2": _NO_ENGINE,
    "lookahead-decoding-3": _NO_ENGINE,
    "lookahead-decoding-4": _NO_ENGINE,
    "lookahead-decoding-5": _NO_ENGINE,
    "lookahead-decoding-6": _NO_ENGINE,
    "lookahead-decoding-7": _NO_ENGINE,
    "lookahead-decoding-8": _NO_CHECKPOINT,
    "performance-optimization-1": _NO_CHECKPOINT,
    "performance-optimization-2": _NO_CHECKPOINT,
    "quantization-guide-1": {"trt_llm", "quantization_config"},
    "quantization-guide-2": _NO_CHECKPOINT,
    "quantization-guide-3": _NO_CHECKPOINT,
    "quantization-guide-4": _NO_CHECKPOINT,
}


def _text(name: str) -> str:
    return (DATA / f"{name}.yaml").read_text()


def _examine(name: str, checkpoint: CheckpointFacts | None = None) -> Examination:
    known = Known(checkpoint=checkpoint, secret_names=frozenset(), devices=EVERY_KIND)
    return examine(_text(name), known)


def test_every_block_is_in_one_of_the_tables() -> None:
    assert {path.stem for path in DATA.glob("*.yaml")} == {*WHOLE, *FRAGMENTS}


@pytest.mark.parametrize("name", WHOLE)
def test_a_whole_config_parses_with_the_expected_findings(name: str) -> None:
    checkpoint, expected = WHOLE[name]
    examination = _examine(name, checkpoint)
    assert examination.spec is not None, examination.errors
    assert {finding.code for finding in examination.report.findings} == expected
    assert examination.report.waiting == ()
    assert parse_text(write_yaml(examination.spec)).spec == examination.spec


@pytest.mark.parametrize("name", FRAGMENTS)
def test_a_fragment_gets_errors_that_say_what_is_missing(name: str) -> None:
    examination = _examine(name)
    assert {error.path for error in examination.errors} == FRAGMENTS[name]
    assert all(error.hint for error in examination.errors)


def test_the_migration_example_is_told_where_each_setting_belongs() -> None:
    hints = {error.path: error.hint for error in _examine("engine-builder-llm-overview-5").errors}
    assert hints == {
        "model": "Here it is `trt_llm.build.checkpoint_repository.repo`.",
        "tensor_parallel_size": "Here it is `trt_llm.build.tensor_parallel_count`.",
        "quantization": "Here it is `trt_llm.build.quantization_type`.",
    }
