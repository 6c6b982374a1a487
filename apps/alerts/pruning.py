from datetime import timedelta

from apps.alerts.models import Alert
from controlplane.clock import SYSTEM, Clock

KEPT = timedelta(days=90)


def alerts_prune(*, clock: Clock = SYSTEM) -> int:
    forgotten, _ = Alert.objects.filter(resolved_at__lt=clock.now() - KEPT).delete()
    return forgotten
