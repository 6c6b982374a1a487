"""Consents: given, taken back, and what lies under them deleted; and what gateways say of it."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

from django.db import transaction

from apps.accounts.audit.recording import audit
from apps.accounts.models import Team, User
from apps.accounts.routes_version import routes_version_bump
from apps.configs.traffic_samples.models import HeldSamples, TrafficConsent
from apps.rest.errors import Conflict, InvalidInput
from apps.rest.identifiers import new_id
from controlplane import clock

LEAST_SHARE, MOST_SHARE = 0.0001, 1.0
LEAST_DAYS, MOST_DAYS = 1, 90


class Held(NamedTuple):
    """What a gateway says it holds of one model."""

    consent_id: str
    model_id: str
    samples: int
    size_bytes: int
    oldest_at: float


@transaction.atomic
def consent_give(*, team: Team, share: float, kept_days: int, user: User | None) -> TrafficConsent:
    """Return the team's consent, new or changed; what was kept under it before stays.

    Raises InvalidInput.
    """
    _check(share, kept_days)
    known = TrafficConsent.objects.select_for_update().filter(team=team).first()
    consent_values = {"share": share, "kept_days": kept_days}
    before = None if known is None else {"share": known.share, "kept_days": known.kept_days}
    consent, _ = TrafficConsent.objects.update_or_create(
        team=team, defaults={**consent_values, "created_by": user, "created_at": clock.now()}
    )
    audit("traffic_samples.consent", consent, team=team, before=before, after=consent_values)
    routes_version_bump()
    return consent


@transaction.atomic
def consent_revoke(*, team: Team) -> None:
    """Revoke the consent: gateways delete what they keep once they learn of it. Raises Conflict."""
    consent = _locked_consent(team)
    audit("traffic_samples.revoke", consent, team=team, before={"share": consent.share})
    consent.delete()
    routes_version_bump()


@transaction.atomic
def samples_delete(*, team: Team) -> None:
    """Have the consent go on under a new id: gateways delete what is under the old one.

    Raises Conflict.
    """
    consent = _locked_consent(team)
    audit("traffic_samples.delete", consent, team=team)
    consent.held.all().delete()
    TrafficConsent.objects.filter(id=consent.id).update(id=new_id())
    routes_version_bump()


@transaction.atomic
def held_tell(*, gateway_id: str, samples: Sequence[Held]) -> None:
    """Store what a gateway holds, in place of what it said before; of unknown consents nothing."""
    known = set(
        TrafficConsent.objects.filter(id__in={each.consent_id for each in samples})
        .values_list("id", flat=True)
    )  # fmt: skip
    rows = [_row(gateway_id, each) for each in samples if each.consent_id in known]
    kept = [(each.consent_id, each.model_id) for each in rows]
    for row in HeldSamples.objects.filter(gateway_id=gateway_id):
        if (row.consent_id, row.model_id) not in kept:
            row.delete()
    HeldSamples.objects.bulk_create(
        rows,
        update_conflicts=True,
        unique_fields=["consent", "gateway_id", "model_id"],
        update_fields=["samples", "size_bytes", "oldest_at", "told_at"],
    )


def held_tidy() -> None:
    """Forget what gateways said that have been away for longer than anything is kept."""
    before = clock.now() - timedelta(days=MOST_DAYS)
    HeldSamples.objects.filter(told_at__lt=before).delete()


def _row(gateway_id: str, samples: Held) -> HeldSamples:
    fields: dict[str, Any] = samples._asdict()
    oldest_at = datetime.fromtimestamp(fields.pop("oldest_at"), tz=UTC)
    return HeldSamples(gateway_id=gateway_id, oldest_at=oldest_at, told_at=clock.now(), **fields)


def _locked_consent(team: Team) -> TrafficConsent:
    consent = TrafficConsent.objects.select_for_update().filter(team=team).first()
    if consent is None:
        raise Conflict("The team has not consented to sampling, so nothing of it is kept.")
    return consent


def _check(share: float, kept_days: int) -> None:
    if not LEAST_SHARE <= share <= MOST_SHARE:
        raise InvalidInput(
            f"A share is from {LEAST_SHARE:g} to {MOST_SHARE:g} of the requests, and this one is "
            f"{share:g}.",
            fields=["share"],
        )
    if not LEAST_DAYS <= kept_days <= MOST_DAYS:
        raise InvalidInput(
            f"Samples are kept from {LEAST_DAYS} to {MOST_DAYS} days, and not {kept_days}.",
            fields=["kept_days"],
        )
