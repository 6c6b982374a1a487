"""EH2: budgets of bits within which a search gives each layer its number."""

from math import ceil

from controlplane.domain.facts import sources
from controlplane.domain.facts.bit_budgets import searched_numbers
from controlplane.domain.facts.matrices import excluded_parameters, quantized_parameters
from controlplane.domain.rules.context import Context
from controlplane.domain.rules.examples import LLAMA_8B, Example, facts
from controlplane.domain.rules.quantization.excluded_modules import LLAMA_WITH_MATRICES
from controlplane.domain.rules.quantization.precision import QUANTIZATION
from controlplane.domain.rules.rule import Fix, Patch, Rule, Severity, at

_BUDGET = "trt_llm.build.quantization_config.effective_bits"
_EXCLUDED = "trt_llm.build.quantization_config.exclude_modules"
_SIXTEEN = 16
_PARTS = 10
"""Of a bit: what a fix rounds up to."""
_B200 = {"resources.accelerator": "B200", QUANTIZATION: "fp4"}
_EXPERTS = facts(
    architectures=["Qwen3MoeForCausalLM"], model_type="qwen3_moe", num_experts=128,
    num_experts_per_tok=8, moe_intermediate_size=768, head_dim=64,
)  # fmt: skip


def _budget(c: Context) -> float | None:
    return c.spec.engine_build.quantization_config.effective_bits


def _has_budget(c: Context) -> bool:
    return _budget(c) is not None


def _without(_: Context) -> Patch:
    return {_BUDGET: None}


def _least(c: Context) -> float:
    """Return the bits a weight with every layer in the smallest number that it may have."""
    own = 8 * c.spec.quantization_type.precision.weight_bytes
    share = _excluded_share(c)
    return share * _SIXTEEN + (1 - share) * own


def _excluded_share(c: Context) -> float:
    patterns = c.spec.engine_build.quantization_config.exclude_modules
    matrices = c.checkpoint.matrices
    mlp_only = c.spec.quantization_type.precision.mlp_only
    every = quantized_parameters(matrices, mlp_only=mlp_only)
    kept = excluded_parameters(matrices, patterns, mlp_only=mlp_only)
    return kept / every if every else 0.0


def _reachable(c: Context) -> Patch:
    """Return the patch to the least that is to be had, rounded up; none above 16 bits."""
    bits = ceil(_least(c) * _PARTS) / _PARTS
    return {_BUDGET: bits if bits < _SIXTEEN else None}


NOT_SEARCHED = Rule(
    code="EH246",
    name="bit-budget-without-a-search",
    severity=Severity.ERROR,
    fields=at(_BUDGET, QUANTIZATION),
    concerns=_has_budget,
    when=lambda c: not searched_numbers(c.spec.quantization_type.precision.weights),
    message=lambda c: (
        f"`effective_bits` lets a search choose among FP4, FP8 and 16 bits, and "
        f"`{c.spec.quantization_type}` leaves it nothing to choose. Use it with an FP8 or FP4 type."
    ),
    fix=Fix(label="Remove the budget", patch=_without, safe=False),
    source=sources.enginehouse("quantization, budgets of bits"),
    bad=Example(config={"resources.accelerator": "H100", _BUDGET: 6}),
    good=Example(config={**_B200, _BUDGET: 6}),
)

OF_OTHERS = Rule(
    code="EH247",
    name="bit-budget-for-encoders-or-experts",
    severity=Severity.ERROR,
    needs=("checkpoint",),
    fields=at(_BUDGET),
    concerns=lambda c: c.spec.bit_budget is not None,
    when=lambda c: c.spec.base_model.is_encoder or bool(c.checkpoint.experts),
    message=lambda c: (
        "`effective_bits` is not searched for "
        + ("an encoder" if c.spec.base_model.is_encoder else "experts")
        + ": the search scores layers by the loss of the next token, layer by layer."
    ),
    fix=Fix(label="Remove the budget", patch=_without, safe=False),
    source=sources.enginehouse("quantization, budgets of bits"),
    bad=Example(config={**_B200, _BUDGET: 6}, checkpoint=_EXPERTS),
    good=Example(config={**_B200, _BUDGET: 6}, checkpoint=LLAMA_8B),
)

UNREACHABLE = Rule(
    code="EH248",
    name="bit-budget-below-the-smallest-number",
    severity=Severity.ERROR,
    needs=("checkpoint",),
    fields=at(_BUDGET, QUANTIZATION, _EXCLUDED),
    concerns=lambda c: c.spec.bit_budget is not None,
    when=lambda c: (_budget(c) or 0) < _least(c),
    message=lambda c: (
        f"`effective_bits` is {_budget(c):g}, but `{c.spec.quantization_type}` needs at least "
        f"{_least(c):.2f} bits a weight"
        + (", as excluded modules count with 16." if _excluded_share(c) else ".")
    ),
    fix=Fix(label="Use the smallest budget that it can keep", patch=_reachable, safe=False),
    source=sources.enginehouse("quantization, budgets of bits"),
    bad=Example(config={**_B200, _BUDGET: 4}),
    good=Example(
        config={**_B200, _BUDGET: 8, _EXCLUDED: ["*.down_proj"]}, checkpoint=LLAMA_WITH_MATRICES
    ),
)
