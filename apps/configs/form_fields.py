"""Which settings of `config.yaml` the editor's form shows, where they lie, and how they read."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from controlplane.domain.facts.gpus import CPU, GPUS
from controlplane.domain.spec.choices import (
    BaseModelKind,
    BatchSchedulerPolicy,
    CheckpointSource,
    Dtype,
    QuantizationType,
    RuntimeChoice,
)


class Kind(StrEnum):
    """How a setting is typed and read."""

    TEXT = "text"
    NUMBER = "number"
    DECIMAL = "decimal"
    CHOICE = "choice"
    SWITCH = "switch"
    ACCELERATOR = "accelerator"
    MAPPING = "mapping"
    JSON = "json"
    """A block, a list or a mapping, as JSON."""
    NAMES = "names"
    """Several, with commas between them."""


@dataclass(frozen=True, kw_only=True)
class Field:
    """One setting. `v2` is its path in the v2 stack: the same where None, absent where empty."""

    name: str
    label: str
    path: str
    kind: Kind = Kind.TEXT
    v2: str | None = None
    help: str = ""
    default: str = ""
    choices: Sequence[str] = ()
    is_wide: bool = False
    suggests: str = ""
    """The id of a list that completes it."""

    def path_in(self, stack: str) -> str:
        return self.v2 if stack == "v2" and self.v2 is not None else self.path


@dataclass(frozen=True, kw_only=True)
class Group:
    label: str
    fields: tuple[Field, ...]
    more: tuple[Field, ...] = ()
    """Those that few configs name."""


_BUILD = "trt_llm.build"
_RUNTIME = "trt_llm.runtime"
_REPOSITORY = f"{_BUILD}.checkpoint_repository"
_CALIBRATION = f"{_BUILD}.quantization_config"
_SERVED_KINDS = (BaseModelKind.DECODER, BaseModelKind.ENCODER, BaseModelKind.ENCODER_BERT)

MODEL = Group(
    label="Model",
    fields=(
        Field(
            name="model_name", label="Name", path="model_name",
            help="What the config is called here.",
        ),
        Field(
            name="source", label="Checkpoint source", path=f"{_REPOSITORY}.source",
            kind=Kind.CHOICE, choices=tuple(CheckpointSource),
            help="`HF` is the Hugging Face hub, `LOCAL` a folder on the server, `S3`, `GCS` and "
            "`AZURE` a bucket, `REMOTE_URL` a tar behind an address.",
        ),
        Field(
            name="repo", label="Checkpoint", path=f"{_REPOSITORY}.repo", is_wide=True,
            help="Repository id, the folder's path, `s3://bucket/path`, or the address.",
            suggests="local-folders",
        ),
        Field(
            name="revision", label="Revision", path=f"{_REPOSITORY}.revision",
            default="default branch", help="Branch, tag or commit. The build pins the commit.",
        ),
        Field(
            name="runtime_secret_name", label="Access token",
            path=f"{_REPOSITORY}.runtime_secret_name", default="hf_access_token",
            help="Name of the secret that opens a gated repository or a bucket.",
            suggests="secret-names",
        ),
        Field(
            name="base_model", label="Served as", path=f"{_BUILD}.base_model", v2="",
            kind=Kind.CHOICE, choices=_SERVED_KINDS, default=BaseModelKind.DECODER,
            help="`decoder` writes text; encoders embed, rank or classify.",
        ),
    ),
)  # fmt: skip
HARDWARE = Group(
    label="Hardware",
    fields=(
        Field(
            name="accelerator", label="Accelerator", path="resources.accelerator",
            kind=Kind.ACCELERATOR, choices=tuple(kind for kind in GPUS if kind != CPU),
            help="Any kind can be planned for; only the build needs the GPU.",
        ),
        Field(
            name="tensor_parallel", label="Tensor parallel", path=f"{_BUILD}.tensor_parallel_count",
            v2=f"{_RUNTIME}.tensor_parallel_size", kind=Kind.NUMBER, default="1",
            help="GPUs that share one copy of the weights.",
        ),
        Field(
            name="memory", label="Host memory", path="resources.memory", default="2Gi",
            help="Of one replica: `10Gi`, `512Mi` or a number of bytes.",
        ),
        Field(
            name="cpu", label="Host cores", path="resources.cpu", default="1",
            help="Of one replica: `1`, `0.5` or `500m`.",
        ),
        Field(
            name="runtime", label="Runtime", path="enginehouse.runtime", kind=Kind.CHOICE,
            choices=tuple(RuntimeChoice), default=RuntimeChoice.AUTO,
            help="`auto` takes `native` without an accelerator, else what hosts start.",
        ),
        Field(
            name="pool", label="Pool", path="enginehouse.pool", default="default",
            help="The pool whose GPUs it takes.",
        ),
    ),
)  # fmt: skip
PRECISION = Group(
    label="Precision",
    fields=(
        Field(
            name="quantization_type", label="Quantization", path=f"{_BUILD}.quantization_type",
            kind=Kind.CHOICE,
            choices=tuple(kind for kind in QuantizationType if not kind.is_legacy),
            default=QuantizationType.NO_QUANT, help="Of the weights; `_kv` also of the KV cache.",
        ),
        Field(
            name="dtype", label="Computes in", path="enginehouse.dtype", kind=Kind.CHOICE,
            choices=tuple(Dtype), default=Dtype.AUTO,
            help="Of the native engine; the checks say what `auto` comes to.",
        ),
        Field(
            name="calib_dataset", label="Calibration data", path=f"{_CALIBRATION}.calib_dataset",
            default="abisee/cnn_dailymail", suggests="calibration-sets",
            help="A hub data set, a local file, or `team/NAME` of those under Calibration data.",
        ),
        Field(
            name="calib_size", label="Calibration samples", path=f"{_CALIBRATION}.calib_size",
            kind=Kind.NUMBER, default="1024", help="A multiple of 64.",
        ),
        Field(
            name="samples", label="Samples used", path="enginehouse.calibration.samples",
            kind=Kind.NUMBER, default="all of them",
            help="Any number from 1 on, in place of the one before.",
        ),
        Field(
            name="calib_max_seq_length", label="Sample length",
            path=f"{_CALIBRATION}.calib_max_seq_length", kind=Kind.NUMBER, default="1536",
            help="Tokens, a multiple of 64.",
        ),
        Field(
            name="effective_bits", label="Bits a weight",
            path=f"{_CALIBRATION}.effective_bits", kind=Kind.DECIMAL, default="the type's own",
            help="On average, at most: a search gives each layer FP4, FP8 or 16 bits.",
        ),
        Field(
            name="exclude_modules", label="Modules in 16 bits",
            path=f"{_CALIBRATION}.exclude_modules", kind=Kind.NAMES, default="none",
            help="Names or patterns such as `*.down_proj`, with commas between them.",
        ),
        Field(
            name="encoder_least_cosine", label="Least cosine of an encoder",
            path="enginehouse.calibration.encoder_least_cosine", kind=Kind.DECIMAL,
            default="0.995", help="In FP8: the layers that lose most stay in 16 bits; 0: none do.",
        ),
        Field(
            name="gate_tasks", label="Tasks of the gate", path="enginehouse.gate.tasks",
            kind=Kind.MAPPING, default="none", is_wide=True,
            help='Tasks of lm-eval by name, as in `{"arc_easy": {"limit": 200}}`. Both models do '
            "them.",
        ),
    ),
)  # fmt: skip
LIMITS = Group(
    label="Context and batching",
    fields=(
        Field(
            name="max_seq_len", label="Sequence length", path=f"{_BUILD}.max_seq_len",
            v2=f"{_RUNTIME}.max_seq_len", kind=Kind.NUMBER, default="the model's own",
            help="Tokens, prompt and answer together.",
        ),
        Field(
            name="max_batch_size", label="Batch size", path=f"{_BUILD}.max_batch_size",
            v2=f"{_RUNTIME}.max_batch_size", kind=Kind.NUMBER, default="256",
            help="Requests that run at once.",
        ),
        Field(
            name="max_num_tokens", label="Tokens per step", path=f"{_BUILD}.max_num_tokens",
            v2=f"{_RUNTIME}.max_num_tokens", kind=Kind.NUMBER, default="8192",
        ),
        Field(
            name="kv_fraction", label="KV cache share",
            path=f"{_RUNTIME}.kv_cache_free_gpu_mem_fraction", v2="", kind=Kind.DECIMAL,
            default="0.9", help="Of the memory left after weights and activations.",
        ),
        Field(
            name="chunked", label="Chunked prefill", path=f"{_RUNTIME}.enable_chunked_context",
            v2=f"{_RUNTIME}.enable_chunked_prefill", kind=Kind.SWITCH, default="on",
            choices=("on", "off"), help="Long prompts run in pieces between answers.",
        ),
        Field(
            name="scheduler", label="When the cache is full",
            path=f"{_RUNTIME}.batch_scheduler_policy", v2="", kind=Kind.CHOICE,
            choices=tuple(BatchSchedulerPolicy), default=BatchSchedulerPolicy.GUARANTEED_NO_EVICT,
        ),
    ),
)  # fmt: skip
SERVING = Group(
    label="Serving",
    fields=(
        Field(
            name="served_model_name", label="Served name", path=f"{_RUNTIME}.served_model_name",
            default="the model's name here", help="What `/v1/models` lists.",
        ),
        Field(
            name="default_max_tokens", label="Default answer length",
            path=f"{_RUNTIME}.request_default_max_tokens", v2="", kind=Kind.NUMBER,
            default="what fits", help="Tokens, for requests that name none.",
        ),
        Field(
            name="vllm_args", label="vLLM arguments", path="enginehouse.vllm_args",
            kind=Kind.MAPPING, default="none", is_wide=True,
            help='Further arguments by vLLM\'s own names, as in `{"max-logprobs": 5}`. Only where '
            "vLLM serves.",
        ),
    ),
)  # fmt: skip
GROUPS = (MODEL, HARDWARE, PRECISION, LIMITS, SERVING)
_LABELS = {
    path: field.label
    for group in GROUPS
    for field in group.fields
    for path in (field.path, field.v2)
    if path
}


def label_of(path: str) -> str:
    return _LABELS.get(path, "")
