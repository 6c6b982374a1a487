from controlplane.domain.failures.pattern import Pattern
from controlplane.domain.failures.patterns.architecture import PATTERNS as ARCHITECTURE
from controlplane.domain.failures.patterns.calibration_data import PATTERNS as CALIBRATION_DATA
from controlplane.domain.failures.patterns.device import PATTERNS as DEVICE
from controlplane.domain.failures.patterns.disk import PATTERNS as DISK
from controlplane.domain.failures.patterns.export import PATTERNS as EXPORT
from controlplane.domain.failures.patterns.host_memory import PATTERNS as HOST_MEMORY
from controlplane.domain.failures.patterns.hub import PATTERNS as HUB
from controlplane.domain.failures.patterns.network import PATTERNS as NETWORK
from controlplane.domain.failures.patterns.process import PATTERNS as PROCESS
from controlplane.domain.failures.patterns.scales import PATTERNS as SCALES
from controlplane.domain.failures.patterns.tokenizer import PATTERNS as TOKENIZER
from controlplane.domain.failures.patterns.weights import PATTERNS as WEIGHTS

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
    "ModelOpt and export": (*EXPORT, *SCALES),
    "Process and installation": PROCESS,
}
PATTERNS: tuple[Pattern, ...] = tuple(each for family in FAMILIES.values() for each in family)
