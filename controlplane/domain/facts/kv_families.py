"""Families whose keys and values lie as their sizes and their lists of layers say.

Held to transformers 5.24 by a forward pass with a cache on an empty device
(`tests/domain/data/kv_layouts.jsonl`); those that only vLLM or TensorRT-LLM load go by their code.
Read 2026-11-29.
"""

_READ_IN_OTHER_CODE = frozenset(
    {
        "aquila", "arctic", "baichuan", "chatglm", "deepseek", "deepseek_ref", "gpt_jais",
        "hyperclovax", "internlm", "internlm2", "internlm3", "jais", "kimi_k2", "kimi_linear",
        "maira2", "mimo", "mimo_v2_flash", "minicpm", "minimax_m3", "nemotron-nas", "orion",
        "phi-msft", "phi3_v", "phi3small", "phi4mm", "qwen", "RefinedWeb", "RefinedWebModel",
        "skywork", "solar", "stablelm_epoch", "step3p5", "telechat", "xverse", "yi",
    }
)  # fmt: skip
_MEASURED = frozenset(
    {
        "afmoe", "apertus", "apertus1p5_text", "arcee", "aria_text", "axk1", "axk2",
        "bailing_hybrid", "bamba", "bart", "beam", "bert", "bert-generation", "big_bird",
        "bigbird_pegasus", "biogpt", "bitnet", "blenderbot", "blenderbot-small", "bloom",
        "camembert", "codegen", "cohere", "cohere2", "cohere2_moe", "cpmant", "ctrl", "cwm",
        "data2vec-text", "deepseek_v2", "deepseek_v3", "deepseek_v32", "deepseek_v4", "diffllama",
        "doge", "dory", "dots3_note_text", "electra", "ernie", "ernie4_5", "ernie4_5_moe", "exaone",
        "exaone4", "exaone_moe", "falcon", "falcon_h1", "falcon_mamba", "flex_olmo", "flint",
        "gemma", "gemma2", "gemma3_text", "gemma3n_text", "gemma4_text", "gemma4_unified_text",
        "git", "glm", "glm4", "glm4_moe", "glm4_moe_lite", "glm_moe_dsa", "gpt2", "gpt_bigcode",
        "gpt_neo", "gpt_neox", "gpt_neox_japanese", "gpt_oss", "gptj", "granite", "granite_swa",
        "granitemoe", "granitemoe_swa", "granitemoehybrid", "granitemoeshared", "helium",
        "hrm_text", "hy_v3", "hy_v4", "hyperclovax", "inkling2_loop_text", "inkling2_text",
        "inkling_text", "internlm3", "iquestcoder", "jais2", "jamba", "jetmoe", "kimi_linear",
        "kolibri1", "laguna", "lara_mini", "lfm2", "lfm3", "llama", "llama4_text", "longcat_flash",
        "mamba", "mamba2", "marian", "mbart", "megatron-bert", "mellum", "mimo_v2_flash",
        "minicpm3", "minimax", "minimax_m2", "minimax_m3_vl_text", "ministral3", "mistral",
        "mixtral", "mllama_text_model", "modernbert-decoder", "mpt", "mvp", "nanochat",
        "nemotron_h", "olmo", "olmo2", "olmo3", "olmo_hybrid", "olmoe", "openai-gpt", "opt",
        "pegasus", "persimmon", "phi", "phi3", "phi4_multimodal", "phimoe", "plbart", "prophetnet",
        "qwen2", "qwen2_moe", "qwen3", "qwen3_5_moe_text", "qwen3_5_text", "qwen3_moe",
        "qwen3_next", "recurrent_gemma", "rembert", "roberta", "roberta-prelayernorm", "roc_bert",
        "roformer", "rwkv", "sarvam_mla", "sarvam_moe", "seed_oss", "smollm3", "solar_open",
        "stablelm", "starcoder2", "trocr", "vaultgemma", "whisper", "xglm", "xlm", "xlm-roberta",
        "xlm-roberta-xl", "xlnet", "xlstm", "youtu", "zamba", "zamba2", "zaya",
    }
)  # fmt: skip


def keeps_plain_attention(model_type: str | None) -> bool:
    """Return whether a layer of this family keeps plain attention where its file says no more."""
    return model_type is None or model_type in _MEASURED or model_type in _READ_IN_OTHER_CODE
