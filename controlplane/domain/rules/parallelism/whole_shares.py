"""EH32: shares that vLLM gives every rank whole: of vocabulary, MLP and attention."""

from collections.abc import Iterator

from controlplane.domain.facts import sources
from controlplane.domain.facts.rank_shares import (
    attention_shares,
    cuts_attention,
    divides_whole,
    padded_vocabulary,
    rows_of_a_block,
)
from controlplane.domain.memory.parallelism import keeps_experts_whole
from controlplane.domain.rules.context import Context
from controlplane.domain.rules.division import division, is_served_on
from controlplane.domain.rules.examples import LLAMA_8B, Config, Example, facts, on_vllm
from controlplane.domain.rules.parallelism.share_of_a_rank import (
    keep_experts_whole,
    ranks_and_devices,
    share_of,
)
from controlplane.domain.rules.rule import VLLM, Fix, Rule, Severity

_ACCELERATOR = "resources.accelerator"
_TENSOR = "trt_llm.build.tensor_parallel_count"
_READ = "2026-11-30"
_TWO: Config = {_ACCELERATOR: "H100:2", _TENSOR: 2}
_THREE: Config = {_ACCELERATOR: "H100:3", _TENSOR: 3}
_TWELVE_HEADS = {"attention_heads": 12, "kv_heads": 12, "head_dim": 64, "intermediate_size": 12_288}
_BLOCKS = {"quant_method": "fp8", "weight_block_size": [128, 128]}
_SMALL_HEADS = facts(
    hidden_size=2048, num_attention_heads=32, num_key_value_heads=4, head_dim=64,
    intermediate_size=8192, quantization_config=_BLOCKS,
)  # fmt: skip


def _is_divided(c: Context) -> bool:
    return c.spec.tensor_parallel > 1


def _fewer_ranks(c: Context) -> Iterator[Fix]:
    if not is_served_on(c):
        return
    counts = (n for n in range(c.spec.tensor_parallel - 1, 0, -1) if _divides(c, n))
    if c.spec.accelerator is not None and (count := next(counts, 0)):
        yield division(c, count)


def _divides(c: Context, ranks: int) -> bool:
    whole = keeps_experts_whole(c.spec, ranks)
    return divides_whole(c.checkpoint, ranks, keeps_experts_whole=whole)


def _attention(c: Context) -> tuple[int, int]:
    return attention_shares(c.checkpoint, c.spec.tensor_parallel)


def _part(c: Context) -> str:
    return "Each expert" if c.checkpoint.experts else "The MLP"


UNEVEN_VOCABULARY = Rule(
    code="EH321",
    name="ranks-that-do-not-divide-the-vocabulary",
    severity=Severity.ERROR,
    runtimes=VLLM,
    needs=("checkpoint",),
    fields=ranks_and_devices,
    concerns=_is_divided,
    when=lambda c: padded_vocabulary(c.checkpoint) % c.spec.tensor_parallel != 0,
    message=lambda c: (
        f"vLLM pads the {c.checkpoint.vocabulary_size or 0:,} rows of the vocabulary to "
        f"{padded_vocabulary(c.checkpoint):,} and gives each rank the same share, but that does "
        f"not divide by {c.spec.tensor_parallel}: it fails to start."
    ),
    otherwise=_fewer_ranks,
    source=sources.vllm("model_executor/layers/vocab_parallel_embedding.py", checked=_READ),
    bad=on_vllm(
        Example(
            config=_THREE,
            checkpoint=LLAMA_8B.model_copy(update={**_TWELVE_HEADS, "vocabulary_size": 32_000}),
        )
    ),
    good=on_vllm(Example(config=_THREE, checkpoint=LLAMA_8B.model_copy(update=_TWELVE_HEADS))),
)

UNEVEN_SHARES = Rule(
    code="EH322",
    name="ranks-that-do-not-divide-the-mlp-under-vllm",
    severity=Severity.ERROR,
    runtimes=VLLM,
    needs=("checkpoint",),
    fields=ranks_and_devices,
    concerns=_is_divided,
    when=lambda c: not share_of(c).is_even,
    message=lambda c: (
        f"{_part(c)} is {share_of(c).width:,} wide, and vLLM gives each of "
        f"{c.spec.tensor_parallel} ranks the same share of it, which does not divide: it "
        "fails to start."
    ),
    fix=Fix(label="Keep experts whole", patch=keep_experts_whole, safe=True),
    otherwise=_fewer_ranks,
    source=sources.vllm("model_executor/layers/linear.py; fused_moe/config.py", checked=_READ),
    bad=on_vllm(
        Example(config=_TWO, checkpoint=LLAMA_8B.model_copy(update={"intermediate_size": 14_335}))
    ),
    good=on_vllm(Example(config=_TWO, checkpoint=LLAMA_8B)),
)


CUT_ATTENTION = Rule(
    code="EH323",
    name="blocks-of-attention-cut-by-ranks",
    severity=Severity.ERROR,
    runtimes=VLLM,
    needs=("checkpoint",),
    fields=ranks_and_devices,
    concerns=_is_divided,
    when=lambda c: cuts_attention(c.checkpoint, c.spec.tensor_parallel),
    message=lambda c: (
        f"The checkpoint keeps a scale for each {rows_of_a_block(c.checkpoint)} rows of weights, "
        f"and each of {c.spec.tensor_parallel} ranks gets {_attention(c)[0]:,} rows of queries and "
        f"{_attention(c)[1]:,} of keys, of which one is not a multiple of that: vLLM "
        "fails to start. Use fewer ranks."
    ),
    otherwise=_fewer_ranks,
    source=sources.vllm("fp8_utils.py, validate_fp8_block_shape", checked=_READ),
    bad=on_vllm(Example(config={_ACCELERATOR: "H100:4", _TENSOR: 4}, checkpoint=_SMALL_HEADS)),
    good=on_vllm(Example(config=_TWO, checkpoint=_SMALL_HEADS)),
)
