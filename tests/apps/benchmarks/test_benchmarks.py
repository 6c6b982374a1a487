"""Benchmarks over REST and on their pages: asked for, refused, followed, compared, exported."""

import csv
import io
from datetime import timedelta
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from apps.benchmarks.management.commands import benchmark
from apps.benchmarks.models import Benchmark, BenchmarkTarget
from apps.benchmarks.results import to_csv
from apps.benchmarks.services.carrying import benchmark_claim, benchmark_end
from apps.benchmarks.services.made_of import made_of
from apps.configs.models import PlanMeasurement
from apps.configs.plan_measurements import latest_measurements
from apps.telemetry.models import UsageMinute
from controlplane import clock
from controlplane.domain.failures.registry import benchmarks
from controlplane.domain.lifecycle import BenchmarkState
from tests.apps.pages import signed_in
from tests.apps.rest_client import client_of
from tests.factories import Cast, make_cast, make_deployment, make_replica
from tests.factories_benchmarks import STAGE, make_benchmark, make_finished_benchmark
from tests.manual_clock import ManualClock

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("broker")]


@pytest.fixture
def cast() -> Cast:
    return make_cast()


LOAD = {"kind": "concurrency", "levels": [1, 8]}


def body(*deployments: Any, **changes: Any) -> dict[str, Any]:
    ids = [each.id for each in deployments]
    return {"deployment_ids": ids, "shape": "chat", "load": LOAD} | changes


def post(client: Any, wanted: dict[str, Any]) -> tuple[int, Any]:
    answer: tuple[int, Any] = client.post("/v1/benchmarks", wanted)
    return answer


def test_a_benchmark_is_started_listed_read_and_cancelled(cast: Cast) -> None:
    client, deployment = client_of(cast.member), make_deployment(team=cast.team)

    made = post(client, body(deployment, name="before", prompt_tokens=100))[1]

    assert (made["state"], made["name"], made["order"]["lengths"]["prompt_tokens"]) == (
        "queued", "before", 100,
    )  # fmt: skip
    assert [each["id"] for each in client.get("/v1/benchmarks")[1]["items"]] == [made["id"]]
    assert client.get(f"/v1/benchmarks/{made['id']}")[1]["results"][0]["stages"] == []
    cancelled = client.post(f"/v1/benchmarks/{made['id']}/cancel")[1]
    assert cancelled["state"] == "cancelled"


@pytest.mark.parametrize(
    ("changes", "status", "says"),
    [
        ({"deployment_ids": ["nowhere"]}, 400, "no deployment `nowhere`"),
        ({"shape": "rerank"}, 400, "`rerank` does not do that"),
        ({"shape": "samples"}, 400, "no line with a request"),
        ({"shape": "samples", "samples_jsonl": "oops"}, 400, "Line 1 is no JSON"),
        ({"shape": "recorded"}, 400, "no answers in the last 30 days"),
        ({"prompt_tokens": 900_000}, 400, "tokens a request, and these have 900,256"),
        ({"load": LOAD | {"levels": [1.5]}}, 400, "1.5 is no number of requests at a time"),
        ({"load": LOAD | {"is_ramp": True}}, 400, "there is none"),
        ({"load": LOAD | {"seconds": 600, "levels": [1] * 12}}, 400, "60 are allowed"),
        ({"load": {"kind": "rate", "levels": [9000], "seconds": 600}}, 400, "1,000,000"),
    ],
)
def test_what_cannot_be_run_is_refused_with_its_reason(
    cast: Cast, changes: dict[str, Any], status: int, says: str
) -> None:
    deployment = make_deployment(team=cast.team)
    deployment.spec.setdefault("trt_llm", {}).setdefault("build", {})["max_seq_len"] = 4096
    deployment.save()

    found, answer = post(client_of(cast.member), body(deployment) | changes)

    assert (found, says in answer["message"]) == (status, True), answer
    assert not Benchmark.objects.exists()


