"""Rules and dashboards use what is exposed; each expression says something of a fleet that is busy.

promtool, Prometheus' own, evaluates them where it is there (`make prometheus`).
"""

import json
import re
import shutil
import subprocess
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
import yaml
from prometheus_client.openmetrics.parser import text_string_to_metric_families

from apps.accounts.models import Team
from apps.deployments.metrics.page import metrics_page
from apps.deployments.metrics.sampling import series_sample
from apps.deployments.models import Replica, SweepRecord
from apps.fleet.models import Node
from apps.telemetry.series.services import series_fold
from controlplane.clock import now
from controlplane.domain.wire.exposition import Form
from tests.factories import (
    make_deployment,
    make_device,
    make_lease,
    make_model,
    make_replica,
    make_team,
)
from tests.factories_async import make_async_request, make_async_webhook
from tests.factories_serving import listened, make_gateway, make_serving_node
from tests.factories_traffic import make_requests
from workers.gateway.metrics import Metrics

ROOT = Path(__file__).parents[2]
MONITORING = ROOT / "deploy" / "monitoring"
RULES = yaml.safe_load((MONITORING / "rules.yml").read_text())["groups"]
BOARDS = [json.loads(each.read_text()) for each in sorted(MONITORING.glob("dashboards/*.json"))]
PROMTOOL = shutil.which("promtool") or shutil.which("promtool", path=ROOT / ".prometheus/usr/bin")
MINUTES = 30
_WORDS = re.compile(r"[a-zA-Z_:][a-zA-Z0-9_:]*")
_QUOTED = re.compile(r'"[^"]*"')
_OF_PROMETHEUS = {"up", "job", "instance", "le"}
_LANGUAGE = {
    "abs", "and", "avg", "by", "h", "histogram_quantile", "increase", "m", "max", "min", "on",
    "rate", "sum", "topk",
}  # fmt: skip

Samples = dict[tuple[str, tuple[tuple[str, str], ...]], float]


def recorded() -> dict[str, str]:
    rules = (rule for group in RULES for rule in group["rules"] if "record" in rule)
    return {rule["record"]: rule["expr"] for rule in rules}


def expressions() -> Iterator[str]:
    """Give every expression; an alert's without what it is compared with, which may not hold."""
    yield from recorded().values()
    for rule in (rule for group in RULES for rule in group["rules"] if "alert" in rule):
        yield re.sub(r" (==|>|<) [0-9.]+", "", rule["expr"])
    for board in BOARDS:
        for panel in board["panels"]:
            for target in panel["targets"]:
                yield _filled(target["expr"])


def _filled(expression: str) -> str:
    for variable, value in (("$__rate_interval", "5m"), ("$model", ".*"), ("$deployment", ".*")):
        expression = expression.replace(variable, value)
    return expression


@pytest.fixture
def pages(db: None) -> list[Samples]:
    """What a busy fleet exposes at first, and half an hour later."""
    team = Team.objects.filter(is_default=True).first() or make_team(is_default=True)
    deployment = make_deployment(model=make_model(team=team), environment="production")
    replica, gpu = make_replica(deployment=deployment), make_device(
        kind="H100", used_bytes=5, utilization_percent=40
    )  # fmt: skip
    make_lease(device=gpu, holder=f"replica:{replica.id}")
    failed = make_replica(deployment=deployment, state="failed")
    make_replica(deployment=deployment, state="loading")
    gone = make_serving_node(name="gone")
    make_replica(deployment=deployment, node=gone)
    Node.objects.filter(id=gone.id).update(last_heartbeat_at=now() - timedelta(minutes=5))
    listened()
    make_gateway(name="gw", clock_ahead_seconds=3000)
    SweepRecord.objects.create(id=1, missed=1)
    make_async_request(deployment=deployment)
    make_async_request(deployment=deployment, status="SUCCEEDED", finished_at=now())
    make_async_webhook(deployment=deployment, state="failed", attempts=3, finished_at=now())
    make_async_webhook(deployment=deployment)
    began, report, gateway = now(), [], Metrics()
    for look in range(3):
        at = began + timedelta(seconds=15 * look)
        values = {
            "requests_running": 2.0,
            "kv_cache_used_ratio": 0.97,
            "draft_tokens_total": 10.0 * look,
            "accepted_draft_tokens_total": 6.0 * look,
        }
        Replica.objects.filter(id=replica.id).update(metrics=values, observed_at=at)
        Replica.objects.filter(id=failed.id).update(finished_at=at - timedelta(seconds=1))
        series_sample(now=at)
        make_requests(deployment, 20)
        make_requests(deployment, 2, status=503)
        series_fold()
        report.append({**_samples(metrics_page(team=deployment.model.team, form=Form.OPEN_METRICS)),
                     **_of_gateway(gateway)})  # fmt: skip
    return report[1:]


def _of_gateway(gateway: Metrics) -> Samples:
    counts = gateway.of("m", "d")
    counts.finished(200, b"id", duration=0.3, first_byte=0.1)
    counts.upstream_failed("reset")
    gateway.refuse(401)
    return _samples(gateway.exposition(lambda model_id: True, Form.OPEN_METRICS))


def _samples(page: bytes) -> Samples:
    return {
        (sample.name, tuple(sorted(sample.labels.items()))): sample.value
        for family in text_string_to_metric_families(page.decode())
        for sample in family.samples
    }


def test_every_name_that_is_used_is_exposed_or_recorded(pages: list[Samples]) -> None:
    names = {name for name, _ in pages[1]} | recorded().keys()
    labels = {label for _, labels in pages[1] for label, _ in labels}
    for expression in expressions():
        used = set(_WORDS.findall(_QUOTED.sub("", expression))) - _LANGUAGE
        assert used <= names | labels | _OF_PROMETHEUS, expression


@pytest.mark.skipif(PROMTOOL is None, reason="there is no promtool here: `make prometheus`")
def test_every_expression_says_something_of_a_busy_fleet(
    pages: list[Samples], tmp_path: Path
) -> None:
    report = tmp_path / "busy.json"
    report.write_text(json.dumps(_busy(pages)))
    for file in (report, MONITORING / "rules_test.yml"):
        done = subprocess.run(
            [str(PROMTOOL), "test", "rules", file], capture_output=True, text=True
        )
        assert done.returncode == 0, done.stdout + done.stderr


def _busy(pages: list[Samples]) -> dict[str, Any]:
    before, after = pages
    series = [
        {"series": _named(name, labels), "values": _between(before.get((name, labels), 0), value)}
        for (name, labels), value in after.items()
    ]
    scraped = {"series": 'up{job="enginehouse",instance="a"}', "values": f"1x{MINUTES}"}
    one = [{"labels": "{}", "value": 1}]
    entries = [
        {"expr": f"count({each}) > bool 0", "eval_time": f"{MINUTES}m", "exp_samples": one}
        for each in expressions()
    ]
    tests = [{"interval": "1m", "input_series": [*series, scraped], "promql_expr_test": entries}]
    rules = [str(MONITORING / "rules.yml")]
    return {"rule_files": rules, "evaluation_interval": "1m", "tests": tests}


def _named(name: str, labels: tuple[tuple[str, str], ...]) -> str:
    text = ",".join(f"{label}={json.dumps(value)}" for label, value in labels)
    return f"{name}{{{text}}}"


def _between(first: float, last: float) -> str:
    """Return the values of each minute from the first to the last."""
    step = (last - first) / MINUTES
    return " ".join(str(first + step * minute) for minute in range(MINUTES + 1))
