"""A config in other words: equivalent lines, our block where each reader wants it, losses said."""

import json
import shlex
from itertools import pairwise
from typing import Any

import pytest
import yaml

from controlplane.domain.commands.report import ConfigExport
from controlplane.domain.runtimes.exporting import ExportFormat, NotAConfigError, export_config
from controlplane.domain.runtimes.importing import import_command
from controlplane.domain.runtimes.trtllm.flags import GRAMMAR
from controlplane.domain.spec import Spec, parse_text
from tests.domain.cases import DATA, as_config_yaml, lines
from tests.domain.commands.command_cases import as_command, command_cases

FULL = """\
# a comment
model_name: full
secrets: {hf_access_token: null, other: null}
resources: {accelerator: "H100:2", memory: 40Gi}
trt_llm:
  build:
    base_model: decoder
    checkpoint_repository: {source: HF, repo: a/b, revision: v1}
    max_seq_len: 4096
    max_batch_size: 32
    max_num_tokens: 2048
    quantization_type: fp8_kv
    quantization_config: {calib_size: 128}
    tensor_parallel_count: 2
    speculator:
      speculative_decoding_mode: LOOKAHEAD_DECODING
      lookahead_windows_size: 3
      lookahead_ngram_size: 8
      lookahead_verification_set_size: 3
    lora_adapters: {x: {source: HF, repo: c/d}}
  runtime:
    kv_cache_free_gpu_mem_fraction: 0.9
    kv_cache_host_memory_bytes: 1610612736
    enable_chunked_context: false
    batch_scheduler_policy: max_utilization
    request_default_max_tokens: 100
    served_model_name: "it's; $(x)"
enginehouse: {runtime: vllm, pool: fast}
"""
TRTLLM = [
    "trtllm-serve a/b",
    "trtllm-serve a/b --tp_size 2 --pp_size 2 --ep_size 2 --max_seq_len 4096 "
    "--free_gpu_memory_fraction 0.7 --enable_chunked_prefill --revision v1",
    "cat > e.yaml <<E\nspeculative_config: {decoding_type: NGram, max_draft_len: 6}\n"
    "kv_cache_config: {host_cache_size: 5, enable_block_reuse: true}\n"
    "lora_config: {lora_dir: [/l/x], max_lora_rank: 8}\n"
    "scheduler_config: {capacity_scheduler_policy: GUARANTEED_NO_EVICT}\nE\n"
    "HF_TOKEN=hf_x trtllm-serve a/b --config e.yaml",
    "cat > e.yaml <<E\nmoe_config: {backend: CUTLASS}\nkv_cache_config: {dtype: fp8}\nE\n"
    "trtllm-serve a/b --tp_size 4 --kv_cache_free_gpu_memory_fraction 0.6 --config e.yaml",
]


def spec_of(text: str) -> Spec:
    spec = parse_text(text).spec
    assert spec is not None
    return spec


def left(exported: ConfigExport) -> dict[str, str]:
    return {each.flag: each.reason for each in exported.not_carried}


@pytest.mark.parametrize("line", TRTLLM)
def test_an_exported_trtllm_import_imports_to_the_same_config(line: str) -> None:
    first = import_command(line)
    exported = export_config(first.text, ExportFormat.TRTLLM)
    again = import_command(exported.text)
    assert spec_of(again.text).model_dump(mode="json") == spec_of(first.text).model_dump(
        mode="json"
    )
    assert exported.files["engine.yaml"] in exported.text


def test_a_public_vllm_line_imports_exports_and_imports_to_the_same_config() -> None:
    compared = 0
    for facts in command_cases():
        first = import_command(as_command(facts))
        if not first.complete:
            continue
        again = import_command(export_config(first.text, ExportFormat.VLLM).text)
        assert spec_of(again.text).model_dump(mode="json") == spec_of(first.text).model_dump(
            mode="json"
        ), facts["id"]
        compared += 1
    assert compared >= 35


def test_a_vllm_line_says_what_it_can_and_lists_the_rest() -> None:
    exported = export_config(FULL, ExportFormat.VLLM)
    words = shlex.split(exported.text.replace("\\\n", " "))
    assert words[:4] == ["HF_TOKEN=$HF_TOKEN", "vllm", "serve", "a/b"]
    pairs = dict(pairwise(words))
    assert pairs["--served-model-name"] == "it's; $(x)"
    assert (pairs["--kv-offloading-size"], pairs["--max-lora-rank"]) == ("1.5", "64")
    assert "--no-enable-chunked-prefill" in words
    assert {each.field.rsplit(".", 1)[-1] for each in exported.changed} == {
        "kv_cache_free_gpu_mem_fraction", "kv_cache_host_memory_bytes", "speculator",
        "request_default_max_tokens",
    }  # fmt: skip
    assert set(left(exported)) == {
        "model_name", "secrets.other", "resources.accelerator", "resources.memory",
        "trt_llm.build.quantization_config.calib_size",
        "trt_llm.runtime.batch_scheduler_policy", "enginehouse.pool",
    }  # fmt: skip