def test_a_deployment_that_rests_is_not_measured(cast: Cast) -> None:
    deployment = make_deployment(team=cast.team, state="inactive")
    assert post(client_of(cast.member), body(deployment))[0] == 409


def test_another_team_sees_none_of_it_and_measures_nothing_of_it(cast: Cast) -> None:
    made = make_finished_benchmark(deployments=[make_deployment(team=cast.team)])
    outsider = client_of(cast.outsider)

    paths = (f"/v1/benchmarks/{made.id}", f"/v1/benchmarks/{made.id}/export")
    assert [outsider.get(path)[0] for path in paths] == [404, 404]
    assert outsider.get("/v1/benchmarks/compare", ids=made.id)[0] == 404
    assert outsider.post(f"/v1/benchmarks/{made.id}/cancel")[0] == 404
    deployment = made.targets.get().deployment
    assert post(outsider, body(deployment))[0] == 400


def test_recorded_lengths_are_those_of_the_deployments_own_traffic(cast: Cast) -> None:
    deployment = make_deployment(team=cast.team)
    told = {"model_id": deployment.model_id, "deployment_id": deployment.id, "status_class": 2,
            "minute": clock.now() - timedelta(hours=1)}  # fmt: skip
    UsageMinute.objects.create(
        key_id="k", requests=2, prompt_tokens=300, completion_tokens=50, **told
    )
    UsageMinute.objects.create(
        key_id="b", requests=9, prompt_tokens=9, completion_tokens=9, traffic_mark="benchmark",
        **told,
    )  # fmt: skip

    assert post(client_of(cast.member), body(deployment, shape="recorded"))[0] == 201

    lengths = [(each["prompt_tokens"], each["completion_tokens"])
               for each in Benchmark.objects.get().samples]  # fmt: skip
    assert lengths == [(150, 25), (150, 25)]


def test_results_are_compared_and_exported(cast: Cast) -> None:
    deployments = [make_deployment(team=cast.team), make_deployment(team=cast.team)]
    made = make_finished_benchmark(deployments=deployments)
    made.targets.update(made_of={"cost_per_hour": 3.6, "runtime": "native"})
    client = client_of(cast.member)

    compared = client.get("/v1/benchmarks/compare", ids=made.id)[1]
    text = to_csv([made])

    first = compared["benchmarks"][0]["results"][0]
    assert "carries 8 requests at a time within errors ≤ 1 %" in first["largest_load"]
    assert first["stages"][0]["cost_per_million_tokens"] == pytest.approx(5.0)
    rows = list(csv.DictReader(io.StringIO(text)))
    assert [(row["deployment"], row["level"]) for row in rows] == [
        (f"{each.model.name}, {each.name}", level) for each in deployments for level in ("1", "8")
    ]
    assert rows[0]["first_token_seconds_p90"] == "0.2"


def test_the_plan_is_kept_beside_what_was_measured(cast: Cast) -> None:
    made = make_benchmark(deployments=[make_deployment(team=cast.team)], stages=[STAGE])
    lease = benchmark_claim(benchmark_id=made.id)
    assert lease is not None
    plan = {"speed": {"tokens_per_second": {"low": 240, "high": 300}}}
    made.targets.update(made_of={"plan": plan, "replicas": 1, "device_kinds": ["H100"]})

    assert benchmark_end(lease=lease, state=BenchmarkState.SUCCEEDED)

    row = PlanMeasurement.objects.get()
    assert (row.figure, row.concurrency, row.measured) == ("tokens_per_second", 1, 200.0)
    assert row.difference_ratio == pytest.approx(-1 / 6)
    assert row.revision == made.targets.get().deployment.build.revision
    assert list(latest_measurements(row.revision.config)) == [row]
    assert not latest_measurements(None).exists()


