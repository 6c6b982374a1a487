"""EH2: what an 8-bit KV cache costs and brings by the length of a sequence."""

from controlplane.domain.facts import sources
from controlplane.domain.rules.context import Context
from controlplane.domain.rules.examples import LLAMA_8B, LLAMA_70B, Example, facts
from controlplane.domain.rules.quantization.precision import QUANTIZATION
from controlplane.domain.rules.rule import GPU_RUNTIMES, Fix, Rule, Severity, at, generates
from controlplane.domain.rules.serving.engine_arguments import (
    kv_cache_fields,
    quantizes_kv_cache,
    without_quantized_kv,
)

_ACCELERATOR = "resources.accelerator"
_FOUR_H100 = {_ACCELERATOR: "H100:4", "trt_llm.build.tensor_parallel_count": 4}
_PAYS_FROM_TOKENS = 7000
_LONG_CONTEXT_TOKENS = 65_536
_LATENT = facts(
    architectures=["DeepseekV3ForCausalLM"], model_type="deepseek_v3", kv_lora_rank=512,
    qk_rope_head_dim=64, qk_nope_head_dim=128, v_head_dim=128, q_lora_rank=1536,
)  # fmt: skip


def _latent_numbers(c: Context) -> int:
    return (c.checkpoint.kv_lora_rank or 0) + (c.checkpoint.qk_rope_head_dim or 0)


SHORT_KV = Rule(
    code="EH218",
    name="eight-bit-kv-cache-for-short-sequences",
    severity=Severity.HINT,
    runtimes=GPU_RUNTIMES,
    fields=at(QUANTIZATION),
    concerns=lambda c: generates(c) and c.spec.quantization_type.quantizes_kv_cache,
    when=lambda c: 0 < (c.spec.max_seq_len or 0) < _PAYS_FROM_TOKENS,
    message=lambda c: (
        f"The quantization guide says 2.5 times as fast for `fp8_kv`; measured, an 8-bit KV cache "
        f"is faster from about {_PAYS_FROM_TOKENS:,} tokens on, and sequences here end at "
        f"{c.spec.max_seq_len or 0:,}. It still doubles the tokens that fit."
    ),
    source=sources.measured("FP8 KV cache in vLLM, 2026-04-22"),
    bad=Example(config={_ACCELERATOR: "H100", QUANTIZATION: "fp8_kv"}, checkpoint=LLAMA_8B),
    good=Example(
        config={
            _ACCELERATOR: "H100", QUANTIZATION: "fp8_kv", "trt_llm.build.max_seq_len": 32_768
        },
        checkpoint=LLAMA_8B,
    ),
)  # fmt: skip

LONG_KV = Rule(
    code="EH219",
    name="eight-bit-kv-cache-for-long-context",
    severity=Severity.HINT,
    runtimes=GPU_RUNTIMES,
    fields=at(QUANTIZATION),
    concerns=lambda c: generates(c) and quantizes_kv_cache(c),
    when=lambda c: (
        (c.spec.max_seq_len or 0) >= _LONG_CONTEXT_TOKENS and c.gpu.kind.startswith("H")
    ),
    message=lambda c: (
        f"At {c.spec.max_seq_len or 0:,} tokens an 8-bit KV cache can lose what stands early in a "
        "prompt: on Hopper a search test at 128 k fell from 91 to 13 % with one attention kernel "
        "and came back to 89 % with a better one. Try it on long prompts of your own."
    ),
    source=sources.measured("FP8 KV cache in vLLM, 2026-04-22"),
    bad=Example(
        config={
            **_FOUR_H100, QUANTIZATION: "fp8_kv", "trt_llm.build.max_seq_len": 131_072
        },
        checkpoint=LLAMA_70B,
    ),
    good=Example(config={**_FOUR_H100, QUANTIZATION: "fp8_kv"}, checkpoint=LLAMA_70B),
)  # fmt: skip


def _scales_of_a_latent(c: Context) -> str:
    if not c.spec.quantization_type.quantizes_kv_cache:
        return (
            "With the latent in 8 bits and no scales for it, answers were reported to become "
            "nonsense from the second turn on."
        )
    return (
        "Calibration finds scales for the keys and values that attention computes from it, and "
        "the gate measures those; an engine that applies the scales to the latent itself rounds "
        "what nobody measured."
    )


LATENT_KV = Rule(
    code="EH244",
    name="eight-bit-kv-cache-of-a-latent",
    severity=Severity.WARNING,
    runtimes=GPU_RUNTIMES,
    needs=("checkpoint",),
    fields=kv_cache_fields,
    may_mark=("trt_llm.runtime.patch_kwargs.kv_cache_config.dtype",),
    concerns=lambda c: generates(c) and quantizes_kv_cache(c),
    when=lambda c: bool(c.checkpoint.kv_lora_rank),
    message=lambda c: (
        f"This model caches one latent of {_latent_numbers(c)} numbers a token in place of keys "
        f"and values. {_scales_of_a_latent(c)}"
    ),
    fix=Fix(label="Keep the KV cache in 16 bits", patch=without_quantized_kv, safe=False),
    source=sources.enginehouse("quantization, FP8 KV cache of multi-head latent attention"),
    bad=Example(config={_ACCELERATOR: "H100", QUANTIZATION: "fp8_kv"}, checkpoint=_LATENT),
    good=Example(config={_ACCELERATOR: "H100", QUANTIZATION: "fp8"}, checkpoint=_LATENT),
)

WINDOWED_KV = Rule(
    code="EH224",
    name="eight-bit-kv-cache-in-short-windows",
    severity=Severity.HINT,
    runtimes=GPU_RUNTIMES,
    needs=("checkpoint",),
    fields=at(QUANTIZATION),
    concerns=quantizes_kv_cache,
    when=lambda c: c.checkpoint.sliding_window is not None,
    message=lambda c: (
        f"Some layers keep {c.checkpoint.sliding_window or 0:,} tokens at most, so an 8-bit KV "
        "cache saves little in them and costs their accuracy all the same."
    ),
    source=sources.measured("FP8 KV cache in vLLM, 2026-04-22"),
    bad=Example(
        config={_ACCELERATOR: "H100", QUANTIZATION: "fp8_kv"},
        checkpoint=LLAMA_8B.model_copy(update={"sliding_window": 4096}),
    ),
    good=Example(config={_ACCELERATOR: "H100", QUANTIZATION: "fp8_kv"}, checkpoint=LLAMA_8B),
)
