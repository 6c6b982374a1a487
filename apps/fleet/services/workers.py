"""Workers and the scheduler: that they are there, which their rows would not tell while idle."""

from datetime import timedelta

from django.db.models.functions import Now

from apps.fleet.models import Worker
from apps.fleet.selectors import silent_before

FORGOTTEN_AFTER = timedelta(days=1)


def worker_arrived(*, name: str, version: str) -> None:
    """Record that the worker has started; those that were silent for a day are forgotten."""
    Worker.objects.filter(last_seen_at__lt=silent_before() - FORGOTTEN_AFTER).delete()
    values = {"version": version, "started_at": Now(), "last_seen_at": Now()}
    Worker.objects.update_or_create(name=name, defaults=values)


def worker_seen(*, name: str) -> None:
    Worker.objects.filter(name=name).update(last_seen_at=Now())


def worker_left(*, name: str) -> None:
    Worker.objects.filter(name=name).delete()
