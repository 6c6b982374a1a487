"""What a table says of two features, the checks say of a config that asks for both."""

from dataclasses import dataclass
from functools import cache
from itertools import combinations
from typing import Any

import pytest

from controlplane.domain.facts.checkpoints import CheckpointFacts
from controlplane.domain.facts.gpus import CPU
from controlplane.domain.rules import Finding, Severity, examine
from controlplane.domain.rules.examples import EVERY_KIND, Example, facts
from controlplane.domain.rules.speculation.lookahead import RECOMMENDED
from controlplane.domain.runtimes import RUNTIMES, Feature, Support
from controlplane.domain.runtimes.requested_features import requested_features
from controlplane.domain.runtimes.together import EVERY_PAIR, listed_pair, pairs_of, together
from controlplane.domain.spec import Spec

_BUILD, _RUNTIME = "trt_llm.build", "trt_llm.runtime"
SMALL = facts(num_attention_heads=8, num_key_value_heads=8, head_dim=64, hidden_size=512)
ENCODER = facts(architectures=["LlamaModel"], num_attention_heads=8, num_key_value_heads=8,
                hidden_size=512, head_dim=64, chat_template=None)  # fmt: skip
IMAGES = facts(
    {
        "architectures": ["Mistral3ForConditionalGeneration"], "model_type": "mistral3",
        "text_config": {
            "model_type": "mistral", "hidden_size": 512, "num_hidden_layers": 30,
            "num_attention_heads": 8, "num_key_value_heads": 8, "head_dim": 64,
            "intermediate_size": 1536, "vocab_size": 49_152, "max_position_embeddings": 8192,
        },
        "vision_config": {"hidden_size": 64, "num_hidden_layers": 2, "intermediate_size": 128},
    }
)  # fmt: skip
ASKS: dict[Feature, dict[str, Any]] = {
    Feature.LOOKAHEAD: {f"{_BUILD}.speculator": {**RECOMMENDED, "enable_b10_lookahead": True},
                        f"{_BUILD}.max_batch_size": 32},
    Feature.ADAPTERS: {f"{_BUILD}.lora_adapters": {
        "legal": {"source": "LOCAL", "repo": "/checkpoints/legal"}}},
    Feature.TENSOR_PARALLEL: {f"{_BUILD}.tensor_parallel_count": 2},
    Feature.PIPELINE_PARALLEL: {f"{_BUILD}.pipeline_parallel_count": 2},
    Feature.POOLING: {f"{_BUILD}.base_model": "encoder"},
    Feature.MULTIMODAL: {},
    Feature.FP8_WEIGHTS: {f"{_BUILD}.quantization_type": "fp8"},
    Feature.FP8_BLOCK_WEIGHTS: {f"{_BUILD}.quantization_type": "fp8_block"},
    Feature.FP8_KV_CACHE: {f"{_BUILD}.quantization_type": "fp8_kv"},
    Feature.FP4_WEIGHTS: {f"{_BUILD}.quantization_type": "fp4"},
    Feature.MIXED_WEIGHTS: {f"{_BUILD}.quantization_type": "fp4",
                            f"{_BUILD}.quantization_config": {"effective_bits": 6.0}},
    Feature.INT4_WEIGHTS: {f"{_BUILD}.quantization_type": "int4_awq"},
    Feature.INT4_WEIGHTS_FP8_INPUTS: {f"{_BUILD}.quantization_type": "w4a8_awq"},
    Feature.HOST_KV_CACHE: {f"{_RUNTIME}.kv_cache_host_memory_bytes": 2**30},
}  # fmt: skip
"""What a config writes to ask for each; engine arguments are of the stack without drafts."""
ONLY_SLOWER = Feature.HOST_KV_CACHE
"""Without it the same is answered, so that a hint that it has no effect is enough."""
_ONE_TYPE = {
    Feature.FP8_WEIGHTS, Feature.FP8_BLOCK_WEIGHTS, Feature.FP8_KV_CACHE, Feature.FP4_WEIGHTS,
    Feature.MIXED_WEIGHTS, Feature.INT4_WEIGHTS, Feature.INT4_WEIGHTS_FP8_INPUTS,
}  # fmt: skip


def askable(pair: tuple[Feature, Feature]) -> bool:
    fp8_kv = {Feature.FP8_WEIGHTS, Feature.FP8_KV_CACHE}
    # An encoder is no model of images, and its ranks become one, with a finding.
    others = {Feature.MULTIMODAL, Feature.TENSOR_PARALLEL, Feature.PIPELINE_PARALLEL}
    is_one_model = Feature.POOLING not in pair or not others & set(pair)
    mixed = {Feature.FP4_WEIGHTS, Feature.MIXED_WEIGHTS}
    has_one_type = len(_ONE_TYPE & set(pair)) < 2 or set(pair) in (fp8_kv, mixed)
    # A budget is searched for text alone.
    is_text = Feature.MIXED_WEIGHTS not in pair or Feature.POOLING not in pair
    is_one_model = is_one_model and is_text
    return set(pair) <= set(ASKS) and is_one_model and has_one_type


