from collections.abc import Mapping
from typing import Any

from django.db.models import QuerySet

from apps.accounts.models import Team
from apps.configs.lookahead_tunings.models import LookaheadTuning
from apps.configs.models import Revision
from apps.configs.services.examination import known_of
from apps.rest.errors import NotFound
from controlplane.domain.lookahead_tuning.settings import LookaheadSetting, settings_to_try
from controlplane.domain.lookahead_tuning.step_times import StepTimes, step_times
from controlplane.domain.rules.context import Context, context_of
from controlplane.domain.spec import Spec


def tuning_list(*, team: Team) -> QuerySet[LookaheadTuning]:
    return (
        LookaheadTuning.objects.filter(team=team)
        .select_related("revision__config", "made_revision", "created_by")
        .order_by("-created_at", "-id")
    )


def tuning_get(*, team: Team, tuning_id: str) -> LookaheadTuning:
    tuning = tuning_list(team=team).filter(id=tuning_id).first()
    if tuning is None:
        raise NotFound(f"There is no lookahead tuning `{tuning_id}`.")
    return tuning


def tuning_to_make(*, tuning_id: str) -> LookaheadTuning:
    return LookaheadTuning.objects.select_related("team", "revision__config__team").get(
        id=tuning_id
    )


def tuning_behind(revision: Revision) -> LookaheadTuning | None:
    return LookaheadTuning.objects.filter(made_revision=revision).order_by("-created_at").first()


def context_of_revision(revision: Revision) -> Context:
    spec = Spec.model_validate(revision.spec)
    return context_of(spec, known_of(team=revision.config.team, spec=spec))


def settings_of(context: Context) -> tuple[LookaheadSetting, ...]:
    """Return what is tried for a config; nothing where its runtime drafts in no way known here."""
    engine = context.engine
    return settings_to_try(engine.draft_manner, engine.draft_lengths, context.spec)


def order_of(tuning: LookaheadTuning) -> Mapping[str, Any]:
    context = context_of_revision(tuning.revision)
    return {
        "settings": [each.to_json() for each in settings_of(context)],
        "device": "cpu" if context.gpu.is_cpu else "cuda",
    }


def step_times_of(context: Context) -> StepTimes | None:
    checkpoint = context.known.checkpoint
    existing = checkpoint.existing_quantization if checkpoint else None
    return step_times(
        measured=context.engine.measured_steps,
        kind=context.gpu.kind,
        checkpoint=checkpoint,
        bytes_per_weight=existing.bytes_per_weight if existing else context.spec.weight_bytes,
        speed=context.plan.speed if context.has("plan") else None,
    )
