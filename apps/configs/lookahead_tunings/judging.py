"""Counted steps -> what a tuning says of each setting, and which it recommends."""

from collections.abc import Sequence
from typing import Any

from apps.configs.lookahead_tunings.models import LookaheadTuning
from apps.configs.lookahead_tunings.selectors import context_of_revision, step_times_of
from controlplane.domain.lookahead_tuning.counted import Counted
from controlplane.domain.lookahead_tuning.prediction import predictions
from controlplane.domain.lookahead_tuning.recommendation import recommend
from controlplane.domain.lookahead_tuning.settings import LookaheadSetting, setting_of
from controlplane.domain.rules.context import Context


def result_of(tuning: LookaheadTuning, counted: dict[str, Any]) -> dict[str, Any]:
    """Return what a tuning found: each setting judged by what was counted of it."""
    context = context_of_revision(tuning.revision)
    times = step_times_of(context)
    each = [Counted.from_json(one) for one in counted["counted"]]
    predicted = predictions(each, times, most_requests=context.spec.max_batch_size)
    now = _now(context, each)
    recommended = recommend(predicted, now=now, requests=tuning.requests)
    return {
        **{name: value for name, value in counted.items() if name != "counted"},
        "runtime": context.engine.title,
        "device": context.gpu.kind,
        "basis": times.basis if times else "",
        "settings": [one.to_json() for one in predicted],
        "now": now.to_json(),
        "recommended": recommended.to_json() if recommended else None,
    }


def _now(context: Context, counted: Sequence[Counted]) -> LookaheadSetting:
    """Return what the revision says; none where a host's runtime changed since it was counted."""
    now = setting_of(context.engine.draft_manner, context.spec)
    return now if now in [each.setting for each in counted] else LookaheadSetting()
