"""A checkpoint into memory: on the CPU or spread over the leased GPUs, in a fitting type."""

import logging
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import torch
import transformers
from torch import Tensor, nn

from controlplane.domain.failures.registry import quantization
from controlplane.domain.forecast.calibration_memory import model_bytes
from controlplane.domain.spec import Spec
from workers.build_steps.failures import StepFailure
from workers.build_steps.options import JobOptions
from workers.build_steps.processor import has_native_bfloat16
from workers.build_steps.quantization import failures
from workers.build_steps.quantization.checkpoint import Checkpoint
from workers.build_steps.quantization.memory import calibration_bytes, free_host_bytes
from workers.engine.whole import first_not_finite
from workers.model_layers import beyond

_DEVICE_SHARE = 0.8
"""Share of each GPU's free memory that weights may take; a calibration batch needs the rest."""
_HOST_SHARE = 0.8
"""The same for the host, where the export is put together as well."""
_UNFIT = (
    ArithmeticError,
    AssertionError,
    AttributeError,
    LookupError,
    OSError,
    RuntimeError,
    TypeError,
    ValueError,
)
"""What Transformers breaks at where config.json or the weights are not the class's."""

log = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True)
class Device:
    kind: str
    """`cpu` or `cuda`; of several visible GPUs all are used."""
    threads: int
    memory_bytes: int | None = None
    """Memory of the host that the build holds; None for all that is free."""

    @property
    def batch_tokens(self) -> int:
        """Tokens of one forward pass; a CPU gains nothing from more."""
        return 16_384 if self.kind == "cuda" else 2_048

    def prepare(self) -> None:
        """Set what torch keeps for the whole process; raises StepFailure without the GPU."""
        torch.set_num_threads(self.threads)
        if self.kind == "cuda" and not torch.cuda.is_available():
            raise StepFailure.of(quantization.NO_GPU)

    def describe(self) -> str:
        if self.kind == "cpu":
            return f"CPU, {self.threads} threads"
        names = [torch.cuda.get_device_name(device) for device in range(torch.cuda.device_count())]
        return ", ".join(names)


def device_of(options: JobOptions) -> Device:
    """Return where a job wants to compute: its `device`, `cpu_threads` and `memory_bytes`."""
    return Device(
        kind=options.device,
        threads=options.cpu_threads,
        memory_bytes=options.memory_bytes if options.device == "cpu" else None,
    )


def choose_dtype(spec: Spec, checkpoint: Checkpoint, device: Device) -> torch.dtype:
    """Return the type to compute in: the fastest here that loses nothing, else one that fits."""
    stored = _stored_dtype(checkpoint)
    if device.kind == "cuda":
        return torch.bfloat16 if stored is torch.float32 else stored
    if stored is torch.bfloat16 and has_native_bfloat16():
        return torch.bfloat16
    # Two bytes a weight are slow here, and still better than a machine that is too small.
    needed = calibration_bytes(spec, checkpoint, torch.float32, device.batch_tokens)
    free = min(free_host_bytes(), device.memory_bytes or needed)
    return torch.float32 if needed <= free else torch.bfloat16


def export_dtype(checkpoint: Checkpoint) -> torch.dtype:
    """Return the 16-bit type of what stays unquantized."""
    stored = _stored_dtype(checkpoint)
    return torch.bfloat16 if stored is torch.float32 else stored


