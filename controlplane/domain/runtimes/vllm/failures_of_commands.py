"""vLLM's complaints about arguments, templates, routes and attention."""

from controlplane.domain.failures import Blame, fields
from controlplane.domain.failures.pattern import log_pattern
from controlplane.domain.runtimes.engine_log import (
    BATCH,
    SPECULATOR,
    TOKENS,
    half,
    no_drafts,
)

_V = "vllm-project/vllm"
_CONFIG, _CHECKPOINT, _OURS = Blame.CONFIGURATION, Blame.CHECKPOINT, Blame.OURS
_BATCH, _TOKENS = f"trt_llm.build.{BATCH}", f"trt_llm.build.{TOKENS}"
_ARGUMENTS = "enginehouse.vllm_args"
_BASE_MODEL = "trt_llm.build.base_model"

PATTERNS = (
    log_pattern(
        "EVL-ARGUMENT-CHOICE", _CONFIG,
        r"argument (?P<flag>--[\w./-]+): invalid choice: '?(?P<value>[^'\s]*)'?",
        "`{flag}` of vLLM does not take `{value}`.",
        "Use one of those that the line lists.",
        text="vllm serve: error: argument --tool-call-parser: invalid choice: 'qwen' (choose from "
        "hermes, llama3_json)",
        source=f"{_V}#30613", field=_ARGUMENTS,
    ),
    log_pattern(
        "EVL-ARGUMENT-VALUE", _CONFIG,
        r"argument (?P<flag>--[\w./-]+): (?:invalid (?P<kind>\w+) value: (?P<value>[^\n]+)|"
        r"Value (?P<given>\S+) cannot be converted)",
        "vLLM cannot read the value of `{flag}` ({value}{given}).",
        "Write it as this version of vLLM does: `vllm serve --help`.",
        text="vllm serve: error: argument --max-model-len: invalid human_readable_int value: '8x'",
        source=f"{_V}#24888, 2025-09-15", field=_ARGUMENTS,
    ),
    log_pattern(
        "EVL-ARGUMENT-NAME", _CONFIG,
        r"validation errors? for (?P<block>\w*Config)\s+(?P<name>\w+)\s+"
        r"(?:Unexpected keyword|Extra inputs are not permitted)",
        "vLLM's `{block}` has no setting `{name}`.",
        "Remove it, or write it as this version does.",
        text="pydantic_core._pydantic_core.ValidationError: 1 validation error for "
        "SpeculativeConfig\nngram_prompt_lookup_max\n  Unexpected keyword argument "
        "[type=unexpected_keyword_argument, input_value=10, input_type=int]",
        source=f"{_V}#24888, 2025-09-15", field=_ARGUMENTS,
    ),
    log_pattern(
        "EVL-NO-MODEL", _OURS, r"the following arguments are required: (?P<names>[^\n]+)",
        "vLLM was started without `{names}`.",
        "Report this with the support bundle: the command is written by the agent.",
        text="vllm serve: error: the following arguments are required: model_tag",
        source=f"{_V}#13150",
    ),
    log_pattern(
        "EVL-TOOLS-WITHOUT-PARSER", _CONFIG,
        r"--enable-auto-tool-choice requires --tool-call-parser",
        "Tool calls were turned on and no parser for them was named.",
        "Name one that fits the model's template: `tool-call-parser` in `enginehouse.vllm_args`.",
        text="TypeError: Error: --enable-auto-tool-choice requires --tool-call-parser",
        source=f"{_V}#12839, 2025-02-06", field=_ARGUMENTS,
    ),
    log_pattern(
        "EVL-NO-TEMPLATE", _CHECKPOINT,
        r"default chat template is no longer allowed, so you must provide a chat template",
        "The checkpoint has no chat template, so conversations cannot be written for it.",
        "Add chat_template.jinja to the checkpoint, or ask /v1/completions.",
        text="vllm.entrypoints.chat_utils.ChatTemplateResolutionError: As of transformers v4.44, "
        "default chat template is no longer allowed, so you must provide a chat template if the "
        "tokenizer does not define one.",
        source=f"{_V}#39279, 2026-04-08", field=fields.REPO,
    ),
    log_pattern(
        "EVL-TEMPLATE-PATH", _CONFIG,
        r"supplied chat template (?:string )?\((?P<path>[^)\n]+)\) (?:appears|looks) ",
        "The chat template `{path}` is a path, and no file lies there.",
        "Put the template into the checkpoint as chat_template.jinja.",
        text="ValueError: The supplied chat template (/srv/chat.jinja) looks like a file path, but "
        "it failed to be opened.",
        source="vLLM, entrypoints/chat_utils.py", field=_ARGUMENTS,
    ),
    log_pattern(
        "EVL-NOT-MULTIMODAL", _CONFIG,
        r"`(?P<name>limit_mm_per_prompt|mm_processor_kwargs)` is only supported for multimodal",
        "`{name}` is given, and the model takes text only.",
        "Remove it from `enginehouse.vllm_args`, or use a checkpoint that takes images.",
        text="Value error, `limit_mm_per_prompt` is only supported for multimodal models.",
        source="zai-org/GLM-V#15, 2025-07-03", field=_ARGUMENTS,
    ),
    log_pattern(
        "EVL-IMAGE-BEYOND-STEP", _CONFIG,
        r"max_tokens_per_mm_item \((?P<item>\d+)\) is larger than max_num_batched_tokens "
        r"\((?P<step>\d+)\)",
        "One image takes {item} tokens, and a step holds {step}: this model reads an image in one "
        "piece.",
        "Raise max_num_tokens to {item} or more.",
        text="ValueError: Chunked MM input disabled but max_tokens_per_mm_item (2496) is larger "
        "than max_num_batched_tokens (512).",
        source="decoderesearch/interp-engine#2, 2026-08-26", field=_TOKENS,
    ),
    log_pattern(
        "EVL-STATE-BLOCKS", _CONFIG,
        r"max_num_seqs \((?P<asked>\d+)\) exceeds available Mamba cache blocks \((?P<fits>\d+)\)",
        "{asked} requests at once, and the memory beside the weights holds the recurrent states of "
        "{fits}.",
        "Set max_batch_size to {fits} or less, or use more GPUs.",
        text="ValueError: max_num_seqs (1024) exceeds available Mamba cache blocks (614). Each "
        "decode sequence requires one Mamba cache block, so CUDA graph capture cannot proceed.",
        source=f"{_V}#49064, 2026-09-03", field=_BATCH, fix=half(BATCH),
    ),
    log_pattern(
        "EVL-BLOCK-TOKENS", _CONFIG,
        r"[Bb]lock size (?:\(?\d+\)? )?must be a multiple of (?P<unit>\d+)",
        "A block of the KV cache holds a multiple of {unit} tokens with this attention.",
        "Leave `block-size` out of `enginehouse.vllm_args`.",
        text="ValueError: Block size must be a multiple of 16.",
        source=f"{_V}#15508, 2025-03-26", field=_ARGUMENTS,
    ),
    log_pattern(
        "EVL-RUNNER", _CONFIG,
        r"This model does not support `--runner (?P<runner>\w+)`",
        "The model was started as `{runner}`, which its class does not do.",
        "Set base_model to `encoder` for embedders, rerankers and classifiers, and to `decoder` "
        "for text generators.",
        text="ValueError: This model does not support `--runner generate`.",
        source="docker/model-runner#611, 2026-01-29", field=_BASE_MODEL,
    ),
    log_pattern(
        "EVL-ATTENTION-BACKEND", _CONFIG,
        r"Selected backend \S+ is not valid for this configuration\. Reason: (?P<reason>[^\n]+)",
        "The attention that was chosen by name does not do this model on this GPU: {reason}",
        "Leave `attn_backend` unset: vLLM chooses one that does.",
        text="ValueError: Selected backend AttentionBackendEnum.FLASHINFER is not valid for this "
        "configuration. Reason: ['head_size not supported']",
        source=f"{_V}#40677", field=_ARGUMENTS,
    ),
    log_pattern(
        "EVL-ATTENTION-NAME", _CONFIG, r"Unknown attention backend: '(?P<name>[^'\n]*)'",
        "This vLLM has no attention backend `{name}`.",
        "Leave `attention-backend` out of `enginehouse.vllm_args`: vLLM chooses one that suits.",
        text="ValueError: Unknown attention backend: 'ASCEND'. Valid options are: FLASH_ATTN",
        source="vllm-project/vllm-ascend#4197, 2025-11-14", field="enginehouse.vllm_args",
    ),
    log_pattern(
        "EVL-SOFT-CAP", _CONFIG, r"does not support attention logits soft capping",
        "The model caps its attention, which this vLLM's kernel for the GPU does not.",
        "Use an Ampere GPU or newer, or a newer vLLM.",
        text="ValueError: XFormers does not support attention logits soft capping.",
        source="Marker-Inc-Korea/AutoRAG#696, 2024-09-06", field=fields.ACCELERATOR,
    ),
    log_pattern(
        "EVL-NO-ATTENTION", _CONFIG,
        r"No valid attention backend found for (?P<platform>\w+)(?!.*use_sparse=True)",
        "No attention of this vLLM does this model with this KV cache on the GPU.",
        "Keep the KV cache in 16 bits, or use a newer GPU.",
        text="ValueError: No valid attention backend found for cuda with "
        "AttentionSelectorConfig(head_size=512, dtype=torch.bfloat16, kv_cache_dtype=fp8)",
        source="vLLM, platforms/cuda.py", field=fields.QUANTIZATION,
    ),
    log_pattern(
        "EVL-HEAD-SIZE", _CHECKPOINT,
        r"[Hh]ead size (?P<size>\d+) is not supported by (?P<name>\w+)",
        "The model's attention heads are {size} numbers wide, which `{name}` does not do.",
        "Leave `attn_backend` unset, or use a newer vLLM.",
        text="ValueError: Head size 160 is not supported by PagedAttention. Supported head sizes "
        "are: [64, 80, 96, 112, 128, 256].",
        source=f"{_V}#3359, 2024-03-12", field=fields.REPO,
    ),
    log_pattern(
        "EVL-SINKS", Blame.MACHINE, r"[Ss]inks are only supported in FlashAttention 3",
        "The model has attention sinks, which the FlashAttention of this GPU does not do.",
        "Use Hopper or Blackwell, or leave `attn_backend` unset.",
        text="AssertionError: Sinks are only supported in FlashAttention 3",
        source=f"{_V}#22414, 2025-08-07", field=fields.ACCELERATOR,
    ),
    log_pattern(
        "EVL-DRAFT-LENGTH", _CONFIG,
        r"num_speculative_tokens:? ?(?:(?P<asked>\d+) must be divisible by n_predict=(?P<unit>\d+)|"
        r"must be provided)",
        "The number of drafted tokens is not one that the drafting model gives.",
        "Draft a multiple of what it predicts at once, or serve without drafts.",
        text="ValueError: num_speculative_tokens:3 must be divisible by n_predict=2",
        source="vLLM, config/speculative.py", field=SPECULATOR, fix=no_drafts,
    ),
    log_pattern(
        "EVL-DRAFT-RANKS", _CONFIG,
        r"draft_tensor_parallel_size=(?P<asked>\d+) cannot be other value than 1",
        "The drafting model is to be divided over {asked} GPUs, which is neither 1 nor as many as "
        "the model itself has.",
        "Leave it out of patch_kwargs.",
        text="ValueError: speculative_draft_tensor_parallel_size=4 cannot be other value than 1",
        source=f"{_V}#10483", field=SPECULATOR, fix=no_drafts,
    ),
    log_pattern(
        "EVL-DRAFT-VOCABULARY", _CONFIG,
        r"[Tt]arget and draft model should have the same vocab(?:ulary)? size|"
        r"all\(vocab_sizes\[0\] == vocab_size for vocab_size in vocab_sizes\)",
        "The drafting model has another vocabulary than the model that it drafts for.",
        "Use a draft model of the same family and vocabulary, or serve without drafts.",
        text="ValueError: Target and draft model should have the same vocabulary size. Target "
        "model vocab_size=152064. Draft model vocab_size=151936.",
        source=f"{_V}#5203, 2024-06-03", field=SPECULATOR, fix=no_drafts,
    ),
)  # fmt: skip
