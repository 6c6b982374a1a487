"""Parsers of tool calls and reasoning under vLLM's names; any other name ends it at start.

Source: vLLM 0.25.1 to 0.33.0, `tool_parsers/__init__.py` and `reasoning/__init__.py`, checked
2026-11-28.
"""

from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType


class Kind(StrEnum):
    """What a parser takes out of an answer."""

    TOOLS = "tools"
    REASONING = "reasoning"


_OF_BOTH = (
    "cohere_command3 cohere_command4 deepseek_v3 deepseek_v4 ernie45 gemma4 glm45 glm47 granite "
    "hunyuan_a13b hy_v3 kimi_k2 mimo minimax_m2 minimax_m3 mistral olmo3 poolside_v1 seed_oss "
    "step3 step3p5"
)
_FIRST: Mapping[Kind, str] = {
    Kind.TOOLS: "apertus deepseek_v31 deepseek_v32 functiongemma gigachat3 granite-20b-fc granite4 "
    "hermes internlm jamba lfm2 llama3_json llama4_json llama4_pythonic longcat minicpm5 openai "
    "phi4_mini_json pythonic qwen3_coder qwen3_xml xlam",
    Kind.REASONING: "deepseek_r1 holo2 minimax_m2_append_think nemotron_v3 openai_gptoss qwen3",
}
_LATER: Mapping[str, Mapping[Kind, str]] = {
    "0.26": dict.fromkeys(Kind, "inkling"),
    "0.27": dict.fromkeys(Kind, "kimi_k3"),
    "0.28": {Kind.TOOLS: "dots ling3 muse_glimmer", Kind.REASONING: "ling3 muse_glimmer"},
    "0.29": dict.fromkeys(Kind, "hy_v4"),
    "0.30": dict.fromkeys(Kind, "deepseek_v41 k2_horizon"),
    "0.31": {Kind.REASONING: "granite_thinking_parser"},
    "0.32": {Kind.TOOLS: "hf plamo3 qwen3_json", Kind.REASONING: "hf minicpmv plamo3"},
    "0.33": dict.fromkeys(Kind, "beam muse musespark1x step5"),
}
SINCE: Mapping[Kind, Mapping[str, str]] = MappingProxyType(
    {
        kind: MappingProxyType(
            dict.fromkeys(f"{_OF_BOTH} {_FIRST[kind]}".split(), "0.25")
            | {name: version for version, added in _LATER.items()
               for name in added.get(kind, "").split()}
        )
        for kind in Kind
    }
)  # fmt: skip
"""Parser -> the first version here that has it; none was taken away up to 0.33."""
_OF_TENSORRT_LLM: Mapping[Kind, Mapping[str, str]] = {
    Kind.TOOLS: {"qwen3": "hermes", "deepseekv3": "deepseek_v3", "deepseekv3.1": "deepseek_v31"},
    Kind.REASONING: {"deepseek-r1": "deepseek_r1", "qwen3_5": "qwen3", "laguna": "poolside_v1"},
}
"""Names that TensorRT-LLM has for the same format; Qwen 3 calls tools in the form of Hermes."""


def parser_for(kind: Kind, name: object, version: str) -> str | None:
    parser = _OF_TENSORRT_LLM[kind].get(str(name), str(name))
    since = SINCE[kind].get(parser)
    return parser if since is not None and since <= version else None
