"""EH64: lengths beyond training, names and variables, settings of the other kind of model."""

from controlplane.domain.facts import sources
from controlplane.domain.rules.context import Context
from controlplane.domain.rules.examples import BERT, LLAMA_8B, Config, Example, facts, on_trtllm
from controlplane.domain.rules.rule import (
    TRTLLM,
    Fix,
    Rule,
    Severity,
    at,
    generates,
    limit,
    on_gpu,
)
from controlplane.domain.rules.serving.encoders import LARGE_EMBEDDER_PARAMETERS
from controlplane.domain.rules.serving.lengths_and_chat import is_beyond_model
from controlplane.domain.spec.choices import BatchSchedulerPolicy
from controlplane.domain.spec.trt_llm import TrtLlmV1

_SEQUENCE = "trt_llm.build.max_seq_len"
_RUNTIME = "trt_llm.runtime"
_SERVED = f"{_RUNTIME}.served_model_name"
_H100: Config = {"resources.accelerator": "H100"}
_BERT: Config = {"resources.accelerator": "L4", "trt_llm.build.base_model": "encoder_bert"}
_BEI: Config = {"resources.accelerator": "H100", "trt_llm.build.base_model": "encoder"}
_RESERVED = ("PORT", "HOSTNAME")
_EMBEDDER = facts(architectures=["LlamaModel"], chat_template=None)
_STRETCHED = LLAMA_8B.model_copy(
    update={"rope_type": "yarn", "rope_factor": 4.0, "original_positions": 32_768}
)


def _is_encoder(c: Context) -> bool:
    return c.spec.base_model.is_encoder


def _length_tokens(c: Context) -> int:
    return c.spec.max_seq_len or 0


def _trained(c: Context) -> int:
    return c.checkpoint.original_positions or 2**31


def _reserved(c: Context) -> list[str]:
    return [name for name in _RESERVED if name in c.spec.environment_variables]


def _idle_on_encoder(c: Context) -> list[str]:
    engine = c.spec.trt_llm
    if not isinstance(engine, TrtLlmV1):
        return []
    is_read = c.has("checkpoint") and (bool(c.checkpoint.labels) or is_beyond_model(c))
    given = {
        _SEQUENCE: engine.build.max_seq_len is not None and not is_read,
        f"{_RUNTIME}.kv_cache_free_gpu_mem_fraction": (
            engine.runtime.kv_cache_free_gpu_mem_fraction != 0.9
        ),
        f"{_RUNTIME}.batch_scheduler_policy": (
            engine.runtime.batch_scheduler_policy is not BatchSchedulerPolicy.GUARANTEED_NO_EVICT
        ),
        f"{_RUNTIME}.request_default_max_tokens": (
            engine.runtime.request_default_max_tokens is not None
        ),
        _SERVED: engine.runtime.served_model_name is not None,
    }
    return [path for path, is_given in given.items() if is_given]


STRETCHED = Rule(
    code="EH640",
    name="positions-stretched-beyond-training",
    severity=Severity.HINT,
    needs=("checkpoint",),
    fields=limit("max_seq_len"),
    concerns=lambda c: generates(c) and _length_tokens(c) > 0,
    when=lambda c: (c.checkpoint.rope_factor or 1) > 1 and _length_tokens(c) > _trained(c),
    message=lambda c: (
        f"The model was trained on {_trained(c):,} positions and is stretched "
        f"{c.checkpoint.rope_factor or 1:g} times (`{c.checkpoint.rope_type}`) to reach "
        f"{_length_tokens(c):,}; check answers on prompts of that length."
    ),
    source=sources.tensorrt_llm("max_position_embeddings and the rope factor"),
    bad=Example(config={**_H100, _SEQUENCE: 65_536}, checkpoint=_STRETCHED),
    good=Example(config={**_H100, _SEQUENCE: 32_768}, checkpoint=_STRETCHED),
)

STRETCHED_FOR_NOTHING = Rule(
    code="EH641",
    name="positions-stretched-for-nothing",
    severity=Severity.HINT,
    needs=("checkpoint",),
    fields=limit("max_seq_len"),
    concerns=lambda c: generates(c) and _length_tokens(c) > 0,
    when=lambda c: c.checkpoint.rope_type == "yarn" and _length_tokens(c) <= _trained(c) < 2**31,
    message=lambda c: (
        f"`config.json` stretches positions by YaRN, which costs short texts some accuracy, and "
        f"`max_seq_len` {_length_tokens(c):,} stays within the {_trained(c):,} of training: remove "
        "`rope_scaling` from it to serve at full quality."
    ),
    source=sources.tensorrt_llm("max_position_embeddings and the rope factor"),
    bad=Example(config={**_H100, _SEQUENCE: 8192}, checkpoint=_STRETCHED),
    good=Example(config={**_H100, _SEQUENCE: 65_536}, checkpoint=_STRETCHED),
)

