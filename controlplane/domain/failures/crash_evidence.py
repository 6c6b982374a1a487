"""What a process leaves that ended without saying why, and what it was asked to do."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from controlplane.domain.dotted import value_at
from controlplane.domain.facts.quantization import NO_QUANT
from controlplane.domain.failures import fields
from controlplane.domain.spec.repository_forms import shown


@dataclass(frozen=True, kw_only=True)
class CrashEvidence:
    """The end of a log, how the process ended, and the config that it worked on."""

    subject: str
    """What ended, as a sentence begins with it: `` Step `calibrate` ``."""
    exit_code: int
    """The status; negative for a signal, as `subprocess` has it."""
    log_tail: str
    spec: Mapping[str, Any] = field(default_factory=dict)
    """The dump of a Spec, or nothing where it is not known."""
    was_oom_killed: bool = False
    """Whether the kernel killed for want of memory while the process ran."""

    def configured(self, path: str) -> Any:
        return value_at(self.spec, path)

    @property
    def words(self) -> dict[str, str]:
        """The values that a sentence may name, each of them readable where the config is silent."""
        return {
            "subject": self.subject,
            "it": self.subject[:1].lower() + self.subject[1:],
            "repo": self._literal(fields.REPO, "the checkpoint"),
            "revision": str(self.configured(fields.REVISION) or "main"),
            "secret": str(self.configured(fields.SECRET) or "hf_access_token"),
            "quantization": str(self.configured(fields.QUANTIZATION) or NO_QUANT),
            "devices": str(self.configured(fields.BUILDER_GPUS) or 1),
            "dataset": self._literal(fields.DATASET, "the calibration data"),
        }

    def _literal(self, path: str, otherwise: str) -> str:
        value = self.configured(path)
        return f"`{shown(str(value))}`" if value else otherwise
