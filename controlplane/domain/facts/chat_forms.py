"""How a checkpoint writes tool calls and reasoning, told by texts of its chat template.

Source: the markers that the parsers of vLLM 0.25.1 to 0.33.0 look for, read 2026-11-30, and the
chat templates of the families named here. About a dozen of the templates were read on that day; of
the others it is known what was published of them, and the files themselves were not read.
"""

import re
from collections.abc import Mapping, Sequence
from enum import StrEnum
from types import MappingProxyType
from typing import Any, TypeVar


class CallForm(StrEnum):
    """One way to write tool calls."""

    HERMES = "hermes"
    XML = "xml"
    LLAMA_JSON = "llama_json"
    LLAMA4_JSON = "llama4_json"
    LLAMA4_PYTHONIC = "llama4_pythonic"
    PYTHONIC = "pythonic"
    MISTRAL = "mistral"
    MISTRAL_NAMED = "mistral_named"
    DEEPSEEK_FENCED = "deepseek_fenced"
    DEEPSEEK_BARE = "deepseek_bare"
    DEEPSEEK_FUNCTIONS = "deepseek_functions"
    DEEPSEEK_TOOLS = "deepseek_tools"
    GLM = "glm"
    KIMI = "kimi"
    HARMONY = "harmony"
    GRANITE = "granite"
    PHI = "phi"
    COHERE_ACTION = "cohere_action"
    COHERE_FENCED = "cohere_fenced"
    MINIMAX_M2 = "minimax_m2"
    TOOL_CALLS_LIST = "tool_calls_list"
    SEED = "seed"
    LONGCAT = "longcat"
    LFM = "lfm"
    OLMO = "olmo"
    APERTUS = "apertus"
    STEP = "step"
    GEMMA4 = "gemma4"
    FUNCTION_GEMMA = "function_gemma"
    INTERNLM = "internlm"
    NEMOTRON = "nemotron"
    FUNCTIONARY = "functionary"


class ThoughtForm(StrEnum):
    """One way to set reasoning apart from the answer."""

    THINK = "think"
    DEEPSEEK = "deepseek"
    DEEPSEEK_SWITCHED = "deepseek_switched"
    HARMONY = "harmony"
    GRANITE = "granite"
    SEED = "seed"
    COHERE = "cohere"
    GEMMA4 = "gemma4"
    MISTRAL = "mistral"