def example_of(runtime: str, kind: str, version: str, features: tuple[Feature, ...]) -> Example:
    config: dict[str, Any] = {"enginehouse.runtime": runtime}
    for feature in sorted(features, key=lambda each: each is Feature.FP8_KV_CACHE):
        config |= ASKS[feature]
    ranks = 2 ** len({Feature.TENSOR_PARALLEL, Feature.PIPELINE_PARALLEL} & set(features))
    if kind != CPU:
        config["resources.accelerator"] = f"{kind}:{ranks}"
    model = ENCODER if Feature.POOLING in features else SMALL
    return Example(
        config=config, checkpoint=IMAGES if Feature.MULTIMODAL in features else model,
        devices=EVERY_KIND, runtimes=frozenset({runtime}),
        versions=frozenset({(runtime, f"{version}.1")}),
    )  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Examined:
    spec: Spec
    checkpoint: CheckpointFacts | None
    findings: tuple[Finding, ...]


@cache
def examined(runtime: str, kind: str, version: str, features: tuple[Feature, ...]) -> Examined:
    example = example_of(runtime, kind, version, features)
    examination = examine(example.content, example.known)
    assert examination.spec is not None
    return Examined(
        spec=examination.spec, checkpoint=example.checkpoint, findings=examination.report.findings
    )


def errors(findings: tuple[Finding, ...]) -> list[str]:
    return [each.code for each in findings if each.severity is Severity.ERROR]


KINDS = ("H100", "A100", "T4", "B200")


def cases() -> list[tuple[str, str, str]]:
    """Return each runtime and kind in its first and last version, and where a pair changes."""
    entries = []
    for name, runtime in RUNTIMES.items():
        versions = runtime.capabilities.VERSIONS
        changes = {each for pair in runtime.pairs for each in (pair.since, pair.before)} - {""}
        kinds = KINDS if runtime.needs_gpu else (CPU, *KINDS)
        tried = [each for each in versions if each in {versions[0], versions[-1], *changes}]
        entries += [(name, version, kind) for version in tried for kind in kinds]
    return entries


@pytest.mark.parametrize(("name", "version", "kind"), cases())
def test_a_pair_is_refused_by_the_checks_where_its_cell_is_and_nowhere_else(
    name: str, version: str, kind: str
) -> None:
    runtime, wrong = RUNTIMES[name], []
    for pair in filter(askable, EVERY_PAIR):
        case = examined(name, kind, version, pair)
        entries = tuple(requested_features(case.spec, case.checkpoint))
        assert set(pair) <= set(entries)
        pairs = [together(runtime, *each, kind, version) for each in combinations(entries, 2)]
        is_refused, findings = any(each.is_refused for each in pairs), case.findings
        if is_refused == bool(errors(findings)):
            continue
        if not (is_refused and ONLY_SLOWER in pair and _hints(findings)):
            wrong.append((pair, is_refused, errors(findings)))
    assert wrong == []


@pytest.mark.parametrize(("name", "version", "kind"), cases())
def test_weights_that_a_runtime_refuses_are_told_once(name: str, version: str, kind: str) -> None:
    runtime = RUNTIMES[name]
    for feature in _ONE_TYPE - {Feature.FP8_KV_CACHE}:
        capability = runtime.capabilities.capability(feature, kind, version)
        report = errors(examined(name, kind, version, (feature,)).findings)
        is_gpu_served = not runtime.capabilities.capability(
            Feature.ACCELERATOR, kind, version
        ).is_refused
        if capability.is_refused and is_gpu_served:
            assert len(report) == 1, (feature, report)


def _hints(findings: tuple[Finding, ...]) -> bool:
    path = next(iter(ASKS[ONLY_SLOWER]))
    return any(path in each.fields for each in findings)


@pytest.mark.parametrize(("name", "version", "kind"), cases())
def test_a_pair_that_nobody_saw_together_is_told_with_its_words_and_its_source(
    name: str, version: str, kind: str
) -> None:
    runtime = RUNTIMES[name]
    for pair in filter(askable, EVERY_PAIR):
        listed = listed_pair(runtime, *pair, version)
        pairs = together(runtime, *pair, kind, version)
        case = examined(name, kind, version, pair)
        messages = [each.message for each in case.findings if each.code == "EH664"]
        if listed is None or pairs.is_refused or pairs.support is not Support.UNTESTED:
            assert not any(f"{pair[0]} with {pair[1]}" in each for each in messages)
            continue
        assert [listed.how in each and listed.source.section in each for each in messages] == [True]


def test_a_request_beside_what_a_config_asks_is_told_in_the_versions_that_it_fails_in() -> None:
    for version, is_told in (("0.25", True), ("0.30", True), ("0.31", False), ("0.33", False)):
        case = examined("vllm", "H100", version, (Feature.PIPELINE_PARALLEL,))
        findings = [each for each in case.findings if "structured output with" in each.message]
        assert bool(findings) == is_told, version


def test_every_cell_that_is_not_as_asked_has_words_and_where_they_are_from() -> None:
    for runtime in RUNTIMES.values():
        for version in runtime.capabilities.VERSIONS:
            for pair in pairs_of(runtime, version):
                assert pair.how
                assert pair.source.checked >= "2026-11-27"
            for pair in EVERY_PAIR:
                pairs = together(runtime, *pair, "H100", version)
                assert pairs.how, pair
                assert pairs.source or not runtime.needs_gpu, pair


def test_a_pair_ends_with_the_version_that_mends_it() -> None:
    of = {version: {pair.how for pair in pairs_of(RUNTIMES["vllm"], version)}
          for version in RUNTIMES["vllm"].capabilities.VERSIONS}  # fmt: skip
    assert of["0.30"] > of["0.31"]
    assert of["0.31"] == of["0.33"]
    assert not list(pairs_of(RUNTIMES["vllm"], "0.1"))
