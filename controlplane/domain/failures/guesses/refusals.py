"""What a library refuses on purpose -> the family of its words: each has blame, setting and advice.

Source: every exception with a message of its own in vLLM 0.25.1 to 0.33.0, ModelOpt 0.47 and
transformers 5.24, as `benchmarks/engine_messages.py` lists them, checked 2026-11-30.
"""

import re
from collections.abc import Mapping
from types import MappingProxyType

from controlplane.domain.facts.engine_argument_names import KNOWN_ARGUMENTS
from controlplane.domain.facts.vllm_arguments import KINDS
from controlplane.domain.failures.guesses.last_exception import LastException
from controlplane.domain.failures.kind import FailureKind
from controlplane.domain.failures.registry import refusals

_ON_PURPOSE = frozenset(
    {"ValueError", "NotImplementedError", "RuntimeError", "AssertionError", "TypeError",
     "ImportError", "OSError", "EnvironmentError", "ValidationError", "FileNotFoundError",
     "PermissionError", "VLLMValidationError", "ModuleNotFoundError", "LookupError"}
)  # fmt: skip
"""What authors raise with words for a user; a KeyError or an AttributeError is none of those."""
_LIBRARIES = re.compile(
    r"/(?:vllm|tensorrt_llm|modelopt|transformers|tokenizers|safetensors|huggingface_hub|"
    r"compressed_tensors|sentence_transformers|mistral_common|xgrammar|flashinfer|peft|datasets)/"
)
_REFUSES = (
    r"not (?:\w+ ){0,2}(?:support|implement|valid|allow|compatible|available|divisible|enough|"
    r"found|initialized|recognized|loaded|exist|match|multimodal)|"
    r"(?:un|in)(?:supported|known|valid|compatible|expected|recognized|equal)|only|must|should|"
    r"cannot|can't|could not|couldn't|requires?|needs?|expected|missing|failed|greater|larger|"
    r"smaller|exceeds?|less than|mismatch|out of|does(?: not|n't)|has no|have no|disabled|doesn|"
    r"undefined|\bbug\b|^assert |"
    r"please|unable|neither|either|lacks?|without|too (?:small|large|many|long|few)|is empty|"
    r"removed|deprecated|mutually|conflict|differ|not (?:in|a|an|be)\b|"
    r"no \w+.{0,40} (?:supports|for)\b"
)
_REFUSAL = re.compile(_REFUSES, re.IGNORECASE)
_ARGUMENTS = {
    name for name in (each.replace("-", "_") for each in (*KINDS, *KNOWN_ARGUMENTS)) if "_" in name
}
"""Names that are no words of a sentence."""


def _family(words: str) -> re.Pattern[str]:
    return re.compile(words)