def test_a_trtllm_line_says_what_it_can_and_lists_the_rest() -> None:
    exported = export_config(FULL, ExportFormat.TRTLLM)
    settings = yaml.safe_load(exported.files["engine.yaml"])
    assert settings["scheduler_config"] == {"capacity_scheduler_policy": "MAX_UTILIZATION"}
    assert settings["kv_cache_config"] == {
        "free_gpu_memory_fraction": 0.9, "host_cache_size": 1610612736,
    }  # fmt: skip
    assert settings["speculative_config"]["max_draft_len"] == 41
    assert settings["guided_decoding_backend"] == "xgrammar"
    assert set(left(exported)) >= {
        "trt_llm.build.quantization_type", "trt_llm.runtime.request_default_max_tokens",
        "trt_llm.runtime.served_model_name", "enginehouse.pool",
    }  # fmt: skip


V2 = """\
trt_llm:
  inference_stack: v2
  build: {checkpoint_repository: {source: HF, repo: a/b}}
  runtime:
    max_batch_size: 8
    patch_kwargs:
      tool_parser: qwen3
      speculative_config: {decoding_type: Eagle3, max_draft_len: 3, speculative_model: /d}
      b10_routing_config: {}
      moe_config: {backend: cutlass, nonsense: 1}
"""


def test_a_trtllm_line_of_the_v2_stack_holds_what_the_server_takes_and_lists_the_rest() -> None:
    outcome = export_config(V2, ExportFormat.TRTLLM)
    content = yaml.safe_load(outcome.files["engine.yaml"])
    assert "--tool_parser qwen3" in outcome.text
    assert content["speculative_config"]["decoding_type"] == "Eagle"
    assert content["moe_config"] == {"backend": "CUTLASS"}
    assert {"tool_parser", "b10_routing_config"}.isdisjoint(content)
    left = {each.flag for each in outcome.not_carried}
    assert {f"trt_llm.runtime.patch_kwargs.{name}"
            for name in ("b10_routing_config", "moe_config.nonsense")} <= left  # fmt: skip


ARGUMENTS = json.loads((DATA / "trtllm_args.json").read_text())
"""Fields of TensorRT-LLM's argument classes and flags of its server, 1.2 to 1.3rc."""
BLOCKS = {
    "kv_cache_config": "KvCacheConfig", "scheduler_config": "SchedulerConfig",
    "speculative_config": "NGramDecodingConfig", "lora_config": "LoraConfig",
}  # fmt: skip


@pytest.mark.parametrize("text", [FULL, *(import_command(line).text for line in TRTLLM)])
def test_the_engine_knows_every_key_of_the_generated_file(text: str) -> None:
    settings = yaml.safe_load(export_config(text, ExportFormat.TRTLLM).files["engine.yaml"])
    assert set(settings) <= set(ARGUMENTS["TorchLlmArgs"])
    for block in set(BLOCKS) & set(settings):
        assert set(settings[block]) <= set(ARGUMENTS[BLOCKS[block]])


def test_every_flag_of_trtllm_serve_is_known() -> None:
    known = {f"--{name}" for name in GRAMMAR.names} | {"model"}
    assert set(ARGUMENTS["trtllm_serve"]) <= known


def test_every_setting_of_a_config_is_said_changed_or_listed() -> None:
    for target in (ExportFormat.VLLM, ExportFormat.TRTLLM):
        exported = export_config(
            FULL.replace("secrets:", "python_version: py311\nsecrets:"), target
        )
        assert "python_version" in left(exported)


def test_our_block_moves_to_where_truss_lets_it_pass_and_back() -> None:
    truss = export_config(FULL, ExportFormat.TRUSS)
    data: dict[str, Any] = yaml.safe_load(truss.text)
    assert "enginehouse" not in data
    assert data["model_metadata"]["enginehouse"] == {"runtime": "vllm", "pool": "fast"}
    assert "# a comment" in truss.text
    assert spec_of(truss.text).settings == spec_of(FULL).settings
    ours = export_config(truss.text, ExportFormat.ENGINEHOUSE)
    assert spec_of(ours.text).settings == spec_of(FULL).settings
    assert yaml.safe_load(ours.text)["enginehouse"] == {"runtime": "vllm", "pool": "fast"}


def test_our_own_text_stays_as_it_is() -> None:
    assert export_config(FULL, ExportFormat.ENGINEHOUSE).text == FULL


@pytest.mark.parametrize("facts", lines("truss_configs.jsonl"), ids=lambda facts: facts["id"])
def test_public_configs_are_written_in_every_form(facts: dict[str, Any]) -> None:
    text = yaml.safe_dump(as_config_yaml(facts))
    if parse_text(text).spec is None:
        with pytest.raises(NotAConfigError):
            export_config(text, ExportFormat.VLLM)
        return
    for target in ExportFormat:
        exported = export_config(text, target)
        assert exported.text
        assert exported.files
    assert import_command(export_config(text, ExportFormat.VLLM).text).complete


def test_a_text_that_is_no_config_cannot_be_written() -> None:
    with pytest.raises(NotAConfigError, match="trt_llm"):
        export_config("model_name: a", ExportFormat.TRUSS)
