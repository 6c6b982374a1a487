"""Records of checkpoints as tests of facts want them."""

from datetime import timedelta

from apps.configs.models import CheckpointRecord
from controlplane import clock


def aged(record: CheckpointRecord, **age: float) -> None:
    """Make the record's last reading older."""
    past = clock.now() - timedelta(**age)
    CheckpointRecord.objects.filter(id=record.id).update(fetched_at=past, requested_at=past)
