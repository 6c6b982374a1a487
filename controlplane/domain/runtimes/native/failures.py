"""What the native engine's last lines mean: torch, transformers, the hub client and the system."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from controlplane.domain.failures import Blame, Failure

_TAIL_CHARACTERS = 64 * 1024
_DETAIL_CHARACTERS = 300


@dataclass(frozen=True, kw_only=True)
class Pattern:
    """A stable part of an engine's output, and what it means."""

    code: str
    blame: Blame
    expression: re.Pattern[str]
    sentence: str
    hint: str
    field: str | None = None

    def say(self, words: Mapping[str, str]) -> str:
        """Return the sentence with these words in it."""
        return self.sentence.format_map(words)


def explain(log_tail: str, spec: Mapping[str, Any] | None = None) -> Failure | None:
    """Return what the end of an engine's log says went wrong, or None where it says nothing known.

    The pattern that matches last in the text wins: earlier errors are often retried. No fix is
    made of `spec`, which other runtimes read.
    """
    tail = log_tail[-_TAIL_CHARACTERS:]
    best: tuple[int, Pattern, re.Match[str]] | None = None
    for pattern in PATTERNS:
        for match in pattern.expression.finditer(tail):
            if best is None or match.start() > best[0]:
                best = (match.start(), pattern, match)
    if best is None:
        return None
    _, pattern, match = best
    return Failure(
        code=pattern.code,
        blame=pattern.blame,
        sentence=pattern.sentence.format(**_named(match)),
        field=pattern.field,
        hint=pattern.hint,
        detail=_line_around(tail, match.start()),
    )


def _named(match: re.Match[str]) -> dict[str, str]:
    return {name: value or "" for name, value in match.groupdict().items()}


def _line_around(text: str, position: int) -> str:
    start = text.rfind("\n", 0, position) + 1
    end = text.find("\n", position)
    return text[start : end if end >= 0 else len(text)].strip()[:_DETAIL_CHARACTERS]


def _pattern(
    code: str,
    blame: Blame,
    expression: str,
    sentence: str,
    hint: str,
    field: str | None = None,
) -> Pattern:
    return Pattern(
        code=code,
        blame=blame,
        expression=re.compile(expression),
        sentence=sentence,
        hint=hint,
        field=field,
    )


_BATCH = "trt_llm.build.max_batch_size"

