"""Accelerators: their memory, their driver, and what links them."""

import re

from controlplane.domain.failures import fields
from controlplane.domain.failures.failure import Blame
from controlplane.domain.failures.fixes import more_devices
from controlplane.domain.failures.pattern import Example, Pattern
from controlplane.domain.failures.patterns import device_sharing
from controlplane.domain.failures.registry import quantization

_CHECKED = "2026-11-28"
_TORCH = "torch 2.13.0, c10/cuda"

PATTERNS = (
    Pattern(
        code="EHB-CARD-SHARED",
        blame=Blame.MACHINE,
        expression=re.compile(device_sharing.TRIED),
        holds=device_sharing.is_held_by_others,
        sentence="Others hold most of GPU {device}: {it} asked for {size} more and has {own} "
        "itself, and {free} of {capacity} are free.",
        hint="End what else uses the GPU (`nvidia-smi` and the node's page name it), then retry.",
        example=Example(
            text="torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 20.00 MiB. GPU 0 "
            "has a total capacity of 139.72 GiB of which 1.88 MiB is free. Process 71352 has "
            "138.61 GiB memory in use. Including non-PyTorch memory, this process has 1.10 GiB "
            "memory in use. Of the allocated memory 590.63 MiB is allocated by PyTorch, and 9.37 "
            "MiB is reserved by PyTorch but unallocated. If reserved but unallocated memory is "
            "large try setting PYTORCH_ALLOC_CONF=expandable_segments:True",
            source="torch 2.11.0, c10/cuda/CUDACachingAllocator.cpp",
            checked=_CHECKED,
        ),
    ),
    Pattern.of(
        quantization.GPU_MEMORY,
        expression=re.compile(
            r"CUDA out of memory\. Tried to allocate (?P<size>[\d.]+ [KMG]iB)\."
            r"(?: GPU (?P<device>\d+) has a total capacity of (?P<capacity>[\d.]+ [KMG]iB) of "
            r"which (?P<free>[\d.]+ \w+) is free)?"
        ),
        holds=device_sharing.is_not_known_to_be_shared,
        sentence="{subject} ran out of memory on a GPU: it asked for {size} more, and works on "
        "{devices} GPU(s).",
        more="GPU {device} has {capacity} in all and had {free} left.",
        hint="Raise `num_builder_gpus`, lower `calib_max_seq_length`, or build on larger GPUs.",
        field=fields.BUILDER_GPUS,
        fix_for=more_devices,
        example=Example(
            text="torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 384.00 MiB. GPU 0 "
            "has a total capacity of 39.56 GiB of which 359.62 MiB is free. Process 4119960 has "
            "448.00 MiB memory in use.",
            source="nunchux-ai/deepcompressor#30",
            checked="2024-11-26",
        ),
    ),
    Pattern(
        code="EHB-CARD-ALLOCATION",
        blame=Blame.MACHINE,
        expression=re.compile(
            r"CUDA error: out of memory|CUBLAS_STATUS_ALLOC_FAILED|CUDNN_STATUS_ALLOC_FAILED"
        ),
        sentence="A GPU had no memory left for {it}, not even for its own bookkeeping.",
        hint="Look with `nvidia-smi` for other processes on the GPU, or raise `num_builder_gpus`.",
        field=fields.BUILDER_GPUS,
        fix_for=more_devices,
        example=Example(
            text="RuntimeError: CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling "
            "`cublasCreate(handle)`",
            source=_TORCH,
            checked=_CHECKED,
        ),
    ),
    Pattern(
        code="EHB-DRIVER-OLD",
        blame=Blame.MACHINE,
        expression=re.compile(
            r"The NVIDIA driver on your system is too old(?: \(found version (?P<version>\d+)\))?"
            r"|CUDA driver version is insufficient for CUDA runtime version"
        ),
        sentence="The NVIDIA driver of this machine is older than its PyTorch needs.",
        more="It is made for CUDA version {version}.",
        hint="Update the driver, or install a PyTorch for the older CUDA on the build worker.",
        example=Example(
            text="RuntimeError: CUDA error: CUDA driver version is insufficient for CUDA runtime "
            "version",
            source="nagadomi/nunif#702",
            checked="2026-06-13",
        ),
    ),
    Pattern(
        code="EHB-NO-CUDA",
        blame=Blame.MACHINE,
        expression=re.compile(
            r"No CUDA GPUs are available|Found no NVIDIA driver|no CUDA-capable device is detected"
        ),
        sentence="{subject} needs a GPU, and this machine shows it none.",
        hint="Check `nvidia-smi` on the build machine; a container needs `--gpus all`.",
        field=fields.BUILDER_GPUS,
        example=Example(
            text="RuntimeError: No CUDA GPUs are available", source=_TORCH, checked=_CHECKED
        ),
    ),
    Pattern(
        code="EHB-TORCH-WITHOUT-CUDA",
        blame=Blame.MACHINE,
        expression=re.compile(r"Torch not compiled with CUDA enabled"),
        sentence="{subject} needs a GPU, and this build worker has the PyTorch for CPUs.",
        hint="Install PyTorch for CUDA on the build worker: set TORCH_INDEX, then `make` again.",
        example=Example(
            text="AssertionError: Torch not compiled with CUDA enabled",
            source="torch 2.13.0, torch/cuda/__init__.py",
            checked=_CHECKED,
        ),
    ),
    Pattern(
        code="EHB-CARD-BUSY",
        blame=Blame.MACHINE,
        expression=re.compile(r"CUDA-capable device\(s\) is/are busy or unavailable"),
        sentence="Another process has the GPU for itself alone, so {it} could not use it.",
        hint="Look with `nvidia-smi` for that process, and for the compute mode "
        "`Exclusive_Process`.",
        example=Example(
            text="RuntimeError: CUDA error: CUDA-capable device(s) is/are busy or unavailable",
            source=_TORCH,
            checked=_CHECKED,
        ),
    ),
    Pattern(
        code="EHB-CARD-TOO-NEW",
        blame=Blame.MACHINE,
        expression=re.compile(r"no kernel image is available for execution on the device"),
        sentence="The PyTorch of this build worker was not built for the kind of GPU in this "
        "machine.",
        hint="Install a PyTorch that names this GPU's compute capability "
        "(`torch.cuda.get_arch_list()`).",
        field="resources.accelerator",
        example=Example(
            text="RuntimeError: CUDA error: no kernel image is available for execution on the "
            "device",
            source=_TORCH,
            checked=_CHECKED,
        ),
    ),
    Pattern(
        code="EHB-CARD-BROKEN",
        blame=Blame.MACHINE,
        expression=re.compile(
            r"uncorrectable ECC error|GPU is lost|fallen off the bus|unspecified launch failure"
        ),
        sentence="A GPU failed while {it} was using it.",
        hint="Cordon the node, look at `nvidia-smi -q` and `dmesg` (Xid), and reset or replace the "
        "device.",
        example=Example(
            text="RuntimeError: CUDA error: uncorrectable ECC error encountered",
            source=_TORCH,
            checked=_CHECKED,
        ),
    ),
    Pattern(
        code="EHB-CARD-ASSERT",
        blame=Blame.CHECKPOINT,
        expression=re.compile(r"device-side assert triggered"),
        sentence="{subject} looked up a number outside its table on the GPU: mostly a token that "
        "the model of {repo} has no embedding for.",
        hint="Check that the tokenizer belongs to this model: its vocabulary must not be larger "
        "than `vocab_size` in config.json.",
        field=fields.REPO,
        example=Example(
            text="RuntimeError: CUDA error: device-side assert triggered",
            source=_TORCH,
            checked=_CHECKED,
        ),
    ),
    Pattern(
        code="EHB-CARD-ILLEGAL-ACCESS",
        blame=Blame.OURS,
        expression=re.compile(r"an illegal memory access was encountered"),
        sentence="A kernel that {it} ran on the GPU read memory that is not its own.",
        hint="Retry once. If it persists, report it with the support bundle; an older driver or "
        "PyTorch may not have the fault.",
        example=Example(
            text="RuntimeError: CUDA error: an illegal memory access was encountered",
            source=_TORCH,
            checked=_CHECKED,
        ),
    ),
    Pattern(
        code="EHB-NCCL",
        blame=Blame.MACHINE,
        expression=re.compile(r"NCCL error(?: in)?: (?P<reason>[^\n]{1,160})"),
        sentence="The GPUs could not talk to each other (NCCL): {reason}",
        hint="Set NCCL_DEBUG=INFO for the build worker and retry; shared memory that is too small "
        "and a wrong network interface are the usual causes. One GPU needs no NCCL.",
        field=fields.BUILDER_GPUS,
        example=Example(
            text="RuntimeError: NCCL error: unhandled system error (run with NCCL_DEBUG=INFO for "
            "details)",
            source="NVIDIA/nccl#1466",
            checked="2024-09-25",
        ),
    ),
)
