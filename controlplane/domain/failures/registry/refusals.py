"""Refusals: what a library says on purpose, told by what it is about."""

from controlplane.domain.failures import fields
from controlplane.domain.failures.kind import checkpoint, configuration, machine

_QUOTED_ERROR = ": “{error}”{named}"
_LOG = " The log has what was printed before."

LIBRARY = machine(
    "ENR-LIBRARY",
    "{subject} needs a library that was built for other versions than those beside it"
    + _QUOTED_ERROR,
    "Install the library again for the torch, CUDA and Python of this engine, or use the engine's "
    "own image.",
)
RELEASE = machine(
    "ENR-RELEASE",
    "{subject} met a fault of its release, or a library beside it that is of another one"
    + _QUOTED_ERROR,
    "Install the versions of transformers, tokenizers and the other libraries that this release "
    "asks for, or another release of the engine; or serve without what the message is about.",
)
PACKAGE = machine(
    "ENR-PACKAGE",
    "{subject} needs a package that is not installed beside it" + _QUOTED_ERROR,
    "Install it in the environment or image that this host starts the engine from, then retry.",
)
GPU = configuration(
    "ENR-GPU",
    "{subject} refuses this kind of GPU for what is asked" + _QUOTED_ERROR,
    "Ask for a GPU that the message allows, or for what this one does: other weights, a KV cache "
    "in 16 bits, or the default in place of a kernel that was named.",
    field=fields.ACCELERATOR,
)
ADAPTER = checkpoint(
    "ENR-ADAPTER",
    "{subject} refuses an adapter, or adapters on this model" + _QUOTED_ERROR,
    "Train it as the message asks, or merge it into the weights.",
    field=f"{fields.BUILD}.lora_adapters",
)
DRAFTS = configuration(
    "ENR-DRAFTS",
    "{subject} refuses the drafts of tokens as they are asked for" + _QUOTED_ERROR,
    "Change the speculator as the message asks, or serve without one.",
    field=f"{fields.BUILD}.speculator",
)
RANKS = configuration(
    "ENR-RANKS",
    "{subject} cannot divide the model as it is asked for" + _QUOTED_ERROR,
    "Use numbers of ranks and stages that divide what the message names, or fewer GPUs.",
    field=f"{fields.BUILD}.tensor_parallel_count",
)
QUANTIZATION = configuration(
    "ENR-QUANTIZATION",
    "{subject} refuses the quantization of weights or KV cache" + _QUOTED_ERROR,
    "Use another `quantization_type`, or a checkpoint that is stored otherwise.",
    field=fields.QUANTIZATION,
)
ATTENTION = configuration(
    "ENR-ATTENTION",
    "{subject} has no attention or no KV cache of this kind" + _QUOTED_ERROR,
    "Leave backend and block sizes to the engine, keep the KV cache in 16 bits, or use a newer "
    "GPU.",
    field=fields.QUANTIZATION,
)
TOOLS = configuration(
    "ENR-TOOLS",
    "{subject} refuses how tool calls, reasoning or grammars are to be read" + _QUOTED_ERROR,
    "Name a parser that fits the model's chat template, or none.",
    field="enginehouse.vllm_args",
)
TEMPLATE = checkpoint(
    "ENR-TEMPLATE",
    "{subject} cannot use the checkpoint's tokenizer or chat template" + _QUOTED_ERROR,
    "Repair or add the files that the message names (tokenizer.json, tokenizer_config.json, "
    "chat_template.jinja) in the checkpoint.",
    field=fields.REPO,
)
MEDIA = checkpoint(
    "ENR-MEDIA",
    "{subject} refuses the images, sound or video of this model as they are asked for"
    + _QUOTED_ERROR,
    "Change the limits or the processor's settings that the message names, or use a checkpoint "
    "whose processor files are whole.",
    field=fields.REPO,
)
MEMORY = configuration(
    "ENR-MEMORY",
    "{subject} has too little memory for what is asked" + _QUOTED_ERROR,
    "Lower max_seq_len, max_num_tokens or max_batch_size, or use more or larger GPUs.",
    field=fields.ACCELERATOR,
)
LENGTH = configuration(
    "ENR-LENGTH",
    "{subject} refuses a length or a number of requests" + _QUOTED_ERROR,
    "Set it to what the message allows.",
    field=f"{fields.BUILD}.max_seq_len",
)
POOLING = configuration(
    "ENR-POOLING",
    "{subject} refuses the kind of answers that the model is to give" + _QUOTED_ERROR,
    "Set base_model to `encoder` for embedders, rerankers and classifiers, and to `decoder` for "
    "text generators.",
    field=f"{fields.BUILD}.base_model",
)
PROCESSES = machine(
    "ENR-PROCESSES",
    "{subject} could not bring its processes together" + _QUOTED_ERROR,
    "Check network, shared memory and GPUs of this host (`nvidia-smi topo -m`), then retry.",
)
CLASS = checkpoint(
    "ENR-CLASS",
    "{subject} refuses this model class or what its config.json says" + _QUOTED_ERROR,
    "Use a release of the engine that serves it, or a checkpoint with another config.json." + _LOG,
    field=fields.REPO,
)
WEIGHTS = checkpoint(
    "ENR-WEIGHTS",
    "{subject} cannot use the checkpoint's weights" + _QUOTED_ERROR,
    "Use a revision in which config.json and weights belong together, or save the weights again.",
    field=fields.REPO,
)
ARGUMENT = configuration(
    "ENR-ARGUMENT",
    "{subject} refuses an argument" + _QUOTED_ERROR,
    "Change or remove it under `enginehouse.vllm_args` (v2: `patch_kwargs`).",
    field="enginehouse.vllm_args",
)
