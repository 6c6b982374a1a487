from controlplane.domain.failures import fields
from controlplane.domain.failures.kind import checkpoint, configuration, machine, ours

_NO_QUANT = {fields.QUANTIZATION: "no_quant"}
_FP8 = {fields.QUANTIZATION: "fp8"}

ALREADY_QUANTIZED = configuration(
    "EHQ-ALREADY-QUANTIZED",
    "The checkpoint is already quantized ({method}) and cannot be quantized to `{wanted}`: "
    "rounding it a second time would only lose more.",
    "Serve it as it is with `quantization_type: no_quant`, or name the original weights.",
    field=fields.QUANTIZATION, fix=_NO_QUANT,
)  # fmt: skip
TYPE = configuration(
    "EHQ-TYPE",
    "`{wanted}` is not among the quantization types that are built: {known}.",
    "The integer types belonged to an engine that no longer exists; fp8 replaces them.",
    field=fields.QUANTIZATION, fix=_FP8,
)  # fmt: skip
NOTHING = configuration(
    "EHQ-NOTHING",
    "`{wanted}` found no layer to quantize in `{architecture}`.",
    "Use `fp8`, which takes every linear layer, or `no_quant`.",
    field=fields.QUANTIZATION, fix=_FP8,
)  # fmt: skip
BLOCKS = configuration(
    "EHQ-BLOCKS",
    "{number} works in blocks of {block} numbers, and the input of {layers} does not divide into "
    "them.",
    "Use `fp8`, which has no blocks.",
    field=fields.QUANTIZATION, fix=_FP8,
)  # fmt: skip
GROUPS = configuration(
    "EHQ-BLOCKS",
    "A scale of INT4 is for {groups} numbers of a row, and the input of {layers}{cut} does not "
    "divide into them.",
    "Use an FP8 type, which has no groups.",
    field=fields.QUANTIZATION, fix=_FP8,
)  # fmt: skip
EXCLUDED = configuration(
    "EHQ-EXCLUDED",
    "`exclude_modules` names `{pattern}`, which no matrix of the checkpoint is called{meant}.",
    "Name modules as the checkpoint's files do, such as `model.layers.0.*` or `*.down_proj`.",
    field=fields.EXCLUDED,
)
ONE_EXPERT = configuration(
    "EHQ-EXCLUDED",
    "`exclude_modules` names one expert of a layer (`{pattern}`), and all experts of a layer are "
    "computed in one precision.",
    "Name all of them, as `{whole}`.",
    field=fields.EXCLUDED,
)
BUDGET = configuration(
    "EHQ-BUDGET",
    "`effective_bits` is {asked}, and the smallest that this type comes to here is {least} bits a "
    "weight; modules that `exclude_modules` keeps count with 16.",
    "Ask for more bits, or choose a type of fewer bits.",
    field=fields.EFFECTIVE_BITS,
)
NOT_SEARCHED = configuration(
    "EHQ-BUDGET",
    "`effective_bits` is not searched for `{architecture}`: the search scores each layer by the "
    "loss of the next token, which encoders and layers of experts do not have.",
    "Remove `effective_bits`.",
    field=fields.EFFECTIVE_BITS,
)
STACKED_INTEGERS = checkpoint(
    "EHQ-ARCHITECTURE",
    "`{name}` holds a layer's experts in one module, which ModelOpt does not export in integers.",
    "Use an FP8 type.",
    field=fields.QUANTIZATION, fix=_FP8,
)  # fmt: skip
STACKED_BLOCKS = checkpoint(
    "EHQ-ARCHITECTURE",
    "`{name}` holds a layer's experts in one tensor, which engines do not load in FP8 blocks.",
    "Use `fp8`.",
    field=fields.QUANTIZATION, fix=_FP8,
)  # fmt: skip
ARCHITECTURE = checkpoint(
    "EHQ-ARCHITECTURE",
    "The checkpoint's {named}, which Transformers {version} does not have.",
    "Check `architectures` in its config.json; a newer release of Enginehouse may know it. "
    "Unquantized, an engine may serve it all the same: `quantization_type: no_quant`.",
    field=fields.REPO, fix=_NO_QUANT,
)  # fmt: skip
TWO_HALVES = checkpoint(
    "EHQ-ARCHITECTURE",
    "`{architecture}` reads with an encoder and writes with a decoder; builds quantize models that "
    "are one of the two.",
    "Serve it unquantized, or use a decoder for the same task.",
    field=fields.REPO, fix=_NO_QUANT,
)  # fmt: skip
TRANSPOSED = checkpoint(
    "EHQ-ARCHITECTURE",
    "`{architecture}` keeps its matrices transposed (`Conv1D`), and what ModelOpt exports of them "
    "no engine can load.",
    "Serve it unquantized: `quantization_type: no_quant`.",
    field=fields.REPO, fix=_NO_QUANT,
)  # fmt: skip
LOAD = checkpoint(
    "EHQ-LOAD",
    "The weights could not be loaded as `{architecture}`: {reason}",
    "The files may be damaged or belong to another model; fetch or save them again.",
    field=fields.REPO,
)
NO_CLASS = checkpoint(
    "EHQ-LOAD",
    "`auto_map` of config.json names {named}; a build loads one of {known}.",
    "Name the model's class in `auto_map`.",
    field=fields.REPO,
)
TOKENIZER = checkpoint(
    "EHQ-TOKENIZER",
    "The checkpoint's tokenizer could not be loaded, and calibration needs one.",
    "Add tokenizer.json and tokenizer_config.json to the checkpoint's folder.",
    field=fields.REPO,
)
MEMORY = machine(
    "EHQ-MEMORY",
    "{what} needs {needed_bytes:,} bytes of memory ({needed}), and {free_bytes:,} bytes ({free}) "
    "are free on this build machine.",
    "Free memory, or build in a pool whose machines have more.",
)
GPU_MEMORY = machine(
    "EHQ-CARD-MEMORY",
    "The model and one calibration sample do not fit on {devices} GPU(s).",
    "Raise `num_builder_gpus`, or lower `calib_max_seq_length`.",
    field=fields.BUILDER_GPUS,
)
WEIGHTS_ROOM = machine(
    "EHQ-CARD-MEMORY",
    "The weights need {needed}; {devices} leased GPU(s) have room for {on_devices} of them, and "
    "the machine's own memory for {on_host}.",
    "Raise `num_builder_gpus`, or build in a pool whose machines have larger GPUs.",
    field=fields.BUILDER_GPUS,
)
NO_GPU = machine(
    "EHQ-NO-CARD",
    "This build is to run on a GPU, and PyTorch sees none in this process.",
    "Check the driver and that this machine's PyTorch is a CUDA build.",
)
NOT_FINITE = checkpoint(
    "EHQ-NOT-FINITE",
    "Calibration saw numbers that are infinite or not numbers at {layers}.",
    "The weights may be damaged, or overflow in their own type: check that the original model "
    "answers sensibly.",
    field=fields.REPO,
)
EXPORT = ours(
    "EHQ-EXPORT",
    "The export is not what was quantized: {reason}.",
    "Build with another quantization type, and report this with the log.",
)
