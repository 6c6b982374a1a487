"""What users reported of other engines, where the right answer is a check: none passes in silence.

Source: 49 public reports, 2026-11-27, by number. A report whose right answer is not a check of a
config is named below with the part of the program that answers it.
"""

from typing import Any

import pytest

from controlplane.domain.facts.checkpoints import CheckpointFacts
from controlplane.domain.failures import Blame, Failure
from controlplane.domain.rules import examine
from controlplane.domain.rules.examples import (
    LLAMA_8B,
    LLAMA_70B,
    QWEN2_7B,
    Example,
    facts,
    on_trtllm,
)

_KIND = "resources.accelerator"
_TENSOR = "trt_llm.build.tensor_parallel_count"
_QUANTIZATION = "trt_llm.build.quantization_type"
_SPECULATOR = "trt_llm.build.speculator"
_REPO = "trt_llm.build.checkpoint_repository.repo"
_RANK = "trt_llm.build.lora_configuration.max_lora_rank"
_ADAPTER = {"trt_llm.build.lora_adapters": {"a": {"source": "LOCAL", "repo": "/a"}}}
_SIZES = {
    "speculative_decoding_mode": "LOOKAHEAD_DECODING", "lookahead_windows_size": 7,
    "lookahead_ngram_size": 7, "lookahead_verification_set_size": 7,
}  # fmt: skip
_H100 = {_KIND: "H100"}
_MIXTRAL = facts(
    architectures=["MixtralForCausalLM"], model_type="mixtral", hidden_size=4096,
    num_hidden_layers=32, num_attention_heads=32, num_key_value_heads=8,
    intermediate_size=14_336, vocab_size=32_000, num_local_experts=8, num_experts_per_tok=2,
    max_position_embeddings=32_768, tie_word_embeddings=False,
)  # fmt: skip
_FP8_405B = LLAMA_70B.model_copy(
    update={
        "existing_quantization": facts(
            quantization_config={"quant_method": "fbgemm_fp8"}
        ).existing_quantization
    }
)
_GATED = Failure(
    code="EHF-GATED", blame=Blame.CONFIGURATION, sentence="`a/b` asks for a licence first.",
    hint="Accept it on its page.",
)  # fmt: skip


def _llama(**changes: Any) -> CheckpointFacts:
    return LLAMA_8B.model_copy(update=changes)


def _devices(kind: str, count: int) -> dict[str, Any]:
    return {_KIND: f"{kind}:{count}", _TENSOR: count}


