"""EH5: requests whose state has a fixed size, and the blocks that hold it."""

from controlplane.domain.counted import counted
from controlplane.domain.facts import sources
from controlplane.domain.memory.state_blocks import least_block_tokens, state_blocks
from controlplane.domain.rules.context import Context
from controlplane.domain.rules.examples import Example, facts
from controlplane.domain.rules.rule import VLLM, Fix, Patch, Rule, Severity, limit
from controlplane.domain.rules.serving.engine_arguments import argument

_ACCELERATOR = "resources.accelerator"
_BATCH = "trt_llm.build.max_batch_size"
_SEQUENCE = "trt_llm.build.max_seq_len"
_CERTAIN = 1.1
"""Beyond so many times the planned blocks an error: plans of such caches are not measured."""
_ROUND = 8
_ON_VLLM = {_ACCELERATOR: "H100", "enginehouse.runtime": "vllm", _SEQUENCE: 32_768}
_HYBRID = facts(
    architectures=["Qwen3_5ForCausalLM"], model_type="qwen3_5_text", hidden_size=5120,
    num_hidden_layers=64, num_attention_heads=24, num_key_value_heads=4, head_dim=256,
    intermediate_size=17_408, vocab_size=248_320, max_position_embeddings=262_144,
    full_attention_interval=4, linear_num_key_heads=16, linear_num_value_heads=48,
    linear_key_head_dim=128, linear_value_head_dim=128, linear_conv_kernel_dim=4,
    tie_word_embeddings=False,
)  # fmt: skip


def _blocks(c: Context) -> int | None:
    return state_blocks(c.plan) if c.plan.weights_fit else None


def _is_beyond(c: Context) -> bool:
    blocks = _blocks(c)
    return blocks is not None and c.spec.max_batch_size > blocks * _CERTAIN


def _is_below_a_block(c: Context) -> bool:
    longest = c.spec.max_seq_len
    return longest is not None and longest < least_block_tokens(c.plan)


def _as_many_as_fit(c: Context) -> Patch | None:
    fitting = int((_blocks(c) or 0) / _CERTAIN)
    fewer = fitting - fitting % _ROUND or fitting
    return {f"{c.spec.limits_path}.max_batch_size": fewer} if fewer else None


BATCH_BEYOND_STATES = Rule(
    code="EH521",
    name="batch-beyond-the-states-that-fit",
    severity=Severity.ERROR,
    runtimes=VLLM,
    needs=("checkpoint", "plan"),
    fields=limit("max_batch_size"),
    concerns=lambda c: not c.spec.base_model.is_encoder,
    when=_is_beyond,
    message=lambda c: (
        f"Some layers keep a state of fixed size for each request, and the memory beside the "
        f"weights holds about {_blocks(c) or 0:,} of them: vLLM refuses to start with "
        f"{counted(c.spec.max_batch_size, 'request')} at once."
    ),
    fix=Fix(label="Run as many as fit", patch=_as_many_as_fit, safe=True),
    source=sources.vllm("issue 49064, Mamba cache blocks and max_num_seqs"),
    bad=Example(config={**_ON_VLLM, _BATCH: 1024}, checkpoint=_HYBRID),
    good=Example(config={**_ON_VLLM, _BATCH: 64}, checkpoint=_HYBRID),
)

PREFIXES_BELOW_A_BLOCK = Rule(
    code="EH523",
    name="prefixes-below-a-block-of-states",
    severity=Severity.WARNING,
    runtimes=VLLM,
    needs=("checkpoint", "plan"),
    fields=limit("max_seq_len"),
    concerns=lambda c: (
        not c.spec.base_model.is_encoder
        and argument(c, "kv_cache_config", "enable_block_reuse") is not False
    ),
    when=_is_below_a_block,
    message=lambda c: (
        "Some layers keep a state of fixed size for each request, so that vLLM's cache comes in "
        f"blocks of {least_block_tokens(c.plan):,} tokens or more. It reuses whole blocks only, "
        f"and no request of at most {c.spec.max_seq_len:,} tokens fills one: prompts that begin "
        "alike are computed from their first token."
    ),
    source=sources.vllm("issue 48401, prefix caching of hybrids below a block"),
    bad=Example(config={**_ON_VLLM, _SEQUENCE: 128}, checkpoint=_HYBRID),
    good=Example(config=_ON_VLLM, checkpoint=_HYBRID),
)