CALL_WORDS: Mapping[CallForm, str] = MappingProxyType(
    {
        CallForm.HERMES: "JSON in `<tool_call>`, as Hermes and Qwen 2.5 write it",
        CallForm.XML: "`<function=…>` in `<tool_call>`, as Qwen3-Coder writes it",
        CallForm.LLAMA_JSON: "JSON with `parameters`, as Llama 3 writes it",
        CallForm.LLAMA4_JSON: "JSON with `parameters`, as Llama 4 writes it",
        CallForm.LLAMA4_PYTHONIC: "a list of Python calls, as Llama 4 writes it",
        CallForm.PYTHONIC: "a list of Python calls, as Llama 3.2 writes it",
        CallForm.MISTRAL: "a JSON list after `[TOOL_CALLS]`, as Mistral writes it",
        CallForm.MISTRAL_NAMED: "`[TOOL_CALLS]NAME[ARGS]`, as newer Mistral models write it",
        CallForm.DEEPSEEK_FENCED: "fenced JSON after `<｜tool▁sep｜>`, as DeepSeek V3 writes it",
        CallForm.DEEPSEEK_BARE: "JSON after `<｜tool▁sep｜>`, as DeepSeek V3.1 writes it",
        CallForm.DEEPSEEK_FUNCTIONS: "`<｜DSML｜function_calls>`, as DeepSeek V3.2 writes it",
        CallForm.DEEPSEEK_TOOLS: "`<｜DSML｜tool_calls>`, as DeepSeek V4 writes it",
        CallForm.GLM: "`<arg_key>` in `<tool_call>`, as GLM 4.5 writes it",
        CallForm.KIMI: "`<|tool_calls_section_begin|>`, as Kimi K2 writes it",
        CallForm.HARMONY: "the `commentary` channel, as gpt-oss writes it",
        CallForm.GRANITE: "a list after `<|tool_call|>`, as Granite 3 writes it",
        CallForm.PHI: "`functools[…]`, as Phi-4-mini writes it",
        CallForm.COHERE_ACTION: "`<|START_ACTION|>`, as Command A and R7B write it",
        CallForm.COHERE_FENCED: "`Action:` and fenced JSON, as Command R writes it",
        CallForm.MINIMAX_M2: "`<minimax:tool_call>`, as MiniMax M2 writes it",
        CallForm.TOOL_CALLS_LIST: "a JSON list in `<tool_calls>`, as Hunyuan and Jamba write it",
        CallForm.SEED: "`<seed:tool_call>`, as Seed-OSS writes it",
        CallForm.LONGCAT: "`<longcat_tool_call>`, as LongCat writes it",
        CallForm.LFM: "`<|tool_call_start|>`, as LFM2 writes it",
        CallForm.OLMO: "Python calls in `<function_calls>`, as Olmo 3 writes it",
        CallForm.APERTUS: "`<|tools_prefix|>`, as Apertus writes it",
        CallForm.STEP: "`<steptml:invoke>`, as Step3 writes it",
        CallForm.GEMMA4: "`<|tool_call>call:`, as Gemma 4 writes it",
        CallForm.FUNCTION_GEMMA: "`<start_function_call>`, as FunctionGemma writes it",
        CallForm.INTERNLM: "`<|action_start|>`, as InternLM 2.5 writes it",
        CallForm.NEMOTRON: "a JSON list in `<TOOLCALL>`, as Nemotron Nano 2 and Super write it",
        CallForm.FUNCTIONARY: "`<function=…>` by itself, as Functionary writes it",
    }
)
"""What a call of each form looks like, and whose it is."""
THOUGHT_WORDS: Mapping[ThoughtForm, str] = MappingProxyType(
    {
        ThoughtForm.THINK: "`</think>`",
        ThoughtForm.DEEPSEEK: "`</think>`, as DeepSeek R1 and what was distilled from it write it",
        ThoughtForm.DEEPSEEK_SWITCHED: "`</think>` where a request asks for it, as DeepSeek V3.1",
        ThoughtForm.HARMONY: "the `analysis` channel of gpt-oss",
        ThoughtForm.GRANITE: "the sentences of Granite 3.2",
        ThoughtForm.SEED: "`<seed:think>`",
        ThoughtForm.COHERE: "`<|START_THINKING|>`",
        ThoughtForm.GEMMA4: "`<|channel>`, as Gemma 4 writes it",
        ThoughtForm.MISTRAL: "`[THINK]`",
    }
)
"""How the reasoning of each form is set apart."""