CHECKED: dict[str, tuple[Example, set[str]]] = {
    "bug-001": (
        Example(config={**_devices("H100", 2), _QUANTIZATION: "fp8_kv"}, checkpoint=LLAMA_70B),
        {"EH504"},
    ),
    "bug-004": (
        Example(
            config={
                **_devices("A100", 2), "trt_llm.build.max_batch_size": 2048,
                "trt_llm.build.max_num_tokens": 1024,
            },
            checkpoint=_MIXTRAL,
        ),
        {"EH510"},
    ),
    "bug-007": (Example(config=_devices("A100", 8), checkpoint=_FP8_405B), {"EH104"}),
    "bug-013": (
        Example(
            config={
                **_H100, _QUANTIZATION: "fp8",
                "trt_llm.build.quantization_config.calib_dataset": "file:///data/news",
            },
            checkpoint=LLAMA_8B,
        ),
        {"EH232"},
    ),
    "bug-019": (
        Example(
            config={**_H100, _QUANTIZATION: "fp8_kv", _REPO: "/my-own-distill"},
            checkpoint=QWEN2_7B,
        ),
        {"EH204"},
    ),
    "bug-022": (
        Example(
            config={
                **_H100, "trt_llm.inference_stack": "v2", "trt_llm.build.max_seq_len": None,
                "trt_llm.runtime": {"patch_kwargs": {"kv_cache_config": {"dtype": "fp8"}}},
            },
            checkpoint=facts(quantization_config={"quant_method": "gguf", "bits": 4}),
        ),
        {"EH217", "EH806"},
    ),
    "bug-037": (
        Example(
            config={
                **_H100, _SPECULATOR: _SIZES, "trt_llm.build.max_batch_size": 8,
                "trt_llm.build.max_prompt_embedding_table_size": 1024,
            },
            checkpoint=LLAMA_8B,
        ),
        {"EH417"},
    ),
    "bug-040": (
        Example(config={**_H100, _SPECULATOR: _SIZES}, checkpoint=LLAMA_8B), {"EH412"},
    ),
    "bug-043": (
        Example(
            config={**_devices("H100", 2), _SPECULATOR: _SIZES},
            checkpoint=facts(quantization_config={"quant_method": "awq"}),
        ),
        {"EH412", "EH806"},
    ),
    "bug-049": (
        Example(
            config={_KIND: "A100:3", _TENSOR: 3, _QUANTIZATION: "fp8"},
            checkpoint=_llama(attention_heads=40, kv_heads=40),
        ),
        {"EH304", "EH201", "EH307"},
    ),
    "bug-052": (
        Example(config=_devices("H100", 8), checkpoint=QWEN2_7B), {"EH304"},
    ),
    "bug-055": (
        Example(config=_devices("H100", 3), checkpoint=_llama(attention_heads=64)), {"EH304"},
    ),
    "bug-058": (Example(checkpoint=facts(chat_template=False)), {"EH605"}),
    "bug-061": (Example(config={_REPO: "codellama"}, checkpoint=facts(chat_template=False)),
                {"EH605"}),
    "bug-064": (Example(config=_devices("A100", 8), checkpoint=_FP8_405B), {"EH104"}),
    "bug-070": (
        Example(config={_KIND: "A10G", _QUANTIZATION: "fp8"}, checkpoint=LLAMA_8B), {"EH201"},
    ),
    "bug-073": (Example(config={**_H100, **_ADAPTER, _RANK: 96}, checkpoint=LLAMA_8B),
                {"EH708", "EH709"}),
    "bug-076": (Example(config={**_H100, **_ADAPTER, _RANK: 128}, checkpoint=LLAMA_8B),
                {"EH708"}),
    "bug-079": (
        Example(
            config={_KIND: "L4", "trt_llm.build.max_seq_len": 65_536}, checkpoint=LLAMA_8B
        ),
        {"EH502"},
    ),
    "bug-091": (
        Example(
            config={"secrets": {"hf_access_token": None}}, checkpoint=None,
            checkpoint_failure=_GATED, secret_names=frozenset({"hf_access_token"}),
        ),
        {"EH801"},
    ),
    "bug-097": (
        Example(
            config={
                "trt_llm.build.checkpoint_repository.source": "HF",
                _REPO: "meta-llama/Meta-Llama-3-8B",
            },
            checkpoint=None, checkpoint_failure=_GATED,
        ),
        {"EH802"},
    ),
    "bug-124": (
        Example(
            config={**_H100, "trt_llm.runtime.kv_cache_free_gpu_mem_fraction": 0.97},
            checkpoint=LLAMA_8B,
        ),
        {"EH507"},
    ),
    "bug-133": (
        Example(
            config={
                _KIND: "T4", "trt_llm.build.base_model": "encoder",
                "trt_llm.runtime.webserver_default_route": "/rerank",
            },
            checkpoint=QWEN2_7B,
        ),
        {"EH101", "EH629"},
    ),
    "bug-136": (
        Example(
            config={_KIND: "L4"}, checkpoint=facts(quantization_config={"quant_method": "gptq"})
        ),
        {"EH806"},
    ),
    "bug-139": (
        Example(config={_KIND: "A100", _QUANTIZATION: "fp8"}, checkpoint=LLAMA_8B), {"EH201"},
    ),
    "bug-145": (
        Example(
            config={
                **_H100,
                _SPECULATOR: {"speculative_decoding_mode": "DRAFT_TOKENS_EXTERNAL"},
            },
            checkpoint=LLAMA_8B,
        ),
        {"EH903"},
    ),
}  # fmt: skip

EFFECTIVE = {"bug-085": "trt_llm.build.max_seq_len"}
"""Answered by the value in use, which is shown."""
ELSEWHERE = {
    "bug-010": "builds keep the log of the step that failed",
    "bug-016": "calibration reads local files",
    "bug-025": "the gate measures what FP8 cost, and the smoke test asks the engine",
    "bug-028": "quantization leaves embeddings and head alone",
    "bug-031": "artifacts are verified by digest",
    "bug-034": "runtimes have a version each",
    "bug-046": "engines refuse response_format that they cannot keep",
    "bug-067": "the import of a vLLM command asks",
    "bug-082": "engines refuse at admission",
    "bug-088": "the engine's limits are tested at their boundaries",
    "bug-094": "local checkpoints call no hub",
    "bug-100": "logs are redacted by value",
    "bug-103": "failures are redacted by value",
    "bug-106": "the gateway cancels upstream",
    "bug-109": "the engine drops queued requests",
    "bug-112": "the engine keeps state until it has stopped",
    "bug-115": "autoscaling",
    "bug-118": "autoscaling",
    "bug-121": "every state has a time limit",
    "bug-127": "plan and measurement stand side by side",
    "bug-130": "the embeddings route truncates on request",
    "bug-142": "partial sections parse",
}


@pytest.mark.parametrize("number", CHECKED)
def test_a_reported_mistake_is_found_before_a_build(number: str) -> None:
    example, codes = CHECKED[number]
    if _KIND in example.config:
        example = on_trtllm(example)  # the engine of most reports
    examination = examine(example.content, example.known)
    assert examination.spec is not None, examination.errors
    assert codes <= {finding.code for finding in examination.report.findings}


@pytest.mark.parametrize("number", EFFECTIVE)
def test_a_default_that_surprised_is_shown(number: str) -> None:
    example = Example(config={**_H100, "trt_llm.build.max_seq_len": None}, checkpoint=LLAMA_70B)
    outcome = examine(example.content, example.known).effective
    assert EFFECTIVE[number] in {value.field for value in outcome}


def test_every_report_has_its_place() -> None:
    numbers = [*CHECKED, *EFFECTIVE, *ELSEWHERE]
    assert len(numbers) == len(set(numbers)) == 49


def test_partial_version_overrides_parse() -> None:
    example = Example(config={"trt_llm.version_overrides": {"bei_version": "0.0.1"}})
    assert examine(example.content, example.known).spec is not None
