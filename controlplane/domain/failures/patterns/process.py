"""The installation itself: packages, libraries and signals."""

import re
import signal

from controlplane.domain.failures.failure import Blame
from controlplane.domain.failures.pattern import Example, Pattern

_CHECKED = "2026-11-28"

PATTERNS = (
    Pattern(
        code="EHB-MISSING-PACKAGE",
        blame=Blame.MACHINE,
        expression=re.compile(r"ModuleNotFoundError: No module named '(?P<name>[\w.]+)'"),
        sentence="The Python package `{name}` is not installed on this build worker.",
        hint="Install this release's packages again on that machine (`make`), with the extra "
        "`build`.",
        example=Example(
            text="ModuleNotFoundError: No module named 'modelopt'",
            source="CPython 3.11",
            checked=_CHECKED,
        ),
    ),
    Pattern(
        code="EHB-LIBRARY",
        blame=Blame.MACHINE,
        expression=re.compile(r"(?P<name>lib[\w.+-]+): cannot open shared object file"),
        sentence="The system library `{name}` is missing on this build worker.",
        hint="Install it, or a PyTorch that belongs to the CUDA of this machine.",
        example=Example(
            text="ImportError: libcudart.so.13: cannot open shared object file: No such file or "
            "directory",
            source="ld.so(8)",
            checked=_CHECKED,
        ),
    ),
    Pattern(
        code="EHB-SYSTEM-OLD",
        blame=Blame.MACHINE,
        expression=re.compile(r"version `(?P<version>GLIBC(?:XX)?_[\d.]+)' not found"),
        sentence="The system of this build worker is too old for its packages: they need "
        "`{version}`.",
        hint="Use a newer distribution or the container image of this release.",
        example=Example(
            text="ImportError: /lib/x86_64-linux-gnu/libstdc++.so.6: version `GLIBCXX_3.4.32' not "
            "found (required by libtorch_python.so)",
            source="ld.so(8)",
            checked=_CHECKED,
        ),
    ),
    Pattern(
        code="EHB-BINARY",
        blame=Blame.MACHINE,
        expression=re.compile(
            r"may indicate binary incompatibility|undefined symbol: (?P<symbol>\w+)"
        ),
        sentence="Two packages of this build worker were not built for each other.",
        more="The function `{symbol}` is missing.",
        hint="Install this release's packages again on that machine, into a fresh environment.",
        example=Example(
            text="ValueError: numpy.dtype size changed, may indicate binary incompatibility. "
            "Expected 96 from C header, got 88 from PyObject",
            source="numpy 2.4, import of an extension built for 1.x",
            checked=_CHECKED,
        ),
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
