"""EH3: attention heads of the parts that see and hear, and the ranks that share them."""

from collections.abc import Iterator

from controlplane.domain.facts import sources
from controlplane.domain.facts.vllm_class_limits import HEARS_WHOLE_SINCE, divides_hearing
from controlplane.domain.memory.sizing import DEVICE_COUNTS
from controlplane.domain.rules.context import Context
from controlplane.domain.rules.division import division
from controlplane.domain.rules.examples import Config, Example, facts
from controlplane.domain.rules.rule import VLLM, Fix, Patch, Rule, Severity

_ACCELERATOR = "resources.accelerator"
_MODE = "mm-encoder-tp-mode"
_DIVIDED = ("glm4v", "qwen2_vl", "qwen2_5_vl", "qwen3_vl", "kimi_vl", "step3_vl")
"""Towers that vLLM divides by whole heads; of others it pads the heads, or keeps them whole."""
_EIGHT: Config = {
    _ACCELERATOR: "H100:8",
    "trt_llm.build.tensor_parallel_count": 8,
    "enginehouse.runtime": "vllm",
}
_GLM_4V = facts(
    architectures=["Glm4vMoeForConditionalGeneration"], model_type="glm4v_moe",
    text_config={
        "model_type": "glm4v_moe_text", "hidden_size": 4096, "num_hidden_layers": 46,
        "num_attention_heads": 96, "num_key_value_heads": 8, "head_dim": 128,
        "intermediate_size": 10_944, "n_routed_experts": 128, "num_experts_per_tok": 8,
        "moe_intermediate_size": 1408, "first_k_dense_replace": 1, "vocab_size": 151_552,
        "max_position_embeddings": 65_536, "dtype": "bfloat16",
    },
    vision_config={"depth": 24, "hidden_size": 1536, "num_heads": 12, "patch_size": 14},
)  # fmt: skip
_QWEN3_OMNI = facts(
    architectures=["Qwen3OmniMoeForConditionalGeneration"], model_type="qwen3_omni_moe",
    thinker_config={
        "text_config": {
            "hidden_size": 2048, "num_hidden_layers": 48, "num_attention_heads": 32,
            "num_key_value_heads": 4, "head_dim": 128, "intermediate_size": 768,
            "moe_intermediate_size": 768, "num_experts": 128, "num_experts_per_tok": 8,
            "vocab_size": 152_064, "max_position_embeddings": 65_536, "dtype": "bfloat16",
        },
        "audio_config": {"d_model": 1280, "encoder_layers": 32, "encoder_attention_heads": 20},
    },
)  # fmt: skip


def _is_kept_whole(c: Context) -> bool:
    given = c.spec.settings.vllm_args.items()
    return any(name.strip("-").replace("_", "-") == _MODE and value == "data"
               for name, value in given)  # fmt: skip


def _is_cut(c: Context) -> bool:
    heads = c.checkpoint.vision_heads
    kind = c.checkpoint.wrapper_model_type or c.checkpoint.model_type or ""
    is_divided = kind.startswith(_DIVIDED) and not _is_kept_whole(c)
    return is_divided and heads is not None and heads % c.spec.tensor_parallel != 0


def _keep_whole(c: Context) -> Patch:
    return {f"{c.spec.settings_path}.vllm_args.{_MODE}": "data"}


VISION_HEADS = Rule(
    code="EH324",
    name="ranks-that-do-not-divide-the-vision-heads",
    severity=Severity.ERROR,
    runtimes=VLLM,
    needs=("checkpoint",),
    fields=lambda c: (c.spec.tensor_parallel_path, _ACCELERATOR),
    concerns=lambda c: c.spec.tensor_parallel > 1,
    when=_is_cut,
    message=lambda c: (
        f"The vision tower has {c.checkpoint.vision_heads} attention heads, which do not divide by "
        f"{c.spec.tensor_parallel} ranks: vLLM fails to start. Keep the tower whole on each "
        f"rank (`{_MODE}: data`), or use a number of ranks that divides both."
    ),
    fix=Fix(label="Keep the vision tower whole on each GPU", patch=_keep_whole, safe=True),
    source=sources.vllm("model_executor/models/glm4_1v.py and qwen2_vl.py", checked="2026-11-30"),
    bad=Example(config=_EIGHT, checkpoint=_GLM_4V),
    good=Example(
        config={**_EIGHT, _ACCELERATOR: "H100:4", "trt_llm.build.tensor_parallel_count": 4},
        checkpoint=_GLM_4V,
    ),
)


def _is_hearing_cut(c: Context) -> bool:
    heads = c.checkpoint.audio_heads
    kind = c.checkpoint.wrapper_model_type or c.checkpoint.model_type or ""
    is_divided = divides_hearing(kind, c.version)
    return is_divided and heads is not None and heads % c.spec.tensor_parallel != 0


def _whole_hearing(c: Context) -> Iterator[Fix]:
    """Yield the divisions over fewer GPUs that both parts allow, the largest first."""
    heads, text = c.checkpoint.audio_heads or 1, c.checkpoint.attention_heads or 1
    fewer = (n for n in reversed(DEVICE_COUNTS) if n < c.spec.tensor_parallel)
    yield from (division(c, n) for n in fewer if not heads % n and not text % n)


AUDIO_HEADS = Rule(
    code="EH325",
    name="ranks-that-do-not-divide-the-audio-heads",
    severity=Severity.ERROR,
    runtimes=VLLM,
    needs=("checkpoint",),
    fields=lambda c: (c.spec.tensor_parallel_path, _ACCELERATOR),
    concerns=lambda c: c.spec.tensor_parallel > 1,
    when=_is_hearing_cut,
    message=lambda c: (
        f"The audio tower has {c.checkpoint.audio_heads} attention heads, which do not divide by "
        f"{c.spec.tensor_parallel} ranks: vLLM {c.version} fails to start. From "
        f"{HEARS_WHOLE_SINCE} on vLLM keeps the tower whole on each rank."
    ),
    otherwise=_whole_hearing,
    source=sources.vllm("model_executor/models/qwen3_omni_moe_thinker.py", checked="2026-11-30"),
    bad=Example(config=_EIGHT, checkpoint=_QWEN3_OMNI),
    good=Example(
        config={**_EIGHT, _ACCELERATOR: "H100:4", "trt_llm.build.tensor_parallel_count": 4},
        checkpoint=_QWEN3_OMNI,
    ),
)
