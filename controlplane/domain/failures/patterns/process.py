"""The installation itself: packages, libraries and signals."""

import re
import signal

from controlplane.domain.failures.failure import Blame
from controlplane.domain.failures.pattern import Example, Pattern, log_pattern

_CHECKED = "2026-11-28"

PATTERNS = (
    log_pattern(
        "EHB-MISSING-PACKAGE",
        Blame.MACHINE,
        r"ModuleNotFoundError: No module named '(?P<name>[\w.]+)'",
        "The Python package `{name}` is not installed on this build worker.",
        "Install this release's packages again on that machine (`make`), with the extra `build`.",
        text="ModuleNotFoundError: No module named 'modelopt'",
        source="CPython 3.11",
    ),
    log_pattern(
        "EHB-LIBRARY",
        Blame.MACHINE,
        r"(?P<name>lib[\w.+-]+): cannot open shared object file",
        "The system library `{name}` is missing on this build worker.",
        "Install it, or a PyTorch that belongs to the CUDA of this machine.",
        text="ImportError: libcudart.so.13: cannot open shared object file: No such file or "
        "directory",
        source="ld.so(8)",
    ),
    log_pattern(
        "EHB-SYSTEM-OLD",
        Blame.MACHINE,
        r"version `(?P<version>GLIBC(?:XX)?_[\d.]+)' not found",
        "The system of this build worker is too old for its packages: they need `{version}`.",
        "Use a newer distribution or the container image of this release.",
        text="ImportError: /lib/x86_64-linux-gnu/libstdc++.so.6: version `GLIBCXX_3.4.32' not "
        "found (required by libtorch_python.so)",
        source="ld.so(8)",
    ),
    log_pattern(
        "EHB-BINARY",
        Blame.MACHINE,
        r"may indicate binary incompatibility|undefined symbol: (?P<symbol>\w+)",
        "Two packages of this build worker were not built for each other.",
        "Install this release's packages again on that machine, into a fresh environment.",
        more="The function `{symbol}` is missing.",
        text="ValueError: numpy.dtype size changed, may indicate binary incompatibility. "
        "Expected 96 from C header, got 88 from PyObject",
        source="numpy 2.4, import of an extension built for 1.x",
    ),
    Pattern(
        code="EHB-OLD-PROCESSOR",
        blame=Blame.MACHINE,
        expression=re.compile(r"Illegal instruction"),
        ending=lambda evidence: evidence.exit_code in (-signal.SIGILL, 128 + signal.SIGILL),
        sentence="The processor of this machine lacks instructions that {it} needs.",
        hint="Build on a machine with AVX2.",
        example=Example(text="", source="signal(7)", checked=_CHECKED, exit_code=-signal.SIGILL),
    ),
    Pattern(
        code="EHB-TERMINATED",
        blame=Blame.MACHINE,
        ending=lambda evidence: evidence.exit_code in (-signal.SIGTERM, 128 + signal.SIGTERM),
        sentence="{subject} was asked to stop from outside (SIGTERM), and nobody here asked.",
        hint="Look for a shutdown of the machine or its container, then retry: finished steps are "
        "reused.",
        example=Example(text="", source="signal(7)", checked=_CHECKED, exit_code=-signal.SIGTERM),
    ),
)
