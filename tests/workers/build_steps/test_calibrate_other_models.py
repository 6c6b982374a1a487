"""Models unlike the common families: what is quantized otherwise, not measured, or refused."""

from pathlib import Path
from typing import Any

import pytest
import torch
import transformers

from tests.tiny_checkpoint import VOCABULARY, write_tokenizer
from tests.tiny_families import make_family
from tests.workers.build_steps.quantizing import (
    change_export,
    fetched,
    quantized_spec,
    run_here,
    tensors_of,
)
from workers.build_steps.failures import StepFailure

pytestmark = [pytest.mark.engine, pytest.mark.filterwarnings("ignore")]

COMMON: dict[str, Any] = {
    "vocab_size": VOCABULARY, "hidden_size": 64, "num_hidden_layers": 2,
    "num_attention_heads": 4, "max_position_embeddings": 512, "pad_token_id": 0,
}  # fmt: skip
DECODER: dict[str, Any] = {
    **COMMON, "intermediate_size": 128, "num_key_value_heads": 2, "head_dim": 16,
    "bos_token_id": 1, "eos_token_id": 2,
}  # fmt: skip
EXPERTS: dict[str, Any] = {"num_experts_per_tok": 2, "moe_intermediate_size": 64}


def saved(model_class: str, config: Any, folder: Path) -> Path:
    torch.manual_seed(0)
    getattr(transformers, model_class)(config).to(torch.bfloat16).save_pretrained(folder)
    write_tokenizer(folder)
    return folder


def calibrated(folder: Path, kind: str, root: Path) -> dict[str, Any]:
    spec = quantized_spec(folder, kind)
    source = fetched(folder, root / "fetch")
    return dict(run_here("calibrate", spec, root / "calibrate", fetch=source).values)


def gated(folder: Path, kind: str, root: Path) -> dict[str, Any]:
    inputs = {"fetch": root / "fetch", "calibrate": root / "calibrate"}
    return dict(run_here("gate", quantized_spec(folder, kind), root / "gate", **inputs).values)


@pytest.mark.parametrize(
    ("model_class", "config", "kind", "code", "words"),
    [
        ("T5ForConditionalGeneration",
         transformers.T5Config(vocab_size=VOCABULARY, d_model=32, d_kv=8, d_ff=32, num_layers=1,
                               num_heads=2),
         "fp8", "EHQ-ARCHITECTURE", "reads with an encoder and writes with a decoder"),
        ("GPT2LMHeadModel",
         transformers.GPT2Config(vocab_size=VOCABULARY, n_embd=32, n_layer=1, n_head=2,
                                 n_positions=512),
         "fp8", "EHQ-ARCHITECTURE", "keeps its matrices transposed"),
        ("OPTForCausalLM",
         transformers.OPTConfig(vocab_size=VOCABULARY, hidden_size=32, ffn_dim=64,
                                word_embed_proj_dim=32, num_hidden_layers=1,
                                num_attention_heads=2, max_position_embeddings=512),
         "fp8_mlp_only", "EHQ-NOTHING", "`fp8_mlp_only` found no layer"),
    ],
)  # fmt: skip
def test_a_model_that_cannot_be_quantized_is_refused_with_the_reason(
    model_class: str, config: Any, kind: str, code: str, words: str, tmp_path: Path
) -> None:
    folder = saved(model_class, config, tmp_path / "model")
    with pytest.raises(StepFailure) as raised:
        calibrated(folder, kind, tmp_path)
    failure = raised.value.failure
    assert failure.code == code
    assert model_class in failure.sentence
    assert words in failure.sentence
    assert failure.fix


