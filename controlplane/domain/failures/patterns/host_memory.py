"""Memory of the build machine: asked for in vain, or taken back by the kernel."""

import signal

from controlplane.domain.failures import fields
from controlplane.domain.failures.crash_evidence import CrashEvidence
from controlplane.domain.failures.failure import Blame
from controlplane.domain.failures.fixes import shorter_samples
from controlplane.domain.failures.pattern import Example, Pattern, log_pattern

_CHECKED = "2026-11-28"


def _is_killed(evidence: CrashEvidence) -> bool:
    return evidence.exit_code in (-signal.SIGKILL, 128 + signal.SIGKILL)


PATTERNS = (
    log_pattern(
        "EHB-ALLOCATION",
        Blame.MACHINE,
        r"DefaultCPUAllocator: [^\n]*?tried to allocate (?P<bytes>\d+) bytes[^\n]*",
        "{subject} asked for {bytes} bytes of memory at once, which this machine does not have.",
        "Build on a machine with more memory, or calibrate on shorter samples.",
        field=fields.SAMPLE_LENGTH,
        fix=shorter_samples,
        text="RuntimeError: [enforce fail at alloc_cpu.cpp:127] err == 0. DefaultCPUAllocator: "
        "can't allocate memory: you tried to allocate 4000000000000000 bytes. Error code 12 "
        "(Cannot allocate memory)",
        source="torch 2.13.0",
    ),
    log_pattern(
        "EHB-OUT-OF-MEMORY",
        Blame.MACHINE,
        r"\bMemoryError\b|std::bad_alloc|\[Errno 12\]|"
        r"(?<!code 12 \()Cannot allocate memory|memory allocation of \d+ bytes failed",
        "{subject} asked for more memory than this machine has.",
        "Free memory on the build machine, or build on a larger one, and retry.",
        field=fields.SAMPLE_LENGTH,
        fix=shorter_samples,
        text="MemoryError",
        source="CPython 3.11",
    ),
    log_pattern(
        "EHB-THREADS",
        Blame.MACHINE,
        r"can't start new thread|pthread_create failed|Resource temporarily unavailable",
        "{subject} could start no more threads on this machine.",
        "Raise `ulimit -u`, or the container's limit of processes (`--pids-limit`).",
        text="RuntimeError: can't start new thread",
        source="CPython 3.11",
    ),
    Pattern(
        code="EHB-OOM-KILLED",
        blame=Blame.MACHINE,
        ending=lambda evidence: _is_killed(evidence) and evidence.was_oom_killed,
        sentence="{subject} was killed by the kernel because memory ran out: its count of such "
        "kills (oom_kill) rose while the step ran.",
        hint="Free memory on the build machine, raise the container's limit, or calibrate on "
        "shorter samples.",
        field=fields.SAMPLE_LENGTH,
        fix_for=shorter_samples,
        example=Example(
            text="",
            source="Linux cgroup v2, memory.events",
            checked=_CHECKED,
            exit_code=-signal.SIGKILL,
            was_oom_killed=True,
        ),
    ),
    Pattern(
        code="EHB-KILLED",
        blame=Blame.MACHINE,
        ending=lambda evidence: _is_killed(evidence) and not evidence.was_oom_killed,
        sentence="{subject} was killed from outside (SIGKILL).",
        hint="When nobody did it, the kernel or the container's runtime ended it for want of "
        "memory: look at `dmesg`, free memory and retry.",
        example=Example(text="", source="signal(7)", checked=_CHECKED, exit_code=-signal.SIGKILL),
    ),
)
