"""Disks, quotas, descriptors and shared memory of the build machine."""

import re
import signal

from controlplane.domain.failures.failure import Blame
from controlplane.domain.failures.pattern import Example, Pattern, log_pattern
from controlplane.domain.failures.registry import build

_CHECKED = "2026-11-28"
_ERRNO = "errno(3), as CPython and Rust print it"

PATTERNS = (
    Pattern.of(
        build.DISK_FULL,
        r"No space left on device|\[Errno 28\]|os error 28",
        sentence="{subject} ran out of disk.",
        hint="Free some space on the disk that holds DATA_DIR, or point DATA_DIR at a larger one, "
        "and retry: finished steps are reused.",
        text="safetensors._safetensors_rust.SafetensorError: Error while serializing: I/O "
        "error: No space left on device (os error 28)",
        source="safetensors 0.8.0, serialize_file",
    ),
    log_pattern(
        "EHB-QUOTA",
        Blame.MACHINE,
        r"Disk quota exceeded|\[Errno 122\]",
        "{subject} used up the disk quota of the user that runs the build worker.",
        "Raise the quota, or point DATA_DIR at a disk without one, and retry.",
        text="OSError: [Errno 122] Disk quota exceeded: 'builds/b1/calibrate'",
        source=_ERRNO,
    ),
    Pattern(
        code="EHB-FILE-SIZE",
        blame=Blame.MACHINE,
        expression=re.compile(r"File too large|\[Errno 27\]|os error 27"),
        ending=lambda evidence: evidence.exit_code == -signal.SIGXFSZ,
        sentence="{subject} wrote a file larger than this machine allows.",
        hint="Raise `ulimit -f` for the build worker, or use a file system without that limit.",
        example=Example(
            text="safetensors._safetensors_rust.SafetensorError: Error while serializing: I/O "
            "error: File too large (os error 27)",
            source="safetensors 0.8.0, under RLIMIT_FSIZE",
            checked=_CHECKED,
        ),
    ),
    log_pattern(
        "EHB-READ-ONLY",
        Blame.MACHINE,
        r"Read-only file system(?:: '(?P<path>[^'\n]+)')?",
        "{subject} may not write: the file system is mounted read-only.",
        "Mount it writable, or point DATA_DIR elsewhere. A disk that turned read-only by "
        "itself is failing: look at the kernel's log.",
        more="It wanted to write `{path}`.",
        text="OSError: [Errno 30] Read-only file system: 'builds/b1'",
        source=_ERRNO,
    ),
    log_pattern(
        "EHB-IO-ERROR",
        Blame.MACHINE,
        r"\[Errno 5\]|Input/output error|os error 5\b",
        "The disk failed while {it} was reading or writing.",
        "Look at the kernel's log (`dmesg`) and replace the disk; for a network disk, look "
        "at its server.",
        text="OSError: [Errno 5] Input/output error",
        source=_ERRNO,
    ),
    log_pattern(
        "EHB-STALE-MOUNT",
        Blame.MACHINE,
        r"Stale file handle|\[Errno 116\]|Transport endpoint is not conn",
        "A network disk went away while {it} was using it.",
        "Mount it again on the build machine, then retry.",
        text="OSError: [Errno 116] Stale file handle: 'models/llama/config.json'",
        source=_ERRNO,
    ),
    log_pattern(
        "EHB-PERMISSION",
        Blame.MACHINE,
        r"Permission denied: '(?P<path>[^'\n]+)'",
        "{subject} may not open `{path}`.",
        "Give the user that runs the build worker access to it.",
        text="PermissionError: [Errno 13] Permission denied: 'models/llama/config.json'",
        source=_ERRNO,
    ),
    log_pattern(
        "EHB-TOO-MANY-FILES",
        Blame.MACHINE,
        r"Too many open files|\[Errno 24\]|os error 24",
        "{subject} ran out of file descriptors.",
        "Raise `ulimit -n` for the build worker (65536 is plenty), and retry.",
        text="OSError: [Errno 24] Too many open files: 'model-00001-of-00191.safetensors'",
        source=_ERRNO,
    ),
    Pattern(
        code="EHB-SHARED-MEMORY",
        blame=Blame.MACHINE,
        expression=re.compile(
            r"insufficient shared memory|unable to allocate shared memory|"
            r"Error while creating shared memory segment|unable to open shared memory object"
        ),
        ending=lambda evidence: evidence.exit_code in (-signal.SIGBUS, 128 + signal.SIGBUS),
        sentence="{subject} found no room in shared memory (/dev/shm).",
        hint="Start the container with a larger one, such as `--shm-size=16g` or `--ipc=host`. A "
        "bus error also follows when a mapped file was cut short under the process.",
        example=Example(
            text="Error while creating shared memory segment /dev/shm/nccl-EoOvZr (size 7340384)",
            source="vllm-project/vllm#14537",
            checked="2025-03-10",
        ),
    ),
)
