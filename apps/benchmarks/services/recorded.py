"""Lengths of a deployment's own traffic: numbers of tokens alone, never what was said."""

from datetime import timedelta

from apps.deployments.models import Deployment
from apps.telemetry.models import UsageMinute
from controlplane import clock
from controlplane.domain.benchmarks.order import Sample

LOOKED_BACK = timedelta(days=30)
_MOST_ROWS = 10_000
_MOST_SAMPLES = 1_000


def recorded_lengths(deployment: Deployment) -> list[Sample]:
    """Return lengths as they came in the last days, the newest first.

    Single requests are not kept: each is the mean of one minute, key and environment, as often as
    that minute had requests.
    """
    rows = UsageMinute.objects.filter(
        deployment_id=deployment.id, traffic_mark="", status_class=2,
        completion_tokens__gt=0, minute__gt=clock.now() - LOOKED_BACK,
    ).order_by("-minute", "id")  # fmt: skip
    named = rows.values_list("requests", "prompt_tokens", "completion_tokens")[:_MOST_ROWS]
    samples: list[Sample] = []
    for requests, prompts, completions in named:
        sample = Sample(
            prompt_tokens=max(1, round(prompts / requests)),
            completion_tokens=max(1, round(completions / requests)),
        )
        samples.extend([sample] * min(requests, _MOST_SAMPLES - len(samples)))
    return samples
