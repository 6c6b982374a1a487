"""What loading, quantizing and exporting a checkpoint can fail with."""

from collections.abc import Sequence

from controlplane.domain.facts.quantization import NO_QUANT
from controlplane.domain.failures import Blame, Failure
from workers.build_steps.crashes import explain_crash
from workers.build_steps.failures import StepFailure, of_checkpoint, of_machine

TYPE_FIELD = "trt_llm.build.quantization_type"
_USE_NO_QUANT = {TYPE_FIELD: NO_QUANT}
_SHOWN_NAMES = 5


def already_quantized(method: str, wanted: str) -> StepFailure:
    """Return the failure for a checkpoint whose weights have been rounded before."""
    return _configuration(
        "EHQ-ALREADY-QUANTIZED",
        f"The checkpoint is already quantized ({method}) and cannot be quantized to `{wanted}`: "
        "rounding it a second time would only lose more.",
        hint="Serve it as it is with `quantization_type: no_quant`, or name the original weights.",
        fix=_USE_NO_QUANT,
    )


def unknown_type(wanted: str, known: Sequence[str]) -> StepFailure:
    """Return the failure for a quantization type that nothing here makes."""
    return _configuration(
        "EHQ-TYPE",
        f"`{wanted}` is not among the quantization types that are built: {', '.join(known)}.",
        hint="The integer types belonged to an engine that no longer exists; fp8 replaces them.",
        fix={TYPE_FIELD: "fp8"},
    )


def nothing_quantized(wanted: str, architecture: str) -> StepFailure:
    """Return the failure for a model in which the type finds no layer."""
    return _configuration(
        "EHQ-NOTHING",
        f"`{wanted}` found no layer to quantize in `{architecture}`.",
        hint="Use `fp8`, which takes every linear layer, or `no_quant`.",
        fix={TYPE_FIELD: "fp8"},
    )


def odd_width(layers: Sequence[str], block: int) -> StepFailure:
    """Return the failure for layers that do not divide into blocks of FP4."""
    return _configuration(
        "EHQ-BLOCKS",
        f"FP4 works in blocks of {block} numbers, and the input of {_listed(layers)} does not "
        "divide into them.",
        hint="Use an FP8 type, which has no blocks.",
        fix={TYPE_FIELD: "fp8"},
    )


def unknown_architecture(architecture: str | None, transformers_version: str) -> StepFailure:
    """Return the failure for a model class that Transformers does not have."""
    named = f"architecture is `{architecture}`" if architecture else "config names no architecture"
    return of_checkpoint(
        "EHQ-ARCHITECTURE",
        f"The checkpoint's {named}, which Transformers {transformers_version} does not have.",
        hint="Check `architectures` in its config.json; a newer release of Enginehouse may know "
        "it. Unquantized, an engine may serve it all the same: `quantization_type: no_quant`.",
        fix=_USE_NO_QUANT,
    )


def two_halves(architecture: str) -> StepFailure:
    """Return the failure for a model that reads with one half and writes with another."""
    return of_checkpoint(
        "EHQ-ARCHITECTURE",
        f"`{architecture}` reads with an encoder and writes with a decoder; builds quantize models "
        "that are one of the two.",
        hint="Serve it unquantized, or use a decoder for the same task.",
        fix=_USE_NO_QUANT,
    )


def transposed_layers(architecture: str) -> StepFailure:
    """Return the failure for matrices that lie the other way round than engines read them."""
    return of_checkpoint(
        "EHQ-ARCHITECTURE",
        f"`{architecture}` keeps its matrices transposed (`Conv1D`), and what ModelOpt exports of "
        "them no engine can load.",
        hint="Serve it unquantized: `quantization_type: no_quant`.",
        fix=_USE_NO_QUANT,
    )


def not_loaded(architecture: str, reason: str) -> StepFailure:
    """Return the failure for weights that do not fit their class."""
    return of_checkpoint(
        "EHQ-LOAD",
        f"The weights could not be loaded as `{architecture}`: {reason}",
        hint="The files may be damaged or belong to another model; fetch or save them again.",
    )


