from dataclasses import dataclass
from datetime import datetime

from apps.alerts.models import Severity
from controlplane.domain.alert_kinds import AlertKindName


@dataclass(frozen=True, kw_only=True)
class Condition:
    """What holds now; an alert stands for it as long as it does."""

    kind: AlertKindName
    subject: str
    team_id: str | None
    sentence: str
    severity: Severity = Severity.WARNING
    hint: str = ""
    path: str = ""
    began_at: datetime | None = None
    """Its own time, where one is known; else it began when it was seen."""
    caused_by: str = ""
    """The `key` of the condition behind it."""

    @property
    def key(self) -> str:
        """Its kind and subject; no two conditions share it."""
        return f"{self.kind}:{self.subject}"