PATTERNS: tuple[Pattern, ...] = (
    _pattern(
        "ENG-CHECKPOINT-REFUSED", Blame.CHECKPOINT, r"checkpoint refused: (?P<reason>[^\n]+)",
        "{reason}", "Change what the sentence names and build again.",
        "trt_llm.build.checkpoint_repository.repo",
    ),
    _pattern(
        "ENG-OUT-OF-MEMORY", Blame.MACHINE,
        r"DefaultCPUAllocator: (?:can't allocate|not enough) memory"
        r"(?:: you tried to allocate (?P<bytes>\d+) bytes)?|\bMemoryError\b|std::bad_alloc",
        "The host ran out of memory while the engine was starting.",
        "Lower max_batch_size or max_seq_len, or stop another deployment on this host.", _BATCH,
    ),
    _pattern(
        "ENG-CUDA-OUT-OF-MEMORY", Blame.MACHINE, r"CUDA out of memory|torch\.OutOfMemoryError",
        "The GPU ran out of memory.",
        "Lower max_num_tokens or max_seq_len, or use a larger GPU.", _BATCH,
    ),
    _pattern(
        "ENG-KILLED", Blame.MACHINE, r"exit(?:ed with)? (?:code|status) (?:137|-9)\b|oom-kill",
        "The system killed the engine, most likely for want of memory.",
        "Lower max_batch_size or max_seq_len, or free memory on this host.", _BATCH,
    ),
    _pattern(
        "ENG-PORT-TAKEN", Blame.MACHINE, r"(?:\[Errno 98\]|[Aa]ddress already in use)",
        "The engine's port is taken by another process.",
        "The next attempt takes another port; nothing needs to change.",
    ),
    _pattern(
        "ENG-DISK-FULL", Blame.MACHINE, r"\[Errno 28\]|No space left on device",
        "The disk of this host is full.", "Free space in the data directory and retry.",
    ),
    _pattern(
        "ENG-PERMISSION", Blame.MACHINE,
        r"PermissionError: \[Errno 13\] [^:\n]*: '(?P<path>[^'\n]+)'",
        "The engine may not read `{path}`.", "Give the user that runs the agent access to it.",
    ),
    _pattern(
        "ENG-ARCHITECTURE", Blame.CHECKPOINT,
        r"model type `(?P<name>[\w.-]+)` but Transformers does not recognize"
        r"|Unrecognized configuration class|Unrecognized model in",
        "The installed transformers does not know this architecture.",
        "Use a checkpoint of a known architecture, or a newer transformers.",
        "trt_llm.build.checkpoint_repository.repo",
    ),
    _pattern(
        "ENG-REMOTE-CODE", Blame.CHECKPOINT,
        r"trust_remote_code=True|requires you to execute the (?:configuration|modeling) file",
        "The checkpoint needs its own code to run, which is not executed here.",
        "Use a checkpoint whose architecture transformers carries itself.",
        "trt_llm.build.checkpoint_repository.repo",
    ),
    _pattern(
        "ENG-NO-WEIGHTS", Blame.CHECKPOINT,
        r"no file named [^\n]*(?:model\.safetensors|pytorch_model\.bin)|No weight files",
        "The checkpoint holds no weight files.",
        "Check that repo and revision name a model and not only its configuration.",
        "trt_llm.build.checkpoint_repository.repo",
    ),
    _pattern(
        "ENG-WEIGHTS-DAMAGED", Blame.CHECKPOINT,
        r"SafetensorError|HeaderTooLarge|MetadataIncompleteBuffer|invalid header|unexpected EOF",
        "A weight file is damaged or was not fully downloaded.",
        "Build again; when it recurs, the source itself is damaged.",
        "trt_llm.build.checkpoint_repository.revision",
    ),
    _pattern(
        "ENG-WEIGHTS-SHAPE", Blame.CHECKPOINT,
        r"size mismatch for (?P<name>[\w.]+)|Error\(s\) in loading state_dict",
        "The weights do not have the shapes that config.json gives.",
        "Use a revision in which config.json and weights belong together.",
        "trt_llm.build.checkpoint_repository.revision",
    ),
    _pattern(
        "ENG-NO-CONFIG", Blame.CHECKPOINT,
        r"does not appear to have a file named config\.json|config\.json: No such file",
        "The checkpoint has no config.json.", "Point repo at a Hugging Face checkpoint folder.",
        "trt_llm.build.checkpoint_repository.repo",
    ),
    _pattern(
        "ENG-TOKENIZER", Blame.CHECKPOINT,
        r"Can't load tokenizer|Couldn't instantiate the backend tokenizer|tokenizer\.json: No such",
        "The checkpoint has no tokenizer that can be loaded.",
        "Add tokenizer.json and tokenizer_config.json to the checkpoint.",
        "trt_llm.build.checkpoint_repository.repo",
    ),
    _pattern(
        "ENG-KV-CACHE-TOO-SMALL", Blame.CONFIGURATION,
        r"KV cache of (?P<bytes>\d+) bytes|kv-cache-bytes[^\n]*(?:too small|less than)",
        "The KV cache is too small for one request of full length.",
        "Lower max_seq_len, or give the deployment more memory.", "trt_llm.build.max_seq_len",
    ),
    _pattern(
        "ENG-OFFLINE", Blame.OURS,
        r"OfflineModeIsEnabled|LocalEntryNotFoundError|outgoing traffic has been disabled",
        "The engine looked for a file on the hub, which it must not need.",
        "The artifact lacks a file; build it again.",
    ),
    _pattern(
        "ENG-MISSING-PACKAGE", Blame.OURS,
        r"ModuleNotFoundError: No module named '(?P<name>[\w.]+)'",
        "The Python package `{name}` is not installed on this host.",
        "Install the extra `engine` in the agent's environment.",
    ),
    _pattern(
        "ENG-ILLEGAL-INSTRUCTION", Blame.MACHINE, r"Illegal instruction|SIGILL",
        "This CPU lacks instructions that torch was built for.", "Use a host with AVX2.",
    ),
    _pattern(
        # Not vLLM's warning at each start under a low limit: "fd limit errors like `OSError: …`".
        "ENG-TOO-MANY-FILES", Blame.MACHINE,
        r"(?<!errors like `OSError: )\[Errno 24\]|(?<!\[Errno 24\] )Too many open files",
        "The engine ran out of file descriptors.", "Raise `ulimit -n` for the agent.",
    ),
)  # fmt: skip
LOG_PATTERNS = PATTERNS
