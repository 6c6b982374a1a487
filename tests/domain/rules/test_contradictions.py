"""Where the sources contradict each other, one rule says so and its message names both sides."""

import pytest

from controlplane.domain.rules import ALL_RULES, examine

RULES = {rule.code: rule for rule in ALL_RULES}
CONTRADICTIONS: dict[str, tuple[str, tuple[str, ...]]] = {
    "FP4_KV saves 75 or 80 %": ("EH220", ("The pages say", "75%", "80%")),
    "lookahead gains": ("EH431", ("up to 2 times", "2 to 4 times", "10 times")),
    "memory of lookahead": ("EH434", ("One page", "no more memory", "another", "little")),
    "window and verification for code": ("EH430", ("1 and 1", "1 and 3", "7 and 7", "pages")),
    "L4 up to 8 or 15 billion": ("EH106", ("size table", "below 8 B", "advice", "below 15 B")),
    "FP8_KV on BEI": ("EH208", ("The guide says both", "in part", "does not")),
    "KV types on BEI-Bert": ("EH207", ("engine table", "its own page")),
    "bge under BEI": ("EH630", ("quantization guide", "selection page")),
    "calib_max_seq_length": ("EH227", ("code", "documentation says 2048")),
    "use_fp8_context_fmha": ("EH906", ("docs", "their own example")),
    "Qwen2 with fp8_kv": ("EH204", ("guide forbids", "configuration page shows")),
    "integer quantization": ("EH212", ("guide lists", "server refuses", "parser")),
    "quantized checkpoints on v1": ("EH223", ("configuration page refuses", "guide takes")),
    "more ranks than GPUs on v2": ("EH302", ("parser lets this pass", "example of its docs")),
    "batch under lookahead": ("EH402", ("guide recommends 32", "example of the docs has 128")),
    "settings in the code only": ("EH221", ("parser", "none of its pages")),
    "adapter caches in the code only": ("EH713", ("No page", "parser")),
    "routing on by default": ("EH625", ("One page", "another")),
    "Llama 4": ("EH618", ("one page", "engine's own")),
    "Llama samples": ("EH226", ("guide's standard", "its own sample block")),
    "small quantized models": ("EH206", ("guide sees", "engine's page quantizes a 3 B")),
    "FP4 without loss": ("EH214", ("points", "engines page promises")),
    "FP4 on GPUs other than B200": ("EH213", ("pages", "parser")),
    "FP4 on BEI": ("EH222", ("guide", "engines page")),
    "speed of an 8-bit cache": ("EH218", ("guide says 2.5 times", "measured")),
    "sub-millisecond embeddings": ("EH645", ("engines page says", "takes `H100`")),
    "structured output under lookahead": ("EH412", ("guide says", "vLLM")),
    "Gemma 3 with images": ("EH614", ("engine's page", "feature table")),
    "Phi 3": ("EH617", ("One page", "newer list")),
}


@pytest.mark.parametrize("name", CONTRADICTIONS)
def test_a_contradiction_is_told_with_both_sides(name: str) -> None:
    code, words = CONTRADICTIONS[name]
    example = RULES[code].bad
    findings = examine(example.content, example.known).report.findings
    message = next(finding.message for finding in findings if finding.code == code)
    assert [word for word in words if word not in message] == []
