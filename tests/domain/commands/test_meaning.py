"""What flags become: carried, carried with another meaning, asked about, left behind."""

from typing import Any

import pytest

from controlplane.domain.commands.report import CommandImport
from controlplane.domain.runtimes.importing import import_command
from controlplane.domain.spec import Spec, parse_text

SEED = """\
# vLLM configuration (old)
model: "meta-llama/Llama-3.3-70B-Instruct"
tensor_parallel_size: 4
quantization: "fp8"
"""


def spec_of(text: str) -> Spec:
    spec = parse_text(import_command(text).text).spec
    assert spec is not None
    return spec


def question(imported: CommandImport, name: str) -> list[Any]:
    (outcome,) = [each for each in imported.questions if each.field.endswith(name)]
    return [choice.patch.get(outcome.field) for choice in outcome.choices]


def test_the_seeds_migration_example_keeps_fp8_and_asks_about_fp8_kv() -> None:
    imported = import_command(SEED)
    spec = spec_of(SEED)
    assert spec.checkpoint is not None
    assert spec.checkpoint.repo == "meta-llama/Llama-3.3-70B-Instruct"
    assert (spec.tensor_parallel, spec.quantization_type) == (4, "fp8")
    assert question(imported, "quantization_type") == ["fp8", "fp8_kv"]


@pytest.mark.parametrize(
    ("flags", "expected", "choices"),
    [
        ("-q fp8 --kv-cache-dtype fp8", "fp8_kv", None),
        ("-q fp8 --kv-cache-dtype auto", "fp8", ["fp8", "fp8_kv"]),
        ("-q fp8 --kv-cache-dtype fp8_e5m2", "fp8", ["fp8", "fp8_kv"]),
        ("-q ptpc_fp8", "fp8", ["fp8", "fp8_kv"]),
        ("-q fp8_per_block", "fp8_block", None),
        ("-q modelopt", "no_quant", None),
        ("-q awq_marlin", "no_quant", None),
        ("-q bitsandbytes", "no_quant", ["no_quant", "fp8", "fp8_kv", "fp4"]),
        ("-q $METHOD", "no_quant", ["no_quant", "fp8", "fp8_kv", "fp4"]),
        ("--kv-cache-dtype fp8_e5m2", "no_quant", ["no_quant", "fp8_kv", "fp4_kv"]),
        ("--kv-cache-dtype auto", "no_quant", None),
    ],
)
def test_precision_is_never_stretched_in_silence(
    flags: str, expected: str, choices: list[str] | None
) -> None:
    line = f"vllm serve a/b {flags}"
    assert spec_of(line).quantization_type == expected
    imported = import_command(line)
    request = any(each.field.endswith("quantization_type") for each in imported.questions)
    assert (question(imported, "quantization_type") if request else None) == choices


def test_a_share_of_the_device_is_said_to_be_no_share_of_what_is_free() -> None:
    imported = import_command("vllm serve a/b --gpu-memory-utilization 0.85")
    (change,) = imported.changed
    assert change.field == "trt_llm.runtime.kv_cache_free_gpu_mem_fraction"
    assert change.value == 0.85
    assert "whole GPU" in change.reason


@pytest.mark.parametrize(
    ("text", "tokens"),
    [("32k", 32_000), ("32K", 32_768), ("25.6k", 25_600), ("8192", 8192)],
)
def test_lengths_are_read_with_their_units(text: str, tokens: int) -> None:
    assert spec_of(f"vllm serve a/b --max-model-len {text}").max_seq_len == tokens


@pytest.mark.parametrize("text", ["auto", "-1", "soon", "1.5", "99999999"])
def test_a_length_that_is_none_is_left_behind_with_a_reason(text: str) -> None:
    imported = import_command(f"vllm serve a/b --max-model-len={text}")
    assert imported.complete
    assert len(imported.not_carried) == 1
    assert "max_seq_len" not in imported.text


