"""Reads of usage: what could not be counted."""

from django.db.models import QuerySet

from apps.telemetry.models import UsageJournal


def journals_with_usage_set_aside() -> QuerySet[UsageJournal]:
    return UsageJournal.objects.filter(set_aside__gt=0).order_by("-set_aside_at")
