"""What the remains of a process mean: one table of patterns, and the failure they point to."""

from controlplane.domain.failure_patterns.crash_evidence import CrashEvidence
from controlplane.domain.failure_patterns.explain import UNKNREMOTE_CODE, explain
from controlplane.domain.failure_patterns.pattern import Example, Pattern
from controlplane.domain.failure_patterns.table import PATTERNS

__all__ = ["PATTERNS", "UNKNREMOTE_CODE", "CrashEvidence", "Example", "Pattern", "explain"]
