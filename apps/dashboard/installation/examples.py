INSTALLATION = {
    "settings": [
        {
            "group": "Logs",
            "name": "LOG_RETENTION_DAYS",
            "value": "30",
            "shown": "30",
            "is_secret": False,
            "source": "default",
            "default": "`30`",
            "read_by": ["workers"],
            "says": "How long logs of builds and engines are kept.",
        }
    ],
    "versions": {"enginehouse": "0.1.0", "python": "3.11.7", "postgresql": "18.1"},
    "schema": {
        "applied": 61,
        "missing": [],
        "last": "fleet.0001_first_release",
        "last_at": "2026-11-28T08:00:00Z",
    },
    "key_ring": {
        "keys": 1,
        "primary": "k3f9a1c5b7d20",
        "sealed_by_older": 0,
        "rotated_at": None,
        "problem": "",
    },
    "processes": [
        {
            "kind": "build.default",
            "name": "build.default@gpu-01",
            "state": "live",
            "version": "0.1.0",
            "heard_at": "2026-11-28T08:00:00Z",
            "clock_ahead_seconds": 0,
        }
    ],
    "usage_set_aside": [
        {
            "gateway": "gateway@gpu-01",
            "requests": 1,
            "last": "request 5f2c: prompt_tokens: Input should be less than or equal to "
            "1099511627776",
            "last_at": "2026-11-28T08:00:00Z",
        }
    ],
    "storage": {
        "artifacts_bytes": 271400000,
        "calibration_bytes": 0,
        "database_bytes": 14000000,
        "logs_bytes": 98304,
        "artifacts_free_bytes": 120000000000,
        "data_free_bytes": 120000000000,
        "artifacts_url": "s3://enginehouse/artifacts",
        "artifacts_problem": None,
        "artifacts_problem_since": None,
        "artifacts_checked_at": "2026-11-28T08:00:00Z",
    },
    "kept": [{"what": "Logs of builds and engines", "days": 30, "setting": "LOG_RETENTION_DAYS"}],
}
