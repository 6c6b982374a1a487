"""`docs/metrics.md`, out of the catalogue."""

from collections.abc import Iterator

from apps.telemetry.series.names import CUTS, Kind, Series, Source, of_source
from apps.telemetry.series.points import statistics_of

_HEAD = """\
# Series

<!-- Written by `manage.py write_series_reference` from the catalogue in
apps/telemetry/series/names.py. -->

What is measured over time, for charts, programs and rules. `GET /v1/metrics/query` answers any of
it as JSON, `GET /v1/metrics/query.csv` as CSV; `GET /v1/metrics/series` lists what there is:

```text
GET /v1/metrics/query?series=time_to_first_token_seconds&deployment_id=abcd1234&step=60
GET /v1/metrics/query?series=requests&group_by=status_class&model_id=wxyz6789&step=3600
```

`GET /v1/models/{model_id}/metrics`, `…/deployments/{deployment_id}/metrics` and
`…/environments/{name}/metrics` answer in the hosted product's shape, under its names.
`gpu_utilization` is a share of one there, as its unit `RATIO` says.

- A query is of one team: the key's own, or `/v1/teams/{team_id}/metrics/query`.
- `step` is what a point spans, at least. It is longer where shorter buckets are no longer kept,
  or where there would be too many; the answer says its `step_seconds`, and the
  `resolution_seconds` of the buckets that it was read from.
- What was not measured is `null`, never zero. A count of requests is zero where a gateway was
  heard and no request ended.
- Buckets are kept by 10 seconds for an hour, by the minute for two days, by the hour for 60 days
  and by the day for two years: [settings](settings.md) `SERIES_…`.
- Percentiles are read from sketches (DDSketch) of all values, within 1 % of the value; they are
  never averages of percentiles, whatever the step.
- Every record lands in the bucket of its own time, however late it comes, and counts once,
  whichever process is killed. Times are by the database's clock: those of a host whose clock is
  more than a minute off are moved by as much.
"""
_SOURCES = {
    Source.GATEWAY: (
        "Gateways",
        "Every request, from the journal that usage and money are counted from, within seconds.",
    ),
    Source.ENGINE: (
        "Engines",
        "What each engine says of itself, read by its agent every 10 seconds. A counter that fell "
        "has begun anew with its engine; what it grew by while nobody looked counts in the bucket "
        "in which it was seen.",
    ),
    Source.DEVICE: (
        "GPUs and hosts",
        "NVML for GPUs, the kernel for CPUs, read by the agent with its reports and kept every 10 "
        "seconds. A GPU is its replica's while that holds it alone; of a shared CPU nothing is "
        "said of a replica.",
    ),
    Source.CONTROL_PLANE: (
        "Control plane",
        "What it knows itself, every 10 seconds. `device_seconds` and `cost` count no time in "
        "which the control plane was away; [usage](keys_and_usage.md) does, and is what money goes "
        "by.",
    ),
}
_WORDS = {
    Kind.COUNTER: "counter", Kind.GAUGE: "gauge", Kind.DISTRIBUTION: "distribution",
}  # fmt: skip


def series_reference() -> str:
    return "\n".join([_HEAD, *(line for source in _SOURCES for line in _section(source))])


def _section(source: Source) -> Iterator[str]:
    title, words = _SOURCES[source]
    yield f"## {title}\n\n{words}\n"
    cuts = CUTS[source].values()
    yield "Labels that go together: " + "; ".join(
        ", ".join(f"`{label}`" for label in labels) for labels in cuts
    ) + ".\n"  # fmt: skip
    yield "| Series | Kind | Unit | Each point tells | What it is |\n|---|---|---|---|---|"
    for series in of_source(source):
        yield _row(series)
    yield ""


def _row(series: Series) -> str:
    statistics = ", ".join(f"`{each}`" for each in statistics_of(series))
    kind = _WORDS[series.kind]
    if series.kind is Kind.GAUGE:
        kind += f", {series.across} of several"
    return f"| `{series.name}` | {kind} | {series.unit} | {statistics} | {series.words} |"