def load_model(
    checkpoint: Checkpoint,
    *,
    device: Device,
    dtype: torch.dtype,
    weights: Mapping[str, Tensor] | None = None,
    refuse_unread: Callable[[Iterable[str]], None] | None = None,
    **choices: Any,
) -> nn.Module:
    """Return the model, ready to run; `weights` stand in for those of the folder.

    `refuse_unread` is told the tensors that the class does not know.

    Raises StepFailure when the weights do not fit the class, or the GPUs do not hold them.
    """
    transformers.utils.logging.disable_progress_bar()
    try:
        config = transformers.AutoConfig.from_pretrained(
            checkpoint.folder,
            trust_remote_code=checkpoint.runs_remote_code,
            local_files_only=True,
        )
        if weights is not None and hasattr(config, "quantization_config"):
            del config.quantization_config
        model, report = checkpoint.model_class.from_pretrained(
            None if weights is not None else checkpoint.folder,
            config=config,
            state_dict=weights,
            dtype=dtype,
            **_placement(checkpoint, device, dtype),
            output_loading_info=True,
            # Told by `_refuse_incomplete`: the error of the library names no tensor.
            ignore_mismatched_sizes=True,
            # Sharded weights are read one by one, never all beside the model.
            use_safetensors=None if weights is not None else True,
            local_files_only=True,
            **choices,
        )
    except torch.OutOfMemoryError as error:
        raise failures.no_device_memory(str(error), torch.cuda.device_count()) from error
    except _UNFIT as error:
        raise StepFailure.of(
            quantization.LOAD, architecture=checkpoint.architecture, reason=_first_line(error)
        ) from error
    _refuse_incomplete(checkpoint, model, report)
    if refuse_unread is not None:
        refuse_unread(report["unexpected_keys"])
    if name := first_not_finite(model.named_parameters()):
        raise StepFailure.of(
            quantization.LOAD,
            architecture=checkpoint.architecture,
            reason=f"`{name}` holds infinities or what is no number.",
        )
    loaded: nn.Module = model.eval().requires_grad_(False)
    return loaded


def load_tokenizer(checkpoint: Checkpoint) -> Any:
    """Return the checkpoint's tokenizer; raises StepFailure for one that cannot be read."""
    try:
        return transformers.AutoTokenizer.from_pretrained(
            checkpoint.folder,
            trust_remote_code=checkpoint.runs_remote_code,
            local_files_only=True,
        )
    except MemoryError:
        raise
    except Exception as error:  # whatever a stranger's files come to
        raise StepFailure.of(quantization.TOKENIZER, detail=_first_line(error)) from error


def _placement(checkpoint: Checkpoint, device: Device, dtype: torch.dtype) -> dict[str, Any]:
    """Return where weights go: GPU after GPU, and on the host what the GPUs do not hold.

    Raises StepFailure, before a weight is read, when the host does not hold the rest.
    """
    if device.kind == "cpu":
        return {}
    devices = _room_on_devices()
    needed = model_bytes(checkpoint.facts, dtype.itemsize)
    if needed <= devices[0]:
        return {"device_map": {"": 0}}
    host = round(_HOST_SHARE * free_host_bytes())
    if needed > sum(devices.values()) + host:
        raise failures.no_room_for_weights(needed, sum(devices.values()), len(devices), host)
    if needed > sum(devices.values()):
        log.info("the GPUs hold part of the model; the rest waits in the host's memory")
    return {"device_map": "sequential", "max_memory": {**devices, "cpu": host}}


def _room_on_devices() -> dict[int, int]:
    count = torch.cuda.device_count()
    return {
        device: round(_DEVICE_SHARE * torch.cuda.mem_get_info(device)[0]) for device in range(count)
    }


def _refuse_incomplete(checkpoint: Checkpoint, model: Any, report: Mapping[str, Any]) -> None:
    needed = (name for name in report["missing_keys"] if not _is_idle(checkpoint, name))
    if missing := sorted(needed):
        raise StepFailure.of(
            quantization.LOAD,
            architecture=checkpoint.architecture,
            reason=f"{len(missing)} tensors are missing, `{missing[0]}` among them.",
        )
    if wrong := sorted(report["mismatched_keys"]):
        name, stored, expected = wrong[0]
        raise failures.wrong_shape(name, tuple(stored), tuple(expected))
    if left := beyond(model, report["unexpected_keys"]):
        raise StepFailure.of(
            quantization.LOAD,
            architecture=checkpoint.architecture,
            reason=f"config.json makes a model that ends before `{left[0]}`.",
        )


def _is_idle(checkpoint: Checkpoint, name: str) -> bool:
    """Return whether nothing is made of a tensor: many embedders leave their pooler out."""
    return checkpoint.architecture.endswith("Model") and name.startswith("pooler.")


def _stored_dtype(checkpoint: Checkpoint) -> torch.dtype:
    dtype = getattr(torch, checkpoint.facts.dtype or "", None)
    return dtype if dtype in (torch.float16, torch.bfloat16) else torch.float32


def _first_line(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0]
