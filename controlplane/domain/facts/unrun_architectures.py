"""Generators of transformers that vLLM has no class of and does not run by transformers' own.

Its backend for those asks a class of transformers for `_supports_attention_backend`; from 0.30 on
it also takes one whose module lets its attention be set. Source: `_try_resolve_transformers` of
`models/registry.py`, vLLM 0.25.1 to 0.33.0, and the classes of transformers 5.24; checked
2026-11-30.
"""

_NEVER = frozenset(
    {
        "BigBirdForCausalLM", "BlipForConditionalGeneration", "ClvpModelForConditionalGeneration",
        "CpmAntForCausalLM", "FSMTForConditionalGeneration", "FlaubertWithLMHeadModel",
        "GPTNeoForCausalLM", "GPTNeoXJapaneseForCausalLM", "LEDForConditionalGeneration",
        "MegatronBertForCausalLM", "MvpForCausalLM", "MvpForConditionalGeneration",
        "OpenAIGPTLMHeadModel", "ProphetNetForCausalLM", "ProphetNetForConditionalGeneration",
        "RemBertForCausalLM", "RoFormerForCausalLM", "RwkvForCausalLM", "TrOCRForCausalLM",
        "XGLMForCausalLM", "XLMWithLMHeadModel", "XLNetLMHeadModel",
    }
)  # fmt: skip
_SETTABLE = frozenset(
    {
        "BailingHybridForCausalLM", "BambaForCausalLM", "BartForCausalLM",
        "BartForConditionalGeneration", "BigBirdPegasusForCausalLM",
        "BigBirdPegasusForConditionalGeneration", "BioGptForCausalLM", "BlenderbotForCausalLM",
        "BlenderbotForConditionalGeneration", "BlenderbotSmallForCausalLM",
        "BlenderbotSmallForConditionalGeneration", "BltForCausalLM",
        "CanaryForConditionalGeneration", "DeepseekVLForConditionalGeneration",
        "DeepseekVLHybridForConditionalGeneration", "DiaForConditionalGeneration",
        "Florence2ForConditionalGeneration", "GitForCausalLM", "Inkling2ForCausalLM",
        "Inkling2ForConditionalGeneration", "Inkling2LoopForCausalLM",
        "Inkling2LoopForConditionalGeneration", "JanusForConditionalGeneration",
        "LaraMiniForCausalLM", "LongT5ForConditionalGeneration", "M2M100ForConditionalGeneration",
        "MBartForCausalLM", "MBartForConditionalGeneration", "MT5ForConditionalGeneration",
        "MarianForCausalLM", "MoonshineForConditionalGeneration",
        "MoonshineStreamingForConditionalGeneration", "MusicgenForCausalLM",
        "MusicgenForConditionalGeneration", "MusicgenMelodyForCausalLM",
        "MusicgenMelodyForConditionalGeneration", "NllbMoeForConditionalGeneration",
        "PLBartForCausalLM", "PLBartForConditionalGeneration",
        "PPFormulaNetForConditionalGeneration", "PegasusForCausalLM",
        "PegasusForConditionalGeneration", "PegasusXForConditionalGeneration",
        "Pix2StructForConditionalGeneration", "Pop2PianoForConditionalGeneration",
        "Speech2TextForConditionalGeneration", "SwitchTransformersForConditionalGeneration",
        "T5ForConditionalGeneration", "UMT5ForConditionalGeneration",
        "UdopForConditionalGeneration", "ZambaForCausalLM", "xLSTMForCausalLM",
    }
)  # fmt: skip
"""Those whose module lets its attention be set."""
_SETTABLE_SINCE = (0, 30)


def runs_nowhere_in_vllm(architecture: str | None, version: str) -> bool:
    """Return whether this vLLM neither has a class nor runs the one of transformers."""
    is_older = tuple(int(part) for part in version.split("."))[:2] < _SETTABLE_SINCE
    return architecture in _NEVER or (is_older and architecture in _SETTABLE)