def test_what_it_was_made_of_is_told_by_its_replicas() -> None:
    deployment = make_deployment()
    make_replica(deployment=deployment, report={"version": "0.25.1", "kv_tokens": 4096})

    told = made_of(deployment)

    assert (told["engine_version"], told["reported_kv_tokens"], told["replicas"]) == (
        "0.25.1", 4096, 1,
    )  # fmt: skip
    assert told["artifact_digest"] == deployment.artifact.content_digest
    assert told["cost_per_hour"] is None


@pytest.mark.parametrize("state", ["queued", "running", "succeeded", "failed", "cancelled"])
def test_its_page_shows_every_state(cast: Cast, state: str) -> None:
    failure = {"code": "EHM-GONE", "sentence": "`x` stopped answering.", "hint": "Look at `x`."}
    made = make_finished_benchmark(
        deployments=[make_deployment(team=cast.team)], state=state,
        failure=failure if state == "failed" else None,
        progress={"words": "x at 8", "done_seconds": 3.0, "total_seconds": 70.0},
    )  # fmt: skip
    page = signed_in(cast.member)

    text = page.get(f"/benchmarks/{made.id}/").content.decode()

    assert "Throughput against p90 first token" in text
    assert ("stopped answering" in text) == (state == "failed")
    assert ("Export CSV" in text) == (state in ("succeeded", "failed", "cancelled"))
    compared = page.get(f"/benchmarks/compare/?id={made.id}")
    assert compared.status_code == 200


def test_the_form_starts_one_and_says_what_is_wrong(cast: Cast) -> None:
    page = signed_in(cast.member)
    nothing = page.get("/benchmarks/").content.decode()
    assert ("No deployment to ask yet" in nothing, "Start benchmark" in nothing) == (True, False)
    deployment = make_deployment(team=cast.team)
    typed = {"deployment": deployment.id, "shape": "chat", "load": "concurrency", "levels": "1, 4",
             "seconds": 5, "warm_up_seconds": 1, "seed": 0}  # fmt: skip

    assert "Nothing was measured yet" in page.get("/benchmarks/").content.decode()
    wrong = page.post("/benchmarks/start/", typed | {"levels": "many"})
    assert (wrong.status_code, "no list of numbers" in wrong.content.decode()) == (400, True)
    refused = page.post("/benchmarks/start/", typed | {"load": "ramp_concurrency"})
    assert (refused.status_code, "there is none" in refused.content.decode()) == (400, True)
    assert page.post("/benchmarks/start/", typed).status_code == 302
    assert Benchmark.objects.get().order["load"]["levels"] == [1, 4]


def test_the_command_names_what_is_not_there() -> None:
    with pytest.raises(CommandError, match="There is no deployment `nowhere`"):
        call_command("benchmark", "nowhere")


class _Interrupted(ManualClock):
    """Somebody presses Ctrl-C while it is waited for the first time."""

    def sleep(self, seconds: float) -> None:
        super().sleep(seconds)
        if len(self.slept) == 1:
            raise KeyboardInterrupt


def test_ctrl_c_cancels_what_the_command_started(
    cast: Cast, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(benchmark.Command, "clock", _Interrupted(sleeping_moves_it=True))

    with pytest.raises(SystemExit) as ended:
        call_command("benchmark", make_deployment(team=cast.team).id)

    assert ended.value.code == 130
    assert Benchmark.objects.get().state == "cancelled"


def test_the_command_fails_as_the_run_does_and_prints_what_it_measured(
    cast: Cast, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    class Worker(ManualClock):
        """Ends the run while the command waits."""

        def sleep(self, seconds: float) -> None:
            failure = benchmarks.LOST.failure().to_json()
            BenchmarkTarget.objects.update(stages=[STAGE])
            Benchmark.objects.update(state="failed", failure=failure)

    monkeypatch.setattr(benchmark.Command, "clock", Worker())

    with pytest.raises(CommandError, match="The worker was lost"):
        call_command("benchmark", make_deployment(team=cast.team).id)

    assert "200.0 tokens/s · 60 requests, 0 errors" in capsys.readouterr().out