def test_the_last_of_two_flags_counts() -> None:
    assert spec_of("vllm serve a/b -tp 2 --tensor-parallel-size 4").tensor_parallel == 4


@pytest.mark.parametrize(
    ("flag", "on"),
    [("--enable-chunked-prefill", True), ("--no-enable-chunked-prefill", False),
     ("--enable-chunked-prefill=False", False), ("--enable-chunked-prefill false", False)],
)  # fmt: skip
def test_switches_are_read_in_all_their_forms(flag: str, on: bool) -> None:
    assert spec_of(f"vllm serve a/b {flag}").trt_llm.model_dump()["runtime"][
        "enable_chunked_context"
    ] is on  # fmt: skip


@pytest.mark.parametrize(
    "flags",
    [
        """--speculative-config '{"method": "ngram", "num_speculative_tokens": 5}'""",
        "--speculative-config.method ngram --speculative_config.num_speculative_tokens 5",
        "--speculative-model [ngram] --num-speculative-tokens 5",
    ],
)
def test_ngram_speculation_becomes_lookahead_of_the_same_length(flags: str) -> None:
    speculator = spec_of(f"vllm serve a/b {flags}").speculator
    assert speculator is not None
    assert speculator.draft_length == 5


@pytest.mark.parametrize("config", ['{"method": "eagle3"}', "$SPEC", "{", "{}"])
def test_speculation_that_has_no_counterpart_is_asked_about(config: str) -> None:
    imported = import_command(f"vllm serve a/b --speculative-config '{config}'")
    assert question(imported, "speculator")[0] is None
    assert "speculator" not in imported.text


def test_adapters_are_carried_with_their_rank() -> None:
    build = spec_of(
        """vllm serve a/b --enable-lora --lora-modules x=/p/x '{"name": "y", "path": "c/d"}'"""
    ).engine_build
    assert build.lora_adapters is not None
    assert {name: place.source.value for name, place in build.lora_adapters.items()} == {
        "x": "LOCAL", "y": "HF",
    }  # fmt: skip
    assert build.lora_configuration is not None
    assert build.lora_configuration.max_lora_rank == 16


def test_adapters_that_come_later_are_asked_for() -> None:
    assert question(import_command("vllm serve a/b --enable-lora"), "lora_adapters") == []


def test_an_adapter_that_cannot_be_named_so_is_left_behind() -> None:
    imported = import_command("vllm serve a/b --lora-modules 'a b=/x' nonsense 'c!=/y'")
    assert imported.complete
    assert len(imported.not_carried) >= 1


def test_pooling_tasks_make_an_encoder_and_ask_which() -> None:
    imported = import_command("vllm serve BAAI/bge-m3 --task embed")
    assert spec_of("vllm serve BAAI/bge-m3 --task embed").base_model == "encoder"
    assert question(imported, "base_model") == ["encoder", "encoder_bert"]


def test_experts_are_spread_over_the_tensor_parallel_size() -> None:
    line = "vllm serve a/b --enable-expert-parallel -tp 8"
    assert spec_of(line).engine_build.moe_expert_parallel_option == 8


def test_one_served_name_is_kept_and_the_others_are_named() -> None:
    imported = import_command("vllm serve a/b --served-model-name one two three")
    assert spec_of("vllm serve a/b --served-model-name one two").served_model_name == "one"
    assert any("two three" in each.flag for each in imported.not_carried)


def test_secrets_are_offered_by_name_and_the_hubs_is_listed() -> None:
    imported = import_command(
        "export HF_TOKEN=hf_abcdefghijklmnopqrst\nvllm serve a/b --api-key s3cr3t-value-9 "
        "--served-model-name s3cr3t-value-9"
    )
    assert [each.name for each in imported.secrets] == ["vllm_api_key", "hf_access_token"]
    assert spec_of("HF_TOKEN=$X vllm serve a/b").secret_names == {"hf_access_token"}
    text = str(imported.to_json())
    assert "hf_abc" not in text
    assert "s3cr3t" not in text


