SERIES = {
    "name": "time_to_first_token_seconds",
    "kind": "distribution",
    "unit": "seconds",
    "measured_by": "gateway",
    "description": "From the request's arrival to the first byte of the answer, of streamed "
    "requests.",
    "labels": [["team_id", "status_class"]],
    "statistics": ["p50", "p90", "p95", "p99", "mean", "count"],
}
LINE = {
    "labels": {"status_class": "2xx"},
    "values": {
        "p50": [0.12, None], "p90": [0.31, None], "p95": [0.36, None], "p99": [0.5, None],
        "mean": [0.16, None], "count": [240.0, None],
    },
}  # fmt: skip
ANSWER = {
    "series": SERIES,
    "step_seconds": 60,
    "resolution_seconds": 60,
    "times": [1795737600, 1795737660],
    "lines": [LINE],
}
CSV = (
    "time,status_class,p50,p90,p95,p99,mean,count\r\n"
    "2026-11-26T16:00:00+00:00,2xx,0.12,0.31,0.36,0.5,0.16,240.0\r\n"
)
