"""Architecture to engine, as the selection table of the engines' overview says."""

from typing import Any

import pytest

from controlplane.domain.facts import checkpoints
from controlplane.domain.facts.architectures import Role
from controlplane.domain.facts.engines import Engine

POOLED = ("config.json", "modules.json", "1_Pooling/config.json")


@pytest.mark.parametrize(
    ("config", "files", "engine", "word"),
    [
        ({"architectures": ["LlamaForCausalLM"], "model_type": "llama"}, (),
         Engine.ENGINE_BUILDER_LLM, "dense"),
        ({"architectures": ["Phi3ForCausalLM"], "model_type": "phi3"}, (),
         Engine.ENGINE_BUILDER_LLM, "tried"),
        ({"architectures": ["Gemma3ForConditionalGeneration"], "model_type": "gemma3",
          "vision_config": {"a": 1}}, (), Engine.ENGINE_BUILDER_LLM, "text"),
        ({"architectures": ["Qwen2VLForConditionalGeneration"], "model_type": "qwen2_vl",
          "vision_config": {"a": 1}}, (), Engine.BIS_LLM, "images"),
        ({"architectures": ["Qwen3MoeForCausalLM"], "model_type": "qwen3_moe",
          "num_experts": 128}, (), Engine.BIS_LLM, "one family too"),
        ({"architectures": ["DeepseekV3ForCausalLM"], "model_type": "deepseek_v3",
          "n_routed_experts": 256}, (), Engine.BIS_LLM, "256 experts"),
        ({"architectures": ["Qwen3NextForCausalLM"], "model_type": "qwen3_next"}, (),
         Engine.BIS_LLM, "state"),
        ({"architectures": ["BertModel"], "model_type": "bert"}, (), Engine.BEI_BERT,
         "bidirectional"),
        ({"architectures": ["XLMRobertaForSequenceClassification"], "model_type": "xlm-roberta"},
         (), Engine.BEI_BERT, "bidirectional"),
        ({"architectures": ["BertForTokenClassification"], "model_type": "bert"}, (),
         Engine.BEI_BERT, "labels tokens"),
        ({"architectures": ["Qwen3ForCausalLM"], "model_type": "qwen3"}, POOLED, Engine.BEI,
         "causal"),
        ({"architectures": ["Qwen2ForSequenceClassification"], "model_type": "qwen2"}, (),
         Engine.BEI, "causal"),
        ({"architectures": ["WhisperForConditionalGeneration"], "model_type": "whisper"}, (),
         Engine.NONE, "speech"),
        ({"_class_name": "FluxTransformer2DModel", "num_layers": 19}, (), Engine.NONE, "images"),
        ({}, (), Engine.NONE, "none of the four"),
    ],
)  # fmt: skip
def test_each_architecture_finds_its_engine_with_a_reason(
    config: dict[str, Any], files: tuple[str, ...], engine: Engine, word: str
) -> None:
    choice = checkpoints.read(config, files=files).engine
    assert choice.engine is engine
    assert word in choice.reason
    assert choice.source.checked == "2026-11-27"


def test_seven_hundred_billion_parameters_are_too_many_for_the_small_engine() -> None:
    facts = checkpoints.read({"architectures": ["LlamaForCausalLM"]}, parameters=701 * 10**9)
    assert facts.engine.engine is Engine.BIS_LLM


def test_a_causal_model_with_pooling_files_is_an_embedder() -> None:
    config = {"architectures": ["Qwen3ForCausalLM"], "model_type": "qwen3"}
    assert checkpoints.read(config, files=POOLED).role is Role.EMBEDDING
    assert checkpoints.read(config, files=POOLED[:1]).role is Role.CAUSAL


def test_pooling_files_say_how_and_what_is_missing() -> None:
    config = {"architectures": ["BertModel"], "model_type": "bert"}
    whole = checkpoints.read(
        config, files=POOLED, pooling_config={"pooling_mode_cls_token": True, "word": 1}
    )
    assert whole.pooling is not None
    assert (whole.pooling.modes, whole.pooling.missing) == (("cls",), ())
    half = checkpoints.read(config, files=POOLED[:2])
    assert half.pooling is not None
    assert half.pooling.missing == ("1_Pooling/config.json",)
    newer = checkpoints.read(config, files=POOLED, pooling_config={"pooling_mode": "lasttoken"})
    assert newer.pooling is not None
    assert newer.pooling.modes == ("lasttoken",)


def test_an_embedder_reads_as_far_as_its_own_file_says_and_its_positions_reach() -> None:
    config = {"architectures": ["BertModel"], "model_type": "bert", "max_position_embeddings": 512}
    lengths = ({"max_seq_length": 256}, {"max_seq_length": 8192}, {"max_seq_length": "x"}, None)
    contents = [checkpoints.read(config, files=POOLED, sentence_lengths=each) for each in lengths]
    assert [each.max_input_tokens for each in contents] == [256, 512, 512, 512]


def test_labels_of_a_classifier_count_and_those_of_a_causal_model_do_not() -> None:
    labels = {"id2label": {"0": "LABEL_0", "1": "LABEL_1"}}
    classifier = checkpoints.read({"architectures": ["BertForSequenceClassification"], **labels})
    causal = checkpoints.read({"architectures": ["LlamaForCausalLM"], **labels})
    assert (classifier.labels, causal.labels) == (2, None)
    assert causal.role is Role.CAUSAL


def test_an_adapter_is_read_as_one() -> None:
    adapter = checkpoints.read(
        {"peft_type": "LORA", "r": 16, "target_modules": ["v_proj", "q_proj"],
         "base_model_name_or_path": "meta-llama/Llama-3.1-8B"}
    ).adapter  # fmt: skip
    assert adapter is not None
    assert (adapter.rank, adapter.target_modules) == (16, ("q_proj", "v_proj"))
    assert adapter.base_model == "meta-llama/Llama-3.1-8B"
    assert checkpoints.read({"architectures": ["LlamaForCausalLM"]}).adapter is None


@pytest.mark.parametrize(
    ("architecture", "steps", "role"),
    [
        ("Qwen3ForCausalLM", ["Transformer", "LogitScore"], Role.RERANKING),
        ("Qwen3ForCausalLM", ["Transformer", "Pooling", "Normalize"], Role.EMBEDDING),
        ("BertModel", ["Transformer", "Dense", "MultiVectorMask"], Role.MULTI_VECTOR),
        ("HF_ColBERT", [], Role.MULTI_VECTOR),
        ("ColPaliForRetrieval", [], Role.MULTI_VECTOR),
    ],
)
def test_the_modules_of_a_checkpoint_say_what_it_is_made_to_do(
    architecture: str, steps: list[str], role: Role
) -> None:
    modules = [{"type": f"sentence_transformers.models.{step}"} for step in steps]
    files = POOLED[:2] if steps else POOLED[:1]
    content = checkpoints.read(
        {"architectures": [architecture]}, files=files, sentence_modules=modules
    )
    assert content.role is role


def test_a_model_of_pylate_keeps_tokens_where_nothing_pools() -> None:
    modules = [
        {"type": "sentence_transformers.models.Transformer"},
        {"type": "pylate.models.Dense.Dense"},
    ]
    config = {"architectures": ["ModernBertModel"], "model_type": "modernbert"}
    content = checkpoints.read(config, files=POOLED[:2], sentence_modules=modules)
    assert content.role is Role.MULTI_VECTOR
    assert checkpoints.read(config, files=POOLED[:2], sentence_modules="?").role is Role.EMBEDDING
