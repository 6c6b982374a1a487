"""What the native engine's last lines mean: torch, transformers, the hub client and the system."""

from collections.abc import Mapping
from typing import Any

from controlplane.domain.failures import Blame, Failure, fields
from controlplane.domain.failures.pattern import log_pattern
from controlplane.domain.runtimes.engine_log import BATCH, LENGTH, explain_log

_BATCH = f"{fields.BUILD}.{BATCH}"

PATTERNS = (
    log_pattern(
        "ENG-CHECKPOINT-REFUSED", Blame.CHECKPOINT, r"checkpoint refused: (?P<reason>[^\n]+)",
        "{reason}", "Change what the sentence names and build again.",
        text="ERROR checkpoint refused: `a.b` has no `k_scale`.",
        source="workers/runtimes/native/process.py", field=fields.REPO,
    ),
    log_pattern(
        "ENG-OUT-OF-MEMORY", Blame.MACHINE,
        r"DefaultCPUAllocator: (?:can't allocate|not enough) memory"
        r"(?:: you tried to allocate (?P<bytes>\d+) bytes)?|\bMemoryError\b|std::bad_alloc",
        "The host ran out of memory while the engine was starting.",
        "Lower max_batch_size or max_seq_len, or stop another deployment on this host.",
        text="RuntimeError: [enforce fail at alloc_cpu.cpp:119] err == 0. "
        "DefaultCPUAllocator: can't allocate memory: you tried to allocate 99 bytes. "
        "Error code 12",
        source="torch 2.13.0, c10/core/impl/alloc_cpu.cpp", field=_BATCH,
    ),
    log_pattern(
        "ENG-CUDA-OUT-OF-MEMORY", Blame.MACHINE, r"CUDA out of memory|torch\.OutOfMemoryError",
        "The GPU ran out of memory.",
        "Lower max_num_tokens or max_seq_len, or use a larger GPU.",
        text="torch.OutOfMemoryError: CUDA out of memory.",
        source="torch 2.13.0, c10/cuda", field=_BATCH,
    ),
    log_pattern(
        "ENG-KILLED", Blame.MACHINE, r"exit(?:ed with)? (?:code|status) (?:137|-9)\b|oom-kill",
        "The system killed the engine, most likely for want of memory.",
        "Lower max_batch_size or max_seq_len, or free memory on this host.",
        text="process exited with code 137",
        source="signal(7)", field=_BATCH,
    ),
    log_pattern(
        "ENG-PORT-TAKEN", Blame.MACHINE, r"(?:\[Errno 98\]|[Aa]ddress already in use)",
        "The engine's port is taken by another process.",
        "The next attempt takes another port; nothing needs to change.",
        text="OSError: [Errno 98] Address already in use",
        source="errno(3)",
    ),
    log_pattern(
        "ENG-DISK-FULL", Blame.MACHINE, r"\[Errno 28\]|No space left on device",
        "The disk of this host is full.", "Free space in the data directory and retry.",
        text="OSError: [Errno 28] No space left on device",
        source="errno(3)",
    ),
    log_pattern(
        "ENG-PERMISSION", Blame.MACHINE,
        r"PermissionError: \[Errno 13\] [^:\n]*: '(?P<path>[^'\n]+)'",
        "The engine may not read `{path}`.", "Give the user that runs the agent access to it.",
        text="PermissionError: [Errno 13] Permission denied: '/srv/m'",
        source="errno(3)",
    ),
    log_pattern(
        "ENG-ARCHITECTURE", Blame.CHECKPOINT,
        r"model type `(?P<name>[\w.-]+)` but Transformers does not recognize"
        r"|Unrecognized configuration class|Unrecognized model in",
        "The installed transformers does not know this architecture.",
        "Use a checkpoint of a known architecture, or a newer transformers.",
        text="The checkpoint you are trying to load has model type `foo` but Transformers "
        "does not recognize this architecture",
        source="transformers 5.24.0, models/auto/configuration_auto.py", field=fields.REPO,
    ),
    log_pattern(
        "ENG-REMOTE-CODE", Blame.CHECKPOINT,
        r"trust_remote_code=True|requires you to execute the (?:configuration|modeling) file",
        "The checkpoint needs its own code to run, which is not executed here.",
        "Use a checkpoint whose architecture transformers carries itself.",
        text="Please pass the argument `trust_remote_code=True`",
        source="transformers 5.24.0, dynamic_module_utils.py", field=fields.REPO,
    ),
    log_pattern(
        "ENG-NO-WEIGHTS", Blame.CHECKPOINT,
        r"no file named [^\n]*(?:model\.safetensors|pytorch_model\.bin)|No weight files",
        "The checkpoint holds no weight files.",
        "Check that repo and revision name a model and not only its configuration.",
        text="OSError: Error no file named model.safetensors, or pytorch_model.bin, found in "
        "directory /x",
        source="transformers 5.24.0, modeling_utils.py", field=fields.REPO,
    ),
    log_pattern(
        "ENG-WEIGHTS-DAMAGED", Blame.CHECKPOINT,
        r"SafetensorError|HeaderTooLarge|MetadataIncompleteBuffer|invalid header|unexpected EOF",
        "A weight file is damaged or was not fully downloaded.",
        "Build again; when it recurs, the source itself is damaged.",
        text="safetensors_rust.SafetensorError: Error while deserializing header: HeaderTooLarge",
        source="safetensors 0.6", field=fields.REVISION,
    ),
    log_pattern(
        "ENG-WEIGHTS-SHAPE", Blame.CHECKPOINT,
        r"size mismatch for (?P<name>[\w.]+)|Error\(s\) in loading state_dict",
        "The weights do not have the shapes that config.json gives.",
        "Use a revision in which config.json and weights belong together.",
        text="size mismatch for model.embed_tokens.weight: copying",
        source="torch 2.13.0, nn/modules/module.py", field=fields.REVISION,
    ),
    log_pattern(
        "ENG-NO-CONFIG", Blame.CHECKPOINT,
        r"does not appear to have a file named config\.json|config\.json: No such file",
        "The checkpoint has no config.json.", "Point repo at a Hugging Face checkpoint folder.",
        text="OSError: /x does not appear to have a file named config.json.",
        source="transformers 5.24.0, utils/hub.py", field=fields.REPO,
    ),
    log_pattern(
        "ENG-TOKENIZER", Blame.CHECKPOINT,
        r"Can't load tokenizer|Couldn't instantiate the backend tokenizer|tokenizer\.json: No such",
        "The checkpoint has no tokenizer that can be loaded.",
        "Add tokenizer.json and tokenizer_config.json to the checkpoint.",
        text="OSError: Can't load tokenizer for '/x'",
        source="transformers 5.24.0, tokenization_utils_base.py", field=fields.REPO,
    ),
    log_pattern(
        "ENG-KV-CACHE-TOO-SMALL", Blame.CONFIGURATION,
        r"KV cache of (?P<bytes>\d+) bytes|kv-cache-bytes[^\n]*(?:too small|less than)",
        "The KV cache is too small for one request of full length.",
        "Lower max_seq_len, or give the deployment more memory.",
        text="A KV cache of 4096 bytes holds 2 tokens at 2048 bytes each; give it room for one "
        "prompt.",
        source="workers/engine/engine.py", field=f"{fields.BUILD}.{LENGTH}",
    ),
    log_pattern(
        "ENG-OFFLINE", Blame.OURS,
        r"OfflineModeIsEnabled|LocalEntryNotFoundError|outgoing traffic has been disabled",
        "The engine looked for a file on the hub, which it must not need.",
        "The artifact lacks a file; build it again.",
        text="huggingface_hub.errors.LocalEntryNotFoundError: Cannot find",
        source="huggingface_hub 2.4.0, errors.LocalEntryNotFoundError",
    ),
    log_pattern(
        "ENG-MISSING-PACKAGE", Blame.OURS,
        r"ModuleNotFoundError: No module named '(?P<name>[\w.]+)'",
        "The Python package `{name}` is not installed on this host.",
        "Install the extra `engine` in the agent's environment.",
        text="ModuleNotFoundError: No module named 'llguidance'",
        source="Python 3.11",
    ),
    log_pattern(
        "ENG-ILLEGAL-INSTRUCTION", Blame.MACHINE, r"Illegal instruction|SIGILL",
        "This CPU lacks instructions that torch was built for.", "Use a host with AVX2.",
        text="Illegal instruction (core dumped)",
        source="signal(7)",
    ),
    log_pattern(
        # Not vLLM's warning at each start under a low limit: "fd limit errors like `OSError: …`".
        "ENG-TOO-MANY-FILES", Blame.MACHINE,
        r"(?<!errors like `OSError: )\[Errno 24\]|(?<!\[Errno 24\] )Too many open files",
        "The engine ran out of file descriptors.", "Raise `ulimit -n` for the agent.",
        text="OSError: [Errno 24] Too many open files: '/srv/m'",
        source="errno(3)",
    ),
)  # fmt: skip
LOG_PATTERNS = PATTERNS


def explain(log_tail: str, spec: Mapping[str, Any] | None = None) -> Failure | None:
    """Return what the end of an engine's log says went wrong, or None where it says nothing known.

    The pattern that matches last in the text wins: earlier errors are often retried. No fix is
    made of `spec`, which other runtimes read.
    """
    return explain_log(PATTERNS, log_tail, spec)
