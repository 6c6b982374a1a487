"""Benchmarks of a team that measured one level of a deployment each."""

from apps.accounts.models import Team, User
from apps.benchmarks.models import Benchmark, BenchmarkTarget
from apps.deployments.models import Deployment
from benchmarks.many_others import made
from controlplane.domain.benchmarks.order import Lengths, Limits, Load, LoadKind
from controlplane.domain.benchmarks.timings import Timed, Window, summary
from controlplane.domain.lifecycle import BenchmarkState


def many_benchmarks(team: Team, user: User, deployment: Deployment, count: int) -> Benchmark:
    """Return one of the runs."""
    order = {
        "lengths": Lengths(prompt_tokens=256, completion_tokens=256).model_dump(),
        "load": Load(kind=LoadKind.CONCURRENCY, levels=(8,)).model_dump(mode="json"),
        "limits": Limits().model_dump(),
        "seed": 0,
    }
    runs = made(
        Benchmark(
            team=team,
            name=f"run-{number}",
            shape="chat",
            order=order,
            state=BenchmarkState.SUCCEEDED,
            created_by=user,
        )
        for number in range(count)
    )
    made(
        BenchmarkTarget(
            benchmark=run,
            position=0,
            deployment=deployment,
            label=deployment.name,
            stages=[_stage(level) for level in (1, 8)],
        )
        for run in runs
    )
    return runs[0]


def _stage(level: int) -> dict[str, object]:
    answered = [
        Timed(due_at=at, sent_at=at, first_at=at + 0.1, ended_at=at + 0.9, completion_tokens=256)
        for at in range(30)
    ]
    report = summary(answered, Window(begin=0.0, until=30.0), is_over=True)
    about = {"load": "concurrency", "level": level, "is_partial": False, "broken_limits": []}
    return {**about, **report, "client_cpu_share": 0.1, "is_client_limited": False}