_DEEPSEEK = "<｜tool▁call▁begin｜>"
CALLS_BY_MARKS: Mapping[tuple[str, ...], CallForm] = MappingProxyType(
    {
        ("<minimax:tool_call>",): CallForm.MINIMAX_M2,
        ("<seed:tool_call>",): CallForm.SEED,
        ("<longcat_tool_call>",): CallForm.LONGCAT,
        ("<|tool_calls_section_begin|>",): CallForm.KIMI,
        ("<|im_system|>tool_declare",): CallForm.KIMI,
        ("<|tool_call_start|>",): CallForm.LFM,
        ("<|tool_list_start|>",): CallForm.LFM,
        ("<start_function_call>",): CallForm.FUNCTION_GEMMA,
        ("<|tool_call>call:",): CallForm.GEMMA4,
        ("<|tools_prefix|>",): CallForm.APERTUS,
        ("<|START_ACTION|>",): CallForm.COHERE_ACTION,
        ("<steptml:",): CallForm.STEP,
        ("<|channel|>", "commentary"): CallForm.HARMONY,
        ("｜DSML｜", "function_calls"): CallForm.DEEPSEEK_FUNCTIONS,
        ("｜DSML｜", "tool_calls"): CallForm.DEEPSEEK_TOOLS,
        ("<tool_call>", "<arg_key>"): CallForm.GLM,
        ("<tool_call>", "<function="): CallForm.XML,
        ("<function_calls>",): CallForm.OLMO,
        ("<tool_calls>",): CallForm.TOOL_CALLS_LIST,
        ("<TOOLCALL>",): CallForm.NEMOTRON,
        ("<tool_call>",): CallForm.HERMES,
        (_DEEPSEEK, "```json"): CallForm.DEEPSEEK_FENCED,
        (_DEEPSEEK,): CallForm.DEEPSEEK_BARE,
        ("[TOOL_CALLS]", "[ARGS]"): CallForm.MISTRAL_NAMED,
        ("[TOOL_CALLS]",): CallForm.MISTRAL,
        ("<|tool|>",): CallForm.PHI,
        ("<|tool_call|>",): CallForm.GRANITE,
        ("<|action_start|>",): CallForm.INTERNLM,
        ("Action:", "```json", "tool_name"): CallForm.COHERE_FENCED,
        ("<|python_start|>", "func_name1("): CallForm.LLAMA4_PYTHONIC,
        ("func_name1(",): CallForm.PYTHONIC,
        ("<|python_start|>", '"parameters":'): CallForm.LLAMA4_JSON,
        ("<|python_start|>",): CallForm.LLAMA4_PYTHONIC,
        ("<function=",): CallForm.FUNCTIONARY,
        ('"parameters":',): CallForm.LLAMA_JSON,
        ("<|python_tag|>",): CallForm.LLAMA_JSON,
    }
)
"""Texts that together tell a form of calls by its template; the first that fits wins."""

THOUGHTS_BY_MARKS: Mapping[tuple[str, ...], ThoughtForm] = MappingProxyType(
    {
        ("<|channel|>", "analysis"): ThoughtForm.HARMONY,
        ("<seed:think>",): ThoughtForm.SEED,
        ("<|START_THINKING|>",): ThoughtForm.COHERE,
        ("<|channel>",): ThoughtForm.GEMMA4,
        ("my thought process:",): ThoughtForm.GRANITE,
        ("[THINK]",): ThoughtForm.MISTRAL,
        ("<｜Assistant｜>", "</think>", "thinking is defined"): ThoughtForm.DEEPSEEK_SWITCHED,
        ("<｜Assistant｜>", "</think>"): ThoughtForm.DEEPSEEK,
        ("</think>",): ThoughtForm.THINK,
    }
)
"""Texts that together tell a form of reasoning by its template; the first that fits wins."""

_NAMES_TOOLS = re.compile(r"{[{%][^}]*\btools\b")
_Form = TypeVar("_Form")


def call_form(template: str) -> CallForm | None:
    return _first_fitting(CALLS_BY_MARKS, template)


def thought_form(template: str) -> ThoughtForm | None:
    return _first_fitting(THOUGHTS_BY_MARKS, template)


def renders_tools(template: str) -> bool:
    return _NAMES_TOOLS.search(template) is not None


def template_text(templates: Any) -> str | None:
    """Return the text of `chat_template`, of several the one that is made for tools."""
    if isinstance(templates, str):
        return templates
    named = _by_name(templates)
    return named.get("tool_use") or named.get("default") or None


def _by_name(templates: Any) -> Mapping[str, str]:
    if isinstance(templates, Mapping):
        return {str(name): text for name, text in templates.items() if isinstance(text, str)}
    pairs = templates if isinstance(templates, Sequence) else ()
    return {
        str(pair.get("name")): pair["template"]
        for pair in pairs
        if isinstance(pair, Mapping) and isinstance(pair.get("template"), str)
    }


def _first_fitting(table: Mapping[tuple[str, ...], _Form], template: str) -> _Form | None:
    fitting = (form for texts, form in table.items() if all(text in template for text in texts))
    return next(fitting, None)
