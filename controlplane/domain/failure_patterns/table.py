"""All patterns, by what they are about."""

from controlplane.domain.failure_patterns.architecture import PATTERNS as ARCHITECTURE
from controlplane.domain.failure_patterns.calibration_data import PATTERNS as CALIBRATION_DATA
from controlplane.domain.failure_patterns.device import PATTERNS as DEVICE
from controlplane.domain.failure_patterns.disk import PATTERNS as DISK
from controlplane.domain.failure_patterns.export import PATTERNS as EXPORT
from controlplane.domain.failure_patterns.host_memory import PATTERNS as HOST_MEMORY
from controlplane.domain.failure_patterns.hub import PATTERNS as HUB
from controlplane.domain.failure_patterns.network import PATTERNS as NETWORK
from controlplane.domain.failure_patterns.pattern import Pattern
from controlplane.domain.failure_patterns.process import PATTERNS as PROCESS
from controlplane.domain.failure_patterns.tokenizer import PATTERNS as TOKENIZER
from controlplane.domain.failure_patterns.weights import PATTERNS as WEIGHTS

FAMILIES: dict[str, tuple[Pattern, ...]] = {
    "Hub": HUB,
    "Network": NETWORK,
    "Disk and files": DISK,
    "Memory of the host": HOST_MEMORY,
    "Device": DEVICE,
    "Weights and config.json": WEIGHTS,
    "Architecture and remote code": ARCHITECTURE,
    "Tokenizer and chat template": TOKENIZER,
    "Calibration data": CALIBRATION_DATA,
    "ModelOpt and export": EXPORT,
    "Process and installation": PROCESS,
}
PATTERNS: tuple[Pattern, ...] = tuple(each for family in FAMILIES.values() for each in family)