FAMILIES: Mapping[re.Pattern[str], FailureKind] = MappingProxyType({
    _family(r"undefined symbol|cannot open shared object|GLIBC(?:XX)?_|"
            r"Failed to import \S+ because|compiled (?:with|for|against)|binary incompat|"
            r"built with different"): refusals.LIBRARY,
    _family(r"(?i)(?:could|may|might) be .{0,20}\bbug\b|(?:is|indicates) a bug|"
            r"please (?:report|file|open) an? (?:bug|issue)"): refusals.RELEASE,
    _family(r"(?i)pip install|(?:please|to) install|is not installed|need(?:s)? to be installed|"
            r"must be installed|package .{0,30}(?:not found|required)|No module named"):
        refusals.PACKAGE,
    _family(r"^Unsupported architecture|[Cc]ompute capability|\b[Ss][Mm][ _]?\d{2,3}|\bHopper\b|"
            r"\bBlackwell\b|\bAmpere\b|current (?:GPU|platform|device)|your GPU|"
            r"this (?:GPU|device|platform|hardware)|CUDA (?:device|platform|GPU)|"
            r"NVIDIA (?:CUDA|GPU)"):
        refusals.GPU,
    _family(r"(?i)\blora\b|\blora_|\badapters?\b|_lora\b|\bdora\b|\bpeft\b"):
        refusals.ADAPTER,
    _family(r"(?i)speculat|\bdraft|_draft|\bmtp\b|\beagle|medusa|\bn-?gram|prompt_lookup|"
            r"n_predict|dspark|dflash|lookahead"):
        refusals.DRAFTS,
    _family(r"(?i)(?:tensor|pipeline|expert|data|context|sequence)[_ -](?:model[_ -])?parallel|"
            r"\b[tpe]p[_-]?size|\b[TPDE]P ?= ?\d|world[_ ]size|partition|\bEPLB\b|"
            r"% *(?:self\.)?\w*(?:tp|ep|pp|parallel)_size|^\d+ is not divisible by \d+|"
            r"(?:heads|experts|hidden_size|vocab\w*|ranks).{0,60}divisible|"
            r"divisible by.{0,40}(?:rank|tp\b|tp_|group)"):
        refusals.RANKS,
    _family(r"(?i)quantiz|\bquant|_quant|fp8|fp4|int4|int8|\bawq\b|gptq|marlin|w\d+a\d+|"
            r"compressed[-_]tensors|bitsandbytes|\bgguf\b|weight_scale|\bscales?\b|amax|calibrat"):
        refusals.QUANTIZATION,
    _family(r"(?i)tool|reasoning|grammar|structured|guided|json schema|parser\b"):
        refusals.TOOLS,
    _family(r"(?i)multi-?modal|\bmm_|\bmm\b|image|video|audio|vision|modalit|pixel|\bvit\b|"
            r"encoder cache|speech"):
        refusals.MEDIA,
    _family(r"(?i)attention|attn|kv[_ -]?cache|head[_ ](?:size|dim)|block[_ ]size|sliding window|"
            r"mamba|page size|\bMLA\b|\bDCP\b|flash_?attn|flashinfer"):
        refusals.ATTENTION,
    _family(r"(?i)chat[_ ]template|tokeniz|jinja|vocab|detokeniz"):
        refusals.TEMPLATE,
    _family(r"(?i)out of memory|(?:enough|insufficient|available|free|GPU|host) memory|"
            r"gpu_memory_utilization"):
        refusals.MEMORY,
    _family(r"(?i)max_model_len|max_seq_len|max_num_seqs|max_num_batched_tokens|max_num_tokens|"
            r"max_batch_size|context length|sequence length|max_position|max[_ ]tokens|"
            r"prompt.{0,30}(?:long|length)|chunked prefill"):
        refusals.LENGTH,
    _family(rf"(?<!\w)--[a-z][\w-]+|\b(?:{'|'.join(sorted(_ARGUMENTS))})\b"):
        refusals.ARGUMENT,
    _family(r"(?i)pooling|pooler|embedding model|\bembed(?:ding)?s?\b.{0,30}task|runner|"
            r"\btasks?\b|classif|cross[- ]encoder|scor(?:e|ing)"):
        refusals.POOLING,
    _family(r"NCCL|[Rr]endezvous|\b[Rr]ay\b|\bMPI\b|\bUCX\b|\bgloo\b|[Ss]hared memory|"
            r"[Ww]orker|[Ee]xecutor|[Pp]rocess(?:es)?\b|ZMQ|socket|[Tt]ime(?:d )?out"):
        refusals.PROCESSES,
    _family(r"(?i)weights?\b|tensors?\b|safetensors|shard|checkpoint|parameters?\b|state_dict|"
            r"\bshape"):
        refusals.WEIGHTS,
    _family(r"(?i)architecture|model_type|config\.json|\bconfig\b|rope|activation|hidden_act|"
            r"\blayers?\b|\bexperts?\b|model\b|dtype|remote[_ ]code|\w+For[A-Z]\w+"):
        refusals.CLASS,
})  # fmt: skip
"""Words -> family; the first that is named decides."""


_SLIP = re.compile(
    r"(?:'(?!\w*Config\b)\w+' object|type object '\w+'|module '[\w.]+') has no attribute|"
    r"got (?:multiple values for|an unexpected keyword) argument|cannot import name|"
    r"missing \d+ required (?:positional|keyword)|takes \d+ positional|referenced before assign|"
    r"cannot access local variable|name '\w+' is not defined|'NoneType' object"
)
"""What Python says where code and the library that it calls do not fit each other."""
_MODEL_LACKS = re.compile(
    r"'\w+(?:For\w+|Model)' object has no attribute '(?:pooler|score|classifier|compute_logits)'"
)
"""A model's class was asked for answers that it does not give."""
_OF_SLIPS = frozenset(
    {"AttributeError", "TypeError", "ImportError", "UnboundLocalError", "NameError"}
)


def words_of(family: FailureKind) -> re.Pattern[str] | None:
    return next((words for words, kind in FAMILIES.items() if kind is family), None)


def family_of(error: LastException) -> FailureKind | None:
    if error.paths and not any(_LIBRARIES.search(path) for path in error.paths):
        return None
    if _MODEL_LACKS.search(error.message):
        return refusals.POOLING
    if error.kind in _OF_SLIPS and _SLIP.search(error.message):
        return refusals.RELEASE
    if error.kind not in _ON_PURPOSE or not _REFUSAL.search(error.message):
        return None
    return next((kind for words, kind in FAMILIES.items() if words.search(error.message)), None)