def wrong_shape(name: str, stored: tuple[int, ...], wanted: tuple[int, ...]) -> StepFailure:
    """Return the failure for weights that config.json does not describe."""
    return of_checkpoint(
        "EHP-SHAPE",
        "The weights do not have the shapes that config.json gives: "
        f"`{name}` is {list(stored)} and should be {list(wanted)}.",
        hint="Use a revision in which config.json and weights belong together.",
    )


def no_tokenizer(reason: str) -> StepFailure:
    """Return the failure for a checkpoint that cannot read text."""
    return of_checkpoint(
        "EHQ-TOKENIZER",
        "The checkpoint's tokenizer could not be loaded, and calibration needs one.",
        hint="Add tokenizer.json and tokenizer_config.json to the checkpoint's folder.",
        detail=reason,
    )


def no_host_memory(needed: int, free: int, what: str) -> StepFailure:
    """Return the failure for a machine that cannot hold the model."""
    return of_machine(
        "EHQ-MEMORY",
        f"{what} needs {needed:,} bytes of memory ({_gigabytes(needed)}), and {free:,} bytes "
        f"({_gigabytes(free)}) are free on this build machine.",
        hint="Free memory, or build in a pool whose machines have more.",
    )


def no_device_memory(detail: str, devices: int) -> StepFailure:
    """Return the failure for GPUs that cannot hold the model and one batch, or may not."""
    known = explain_crash("The step", 1, detail)
    if known.code == "EHB-CARD-SHARED":
        return StepFailure(known)
    return of_machine(
        "EHQ-CARD-MEMORY",
        f"The model and one calibration sample do not fit on {devices} GPU(s).",
        hint="Raise `num_builder_gpus`, or lower `calib_max_seq_length`.",
        field="trt_llm.build.num_builder_gpus",
        detail=detail,
    )


def no_room_for_weights(needed: int, on_devices: int, devices: int, on_host: int) -> StepFailure:
    """Return the failure for weights that neither the GPUs nor the host beside them hold."""
    return of_machine(
        "EHQ-CARD-MEMORY",
        f"The weights need {_gigabytes(needed)}; {devices} leased GPU(s) have room for "
        f"{_gigabytes(on_devices)} of them, and the machine's own memory for "
        f"{_gigabytes(on_host)}.",
        hint="Raise `num_builder_gpus`, or build in a pool whose machines have larger GPUs.",
        field="trt_llm.build.num_builder_gpus",
    )


def no_device() -> StepFailure:
    """Return the failure for a build that was promised a GPU and sees none."""
    return of_machine(
        "EHQ-NO-CARD",
        "This build is to run on a GPU, and PyTorch sees none in this process.",
        hint="Check the driver and that this machine's PyTorch is a CUDA build.",
    )


def not_finite(layers: Sequence[str]) -> StepFailure:
    """Return the failure for activations that overflowed during calibration."""
    return of_checkpoint(
        "EHQ-NOT-FINITE",
        f"Calibration saw numbers that are infinite or not numbers at {_listed(layers)}.",
        hint="The weights may be damaged, or overflow in their own type: check that the original "
        "model answers sensibly.",
    )


def not_exported(reason: str) -> StepFailure:
    """Return the failure for an export that is not what was quantized."""
    return StepFailure(
        Failure(
            code="EHQ-EXPORT",
            blame=Blame.OURS,
            sentence=f"The export is not what was quantized: {reason}.",
            hint="Build with another quantization type, and report this with the log.",
        )
    )


def _configuration(code: str, sentence: str, *, hint: str, fix: dict[str, str]) -> StepFailure:
    return StepFailure(
        Failure(
            code=code,
            blame=Blame.CONFIGURATION,
            sentence=sentence,
            field=TYPE_FIELD,
            hint=hint,
            fix=fix,
        )
    )


def _gigabytes(count: int) -> str:
    return f"{count / 1e9:.1f} GB"


def _listed(names: Sequence[str]) -> str:
    shown = ", ".join(f"`{name}`" for name in names[:_SHOWN_NAMES])
    return f"{shown} and {len(names) - _SHOWN_NAMES} more" if len(names) > _SHOWN_NAMES else shown
