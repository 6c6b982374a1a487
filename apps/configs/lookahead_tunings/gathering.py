"""Tunings on a team's own traffic: gateways replay what they hold, and figures alone come here."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import timedelta
from typing import Any

from django.db import transaction
from django.db.models import Q

from apps.accounts.models import Team
from apps.configs.lookahead_tunings.judging import result_of
from apps.configs.lookahead_tunings.models import LookaheadTuning
from apps.configs.lookahead_tunings.selectors import order_of
from apps.configs.traffic_samples.models import TrafficConsent
from apps.configs.traffic_samples.selectors import (
    PREFIX,
    consent_of,
    gateways_holding,
    gateways_reporting,
    sampled_models,
)
from apps.rest.errors import InvalidInput
from controlplane import clock
from controlplane.domain.failures import Failure
from controlplane.domain.failures.registry import calibration
from controlplane.domain.lifecycle import StepState
from controlplane.domain.lookahead_tuning.counted import Counted, added_up
from controlplane.domain.lookahead_tuning.settings import OFF, LookaheadSetting

LONGEST = timedelta(minutes=30)
Figures = Mapping[str, Any]
_SUMS = ("answers", "prompt_tokens", "answer_tokens")
_WAITING = Q(state=StepState.WAITING, gathers_from__isnull=False, cancel_requested_at=None)


def is_traffic(dataset: str) -> bool:
    return dataset.startswith(PREFIX)


def gateways_for(team: Team, dataset: str) -> list[str]:
    """Return the gateways whose samples of the team's model are replayed. Raises InvalidInput."""
    consent = consent_of(team)
    if consent is None:
        raise _refused(
            "The team has not consented to sampling, so nothing of its traffic is kept.",
            "An admin of the team can, on the page Lookahead.",
        )
    model_id = dataset.removeprefix(PREFIX)
    if model_id not in {each.model_id for each in sampled_models(consent)}:
        raise _refused(
            f"No gateway holds samples of a model `{model_id}` of this team.",
            "They come with its traffic: a share of its answers, from the consent on.",
        )
    gateways = gateways_holding(consent, model_id)
    if not gateways:
        raise _refused(
            "The gateways that hold samples of this model are away.",
            "Ask again once one of them answers.",
        )
    return gateways


def orders_for(gateway_id: str) -> list[dict[str, Any]]:
    """Return what a gateway is to replay: of each tuning what it has not told yet."""
    rows = LookaheadTuning.objects.filter(_WAITING, gathers_from__contains=gateway_id)
    rows = rows.exclude(figures__has_key=gateway_id)
    return [
        {
            "tuning_id": each.id,
            "consent_id": consent.id,
            "model_id": each.dataset.removeprefix(PREFIX),
            **order_of(each),
        }
        for each in rows.select_related("team", "revision__config__team").order_by("created_at")
        if (consent := consent_of(each.team)) is not None
    ]


@transaction.atomic
def figures_tell(*, gateway_id: str, tuning_id: str, figures: Figures) -> None:
    """Store what a gateway found, and end the tuning with the last one's."""
    rows = LookaheadTuning.objects.select_for_update(no_key=True, of=("self",))
    tuning = rows.filter(_WAITING, id=tuning_id).select_related("revision__config__team").first()
    if tuning is None or gateway_id not in (tuning.gathers_from or ()):
        return
    tuning.figures = {**(tuning.figures or {}), gateway_id: dict(figures)}
    tuning.progress_done = len(tuning.figures)
    tuning.save(update_fields=["figures", "progress_done"])
    if not _missing(tuning):
        _end(tuning)


def gatherings_tidy() -> None:
    """End tunings whose gateways are away, whose consent is gone, or that waited too long."""
    rows = LookaheadTuning.objects.filter(_WAITING).select_related("revision__config__team", "team")
    for tuning in rows.select_for_update(no_key=True, of=("self",), skip_locked=True):
        missing = _missing(tuning)
        is_late = tuning.created_at < clock.now() - LONGEST
        consent = TrafficConsent.objects.filter(team=tuning.team).first()
        if consent is None:
            _fail(tuning, calibration.SAMPLES_REVOKED.failure())
        elif is_late or not missing & gateways_reporting(missing):
            _end(tuning)


def _missing(tuning: LookaheadTuning) -> set[str]:
    return set(tuning.gathers_from or ()) - (tuning.figures or {}).keys()


def _end(tuning: LookaheadTuning) -> None:
    figures = list((tuning.figures or {}).values())
    succeeded = [each for each in figures if "failure" not in each]
    if not succeeded:
        why = next((each["failure"] for each in figures), "away")
        _fail(tuning, _FAILURES.get(why, calibration.SAMPLES_UNREPORTED).failure())
        return
    counted = _added_up(succeeded)
    if not counted["answers"]:
        _fail(tuning, calibration.SAMPLES_EMPTY.failure())
    elif OFF.to_json() not in [each["setting"] for each in counted["counted"]]:
        # Gateways of different releases: speeds are told to that without lookahead.
        _fail(tuning, calibration.SAMPLES_UNREPORTED.failure())
    else:
        _finish(tuning, state=StepState.FINISHED, result=result_of(tuning, counted))


_FAILURES = {
    "no_numba": calibration.SAMPLES_UNCOMPILED,
    "slow": calibration.SAMPLES_SLOW,
    "failed": calibration.SAMPLES_UNREPORTED,
}


def _added_up(figures: Sequence[Figures]) -> dict[str, Any]:
    by_setting: dict[LookaheadSetting, list[Counted]] = {}
    for each in _counted(figures):
        by_setting.setdefault(each.setting, []).append(each)
    of_all = [added_up(each) for each in by_setting.values() if len(each) == len(figures)]
    sums = {name: sum(each[name] for each in figures) for name in _SUMS}
    return {
        "commit": "",
        "conversations": sums["answers"],
        **sums,
        "counted": [each.to_json() for each in of_all],
    }


def _counted(figures: Sequence[Figures]) -> Iterable[Counted]:
    return (Counted.from_json(one) for each in figures for one in each["counted"])


def _fail(tuning: LookaheadTuning, failure: Failure) -> None:
    _finish(tuning, state=StepState.FAILED, failure=failure.to_json())


def _finish(tuning: LookaheadTuning, **outcome: Any) -> None:
    rows = LookaheadTuning.objects.filter(id=tuning.id)
    rows.update(**outcome, figures=None, finished_at=clock.now())


def _refused(message: str, hint: str) -> InvalidInput:
    return InvalidInput(message, code="samples_unknown", fields=["dataset"], hint=hint)
