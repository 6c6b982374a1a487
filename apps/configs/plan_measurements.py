from django.db.models import QuerySet

from apps.configs.models import Config, PlanMeasurement


def latest_measurements(config: Config | None) -> QuerySet[PlanMeasurement]:
    rows = PlanMeasurement.objects.filter(revision__config=config)
    if config is None:
        rows = rows.none()
    which = ("figure", "device_kind", "concurrency")
    return rows.select_related("revision").order_by(*which, "-measured_at", "-id").distinct(*which)