def test_a_bucket_names_the_secret_that_opens_it() -> None:
    imported = import_command("vllm serve s3://bucket/a")
    assert [each.name for each in imported.secrets] == ["aws_credentials"]
    assert "runtime_secret_name: aws_credentials" in imported.text


TRTLLM = """\
cat > extra.yaml <<EOF
kv_cache_config: {free_gpu_memory_fraction: 0.8, host_cache_size: 1000}
scheduler_config: {capacity_scheduler_policy: MAX_UTILIZATION}
max_num_tokens: 4096
EOF
trtllm-serve a/b --tp_size 2 --max_num_tokens 9999 --extra_llm_api_options extra.yaml --port 1
"""


def test_a_trtllm_line_and_its_file_become_a_v1_config_and_the_file_wins() -> None:
    spec = spec_of(TRTLLM)
    assert not spec.is_v2
    assert (spec.tensor_parallel, spec.max_num_tokens, spec.max_batch_size) == (2, 4096, 2048)
    assert (spec.kv_cache_fraction, spec.chunks_prefill) == (0.8, False)
    assert spec.runtime_name == "trtllm"


def test_defaults_of_trtllm_that_differ_are_written_out_and_said() -> None:
    changed = {each.flag: each.value for each in import_command("trtllm-serve a/b").changed}
    assert changed == {
        "--max_batch_size (not given)": 2048,
        "--enable_chunked_prefill (not given)": False,
    }


@pytest.mark.parametrize(
    "settings",
    ["moe_config: {backend: CUTLASS}", "speculative_config: {decoding_type: MTP}",
     "kv_cache_config: {dtype: fp8}", "print_iter_log: true"],
)  # fmt: skip
def test_engine_keys_that_v1_cannot_say_make_a_v2_config(settings: str) -> None:
    text = f"cat > e.yaml <<EOF\n{settings}\nEOF\ntrtllm-serve a/b --tp_size 2 --config e.yaml"
    spec = spec_of(text)
    assert spec.is_v2
    assert spec.tensor_parallel == 2
    assert settings.split(":")[0] in spec.trt_llm.model_dump()["runtime"]["patch_kwargs"]


def test_lengths_inside_build_config_are_the_engines_own() -> None:
    settings = "build_config: {max_seq_len: 4096, max_batch_size: 8, max_num_tokens: 2048}"
    text = f"cat > e.yaml <<EOF\n{settings}\nEOF\ntrtllm-serve a/b --config e.yaml"
    spec = spec_of(text)
    assert not spec.is_v2
    assert (spec.max_seq_len, spec.max_batch_size, spec.max_num_tokens) == (4096, 8, 2048)
    flags = [each.flag for each in import_command(text).mapped]
    assert "build_config.max_seq_len: 4096" in flags


@pytest.mark.parametrize("backend", ["pytorch", "tensorrt", "_autodeploy"])
def test_the_backend_of_a_trtllm_line_is_spoken_of(backend: str) -> None:
    imported = import_command(f"trtllm-serve a/b --backend {backend}")
    assert f"--backend {backend}" in [each.flag for each in imported.not_carried]


@pytest.mark.parametrize("gpus", ["all", "2", "device=0,1"])
def test_the_gpus_of_a_container_are_spoken_of(gpus: str) -> None:
    imported = import_command(f"docker run --gpus {gpus} vllm/vllm-openai --model a/b")
    assert f"--gpus {gpus}" in [each.flag for each in imported.not_carried]


def test_a_trtllm_file_alone_asks_for_its_checkpoint() -> None:
    imported = import_command("kv_cache_config: {free_gpu_memory_fraction: 0.8}\nmax_seq_len: 4096")
    assert (imported.server, imported.complete) == ("trtllm", False)


def test_a_file_that_was_not_pasted_is_said_to_be_missing() -> None:
    for program in ("vllm serve", "trtllm-serve"):
        imported = import_command(f"{program} a/b --config other.yaml")
        assert any("not here" in each.reason for each in imported.not_carried)