def test_only_layers_that_keep_a_cache_get_scales_for_it(tmp_path: Path) -> None:
    kinds = ["linear_attention", "full_attention"]
    config = transformers.Qwen3NextConfig(
        **DECODER, **EXPERTS, num_experts=4, shared_expert_intermediate_size=64,
        linear_num_value_heads=4, linear_num_key_heads=2, linear_key_head_dim=16,
        linear_value_head_dim=16, layer_types=kinds,
    )  # fmt: skip
    folder = saved("Qwen3NextForCausalLM", config, tmp_path / "hybrid")
    values = calibrated(folder, "fp8_kv", tmp_path)
    assert (values["kv_cache_layers"], values["kv_cache_dtype"]) == (1, "fp8")
    exported = tmp_path / "calibrate" / "model"
    scale = "model.layers.1.self_attn.k_proj.k_scale"
    assert [each for each in tensors_of(exported) if each.endswith("k_scale")] == [scale]
    assert gated(folder, "fp8_kv", tmp_path)["state"] == "unmeasured", "a random model guesses"
    change_export(exported, {scale: None})
    with pytest.raises(StepFailure) as raised:
        run_here(
            "gate", quantized_spec(folder, "fp8_kv"), tmp_path / "again",
            fetch=tmp_path / "fetch", calibrate=tmp_path / "calibrate",
        )  # fmt: skip
    assert raised.value.failure.code == "EHG-KV-SCALE-DROPPED"


@pytest.mark.parametrize(
    ("kind", "convolution_only"),
    [("fp4", True), ("int4_awq", True), ("fp8_block", True),
     pytest.param("fp8", True, marks=pytest.mark.long), ("fp4_mlp_only", False),
     pytest.param("fp8_mlp_only", False, marks=pytest.mark.long)],
)  # fmt: skip
def test_a_short_convolution_stays_and_the_layers_around_it_do_not(
    kind: str, convolution_only: bool, tmp_path: Path
) -> None:
    # Whole blocks of 128, which one of the types asks for.
    wide = {**DECODER, "hidden_size": 128, "head_dim": 32}
    config = transformers.Lfm2Config(
        **wide, layer_types=["conv", "full_attention"], block_auto_adjust_ff_dim=False
    )
    folder = saved("Lfm2ForCausalLM", config, tmp_path / "lfm2")
    values = calibrated(folder, kind, tmp_path)
    feed_forward = {f"feed_forward.w{number}": 2 for number in (1, 2, 3)}
    assert feed_forward.items() <= values["quantized"].items()
    assert values["left"]["conv.conv"] == 1
    assert ("conv.in_proj" in values["quantized"]) is convolution_only
    weights = gated(folder, kind, tmp_path)["weights"]
    assert weights["compared"] == values["layers_quantized"]


def test_a_model_without_any_cache_says_that_the_type_leaves_out_its_cache(tmp_path: Path) -> None:
    config = transformers.MambaConfig(
        vocab_size=VOCABULARY, hidden_size=64, num_hidden_layers=1, state_size=8
    )
    folder = saved("MambaForCausalLM", config, tmp_path / "mamba")
    [change] = calibrated(folder, "fp8_kv", tmp_path)["effective"]
    assert (change["asked"], change["effective"]) == ("fp8_kv", "fp8")


def test_scores_that_are_capped_are_measured_with_the_cap(tmp_path: Path) -> None:
    config = transformers.Gemma2Config(**DECODER, query_pre_attn_scalar=16)
    folder = saved("Gemma2ForCausalLM", config, tmp_path / "gemma2")
    assert calibrated(folder, "fp8_kv", tmp_path)["kv_cache_layers"] == 2
    gate = gated(folder, "fp8_kv", tmp_path)
    assert 0 < gate["figures"]["logit_drift_nats"] < 0.01


@pytest.mark.parametrize("kind", ["fp8_kv", "fp4"])
def test_experts_that_are_one_tensor_are_counted_and_called_unmeasured(
    kind: str, tmp_path: Path
) -> None:
    folder = make_family("llama4", tmp_path / "stacked")
    values = calibrated(folder, kind, tmp_path)
    assert values["quantized"]["feed_forward.experts.gate_up_proj"] == 2
    gate = gated(folder, kind, tmp_path)
    assert gate["state"] == "unmeasured"
    assert "experts.down_proj` holds a layer's experts as one tensor" in gate["reason"]
    scale = "model.layers.0.feed_forward.experts.gate_up_proj_weight_scale"
    change_export(tmp_path / "calibrate" / "model", {scale: None})
    with pytest.raises(StepFailure) as raised:
        run_here(
            "gate", quantized_spec(folder, kind), tmp_path / "again",
            fetch=tmp_path / "fetch", calibrate=tmp_path / "calibrate",
        )  # fmt: skip
    assert f"`{scale}`" in raised.value.failure.sentence
