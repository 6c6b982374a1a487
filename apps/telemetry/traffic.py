"""What pages and alerts say of traffic: minutes of series, by the gateways' count."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db import connection

from apps.telemetry.series.names import Source, slots_of
from apps.telemetry.series.percentiles import merged_percentiles
from controlplane import clock

WINDOW = timedelta(hours=1)
# The label sets first, as a list: their buckets are found by it, and not by looking at all of them.
_SUMS = """
    WITH of_label AS MATERIALIZED (
        SELECT id, {key} AS key, status_class = '5xx' AS is_error FROM telemetry_serieslabels
        WHERE source = 'gateway' AND cut = %(cut)s AND {which}
    )
    SELECT of_label.key, extract(epoch FROM min(at))::float8,
        sum(sums[%(requests)s]), sum(sums[%(requests)s]) FILTER (WHERE is_error),
        sum(sums[%(prompt)s]), sum(sums[%(completion)s]),
        array_agg(sketches[%(first)s]) FILTER (WHERE sketches[%(first)s] IS NOT NULL)
    FROM telemetry_series JOIN of_label ON of_label.id = labels_id
    WHERE resolution_seconds = 60 AND labels_id = ANY(ARRAY(SELECT id FROM of_label))
        AND at > %(since)s AND at <= %(until)s
    GROUP BY of_label.key
"""


@dataclass(frozen=True, kw_only=True)
class Traffic:
    """Requests that ended within a window, by the gateways' count.

    The window begins with the first counted minute where that is later: a deployment that is ten
    minutes old is not averaged over an hour in which it was not there.
    """

    requests: int = 0
    errors: int = 0
    """Answered 5xx; what the caller did wrong is no error of the deployment."""
    prompt_tokens: int = 0
    completion_tokens: int = 0
    seconds: float = 0.0
    first_token_sketches: Sequence[bytes] = ()

    @property
    def requests_per_second(self) -> float | None:
        return self.requests / self.seconds if self.seconds else None

    @property
    def completion_tokens_per_second(self) -> float | None:
        return self.completion_tokens / self.seconds if self.seconds else None

    @property
    def error_share(self) -> float | None:
        return self.errors / self.requests if self.requests else None

    @property
    def first_token_p90_seconds(self) -> float | None:
        """Of streamed requests; read from their sketches when it is asked for."""
        sketches = self.first_token_sketches
        (percentiles,) = merged_percentiles(sketches, [0] * len(sketches), many=1, shares=[0.9])
        return percentiles.percentiles[0]

    @property
    def window_words(self) -> str:
        minutes = round(self.seconds / 60)
        return "the last hour" if minutes >= 60 else f"the last {max(1, minutes)} min"


def traffic_by_deployment(
    *, deployment_ids: Collection[str], now: datetime | None = None
) -> Mapping[str, Traffic]:
    """Return the last hour's traffic of each deployment."""
    traffic = _traffic(
        "deployment_id", "deployment_id = ANY(%(of)s)", list(deployment_ids), now=now
    )
    return {each: traffic.get(each, Traffic()) for each in deployment_ids}


def traffic_within(window: timedelta, *, now: datetime) -> Mapping[str, Traffic]:
    since = now - window - timedelta(days=1)  # of labels, the day of their latest bucket is kept
    return _traffic("deployment_id", "last_at >= %(of)s", since, now=now, window=window)


def traffic_of_model(*, model_id: str, now: datetime | None = None) -> Traffic:
    """Return the last hour's traffic of all deployments of a model together."""
    traffic = _traffic("model_id", "model_id = %(of)s", model_id, now=now)
    return traffic.get(model_id, Traffic())


def _traffic(
    key: str,
    which: str,
    of: str | list[str] | datetime,
    *,
    now: datetime | None,
    window: timedelta = WINDOW,
) -> Mapping[str, Traffic]:
    until, slots = now or clock.now(), slots_of(Source.GATEWAY)
    parameters: dict[str, Any] = {
        "of": of,
        "cut": "deployment",
        "requests": slots["requests"].sums + 1,
        "prompt": slots["prompt_tokens"].sums + 1,
        "completion": slots["completion_tokens"].sums + 1,
        "first": slots["time_to_first_token_seconds"].sketch + 1,
        "since": until - window,
        "until": until,
    }
    with connection.cursor() as cursor:
        cursor.execute(_SUMS.format(key=key, which=which), parameters)
        return {row[0]: _of_row(row, window, until) for row in cursor.fetchall()}


def _of_row(row: tuple[Any, ...], window: timedelta, until: datetime) -> Traffic:
    _, start, requests, errors, prompt, completion, sketches = row
    return Traffic(
        requests=int(requests or 0),
        errors=int(errors or 0),
        prompt_tokens=int(prompt or 0),
        completion_tokens=int(completion or 0),
        seconds=max(1.0, min(window.total_seconds(), until.timestamp() - start)),
        first_token_sketches=sketches or (),
    )
