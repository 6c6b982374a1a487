"""Accelerators: their memory, their driver, and what links them."""

from controlplane.domain.failures import fields
from controlplane.domain.failures.failure import Blame
from controlplane.domain.failures.fixes import more_devices
from controlplane.domain.failures.pattern import Pattern, log_pattern
from controlplane.domain.failures.patterns import device_sharing
from controlplane.domain.failures.registry import quantization

_TORCH = "torch 2.13.0, c10/cuda"

PATTERNS = (
    log_pattern(
        "EHB-CARD-SHARED",
        Blame.MACHINE,
        device_sharing.TRIED,
        "Others hold most of GPU {device}: {it} asked for {size} more and has {own} "
        "itself, and {free} of {capacity} are free.",
        "End what else uses the GPU (`nvidia-smi` and the node's page name it), then retry.",
        holds=device_sharing.is_held_by_others,
        text="torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 20.00 MiB. GPU 0 "
        "has a total capacity of 139.72 GiB of which 1.88 MiB is free. Process 71352 has "
        "138.61 GiB memory in use. Including non-PyTorch memory, this process has 1.10 GiB "
        "memory in use. Of the allocated memory 590.63 MiB is allocated by PyTorch, and 9.37 "
        "MiB is reserved by PyTorch but unallocated. If reserved but unallocated memory is "
        "large try setting PYTORCH_ALLOC_CONF=expandable_segments:True",
        source="torch 2.11.0, c10/cuda/CUDACachingAllocator.cpp",
    ),
    Pattern.of(
        quantization.GPU_MEMORY,
        r"CUDA out of memory\. Tried to allocate (?P<size>[\d.]+ [KMG]iB)\."
        r"(?: GPU (?P<device>\d+) has a total capacity of (?P<capacity>[\d.]+ [KMG]iB) of "
        r"which (?P<free>[\d.]+ \w+) is free)?",
        sentence="{subject} ran out of memory on a GPU: it asked for {size} more, and works on "
        "{devices} GPU(s).",
        more="GPU {device} has {capacity} in all and had {free} left.",
        hint="Raise `num_builder_gpus`, lower `calib_max_seq_length`, or build on larger GPUs.",
        field=fields.BUILDER_GPUS,
        fix=more_devices,
        holds=device_sharing.is_not_known_to_be_shared,
        text="torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 384.00 MiB. GPU 0 "
        "has a total capacity of 39.56 GiB of which 359.62 MiB is free. Process 4119960 has "
        "448.00 MiB memory in use.",
        source="nunchux-ai/deepcompressor#30",
        checked="2024-11-26",
    ),
    log_pattern(
        "EHB-CARD-ALLOCATION",
        Blame.MACHINE,
        r"CUDA error: out of memory|CUBLAS_STATUS_ALLOC_FAILED|CUDNN_STATUS_ALLOC_FAILED",
        "A GPU had no memory left for {it}, not even for its own bookkeeping.",
        "Look with `nvidia-smi` for other processes on the GPU, or raise `num_builder_gpus`.",
        field=fields.BUILDER_GPUS,
        fix=more_devices,
        text="RuntimeError: CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling "
        "`cublasCreate(handle)`",
        source=_TORCH,
    ),
    log_pattern(
        "EHB-DRIVER-OLD",
        Blame.MACHINE,
        r"The NVIDIA driver on your system is too old(?: \(found version (?P<version>\d+)\))?"
        r"|CUDA driver version is insufficient for CUDA runtime version",
        "The NVIDIA driver of this machine is older than its PyTorch needs.",
        "Update the driver, or install a PyTorch for the older CUDA on the build worker.",
        more="It is made for CUDA version {version}.",
        text="RuntimeError: CUDA error: CUDA driver version is insufficient for CUDA runtime "
        "version",
        source="nagadomi/nunif#702",
        checked="2026-06-13",
    ),
    log_pattern(
        "EHB-NO-CUDA",
        Blame.MACHINE,
        r"No CUDA GPUs are available|Found no NVIDIA driver|no CUDA-capable device is detected",
        "{subject} needs a GPU, and this machine shows it none.",
        "Check `nvidia-smi` on the build machine; a container needs `--gpus all`.",
        field=fields.BUILDER_GPUS,
        text="RuntimeError: No CUDA GPUs are available",
        source=_TORCH,
    ),
    log_pattern(
        "EHB-TORCH-WITHOUT-CUDA",
        Blame.MACHINE,
        r"Torch not compiled with CUDA enabled",
        "{subject} needs a GPU, and this build worker has the PyTorch for CPUs.",
        "Install PyTorch for CUDA on the build worker: set TORCH_INDEX, then `make` again.",
        text="AssertionError: Torch not compiled with CUDA enabled",
        source="torch 2.13.0, torch/cuda/__init__.py",
    ),
    log_pattern(
        "EHB-CARD-BUSY",
        Blame.MACHINE,
        r"CUDA-capable device\(s\) is/are busy or unavailable",
        "Another process has the GPU for itself alone, so {it} could not use it.",
        "Look with `nvidia-smi` for that process, and for the compute mode `Exclusive_Process`.",
        text="RuntimeError: CUDA error: CUDA-capable device(s) is/are busy or unavailable",
        source=_TORCH,
    ),
    log_pattern(
        "EHB-CARD-TOO-NEW",
        Blame.MACHINE,
        r"no kernel image is available for execution on the device",
        "The PyTorch of this build worker was not built for the kind of GPU in this machine.",
        "Install a PyTorch that names this GPU's compute capability "
        "(`torch.cuda.get_arch_list()`).",
        field="resources.accelerator",
        text="RuntimeError: CUDA error: no kernel image is available for execution on the device",
        source=_TORCH,
    ),
    log_pattern(
        "EHB-CARD-BROKEN",
        Blame.MACHINE,
        r"uncorrectable ECC error|GPU is lost|fallen off the bus|unspecified launch failure",
        "A GPU failed while {it} was using it.",
        "Cordon the node, look at `nvidia-smi -q` and `dmesg` (Xid), and reset or replace the "
        "device.",
        text="RuntimeError: CUDA error: uncorrectable ECC error encountered",
        source=_TORCH,
    ),
    log_pattern(
        "EHB-CARD-ASSERT",
        Blame.CHECKPOINT,
        r"device-side assert triggered",
        "{subject} looked up a number outside its table on the GPU: mostly a token that "
        "the model of {repo} has no embedding for.",
        "Check that the tokenizer belongs to this model: its vocabulary must not be larger "
        "than `vocab_size` in config.json.",
        field=fields.REPO,
        text="RuntimeError: CUDA error: device-side assert triggered",
        source=_TORCH,
    ),
    log_pattern(
        "EHB-CARD-ILLEGAL-ACCESS",
        Blame.OURS,
        r"an illegal memory access was encountered",
        "A kernel that {it} ran on the GPU read memory that is not its own.",
        "Retry once. If it persists, report it with the support bundle; an older driver or "
        "PyTorch may not have the fault.",
        text="RuntimeError: CUDA error: an illegal memory access was encountered",
        source=_TORCH,
    ),
    log_pattern(
        "EHB-NCCL",
        Blame.MACHINE,
        r"NCCL error(?: in)?: (?P<reason>[^\n]{1,160})",
        "The GPUs could not talk to each other (NCCL): {reason}",
        "Set NCCL_DEBUG=INFO for the build worker and retry; shared memory that is too small "
        "and a wrong network interface are the usual causes. One GPU needs no NCCL.",
        field=fields.BUILDER_GPUS,
        text="RuntimeError: NCCL error: unhandled system error (run with NCCL_DEBUG=INFO for "
        "details)",
        source="NVIDIA/nccl#1466",
        checked="2024-09-25",
    ),
)
