"""EH421: what lookahead costs under vLLM where little is copied."""

from controlplane.domain.facts import lookahead_speed as speed
from controlplane.domain.rules.examples import on_vllm
from controlplane.domain.rules.rule import VLLM, Fix, Rule, Severity, at
from controlplane.domain.rules.speculation.lookahead import (
    RECOMMENDED,
    SPECULATOR,
    draft_example,
    uses_lookahead,
)

SLOWER_WHERE_NOTHING_IS_COPIED = Rule(
    code="EH421",
    name="lookahead-under-vllm",
    severity=Severity.HINT,
    runtimes=VLLM,
    fields=at(SPECULATOR),
    when=uses_lookahead,
    message=lambda _: (
        "With lookahead vLLM serves on its older model runner, without async scheduling. It pays "
        f"where a step has {speed.break_even_accepted_tokens():.1f} drafted tokens accepted or "
        "more, as where files, JSON or quotations are given back. Text that copies nothing came "
        f"{speed.loss_share():.0%} slower ({speed.TOKENS_PER_SECOND_COPYING_NOTHING} tokens a "
        f"second for one request in place of {speed.TOKENS_PER_SECOND_WITHOUT}, the shape of "
        f"Qwen3-8B in FP8 on {speed.MEASURED_ON}): there, turn it off."
    ),
    fix=Fix(label="Remove lookahead", patch=lambda _: {SPECULATOR: None}, safe=True),
    source=speed.SOURCE,
    bad=on_vllm(draft_example(RECOMMENDED)),
    good=on_vllm(draft_example({}, **{SPECULATOR: None})),
)