ALL_WINDOWED = Rule(
    code="EH642",
    name="window-shorter-than-the-sequence",
    severity=Severity.HINT,
    needs=("checkpoint",),
    fields=limit("max_seq_len"),
    concerns=lambda c: generates(c) and _length_tokens(c) > 0,
    when=lambda c: (
        0 < (c.checkpoint.sliding_window or 0) < _length_tokens(c)
        and all(group.window for group in c.checkpoint.groups)
    ),
    message=lambda c: (
        f"Every layer sees the last {c.checkpoint.sliding_window or 0:,} tokens only, and "
        f"`max_seq_len` is {_length_tokens(c):,}: what stands further back reaches an answer "
        "only indirectly."
    ),
    source=sources.tensorrt_llm("max_attention_window"),
    bad=Example(
        config={**_H100, _SEQUENCE: 32_768},
        checkpoint=facts(
            architectures=["MistralForCausalLM"], model_type="mistral", sliding_window=4096,
            max_position_embeddings=32_768,
        ),
    ),
    good=Example(config={**_H100, _SEQUENCE: 32_768}, checkpoint=LLAMA_8B),
)  # fmt: skip

RESERVED_VARIABLES = Rule(
    code="EH643",
    name="reserved-environment-variables",
    severity=Severity.WARNING,
    fields=lambda c: (
        tuple(f"environment_variables.{name}" for name in _reserved(c))
        or ("environment_variables",)
    ),
    when=lambda c: bool(_reserved(c)),
    message=lambda c: (
        "Reserved and overwritten at run time: "
        + ", ".join(f"`{name}`" for name in _reserved(c))
        + "."
    ),
    fix=Fix(
        label="Remove them",
        patch=lambda c: {f"environment_variables.{name}": None for name in _reserved(c)},
        safe=True,
    ),
    source=sources.truss("truss_config.py, environment_variables"),
    bad=Example(config={"environment_variables": {"PORT": "80"}}),
    good=Example(),
)

IDLE_ON_ENCODER = Rule(
    code="EH644",
    name="generation-settings-on-encoder",
    severity=Severity.HINT,
    fields=lambda c: tuple(_idle_on_encoder(c)) or (_RUNTIME,),
    concerns=on_gpu(_is_encoder),
    when=lambda c: bool(_idle_on_encoder(c)),
    message=lambda c: (
        "An encoder reads no "
        + ", ".join(f"`{path.rsplit('.', 1)[-1]}`" for path in _idle_on_encoder(c))
        + ": it keeps no KV cache, and `max_num_tokens` bounds its inputs."
    ),
    fix=Fix(
        label="Remove them",
        patch=lambda c: dict.fromkeys(_idle_on_encoder(c)),
        safe=True,
    ),
    source=sources.bei_guide("configuration"),
    bad=Example(config={**_BERT, _SERVED: "minilm"}, checkpoint=BERT),
    good=Example(config={**_BERT, _SEQUENCE: None}, checkpoint=BERT),
)

SLOW_EMBEDDER = Rule(
    code="EH645",
    name="embedder-above-a-millisecond",
    severity=Severity.HINT,
    needs=("checkpoint",),
    fields=at("trt_llm.build.checkpoint_repository.repo"),
    concerns=on_gpu(lambda c: _is_encoder(c) and c.gpu.bytes_per_second is not None),
    when=lambda c: (c.checkpoint.parameters or 0) >= LARGE_EMBEDDER_PARAMETERS,
    message=lambda c: (
        f"Reading {(c.checkpoint.parameters or 0) / 1e9:.1f} B weights takes `{c.gpu.kind}` "
        f"{_read_ms(c, 1):.1f} ms in 8 bits and {_read_ms(c, 2):.1f} ms in 16 for each batch. The "
        "engines page says sub-millisecond and up to 1,400 embeddings a second, which hold for "
        "small models and short inputs."
    ),
    source=sources.engines_overview("Embedding performance (BEI/BEI-Bert)"),
    bad=Example(
        config={**_BEI, _SEQUENCE: None},
        checkpoint=_EMBEDDER.model_copy(update={"parameters": 7_600_000_000}),
    ),
    good=Example(config={**_BEI, _SEQUENCE: None}, checkpoint=_EMBEDDER),
)


def _read_ms(c: Context, bytes_each: int) -> float:
    speed = c.gpu.bytes_per_second or 1.0
    return (c.checkpoint.parameters or 0) * bytes_each / speed * 1000


CHUNKS_OF_LATENT = Rule(
    code="EH646",
    name="chunked-prefill-of-latent-attention",
    severity=Severity.HINT,
    runtimes=TRTLLM,
    needs=("checkpoint",),
    fields=lambda c: (
        f"{_RUNTIME}.enable_chunked_prefill"
        if c.spec.is_v2
        else f"{_RUNTIME}.enable_chunked_context",
    ),
    concerns=lambda c: (
        c.spec.chunks_prefill and not c.gpu.is_cpu and not c.gpu.has_capability(9, 0)
    ),
    when=lambda c: bool(c.checkpoint.kv_lora_rank),
    message=lambda c: (
        f"`{c.checkpoint.architecture}` keeps a latent KV cache, which this engine prefills in "
        f"pieces and reuses on Hopper and Blackwell only: on `{c.gpu.kind}` it turns both off, and "
        f"prompts above {c.spec.max_num_tokens:,} tokens are refused."
    ),
    source=sources.tensorrt_llm("chunked prefill and block reuse of MLA"),
    bad=on_trtllm(
        Example(
            config={"resources.accelerator": "A100"},
            checkpoint=LLAMA_8B.model_copy(update={"kv_lora_rank": 512}),
        )
    ),
    good=on_trtllm(
        Example(config=_H100, checkpoint=LLAMA_8B.model_copy(update={"kv_lora_rank": 512}))
    ),
)
