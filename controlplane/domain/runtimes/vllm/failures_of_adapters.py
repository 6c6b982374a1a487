"""vLLM's complaints about LoRA adapters."""

from controlplane.domain.failures import Blame
from controlplane.domain.failures.pattern import log_pattern

_V = "vllm-project/vllm"
_CONFIG, _CHECKPOINT = Blame.CONFIGURATION, Blame.CHECKPOINT
_ADAPTERS = "trt_llm.build.lora_adapters"

PATTERNS = (
    log_pattern(
        "EVL-LORA-WEIGHT", _CHECKPOINT, r"(?P<name>[\w.]+) is unsupported LoRA weight",
        "An adapter holds `{name}`, which is no low-rank change of a projection.",
        "Train the adapter without embeddings and head, or merge it into the weights.",
        text="ValueError: base_model.model.lm_head.weight is unsupported LoRA weight",
        source=f"{_V}#9280, 2024-10-11", field=_ADAPTERS,
    ),
    log_pattern(
        "EVL-LORA-MODULES-TO-SAVE", _CHECKPOINT,
        r"vLLM only supports modules_to_save being None",
        "An adapter brings whole modules of its own (`modules_to_save`), which vLLM does not take.",
        "Train it without them, or merge it into the weights.",
        text="ValueError: Call to add_lora method failed: vLLM only supports modules_to_save being "
        "None.",
        source="hiyouga/LlamaFactory#9545, 2025-11-27", field=_ADAPTERS,
    ),
    log_pattern(
        "EVL-LORA-DORA", _CHECKPOINT, r"vLLM does not yet support DoRA",
        "An adapter is a DoRA, which vLLM does not serve.",
        "Merge it into the weights, or train it without `use_dora`.",
        text="ValueError: vLLM does not yet support DoRA.",
        source=f"{_V}#6983, 2024-07-31", field=_ADAPTERS,
    ),
    log_pattern(
        "EVL-LORA-BIAS", _CHECKPOINT, r"Adapter bias (?:is not supported|cannot be used)",
        "An adapter changes biases, which vLLM does not serve.",
        "Train it with `bias: none`, or merge it into the weights.",
        text="ValueError: Adapter bias is not supported.",
        source=f"{_V}#5733, 2024-06-21", field=_ADAPTERS,
    ),
    log_pattern(
        "EVL-LORA-VOCABULARY", _CHECKPOINT,
        r"When using LoRA, vocab size must be (?P<least>\d+) >= vocab_size <= (?P<most>\d+)",
        "With adapters this vLLM takes vocabularies of {least} to {most} tokens.",
        "Use a newer vLLM, or merge the adapter into the weights.",
        text="ValueError: When using LoRA, vocab size must be 32000 >= vocab_size <= 33024",
        source=f"{_V}#3000, 2024-02-23", field=_ADAPTERS,
    ),
    log_pattern(
        "EVL-LORA-MISSING", _CONFIG, r"No adapter found for (?P<path>[^\s'\"]+)",
        "`{path}` holds no adapter.",
        "Name a folder or repository with adapter_config.json and its weights.",
        text="ValueError: Loading lora sql failed: No adapter found for /srv/adapters/sql",
        source="vLLM, lora/worker_manager.py", field=_ADAPTERS,
    ),
    log_pattern(
        "EVL-LORA-FILES", _CHECKPOINT,
        r"No such file or directory: '(?P<path>[^'\n]*adapter_config\.json)'",
        "An adapter has no `{path}`: a merged model is none.",
        "Name the adapter's own folder, or serve the merged model as the checkpoint.",
        text="FileNotFoundError: [Errno 2] No such file or directory: "
        "'/srv/checkpoint-6708-merged/adapter_config.json'",
        source="modelscope/ms-swift#3643, 2025-03-25", field=_ADAPTERS,
    ),
    log_pattern(
        "EVL-LORA-SLOTS", _CONFIG,
        r"max_cpu_loras \((?P<kept>\d+)\) must be >= max_loras \((?P<used>\d+)\)",
        "{used} adapters run at once, and the host keeps {kept}.",
        "Leave `max-cpu-loras` out of `enginehouse.vllm_args`.",
        text="ValueError: max_cpu_loras (1) must be >= max_loras (4)",
        source="vLLM, config/lora.py", field=_ADAPTERS,
    ),
)  # fmt: skip
