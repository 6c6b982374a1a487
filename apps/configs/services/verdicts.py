"""What the checks said of a revision, stored with it, and said anew once facts have arrived."""

from typing import Any

from django.db.models import OuterRef, QuerySet, Subquery

from apps.configs.models import CheckpointRecord, Revision
from apps.configs.services.examination import revision_examine
from controlplane.domain.rules.examine import Examination

MOST_REVISIONS = 200
"""How many configs of one checkpoint are examined again; the newest come first."""


def verdict_fields(examination: Examination) -> dict[str, Any]:
    content = examination.to_json()
    names = ("findings", "waiting", "effective", "plan", "blocks_build")
    return {name: content[name] for name in names}


def verdict_settle(revision: Revision) -> None:
    """Examine again what still waits: facts may have come between the check and the save."""
    if revision.waiting:
        verdict_renew(revision)


def verdict_renew(revision: Revision) -> None:
    fields = verdict_fields(revision_examine(revision=revision))
    if any(getattr(revision, name) != value for name, value in fields.items()):
        for name, value in fields.items():
            setattr(revision, name, value)
        revision.save(update_fields=list(fields))


def verdicts_refresh(*, facts_id: str) -> int:
    """Return how many last revisions were examined again because this checkpoint was read."""
    record = CheckpointRecord.objects.filter(id=facts_id).first()
    if record is None:
        return 0
    revisions = list(_last_revisions(record)[:MOST_REVISIONS])
    for revision in revisions:
        verdict_renew(revision)
    return len(revisions)


def _last_revisions(record: CheckpointRecord) -> QuerySet[Revision]:
    last = Revision.objects.filter(config=OuterRef("config")).order_by("-number")
    checkpoint = {"source": record.source, "repo": record.repo, "revision": record.revision or None}
    return (
        Revision.objects.filter(
            config__team=record.team_id,
            spec__trt_llm__build__checkpoint_repository__contains=checkpoint,
            number=Subquery(last.values("number")[:1]),
        )
        .select_related("config__team")
        .order_by("-created_at")
    )
