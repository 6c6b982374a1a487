"""vLLM's complaints about a checkpoint's files and its class."""

from controlplane.domain.failures import Blame, fields
from controlplane.domain.failures.pattern import log_pattern

_V = "vllm-project/vllm"
_CONFIG, _CHECKPOINT = Blame.CONFIGURATION, Blame.CHECKPOINT

PATTERNS = (
    log_pattern(
        "EVL-ARCHITECTURE-NOWHERE", _CHECKPOINT,
        r"(?P<name>\w+) has no vLLM implementation and the Transformers implementation is not",
        "Neither vLLM nor Transformers serves `{name}`.",
        "Use a checkpoint of a class that vLLM lists, or a newer vLLM.",
        text="ValueError: LiteWhisperForConditionalGeneration has no vLLM implementation and the "
        "Transformers implementation is not compatible with vLLM.",
        source=f"{_V}#16244, 2025-04-08", field=fields.REPO,
    ),
    log_pattern(
        "EVL-SPARSE-WEIGHTS", _CHECKPOINT,
        r"KeyError: '[^'\n]*\.bitmask'|is not divisible by thread_m = \d+",
        "The checkpoint leaves out zeros of its weights (2:4 sparsity), which vLLM dropped.",
        "Name the original weights, or a copy in FP8, NVFP4 or INT4 that is not sparse.",
        text="KeyError: 'embed_tokens.weight.bitmask'",
        source="vllm-project/llm-compressor#1241, 2025-03-12", field=fields.REPO,
    ),
    log_pattern(
        "EVL-OLD-OWN-CODE", _CHECKPOINT,
        r"cannot import name '(?P<name>\w+)' from 'transformers[.\w]*'",
        "Code that the checkpoint brings was written for an older transformers: it asks for "
        "`{name}`, which is gone.",
        "Use a newer revision of the checkpoint, or take the grant of its code back where vLLM "
        "has the class itself.",
        text="ImportError: cannot import name 'is_torch_fx_available' from "
        "'transformers.utils.import_utils' (/usr/lib/transformers/utils/import_utils.py)",
        source=f"{_V}#55845, 2026-09-08", field=fields.REPO,
    ),
    log_pattern(
        "EVL-NO-CONFIG", _CHECKPOINT, r"No supported config format found in (?P<path>[^\s'\"]+)",
        "`{path}` has no config.json, so it is no checkpoint; an adapter alone is none.",
        "Name a checkpoint, and adapters under lora_adapters.",
        text="ValueError: No supported config format found in unsloth_llama_3_1_adapter",
        source="unslothai/unsloth#1191, 2024-10-25", field=fields.REPO,
    ),
    log_pattern(
        "EVL-NO-REPOSITORY", _CONFIG,
        r"Invalid repository ID or local directory specified: '(?P<path>[^'\n]+)'",
        "`{path}` is neither a folder with a checkpoint nor a repository of the hub.",
        "Build again: the artifact's folder is not whole.",
        text="ValueError: Invalid repository ID or local directory specified: '/srv/model'.",
        source="vLLM, transformers_utils/config.py", field=fields.REPO,
    ),
    log_pattern(
        "EVL-CONFIG-JSON", _CHECKPOINT,
        r"config file at '(?P<path>[^'\n]+)' is not a valid JSON file",
        "`{path}` is not JSON.", "Upload it again: a page of HTML or half a file looks like this.",
        text="OSError: It looks like the config file at '/srv/model/config.json' is not a valid "
        "JSON file.",
        source="transformers 5.24.0, configuration_utils.py", field=fields.REPO,
    ),
    log_pattern(
        "EVL-ROPE", _CHECKPOINT,
        r"`rope_scaling` must be a dictionary with two fields|"
        r"Unknown RoPE scaling type (?P<type>[\w-]+)|"
        r"rope_scaling should have a 'rope_type' key",
        "`rope_scaling` in config.json is written in a form that this engine does not read.",
        "Write `rope_type` and the fields of that type, as the model's makers do.",
        text="ValueError: `rope_scaling` must be a dictionary with two fields, `type` and "
        "`factor`, got {'factor': 8.0, 'rope_type': 'llama3'}",
        source="meta-llama/llama3#299, 2024-07-30", field=fields.REPO,
    ),
    log_pattern(
        "EVL-MISTRAL-TOKENIZER", _CHECKPOINT,
        r"No tokenizer file found in directory",
        "vLLM takes the checkpoint for one in Mistral's own form, and its tokenizer file "
        "(tekken.json) is not there.",
        "Add the tokenizer files of the original repository, or a newer vLLM may tell them apart.",
        text="ValueError: No tokenizer file found in directory: /srv/model",
        source=f"{_V}#31444", field=fields.REPO,
    ),
    log_pattern(
        "EVL-GATED", _CONFIG,
        r"Cannot access gated repo for url \S+|Access to model \S+ is restricted",
        "The engine asked the hub for a gated model that its token may not read.",
        "Accept the license there with the token's account, and list the secret.",
        text="OSError: You are trying to access a gated repo. 401 Client Error. Cannot access "
        "gated repo for url https://hub.example/meta-llama/Llama-3.1-8B-Instruct.",
        source="huggingface/inference-benchmarker#12, 2025-04-15", field=fields.SECRET,
    ),
    log_pattern(
        "EVL-REPOSITORY-MISSING", _CONFIG,
        r"(?P<name>\S+) is not a local folder and is not a valid model identifier",
        "`{name}` is no folder here and no repository that the hub shows.",
        "Check the name; a private repository needs a secret.",
        text="OSError: item is not a local folder and is not a valid model identifier listed on "
        "'https://hub.example/models'",
        source="Hon-Wong/Elysium#16, 2024-12-02", field=fields.REPO,
    ),
    log_pattern(
        "EVL-SLOW-TOKENIZER", _CHECKPOINT,
        r"data did not match any variant of untagged enum \w+|"
        r"requires the (?:SentencePiece|protobuf) library|`tiktoken` is required to read",
        "The tokenizer is in a form that the libraries beside this vLLM do not read.",
        "Save the fast tokenizer (tokenizer.json) with a current transformers and upload it.",
        text="Exception: data did not match any variant of untagged enum ModelWrapper at line "
        "757479 column 3",
        source="tokenizers 0.23.3, Tokenizer.from_file", field=fields.REPO,
    ),
)  # fmt: skip
