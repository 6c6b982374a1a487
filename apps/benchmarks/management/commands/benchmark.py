"""`manage.py benchmark`: measure a deployment, follow it, and print what came of it."""

import json
from argparse import ArgumentParser
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from apps.accounts.models import Team
from apps.benchmarks.models import Benchmark
from apps.benchmarks.results import measured, to_json
from apps.benchmarks.services.requests import benchmark_cancel, benchmark_request
from apps.deployments.models import Deployment
from apps.rest.errors import ApiError
from controlplane.clock import SYSTEM, Clock
from controlplane.domain.benchmarks.order import Limits, Load, LoadKind
from controlplane.domain.benchmarks.shapes import SHAPES
from controlplane.domain.lifecycle import BENCHMARK_TERMINAL, BenchmarkState

_LOOK_SECONDS = 1.0
_INTERRUPTED = 130


class Command(BaseCommand):
    help = "Measure a deployment, or two side by side; Ctrl-C stops it. Exits 1 where it failed."
    clock: Clock = SYSTEM

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("deployment_id", nargs="+", help="one, or two to compare")
        parser.add_argument("--shape", choices=[*SHAPES], default="chat")
        parser.add_argument("--load", choices=[each.value for each in LoadKind],
                            default=LoadKind.CONCURRENCY.value)  # fmt: skip
        parser.add_argument("--levels", type=float, nargs="+", default=[1, 8, 64])
        parser.add_argument(
            "--ramp", action="store_true", help="search from LEVELS[0] to LEVELS[1]"
        )
        parser.add_argument("--seconds", type=float, default=30.0)
        parser.add_argument("--warm-up-seconds", type=float, default=5.0)
        parser.add_argument("--error-share", type=float)
        parser.add_argument("--first-token-p90-seconds", type=float)
        parser.add_argument("--inter-token-p90-seconds", type=float)
        parser.add_argument("--prompt-tokens", type=int)
        parser.add_argument("--completion-tokens", type=int)
        parser.add_argument("--samples", metavar="FILE", help="JSONL for the shape `samples`")
        parser.add_argument("--seed", type=int, default=0)
        parser.add_argument("--name", default="")
        parser.add_argument("--json", action="store_true", help="print the results as JSON")

    def handle(self, *args: Any, **options: Any) -> None:
        benchmark = self._started(options)
        try:
            self._follow(benchmark)
        except KeyboardInterrupt:
            benchmark_cancel(benchmark=benchmark)
            self._follow(benchmark)
            self._tell(benchmark, options)
            raise SystemExit(_INTERRUPTED) from None
        self._tell(benchmark, options)
        if benchmark.state != BenchmarkState.SUCCEEDED:
            failure = benchmark.failure or {}
            raise CommandError(failure.get("sentence") or f"The benchmark was {benchmark.state}.")

    def _started(self, options: dict[str, Any]) -> Benchmark:
        names = ("shape", "prompt_tokens", "completion_tokens", "seed", "name")
        try:
            return benchmark_request(
                team=_team_of(options["deployment_id"][0]),
                deployment_ids=options["deployment_id"],
                load=_load(options),
                limits=_limits(options),
                samples_jsonl=_text_of(options["samples"]),
                **{name: options[name] for name in names},
            )
        except ApiError as error:
            raise CommandError(" ".join(filter(None, (error.message, error.hint)))) from None

    def _follow(self, benchmark: Benchmark) -> None:
        last_words = ""
        while True:
            benchmark.refresh_from_db()
            if benchmark.state in BENCHMARK_TERMINAL:
                return
            waiting = f"benchmark {benchmark.id} is {benchmark.state}"
            words = benchmark.progress.get("words") or waiting
            if words != last_words:
                self.stderr.write(words)
                last_words = words
            self.clock.sleep(_LOOK_SECONDS)

    def _tell(self, benchmark: Benchmark, options: dict[str, Any]) -> None:
        if options["json"]:
            self.stdout.write(json.dumps(to_json(benchmark), indent=1))
            return
        for each in measured(benchmark):
            for stage in each.stages:
                self.stdout.write(_line(each.target.label, stage))
            if each.sentence:
                self.stdout.write(each.sentence)


def _team_of(deployment_id: str) -> Team:
    deployment = Deployment.objects.filter(id=deployment_id).select_related("model__team").first()
    if deployment is None:
        raise CommandError(f"There is no deployment `{deployment_id}`.")
    return deployment.model.team


def _load(options: dict[str, Any]) -> Load:
    return Load(
        kind=LoadKind(options["load"]), levels=tuple(options["levels"]), is_ramp=options["ramp"],
        seconds=options["seconds"], warm_up_seconds=options["warm_up_seconds"],
    )  # fmt: skip


def _limits(options: dict[str, Any]) -> Limits:
    names = ("error_share", "first_token_p90_seconds", "inter_token_p90_seconds")
    return Limits(**{name: options[name] for name in names})


def _text_of(path: str | None) -> str:
    if path is None:
        return ""
    try:
        return Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise CommandError(f"`{path}` cannot be read: {error}.") from None


def _line(label: str, stage: Mapping[str, Any]) -> str:
    first = (stage["first_token_seconds"] or {}).get("p90")
    between = (stage["inter_token_seconds"] or {}).get("p90")
    parts = [
        f"{label}: {stage['level']:g} ({stage['load']})",
        f"{stage['throughput']:.1f} {stage['unit']}",
        f"{stage['requests']} requests, {stage['errors']} errors",
        *([f"p90 first token {first:.3f} s"] if first is not None else []),
        *([f"p90 inter-token {between:.4f} s"] if between is not None else []),
        *(["partial"] if stage["is_partial"] else []),
        *(["the client was busy"] if stage["is_client_limited"] else []),
    ]
    return " · ".join(parts)
