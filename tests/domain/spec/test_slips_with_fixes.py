"""A slip whose meaning is certain comes with the change that mends it."""

import pytest

from controlplane.domain.facts.unbuilt_types import unbuilt_reason
from controlplane.domain.spec import parse_text
from controlplane.domain.spec.choices import QuantizationType
from controlplane.domain.spec.errors import Problem, SpecError

CHECKPOINT = "checkpoint_repository: {source: HF, repo: owner/name}"


def _engine(build: str = "max_seq_len: 8", rest: str = "") -> str:
    return f"trt_llm:\n  build:\n    {CHECKPOINT}\n    {build}\n{rest}\n"


def _errors(text: str) -> dict[str, SpecError]:
    return {error.path: error for error in parse_text(text).errors}


@pytest.mark.parametrize(
    ("line", "path", "meant"),
    [
        ("resources: {cpu: 4}", "resources.cpu", "4"),
        ("resources: {memory: 0.5}", "resources.memory", "0.5"),
        ("model_metadata: {repo_id: 7}", "model_metadata.repo_id", "7"),
    ],
)
def test_a_number_where_text_belongs_is_offered_in_quotes(line: str, path: str, meant: str) -> None:
    error = _errors(_engine(rest=line))[path]
    assert error.problem is Problem.WRONG_TYPE
    assert error.patch == {path: meant}


def test_a_quoted_number_is_offered_without_its_quotes() -> None:
    error = _errors(_engine("max_seq_len: ' 4096'"))["trt_llm.build.max_seq_len"]
    assert error.patch == {"trt_llm.build.max_seq_len": 4096}


@pytest.mark.parametrize(
    ("entry", "path"),
    [
        ("{repo_id: a/b}", "model_cache.0.use_volume"),
        ("{repo_id: a/b, use_volume: true}", "model_cache.0"),
    ],
)
def test_a_cached_repository_says_where_its_files_go(entry: str, path: str) -> None:
    assert path in _errors(_engine(rest=f"model_cache: [{entry}]"))


def test_a_key_that_a_slip_was_meant_for_is_not_called_missing_too() -> None:
    errors = _errors(_engine(rest="weights: [{sourc: 'hf://a/b', mount_location: /x}]"))
    assert set(errors) == {"weights.0.sourc"}
    assert errors["weights.0.sourc"].patch == {
        "weights.0.sourc": None,
        "weights.0.source": "hf://a/b",
    }


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("fp8_pb_wo", "is `fp8_block` here"),
        ("FP8_2D_BLOCKWISE_WEIGHT_ONLY_CFG", "is `fp8_block` here"),
        ("fp8-block-scales", "is `fp8_block` here"),
        ("fp8_per_channel", "per channel is not built"),
        ("mxfp8", "Microscaling formats are not built"),
    ],
)
def test_a_precision_that_is_not_built_is_refused_with_the_reason(name: str, words: str) -> None:
    path = "trt_llm.build.quantization_type"
    error = _errors(_engine(f"quantization_type: {name}"))[path]
    assert words in (error.hint or "")
    assert "Did you mean" not in (error.hint or "")
    assert error.patch is None


def test_no_type_that_is_built_is_called_unbuilt() -> None:
    assert not [kind for kind in QuantizationType if unbuilt_reason(kind)]
    error = _errors(_engine("quantization_type: fp8_k"))["trt_llm.build.quantization_type"]
    assert (error.hint or "").startswith("Did you mean `fp8_kv`?")
